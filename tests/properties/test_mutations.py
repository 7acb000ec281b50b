"""The tests of the array contract fail when one of its rules is switched off."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .mutations import MUTATIONS

ROOT = Path(__file__).parents[2]


@pytest.mark.sampled(2, "20 processes, each of which looks for the first failure")
@pytest.mark.parametrize("name", MUTATIONS)
def test_a_rule_that_is_switched_off_is_noticed(name: str) -> None:
    # in a process of its own: what a broken rule leaves behind is for no other test
    run = subprocess.run(
        [sys.executable, "-m", "tests.properties.mutations", "--quick", "--only", name], cwd=ROOT,
        capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count(": noticed") == 1
