"""What training's forward of recurrent layers leaves for backward: the numbers of another run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.op.kept_runs import MOST_RUNS, KeptRuns
from ndarray_rt.storage.desc import default_desc
from ndarray_rt.storage.stream import Stream

STEPS, BATCH, FEATURES, SIZE = 5, 3, 4, 6
CELLS: list[dict[str, Any]] = [
    {"mode": "lstm"}, {"mode": "gru"}, {"mode": "rnn_tanh"}, {"mode": "rnn_relu"},
    {"mode": "lstm", "bidirectional": True}, {"mode": "lstm", "state_outputs": True},
    {"mode": "lstm", "p": 0.5}, {"mode": "gru", "state_outputs": True},
    {"mode": "lstm", "use_sequence_length": True}]


def bound(params: dict[str, Any], grad_req: str = "write") -> Any:
    names = ["data", "parameters", "state"] + ["state_cell"] * (params["mode"] == "lstm")
    arguments: dict[str, Any] = {name: mx.sym.var(name) for name in names}
    if params.get("use_sequence_length"):
        arguments["sequence_length"] = mx.sym.var("lengths")
    net = mx.sym.RNN(**arguments, state_size=SIZE, num_layers=2, name="rnn", **params)
    exe = net.simple_bind(mx.cpu(), data=(STEPS, BATCH, FEATURES), grad_req={
        name: "null" if name == "lengths" else grad_req for name in net.list_arguments()})
    rng = np.random.default_rng(0)
    for name, array in exe.arg_dict.items():
        array[:] = (rng.standard_normal(array.shape) * 0.4).astype("f4")
        if name == "lengths":
            array[:] = mx.nd.array([5, 2, 4])
        elif exe.grad_dict[name] is not None:
            exe.grad_dict[name][:] = 0
    return exe


def heads(exe: Any, i: int) -> list[Any]:
    rng = np.random.default_rng(100 + i)
    return [mx.nd.array(rng.standard_normal(y.shape).astype("f4")) for y in exe.outputs]


def between(change: str, i: int, exe: Any) -> None:
    """What may come between forward and backward, or between two steps."""
    if change == "inference" and i == 4:
        exe.forward(is_train=False)
        exe.forward(is_train=True)
    if change == "switch" and i in (3, 4, 5):
        mx.config.set("NDRT_ONEDNN", i == 4)
    if change == "capture" and i in (3, 5):
        mx.config.set("NDRT_CAPTURE", i == 5)
    if change == "threads" and i == 4:
        mx.set_num_threads(1 + mx.get_num_threads() % 2)
    if change == "looked at" and i == 4:
        exe.explain(is_train=True, repeat=1)
        exe.forward(is_train=True)


CHANGES = ["", "inference", "switch", "capture", "threads", "looked at", "twice", "modes",
           "weights"]


def gradients(params: dict[str, Any], change: str) -> list[Any]:
    """Outputs and gradients of some steps."""
    mx.random.seed(3)
    exe, found, threads = bound(params), [], mx.get_num_threads()
    try:
        for i in range(8):
            rng = np.random.default_rng(i)
            data = mx.nd.array(rng.standard_normal((STEPS, BATCH, FEATURES)).astype("f4"))
            exe.forward(is_train=not (change == "modes" and i % 3 == 1), data=data)
            between(change, i, exe)
            exe.backward(heads(exe, i))
            if change == "twice" and exe.plan.backward_repeats:
                exe.backward(heads(exe, i + 1))
            if change == "weights":
                exe.arg_dict["parameters"][:] *= 0.9
            found += [x.asnumpy() for x in (*exe.outputs, *exe.grad_dict.values())
                      if x is not None]
    finally:
        mx.set_num_threads(threads)
        mx.config.reset()
    return found


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("params", CELLS)
def test_gradients_are_those_of_layers_that_are_run_again(
        params: dict[str, Any], change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    got = gradients(params, change)
    monkeypatch.setattr(KeptRuns, "find", lambda *_: None)
    expected = gradients(params, change)
    assert len(got) == len(expected)
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_array_equal(one, other)




def test_backward_does_not_run_layers_again() -> None:
    exe = bound({"mode": "lstm"})
    exe.forward(is_train=True)
    before = exe.counters["primitives"]
    exe.backward(heads(exe, 0))
    kept = exe.counters["primitives"] - before
    exe.forward(is_train=True)
    exe.arg_dict["data"][:] *= 2
    before = exe.counters["primitives"]
    exe.backward(heads(exe, 0))
    # the layers' primitives, and the reorders of their weights
    assert exe.counters["primitives"] - before > kept


def test_inputs_that_are_written_to_are_computed_from() -> None:
    """backward is of what its inputs hold, as it is without anything that was kept."""
    found = []
    for keeps in (True, False):
        exe = bound({"mode": "lstm"})
        if not keeps:
            exe._runs.context.kept_runs = None
        for _ in range(4):
            exe.forward(is_train=True)
            exe.arg_dict["data"][:] *= 1.5
            exe.backward(heads(exe, 0))
        found.append([x.asnumpy() for x in exe.grad_dict.values()])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_inputs_that_are_other_arrays_each_time_leave_little_behind() -> None:
    kept, stream = KeptRuns(), Stream()
    desc = default_desc(np.dtype("f4"), (4,))
    arrays = [mx.nd.ones((4,)) for _ in range(2 * MOST_RUNS)]
    for array in arrays:
        assert len(kept.begin("layers", [array], [], [desc], stream)) == 1
    assert len(kept._runs) <= MOST_RUNS
    assert kept.epoch > 0
    assert kept.find("layers", [arrays[0]], [], stream) is None
    assert kept.find("layers", [arrays[-1]], [], stream) is not None
    arrays[-1][:] = 2
    assert kept.find("layers", [arrays[-1]], [], stream) is None


def test_nothing_is_kept_without_gradients() -> None:
    exe = bound({"mode": "lstm"}, "null")
    exe.forward(is_train=True)
    assert exe._runs.context.kept_runs is None
