"""The table of native kernels: what was made of it is up to date, and calls are what it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_what_is_made_of_the_table_is_up_to_date() -> None:
    done = subprocess.run([sys.executable, ROOT / "native" / "generate_kernels.py", "--check"],
                          capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
