"""First answers of our own runners on a small network; no time is judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import first


def test_tells_of_who_can_take_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first.main(["--models", "mlp", "--threads", "1", "--rounds", "2", "--models-folder",
                str(tmp_path / "models"), "--venvs", str(tmp_path / "none"),
                "--runners", "ours:captured", "ours:mapped", "ours:onnx", "openvino"])
    told = capsys.readouterr()
    rows = [line for line in told.out.splitlines() if line.startswith("| ")]
    assert [row.split(" | ")[0] for row in rows] == [
        "| import", "| numpy", "| ndarray_rt", "| model, threads, runner",
        "| mlp, 1, ours:captured", "| mlp, 1, ours:mapped", "| mlp, 1, ours:onnx"]
    # the first is what ratios are to
    assert [row.count("| 1.00 (1.00-1.00)") for row in rows] == [0, 2, 0, 0, 2, 0, 0]
    assert "openvino is not installed" in told.err


def test_ratios_are_of_rounds() -> None:
    line = first.rows({"a": [(1, 1), (2, 4), (4, 2)], "b": [(2, 1), (2, 2), (2, 2)]}, "x, ")[1]
    assert line == "| x, b | 2.000 | 1.00 (0.50-2.00) | 2.000 | 1.00 (0.50-1.00) |"
