"""What was measured: kept in a bounded table, saved, loaded, and refused where it can not be."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.errors import ModelFormatError, MXNetError, ParameterError, TypeMismatch
from ndarray_rt.executor.tuning import table as tuning
from ndarray_rt.executor.tuning.file import TABLE
from ndarray_rt.executor.tuning.table import GraphKey, GraphPlan, Measurements, NodeKey, TuningTable
from ndarray_rt.op.choose import BLOCKED, CHANNELS_LAST
from ndarray_rt.symbol import json_text

from .fake_costs import bound, check, fake, needs_a_choice, variants


@pytest.fixture(autouse=True)
def _nothing_known() -> Iterator[None]:
    mx.executor.clear_tuning()
    yield
    mx.executor.clear_tuning()


# ---- files --------------------------------------------------------------------------------------


def known() -> Measurements:
    """Entries of this machine and of another one."""
    here = tuning.this_machine()
    there = here._replace(cpu="another CPU")
    nodes = {NodeKey(machine, "Convolution", "p(1)", ((2, 3, 8, 8), (4, 3, 1, 1)), "float32"):
             {CHANNELS_LAST: 0.1 + 1e-17, BLOCKED: 1 / 3} for machine in (here, there)}
    graphs = {GraphKey(machine, "00ff"): GraphPlan((BLOCKED, CHANNELS_LAST), 2.5)
              for machine in (here, there)}
    return Measurements(nodes, graphs, {here: ((1000.0, 0.01), (1e6, 2.0))})


def test_saved_and_loaded_tuning_is_the_same(tmp_path: Path) -> None:
    TABLE.put(known())
    file = tmp_path / "tuning.json"
    mx.executor.save_tuning(file)
    assert os.listdir(tmp_path) == ["tuning.json"]
    mx.executor.clear_tuning()
    assert TABLE.all() == Measurements({}, {}, {})
    assert mx.executor.load_tuning(str(file)) == 2
    assert TABLE.all() == known()
    assert mx.executor.tuning_stats() == {"nodes": 1, "graphs": 1, "hits": 0, "misses": 0,
                                          "other_nodes": 1, "other_graphs": 1}


@needs_a_choice
@pytest.mark.parametrize("way", ["load_tuning", "NDRT_TUNING"])
def test_a_loaded_file_plans_without_measuring(way: str, tmp_path: Path,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    costs = fake(monkeypatch, 5)
    executor = bound()
    executor.tune()
    mx.executor.save_tuning(tmp_path / "t")
    mx.executor.clear_tuning()
    runs = costs.runs
    assert set(variants(bound())) == {CHANNELS_LAST}
    if way == "load_tuning":
        mx.executor.load_tuning(tmp_path / "t")
        assert variants(bound()) == variants(executor)
    else:
        with config.override(NDRT_TUNING=str(tmp_path / "t")):
            assert variants(bound()) == variants(executor)
    assert costs.runs == runs


@needs_a_choice
def test_times_of_another_machine_are_not_used(tmp_path: Path,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch, 5)
    bound().tune()
    mx.executor.save_tuning(tmp_path / "t")
    mx.executor.clear_tuning()
    content = json.loads((tmp_path / "t").read_text())
    content["machines"][0]["isa"] = "avx1024"
    (tmp_path / "t").write_text(json.dumps(content))
    assert mx.executor.load_tuning(tmp_path / "t") == 0
    assert set(variants(bound())) == {CHANNELS_LAST}
    mx.executor.save_tuning(tmp_path / "again")
    assert json.loads((tmp_path / "again").read_text()) == content


def test_a_missing_file_that_the_switch_names(tmp_path: Path) -> None:
    with config.override(NDRT_TUNING=str(tmp_path / "none")):
        for _ in range(2):
            with pytest.raises(MXNetError, match=r"reading tuning from .*none.*No such file"):
                bound().forward()
    check(bound())


def _spoiled(change: Callable[[Any], object]) -> Callable[[Any], bytes]:
    def spoil(content: Any) -> bytes:
        change(content)
        return json.dumps(content).encode()
    return spoil


BAD = {
    "empty": lambda c: b"",
    "half": lambda c: json.dumps(c).encode()[:100],
    "no text": lambda c: b"\xff\xfe\x00",
    "deep": lambda c: b"[" * 100000,
    "a list": lambda c: b"[]",
    "another format": _spoiled(lambda c: c.update(format="x")),
    "no format": _spoiled(lambda c: c.pop("format")),
    "a later version": _spoiled(lambda c: c.update(version=3)),
    "an earlier version": _spoiled(lambda c: c.update(version=1)),
    "a version that is true": _spoiled(lambda c: c.update(version=True)),
    "no nodes": _spoiled(lambda c: c.pop("nodes")),
    "nodes are no list": _spoiled(lambda c: c.update(nodes={})),
    "a node is a number": _spoiled(lambda c: c.update(nodes=[1])),
    "a machine that is not there": _spoiled(lambda c: c["nodes"][0].update(machine=7)),
    "a machine from the end": _spoiled(lambda c: c["nodes"][0].update(machine=-1)),
    "a variant that is not there": _spoiled(
        lambda c: c["nodes"][0].update(milliseconds={"sideways": 1})),
    "a variant that is a list": _spoiled(lambda c: c["graphs"][0].update(families=[[]])),
    "a negative time": _spoiled(lambda c: c["nodes"][0].update(milliseconds={BLOCKED: -1})),
    "an endless time": _spoiled(lambda c: c["nodes"][0].update(milliseconds={BLOCKED: 1e999})),
    "a huge time": _spoiled(lambda c: c["nodes"][0].update(milliseconds={BLOCKED: 10 ** 400})),
    "a time that is text": _spoiled(lambda c: c["graphs"][0].update(milliseconds="1")),
    "a size below 0": _spoiled(lambda c: c["nodes"][0].update(shapes=[[-1]])),
    "a shape that is a number": _spoiled(lambda c: c["nodes"][0].update(shapes=[3])),
    "an operator without a name": _spoiled(lambda c: c["nodes"][0].update(operator=None)),
    "a graph without a tiling": _spoiled(lambda c: c["graphs"][0].pop("tiling")),
    "half a tiling": _spoiled(lambda c: c["graphs"][0].update(tiling=[1])),
    "a tile of less than nothing": _spoiled(lambda c: c["graphs"][0].update(tiling=[1, -2])),
    "times of a mixture": _spoiled(lambda c: c["nodes"][0].update(milliseconds={"mixed": 1})),
    "a kernel of somebody else": _spoiled(lambda c: c["graphs"][0].update(kernels=["theirs"])),
    "kernels that are text": _spoiled(lambda c: c["graphs"][0].update(kernels="native")),
    "a graph that is no entry": _spoiled(lambda c: c.update(graphs=["ours"])),
    "one reorder": _spoiled(lambda c: c["reorders"][0].update(costs=[[1, 2]])),
    "reorders of no bytes": _spoiled(lambda c: c["reorders"][0].update(costs=[[0, 2], [1, 2]])),
    "threads that are text": _spoiled(lambda c: c["machines"][0].update(threads="many")),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_files_are_refused_as_a_whole(what: str, tmp_path: Path) -> None:
    TABLE.put(known())
    file = tmp_path / "t"
    mx.executor.save_tuning(file)
    file.write_bytes(BAD[what](json.loads(file.read_text())))
    mx.executor.clear_tuning()
    with pytest.raises(MXNetError, match="reading tuning from"):
        mx.executor.load_tuning(file)
    assert TABLE.all() == Measurements({}, {}, {})


def test_files_that_can_not_be_read_or_written(tmp_path: Path) -> None:
    for name in (tmp_path, tmp_path / "none"):
        with pytest.raises(MXNetError, match="reading tuning from"):
            mx.executor.load_tuning(name)
    with pytest.raises(MXNetError, match="writing"):
        mx.executor.save_tuning(tmp_path / "none" / "t")


class _OfBytes:
    def __fspath__(self) -> bytes:
        return b"t"


@pytest.mark.parametrize("function", ["save_tuning", "load_tuning"])
def test_what_is_no_name_of_a_file(function: str, tmp_path: Path,
                                   monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    TABLE.put(known())
    call = getattr(mx.executor, function)
    wrong: Any
    for wrong in (b"t", 3, None, _OfBytes()):
        with pytest.raises(TypeMismatch, match=f"^{function}: fname got .*, expected a string or"):
            call(wrong)
    for wrong in ("a\0b", "a\ud800b", pathlib.Path("a\0b")):
        with pytest.raises(ParameterError, match=f"^{function}: fname got 'a.*b', expected a name"):
            call(wrong)
    assert os.listdir(tmp_path) == []
    assert TABLE.all() == known()


def test_a_file_without_end_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch,
                                                   tmp_path: Path) -> None:
    monkeypatch.setattr(json_text, "MOST_BYTES", 1 << 20)
    with pytest.raises(ModelFormatError, match="no JSON object: it begins with"):
        mx.executor.load_tuning("/dev/zero")
    path = tmp_path / "long"
    path.write_bytes(b"{" + bytes(1 << 20))
    with pytest.raises(ModelFormatError, match="the text has more than 1048576 bytes"):
        mx.executor.load_tuning(path)


# ---- the table ----------------------------------------------------------------------------------


def test_the_table_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "MOST_NODES", 3)
    table = TuningTable()
    here = tuning.this_machine()
    keys = [NodeKey(here, str(i), "", (), "float32") for i in range(5)]
    for key in keys[:3]:
        table.put(Measurements({key: {BLOCKED: 1.0}}, {}, {}))
    table.node(keys[0])
    for key in keys[3:]:
        table.put(Measurements({key: {BLOCKED: 1.0}}, {}, {}))
    assert list(table.all().nodes) == [keys[0], keys[3], keys[4]]


def test_the_table_in_many_threads(tmp_path: Path) -> None:
    def work(i: int) -> None:
        for j in range(30):
            TABLE.put(known())
            if j % 7 == i:
                mx.executor.clear_tuning()
            mx.executor.save_tuning(tmp_path / "t")
            mx.executor.load_tuning(tmp_path / "t")
            TABLE.node(next(iter(known().nodes)))
            mx.executor.tuning_stats()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    TABLE.put(known())
    assert TABLE.all() == known()


def test_a_child_gets_a_lock_of_its_own() -> None:
    with TABLE._lock:
        lock = TABLE._lock
        TABLE._renew_locks()
    assert TABLE._lock is not lock
    assert not TABLE._lock.locked()
