"""Runs whose operators are called first and whose steps run behind them, in one native call."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.capture import deferred
from ndarray_rt.capture import replay as captured
from ndarray_rt.native import call, lib

OPERATORS = 6


def layers() -> mx.sym.Symbol:
    """Two convolutions, pooling and a dense layer; each is an output too."""
    y = mx.sym.Variable("data")
    heads = []
    for i, filters in enumerate((20, 8)):
        y = mx.sym.Convolution(y, kernel=(3, 3), num_filter=filters, pad=(1, 1), name=f"c{i}")
        heads.append(y)
        y = mx.sym.Activation(y, act_type="tanh", name=f"a{i}")
        heads.append(y)
    y = mx.sym.Pooling(y, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool")
    return mx.sym.Group([*heads, y, mx.sym.FullyConnected(y, num_hidden=5, name="fc")])


def bound(symbol: mx.sym.Symbol, batch: int = 2, **shapes: tuple[int, ...]) -> mx.executor.Executor:
    executor = symbol.simple_bind(mx.cpu(), grad_req="null",
                                  **(shapes or {"data": (batch, 3, 8, 8)}))
    rng = np.random.default_rng(3)
    for array in executor.arg_dict.values():
        array[:] = rng.uniform(-1, 1, array.shape)
    return executor


def naive(executor: mx.executor.Executor) -> list[np.ndarray]:
    with config.override(NDRT_ONEDNN=False):
        made = executor.symbol.bind(mx.cpu(), executor.arg_dict, grad_req="null",
                                    aux_states=executor.aux_dict)
        return [out.asnumpy() for out in made.forward()]


def same(got: list[np.ndarray], want: list[np.ndarray]) -> bool:
    return all(np.allclose(a, b, rtol=1e-4, atol=1e-4 * max(np.abs(b).max(), 1))
               for a, b in zip(got, want, strict=True))


def outputs(executor: mx.executor.Executor) -> list[np.ndarray]:
    return [out.asnumpy() for out in executor.outputs]


def test_the_first_run_for_another_batch_is_recorded() -> None:
    executor = bound(layers())
    executor.forward()
    for batch in (1, 2, 5):
        other = executor.reshape(allow_up_sizing=True, data=(batch, 3, 8, 8))
        other.arg_dict["data"][:] = np.random.default_rng(batch).uniform(-1, 1, (batch, 3, 8, 8))
        for _ in range(3):
            other.forward()
            assert other.capture_state == "captured"
            assert same(outputs(other), naive(other))


class Negate(mx.operator.CustomOp):
    def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        self.assign(out_data[0], req[0], mx.nd.array(-in_data[0].asnumpy()))


@mx.operator.register("negate_ahead")
class NegateProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx: Any, shapes: Any, dtypes: Any) -> Negate:
        return Negate()


def scaled(x: mx.sym.Symbol) -> mx.sym.Symbol:
    return mx.sym.Convolution(x, kernel=(1, 1), num_filter=3, name="before")


BETWEEN: dict[str, Callable[[mx.sym.Symbol], mx.sym.Symbol]] = {
    "numpy": lambda x: mx.sym.round(mx.sym.cast(x, dtype="float64")).astype("float32"),
    "python": lambda x: mx.sym.Custom(x, op_type="negate_ahead", name="negate"),
    "weight": lambda x: mx.sym.Convolution(
        x, weight=mx.sym.slice(mx.sym.tanh(x), begin=(0, 0, 0, 0), end=(2, 3, 3, 3)),
        kernel=(3, 3), num_filter=2, no_bias=True, name="own_weight"),
    "view": lambda x: mx.sym.reshape(mx.sym.transpose(x, axes=(0, 2, 1, 3)), shape=(2, 8, 24)),
    "loop": lambda x: mx.sym.contrib.foreach(
        lambda row, state: (row + state, state * 2), x, mx.sym.sum(x, axis=0))[0],
}


@pytest.mark.parametrize("what", sorted(BETWEEN))
def test_operators_that_read_memory_in_python_find_what_is_to_be_there(what: str) -> None:
    made = BETWEEN[what](scaled(mx.sym.Variable("data")))
    executor = bound(mx.sym.tanh(made * 0.5, name="behind"))
    rng = np.random.default_rng(0)
    for _ in range(4):
        executor.arg_dict["data"][:] = rng.uniform(-1, 1, (2, 3, 8, 8))
        executor.forward()
        assert same(outputs(executor), naive(executor))
    other = executor.reshape(allow_up_sizing=True, data=(2, 3, 8, 8))
    for _ in range(3):
        other.arg_dict["data"][:] = rng.uniform(-1, 1, (2, 3, 8, 8))
        other.forward()
        assert same(outputs(other), naive(other))


def test_errors_of_steps_name_operator_and_node() -> None:
    x, at = mx.sym.Variable("data"), mx.sym.Variable("at")
    first = mx.sym.relu(mx.sym.FullyConnected(x, num_hidden=4, name="fc"), name="first")
    found = mx.sym.gather_nd(first, at, name="where")
    executor = bound(mx.sym.Group([first, found, mx.sym.tanh(first, name="last")]),
                     data=(2, 5), at=(2, 3))
    good = np.array([[0, 1, 0], [3, 2, 1]], np.float32)
    for bad_run in range(4):
        for run in range(4):
            executor.arg_dict["at"][:] = good
            executor.forward()
            assert same(outputs(executor), naive(executor))
            if run == bad_run:
                executor.arg_dict["at"][:] = 9
                with pytest.raises(mx.MXNetError, match="where"):
                    executor.forward()
        executor = executor.reshape(data=(2, 5), at=(2, 3))


@pytest.mark.parametrize("done", range(OPERATORS))
@pytest.mark.parametrize("rebound", [False, True])
def test_an_interrupt_leaves_outputs_as_they_were_or_as_they_are_to_be(
        done: int, rebound: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    executor = bound(layers())
    executor.forward()
    if rebound:
        executor = executor.reshape(data=(2, 3, 8, 8))
    before = outputs(executor)
    executor.arg_dict["data"][:] = np.random.default_rng(7).uniform(-1, 1, (2, 3, 8, 8))
    after = naive(executor)
    left = [done]

    def interrupted(function: Any, plan: Any, budget: float, cursor: Any, what: str) -> None:
        while left[0]:
            left[0] -= 1
            call(lib.ndrt_plan_run, plan, 0.0, cursor, what=what)
        raise KeyboardInterrupt
    with monkeypatch.context() as patch:
        patch.setattr(deferred, "call", interrupted)
        with pytest.raises(KeyboardInterrupt):
            executor.forward()
    for got, old, new in zip(outputs(executor), before, after, strict=True):
        assert same([got], [new]) or (got == old).all()
    assert sum(same([got], [new]) for got, new in zip(outputs(executor), after, strict=True)) >= (
        done - 1)
    for _ in range(3):
        executor.forward()
        assert same(outputs(executor), after)


def test_switched_off_capture_runs_each_step_at_once() -> None:
    executor = bound(layers())
    with config.override(NDRT_CAPTURE=False):
        for _ in range(3):
            executor.forward()
            assert same(outputs(executor), naive(executor))


@pytest.mark.parametrize("how", ["fails", "is interrupted"])
@pytest.mark.parametrize("before", [True, False])
def test_a_replay_that_does_not_come_to_an_output_leaves_what_a_user_wrote_there(
        how: str, before: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    x, at = mx.sym.Variable("data"), mx.sym.Variable("at")
    shift = mx.sym.mean(mx.sym.gather_nd(x, at, name="where"), axis=0, keepdims=True)
    first = mx.sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=20, name="first")
    last = mx.sym.Convolution(mx.sym.broadcast_add(x, shift), kernel=(3, 3), pad=(1, 1),
                              num_filter=20, name="last")
    heads = [first, last] if before else [last, first]
    executor = bound(mx.sym.Group(heads), data=(2, 3, 8, 8), at=(1, 2))
    executor.arg_dict["at"][:] = 0
    for _ in range(3):
        executor.forward()
    new = outputs(executor)
    old = [np.arange(out.size, dtype=np.float32).reshape(out.shape) for out in new]
    for out, value in zip(executor.outputs, old, strict=True):
        out[:] = value
    if how == "fails":
        executor.arg_dict["at"][:] = 99
        with pytest.raises(mx.MXNetError, match="where"):
            executor.forward()
    else:
        def interrupted(native: Any, budget: float) -> int:
            raise KeyboardInterrupt
        monkeypatch.setattr(captured, "BUDGET", 0.0)
        monkeypatch.setattr(captured, "_go_on", interrupted)
        with pytest.raises(KeyboardInterrupt):
            executor.forward()
        monkeypatch.undo()
    for got, was, will in zip(outputs(executor), old, new, strict=True):
        assert (got == was).all() or same([got], [will])
    executor.arg_dict["at"][:] = 0
    executor.forward()
    assert same(outputs(executor), new)


def test_executors_for_inference_made_by_reshape_share_memory_and_keep_their_outputs() -> None:
    # what lies between outputs is in the arena
    pooled = layers()[4]
    last = mx.sym.FullyConnected(mx.sym.sin(pooled), num_hidden=3, name="last")
    executor = bound(mx.sym.Group([pooled, last]), batch=4)
    executor.forward()
    mine = outputs(executor)
    other = executor.reshape(data=(2, 3, 8, 8))
    other.forward()
    first, second = other._inference.program, executor._inference.program
    assert first is not None
    assert second is not None
    assert first.state.arena is not None
    assert first.state.arena is second.state.arena
    assert all((a == b).all() for a, b in zip(outputs(executor), mine, strict=True))
    theirs = outputs(other)
    executor.forward()
    assert all((a == b).all() for a, b in zip(outputs(other), theirs, strict=True))


def test_what_a_backward_needs_is_not_lent() -> None:
    symbol = layers()
    trained = symbol.simple_bind(mx.cpu(), data=(2, 3, 8, 8))
    for array in trained.arg_dict.values():
        array[:] = np.random.default_rng(3).uniform(-1, 1, array.shape)
    beside = symbol.bind(mx.cpu(), trained.arg_dict, grad_req="null", shared_exec=trained)
    heads = [mx.nd.ones(out.shape) for out in trained.outputs]
    trained.forward(is_train=True)
    trained.backward(heads)
    want = [grad.asnumpy() for grad in trained.grad_arrays]
    for made in (trained, beside):
        other = made.reshape(data=(2, 3, 8, 8))
        trained.forward(is_train=True)
        other.forward()
        trained.backward(heads)
        assert all((a.asnumpy() == b).all()
                   for a, b in zip(trained.grad_arrays, want, strict=True))


def interrupts(executor: mx.executor.Executor, at: int) -> bool:
    """Runs it, with an interrupt where function `at` of the package begins; whether it came."""
    left = [at]

    def strike(frame: Any, event: str, arg: object) -> None:
        if (event == "call" and "ndarray_rt" in frame.f_code.co_filename
                and frame.f_code.co_name != "<genexpr>"):
            left[0] -= 1
            if left[0] < 0:
                sys.setprofile(None)
                raise KeyboardInterrupt
    sys.setprofile(strike)
    try:
        executor.forward()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
    return False


@pytest.mark.parametrize("rebound", [False, True])
def test_an_interrupt_where_any_function_begins_leaves_nothing_half_done(rebound: bool) -> None:
    y = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=20, name="c0")
    symbol = mx.sym.Group([y, mx.sym.Convolution(mx.sym.relu(y), kernel=(1, 1), num_filter=8,
                                                 name="c1")])
    base = bound(symbol)
    base.forward()
    new = outputs(base)
    old = [np.arange(out.size, dtype=np.float32).reshape(out.shape) for out in new]
    at, struck = 0, True
    while struck:
        executor = base.reshape(data=(2, 3, 8, 8))
        if not rebound:
            with config.override(NDRT_CAPTURE=False):
                executor.forward()
        for out, value in zip(executor.outputs, old, strict=True):
            out[:] = value
        struck = interrupts(executor, at)
        for got, was, will in zip(outputs(executor), old, new, strict=True):
            assert (got == was).all() or same([got], [will]), at
        assert executor._runs.context.stream is executor._runs.stream, at
        executor.forward()
        assert same(outputs(executor), new), at
        at += 1
    assert at > 100
