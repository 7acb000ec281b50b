"""The tests of the array contract fail when one of its rules is switched off."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from .mutations import MUTATIONS

ROOT = Path(__file__).parents[2]


def test_each_rule_that_is_switched_off_is_noticed() -> None:
    # in a process of its own: what a broken rule leaves behind is for no other test
    run = subprocess.run([sys.executable, "-m", "tests.properties.mutations", "--quick"], cwd=ROOT,
                         capture_output=True, text=True, timeout=600, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count("noticed") == len(MUTATIONS)
