"""The commands that say what a call and another batch size cost; no time is judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.calls import __main__ as calls
from benchmarks.rebind import __main__ as rebind


def test_calls_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    calls.main(["--threads", "1", "--rounds", "2", "--calls", "3"])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert [row.split(" | ")[0] for row in rows[1:]] == [f"| {name}" for name in calls.CASES]


def test_another_batch_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rebind.main(["--models", "mlp", "--batches", "1:3", "--threads", "1", "--rounds", "1",
                 "--tune", "--models-folder", str(tmp_path)])
    cells = capsys.readouterr().out.splitlines()[-1].strip("| ").split(" | ")
    assert cells[:3] == ["mlp", "1 to 3", "1"]
    first, second, reshape, steady = map(float, cells[3:7])
    assert first > 0
    assert reshape + steady <= second
