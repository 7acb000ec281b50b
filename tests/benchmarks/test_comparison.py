"""A comparison of our own runners on a small network; no time is judged."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks.compare import Comparison, Differs, Effort, check_outputs
from benchmarks.process import RunnerFailed, RunnerProcess
from benchmarks.report import tell_shares
from benchmarks.results import read_results
from benchmarks.runner import OURS, Place, Row

ROW = Row("mlp", 1, 1)
TAKES_TURNS = """
import sys
print('{"version": "1", "load_s": 0.5}', flush=True)
for line in sys.stdin:
    print([1.0] * int(line.split()[1]), flush=True)
print('{"calls": 3}', flush=True)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a run of two runners, and one that is not installed, leaves behind."""
    made = tmp_path_factory.mktemp("bench")
    status = command.main([
        "--models", "mlp", "--batches", "2", "--threads", "1", "--rounds", "2", "--seconds", "0.01",
        "--runners", OURS, "ours:plain", "openvino", "--venvs", str(made / "none"),
        "--models-folder", str(made / "models"), "--results", str(made), "--name", "small"])
    assert status == 0
    return made


def test_every_round_is_written(folder: Path) -> None:
    records = [json.loads(line) for line in (folder / "small.jsonl").read_text().splitlines()]
    turns = [(r["round"], r["runner"]) for r in records if r["kind"] == "turn"]
    assert turns == [(0, OURS), (0, "ours:plain"), (1, "ours:plain"), (1, OURS)]
    ends = {r["runner"]: r for r in records if r["kind"] == "end"}
    for end in ends.values():
        assert end["peak_mb"] > 10
        assert end["facts"]["reference"] == end["facts"]["numpy"] == 0
    assert ends[OURS]["facts"]["captured"]
    assert not ends["ours:plain"]["facts"]["captured"]


def test_report_has_times_and_who_was_skipped(folder: Path) -> None:
    text = (folder / "small.md").read_text()
    assert text.count("| mlp | 2 | 1 | ours:") == 2
    assert "- openvino: openvino is not installed (make bench-peers) (mlp)" in text


def test_files_are_made_once(folder: Path) -> None:
    files = sorted((folder / "models").iterdir())
    assert {"mlp-symbol.json", "mlp-0000.params", "mlp.npz"} <= {path.name for path in files}
    before = [path.stat().st_mtime_ns for path in files if path.suffix != ".log"]
    told: list[dict[str, Any]] = []
    Comparison(Place(folder / "models"), [], Effort(), told.append, None).run_row(ROW)
    assert [path.stat().st_mtime_ns for path in files if path.suffix != ".log"] == before
    assert told == []


def test_outputs_that_differ_end_the_run() -> None:
    right = np.array([1.0, -4.0], np.float32)
    check_outputs(ROW, {"a": right, "b": right + np.float32(0.0003)})
    for wrong in (right + np.float32(0.0005), right[:1], right * np.float32(np.nan)):
        with pytest.raises(Differs, match="mlp, batch 1, 1 thread: b "):
            check_outputs(ROW, {"a": right, "b": wrong})
    with pytest.raises(Differs, match="output of a is not finite or all zeros"):
        check_outputs(ROW, {"a": right * 0})


def start(code: str, folder: Path) -> RunnerProcess:
    return RunnerProcess([sys.executable, "-c", code], os.environ, folder / "log")


def state_of(process: RunnerProcess) -> str:
    text = Path(f"/proc/{process._process.pid}/stat").read_text()
    return text.rpartition(")")[2].split()[0]


def test_a_runner_is_stopped_between_turns(tmp_path: Path) -> None:
    process = start(TAKES_TURNS, tmp_path)
    try:
        assert process.wait_ready() == {"version": "1", "load_s": 0.5}
        for steps in (2, 5):
            assert process.take_turn(1, steps).milliseconds == [1.0] * steps
            assert state_of(process) in "Tt"
        assert process.end() == {"calls": 3}
    finally:
        process.kill()


def test_a_runner_that_ends_says_why(tmp_path: Path) -> None:
    process = start("import sys; sys.exit('no such network')", tmp_path)
    with pytest.raises(RunnerFailed, match="ended: no such network"):
        process.wait_ready()
    assert process._process.returncode == 1


def write(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_ratios_are_of_medians_with_single_rounds_around(tmp_path: Path) -> None:
    key = {"model": "mlp", "batch": 1, "threads": 1}
    turns = [{"kind": "turn", **key, "runner": name, "median_ms": ms}
             for name, times in ((OURS, (2.0, 4.0, 5.0)), ("mxnet", (6.0, 4.0, 20.0)),
                                 ("openvino", (8.0, 2.0, 3.0)))
             for ms in times]
    results = read_results(write(tmp_path / "r.jsonl", *turns))
    assert str(results.ratio(ROW, "mxnet")) == "1.50 (1.00-4.00)"
    assert results.fastest(ROW, ("mxnet", "openvino")) == "openvino"
    assert results.ratio(ROW, "best peer") == results.ratio(ROW, "openvino")
    assert results.ratio(ROW, "onnxruntime") is None
    assert results.mean_ratio("mxnet") == (1.5, 1)


def test_shares_of_a_step(tmp_path: Path) -> None:
    key = {"model": "mlp", "batch": 1, "threads": 1}
    turns = [{"kind": "turn", **key, "runner": name, "median_ms": ms}
             for name, ms in ((OURS, 2.0), ("ours:fused", 4.0), ("ours:uncached", 16.0),
                              ("bound:naive", 5.0))]
    (head, _, row, _) = tell_shares(read_results(write(tmp_path / "r.jsonl", *turns)))[-4:]
    found = dict(zip(head.split(" | "), row.split(" | "), strict=True))
    assert (found["capture"], found["cache"], found["layouts (naive) |"], found["tuning"]) == (
        "50%", "75%", "60% |", "-")
