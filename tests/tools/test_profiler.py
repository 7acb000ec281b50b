"""The profiler tells of each step with its kernel and layouts, and costs nothing when it is off."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ndarray_rt as mx
from ndarray_rt import profiler
from ndarray_rt.op.dispatch import is_watched

Events = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def _off() -> Iterator[None]:
    yield
    # whatever a test left goes nowhere
    profiler.set_config(filename=os.devnull)
    profiler.set_state("run")
    profiler.dump()
    profiler.dumps(reset=True)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.json"
    profiler.set_config(profile_all=True, aggregate_stats=True, filename=str(path))
    profiler.set_state("run")
    return path


def events(path: Path) -> Events:
    found: Events = json.loads(path.read_text())["traceEvents"]
    return found


def operators(found: Events) -> Events:
    return [event for event in found if event.get("cat") == "operator"]


def network() -> mx.sym.Symbol:
    net = mx.sym.Convolution(mx.sym.Variable("data"), num_filter=16, kernel=(3, 3), name="conv")
    return mx.sym.FullyConnected(mx.sym.relu(net, name="act"), num_hidden=4, name="fc")


def test_every_step_of_an_executor_with_kernel_and_layouts(trace: Path) -> None:
    executor = network().simple_bind(mx.cpu(), data=(2, 16, 8, 8))
    for _ in range(4):
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones((2, 4)))
    profiler.dump()
    found = [e for e in operators(events(trace)) if e["args"].get("node") == "fc"]
    assert len(found) == 4
    assert all(e["name"] == "FullyConnected" and e["dur"] > 0 for e in found)
    explained = {row.node: row for row in executor.explain(is_train=True, repeat=1).rows}
    assert found[-1]["args"]["kernel"] == explained["fc"].kernel
    assert found[-1]["args"]["layouts out"] == explained["fc"].layout_out
    backward = [e for e in operators(events(trace)) if e["name"] == "_backward_Convolution"]
    assert len(backward) == 4


def test_hybridized_blocks_and_calls(trace: Path) -> None:
    net = mx.gluon.nn.Dense(3, prefix="layer_")
    net.initialize()
    net.hybridize()
    x = mx.nd.array([[-1.0, 2.0]])
    for _ in range(3):
        net(x)
    mx.nd.relu(x)
    profiler.dump()
    names = [e["name"] for e in operators(events(trace))]
    assert names.count("FullyConnected") == 3
    assert names.count("relu") == 1


def test_what_is_recorded_is_chosen(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    profiler.set_config(profile_symbolic=True, filename=str(path))
    profiler.set_state("run")
    network().simple_bind(mx.cpu(), data=(2, 3, 8, 8)).forward()
    mx.nd.sqrt(mx.nd.ones(3))
    profiler.dump()
    found = {e["name"] for e in events(path)}
    assert "FullyConnected" in found
    assert not {"sqrt", "Memory: cpu/0"} & found


def test_nothing_watches_when_it_is_off() -> None:
    assert not is_watched()
    profiler.set_state("run")
    assert is_watched()
    profiler.pause()
    assert not is_watched()
    profiler.resume()
    assert is_watched()
    profiler.set_state("stop")
    assert not is_watched()


def test_paused_records_nothing(trace: Path) -> None:
    profiler.pause()
    mx.nd.sqrt(mx.nd.ones(3))
    task = profiler.Domain("d").new_task("hidden")
    task.start()
    task.stop()
    profiler.resume()
    mx.nd.cbrt(mx.nd.ones(3))
    profiler.dump()
    found = {e["name"] for e in events(trace)}
    assert "cbrt" in found
    assert not {"sqrt", "hidden"} & found


def test_totals(trace: Path) -> None:
    x = mx.nd.zeros((4, 4))
    mx.nd.sqrt(x)
    x = x + 1
    x = x + 1
    totals = json.loads(profiler.dumps(format="json"))
    assert totals["Unit"] == {"Time": "ms", "Memory": "kB"}
    found = totals["Time"]["operator"]
    assert (found["sqrt"]["Count"], found["_plus_scalar"]["Count"], found["_zeros"]["Count"]) == (
        1, 2, 1)
    added = found["_plus_scalar"]
    assert added["Min"] <= added["Avg"] <= added["Max"] <= added["Total"]
    assert added["Total"] == pytest.approx(added["Avg"] * 2)
    assert "Total" not in totals["Memory"]["Device Storage"]["Memory: cpu/0"]
    assert "_plus_scalar" in profiler.dumps(reset=True)
    assert profiler.dumps() == ""


@pytest.mark.parametrize("ascending", [False, True])
@pytest.mark.parametrize(("sort_by", "key"), [("total", "Total"), ("avg", "Avg"), ("min", "Min"),
                                              ("max", "Max"), ("count", "Count")])
def test_totals_are_sorted(trace: Path, sort_by: str, key: str, ascending: bool) -> None:
    for _ in range(2):
        mx.nd.sqrt(mx.nd.ones(3) + 1)
    text = profiler.dumps(format="json", sort_by=sort_by, ascending=ascending)
    values = [entry[key] for entry in json.loads(text)["Time"]["operator"].values()]
    assert len(values) > 2
    assert values == sorted(values, reverse=not ascending)


def test_ones_own_events(trace: Path) -> None:
    domain = profiler.Domain("mine")
    task, frame, event = domain.new_task("task"), domain.new_frame("frame"), profiler.Event("event")
    for span in (task, frame, event):
        span.stop()  # not begun: nothing
        span.start()
        span.stop()
    counter = domain.new_counter("counter", 3)
    counter += 4
    counter -= 2
    domain.new_marker("marker").mark("thread")
    profiler.dump()
    found = {e["name"]: [x for x in events(trace) if x["name"] == e["name"]]
             for e in events(trace)}
    assert [(e["ph"], e["cat"]) for e in found["task"]] == [("b", "mine"), ("e", "mine")]
    assert found["task"][0]["id"] == found["task"][1]["id"]
    assert found["frame"][0]["cat"] == "mine,frame"
    assert [(e["ph"], e["cat"]) for e in found["event"]] == [("X", "event")]
    assert [e["args"]["counter"] for e in found["counter"]] == [3, 7, 5]
    assert [(e["ph"], e["s"]) for e in found["marker"]] == [("i", "t")]
    assert [str(x) for x in (domain, task, frame, event, counter)] == [
        "mine", "task", "frame", "event", "counter"]


def test_scopes(trace: Path) -> None:
    with profiler.scope("outer:"), profiler.scope("inner:", append_mode=True):
        mx.nd.sqrt(mx.nd.ones(3))
    mx.nd.cbrt(mx.nd.ones(3))
    profiler.dump()
    found = {e["name"]: e["args"].get("scope") for e in operators(events(trace))}
    assert found["sqrt"] == "outer:inner:"
    assert found["cbrt"] is None


def test_custom_operators_by_their_own_names(trace: Path) -> None:
    class Twice(mx.operator.CustomOp):
        def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
            self.assign(out_data[0], req[0], in_data[0] * 2)

        def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any,
                     aux: Any) -> None:
            self.assign(in_grad[0], req[0], out_grad[0] * 2)

    @mx.operator.register("profiled_twice")
    class TwiceProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx: Any, shapes: Any, dtypes: Any) -> Twice:
            return Twice()

    x = mx.nd.ones(3)
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type="profiled_twice")
    y.backward()
    totals = json.loads(profiler.dumps(format="json"))["Time"]["Custom Operator"]
    assert {"profiled_twice::pure_python", "profiled_twice::_mul_scalar",
            "_backward_profiled_twice::pure_python",
            "_backward_profiled_twice::_mul_scalar"} <= set(totals)


def test_the_file_is_whole_after_each_dump_and_grows(trace: Path) -> None:
    sizes = []
    for _ in range(3):
        mx.nd.sqrt(mx.nd.ones(3))
        profiler.dump(False)
        sizes.append(len(operators(events(trace))))
    assert sizes == [2, 4, 6]
    profiler.dump()
    with pytest.raises(mx.MXNetError, match="has not run"):
        profiler.dump()
    # the next file begins anew
    profiler.set_state("run")
    mx.nd.sqrt(mx.nd.ones(3))
    profiler.dump()
    assert len(operators(events(trace))) == 2


def test_continuous_dump(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    profiler.set_config(profile_all=True, continuous_dump=True, dump_period=0.0,
                        filename=str(path))
    profiler.set_state("run")
    mx.nd.sqrt(mx.nd.ones(3))
    assert {e["name"] for e in operators(events(path))} == {"_ones", "sqrt"}


def test_threads(trace: Path) -> None:
    def work() -> None:
        x = mx.nd.ones(3)
        for _ in range(50):
            x = mx.nd.sqrt(x)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    profiler.dump()
    found = [e for e in operators(events(trace)) if e["name"] == "sqrt"]
    assert len(found) == 200
    assert len({e["tid"] for e in found}) == 4
    assert json.loads(profiler.dumps(format="json"))["Time"]["operator"]["sqrt"]["Count"] == 200


def test_a_forked_child_records_nothing_of_its_own_accord(trace: Path) -> None:
    child = os.fork()
    if child == 0:
        mx.nd.sqrt(mx.nd.ones(3))
        os._exit(1 if is_watched() or profiler.dumps() else 0)
    assert os.waitpid(child, 0)[1] == 0
    assert is_watched()


def test_wrong_arguments() -> None:
    with pytest.raises(mx.MXNetError, match="'colour' is no setting"):
        profiler.set_config(colour=1)
    with pytest.raises(mx.MXNetError, match="profile_all is 'maybe', expected a boolean"):
        profiler.set_config(profile_all="maybe")
    with pytest.raises(mx.MXNetError, match="filename is ''"):
        profiler.set_config(filename="")
    with pytest.raises(KeyError):
        profiler.set_state("walk")
    with pytest.raises(AssertionError, match="format is 'xml'"):
        profiler.dumps(format="xml")
    with pytest.raises(mx.MXNetError, match="sort_by"):
        profiler.dumps(sort_by="size")
    with pytest.raises(mx.MXNetError, match="no server"):
        profiler.pause("server")
    with pytest.raises(mx.MXNetError, match="scope is 'room'"):
        profiler.Domain("d").new_marker("m").mark("room")
    with pytest.raises(TypeError, match="expected a Domain"):
        profiler.Task("d", "t")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="invalid literal"):
        profiler.Domain("d").new_counter("c").set_value("x")  # type: ignore[arg-type]


def test_old_names(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="set_config"):
        profiler.profiler_set_config("all", str(tmp_path / "t.json"))
    with pytest.warns(UserWarning, match="set_state"):
        profiler.profiler_set_state("run")
    mx.nd.sqrt(mx.nd.ones(3))
    with pytest.warns(UserWarning, match="dump"):
        profiler.dump_profile()
    assert operators(events(tmp_path / "t.json"))
