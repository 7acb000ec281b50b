"""Training that was killed and resumed ends in the same bits as one that ran through."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from .resumable import DOORS, OPTIMIZERS

ROOT = Path(__file__).parents[2]
NEVER = -1


def run(door: str, optimizer: str, folder: Path, killed_in: int = NEVER,
        **environment: str) -> int:
    """Its return code."""
    folder.mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-m", "tests.training.resumable", door, optimizer, str(folder),
         str(killed_in)], cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        check=False, timeout=300).returncode


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("door", DOORS)
def test_resumed_equals_uninterrupted(door: str, optimizer: str, tmp_path: Path) -> None:
    """With momentum or other states, a schedule of rates, batch statistics, dropout."""
    whole, resumed = tmp_path / "whole", tmp_path / "resumed"
    assert run(door, optimizer, whole) == 0
    assert run(door, optimizer, resumed, killed_in=2) == -signal.SIGKILL
    assert not (resumed / "last").exists()
    assert run(door, optimizer, resumed) == 0
    assert (whole / "last").read_bytes() == (resumed / "last").read_bytes()


@pytest.mark.parametrize("door", DOORS)
def test_it_may_go_on_in_the_other_mode(door: str, tmp_path: Path) -> None:
    """A checkpoint is the same file whichever layouts were trained in."""
    assert run(door, "sgd", tmp_path, killed_in=2, NDRT_TRAINING_LAYOUTS="1") == -signal.SIGKILL
    assert run(door, "sgd", tmp_path, NDRT_TRAINING_LAYOUTS="0") == 0
