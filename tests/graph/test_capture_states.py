"""What executors and updates say of their recordings: what is true now, in each mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.op.dispatch import observe

SETTLED = "the first run settled layouts and scratch, the next one is recorded"
UNRECORDED = "no run so far was one that may be recorded"
INFERENCE, TRAINING, BACKWARD = ("forward, inference", "forward, training", "backward, training")


def bound(grad_req: str = "null") -> Any:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc")
    return net.simple_bind(mx.cpu(), grad_req=grad_req, data=(2, 3))


def test_one_run_after_the_other() -> None:
    executor = bound()
    states = [executor.capture_state]
    for _ in range(3):
        executor.forward()
        states.append(executor.capture_state)
    assert states == ["nothing ran yet", SETTLED, "captured", "captured"]
    assert executor.capture_states == {INFERENCE: "captured"}


def test_runs_for_training_are_none_for_inference() -> None:
    executor = bound("write")
    executor.forward(is_train=True)
    assert executor.capture_state == "nothing ran yet"
    assert executor.capture_states == {TRAINING: SETTLED}
    executor.backward(mx.nd.ones((2, 4)))
    assert executor.capture_states == {TRAINING: SETTLED, BACKWARD: SETTLED}


@contextmanager
def observed() -> Iterator[None]:
    stop = observe(lambda told: None)
    yield
    stop()


MODES: dict[str, tuple[Callable[[], AbstractContextManager[object]], str]] = {
    "NDRT_CAPTURE": (lambda: config.override(NDRT_CAPTURE=0), "switched off by NDRT_CAPTURE=0"),
    "NDRT_ONEDNN": (lambda: config.override(NDRT_ONEDNN=0),
                    "NDRT_ONEDNN=0 lets all steps run in Python"),
    "NDRT_TRACE": (lambda: config.override(NDRT_TRACE=1), "NDRT_TRACE prints each step"),
    "NDRT_VALIDATE": (lambda: config.override(NDRT_VALIDATE=1),
                      "NDRT_VALIDATE compares each step with NumPy"),
    "observer": (observed, "an observer, such as a profiler, is told of each step"),
}


@pytest.mark.parametrize("is_captured_before", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_modes_without_replays(mode: str, is_captured_before: bool) -> None:
    block, reason = MODES[mode]
    executor = bound()
    for _ in range(3 * is_captured_before):
        executor.forward()
    with block():
        for _ in range(3):
            executor.forward()
            assert executor.capture_state == reason
            assert set(executor.capture_states.values()) == {reason}
    if not is_captured_before:
        assert executor.capture_state == UNRECORDED
    for _ in range(3):
        executor.forward()
    assert executor.capture_state == "captured"


def test_a_monitor() -> None:
    executor = bound()
    executor.set_monitor_callback(lambda name, array: None)
    assert executor.capture_state == "nothing ran yet"
    for _ in range(3):
        executor.forward()
        assert executor.capture_state == "a monitor is called between the steps"


def test_shared_memory() -> None:
    x = mx.nd.ones((2, 3))
    executor = mx.sym.exp(mx.sym.Variable("x")).bind(mx.cpu(), {"x": x}, args_grad={"x": x})
    for _ in range(3):
        executor.forward(is_train=True)
    reason = "an array that is written shares memory with another one that is bound"
    assert executor.capture_states == {TRAINING: reason}
    executor.forward()
    assert executor.capture_state == reason


def test_a_step_in_python() -> None:
    net = mx.sym.Custom(mx.sym.Variable("x"), op_type="captured_twice", name="twice")
    executor = net.simple_bind(mx.cpu(), grad_req="null", x=(2, 3))
    for _ in range(3):
        executor.forward()
    assert executor.capture_state == "a step runs in Python"


@mx.operator.register("captured_twice")
class TwiceProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx: Any, shapes: Any, types: Any) -> Any:
        return Twice()


class Twice(mx.operator.CustomOp):
    def forward(self, is_train: Any, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        self.assign(out_data[0], req[0], 2 * in_data[0])


def test_a_guard_that_did_not_hold() -> None:
    executor = bound()
    for _ in range(3):
        executor.forward()
    threads = mx.get_num_threads()
    try:
        mx.set_num_threads(threads % 2 + 1)
        executor.forward()
        assert executor.capture_state in ("the number of threads changed", "captured")
    finally:
        mx.set_num_threads(threads)


def test_an_update() -> None:
    executor = bound("write")
    update = executor.bind_update("sgd_update", lr=0.1)
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((2, 4)))
    states = [update.capture_state]
    with config.override(NDRT_CAPTURE=0):
        update()
        states.append(update.capture_state)
    states.append(update.capture_state)
    for _ in range(3):
        update()
        states.append(update.capture_state)
    assert states == ["nothing ran yet", "switched off by NDRT_CAPTURE=0", UNRECORDED, SETTLED,
                      "captured", "captured"]


def test_explain_says_it_too() -> None:
    executor = bound()
    with config.override(NDRT_CAPTURE=0):
        assert "switched off by NDRT_CAPTURE=0" in str(executor.explain(repeat=1))
