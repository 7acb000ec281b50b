"""The commands that say what a call and another batch size cost; no time is judged."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

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


@pytest.mark.parametrize("command", [calls, rebind])
@pytest.mark.parametrize("bad", [["--rounds", "0"], ["--threads", "0"], ["--threads", "-3"],
                                 ["--rounds", "x"]])
def test_numbers_below_one_are_refused(command: ModuleType, bad: list[str],
                                       capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(bad)
    assert f"{bad[1]!r} is no whole number from 1 up" in capsys.readouterr().err


@pytest.mark.parametrize(("bad", "why"), [
    ("1", "'1' is not FIRST:OTHER"), ("0:1", "'0' is no whole number"),
    ("1:2:3", "'2:3' is no whole number")])
def test_batches_are_two(bad: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        rebind.main(["--batches", bad])
    assert why in capsys.readouterr().err
