"""Steps of training in our front ends, by the command that compares them; no time is judged."""

from __future__ import annotations

import pytest

from benchmarks.process import RunnerFailed
from benchmarks.train import __main__ as command

OURS = ["ours:train_step", "ours:gluon", "ours:module", "ours:imperative"]


def test_all_front_ends_train_alike(capsys: pytest.CaptureFixture[str]) -> None:
    command.main(["--rows", "mlp:2", "--threads", "1", "--rounds", "1", "--seconds", "0.01",
                  "--runners", *OURS])
    told = capsys.readouterr()
    rows = [line.split(" | ") for line in told.out.splitlines() if "ours:" in line]
    assert [row[3] for row in rows] == OURS, told.err
    assert all(float(row[4]) > 0 and float(row[6].rstrip(" |")) > 10 for row in rows)


def test_who_is_not_installed_is_skipped(capsys: pytest.CaptureFixture[str]) -> None:
    command.main(["--rows", "mlp:2", "--threads", "1", "--rounds", "1", "--seconds", "0.01",
                  "--runners", "mxnet:gluon", "--venvs", "/nowhere"])
    assert "mlp:2 mxnet:gluon: skipped, it is not installed in /nowhere" in capsys.readouterr().err


def test_other_losses_take_part_no_longer() -> None:
    command.check_losses("ours:gluon", [2.3, 2.2], [2.3001, 2.2001], "mlp")
    with pytest.raises(RunnerFailed, match="its losses"):
        command.check_losses("ours:gluon", [2.3, 2.1], [2.3, 2.2], "mlp")
    command.check_losses("ours:gluon", [7.0, 6.9], [7.0, 7.0], "resnet50")
    with pytest.raises(RunnerFailed, match="its losses"):
        command.check_losses("ours:gluon", [7.0, 6.0], [7.0, 7.0], "resnet50")
