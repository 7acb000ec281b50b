"""dispatch: what holds for every call, shown on operators made for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ndarray_rt import config
from ndarray_rt._array.copy import read_numpy, write_numpy
from ndarray_rt._array.layout import get_data
from ndarray_rt._array.ndarray import NDArray, new_array
from ndarray_rt._array.req import Req
from ndarray_rt.errors import Unsupported
from ndarray_rt.op.context import TRAINING, Mode, OpContext
from ndarray_rt.op.dispatch import Dispatched, dispatch, observe
from ndarray_rt.op.fallback import REASONS
from ndarray_rt.op.infer import same_shape, same_type
from ndarray_rt.op.params import NoParams
from ndarray_rt.op.registry import OpDef
from ndarray_rt.storage.desc import tagged_desc
from ndarray_rt.storage.handle import memory_stats
from ndarray_rt.testing.case import LAYOUTS
from ndarray_rt.testing.checks import Bench, Failures
from ndarray_rt.testing.runtimes import NumpyRuntime
from ndarray_rt.testing.subject import Subject

F32 = np.dtype(np.float32)
SHAPE = (2, 20, 2, 3)


def array(value: np.ndarray, tag: str | None = None) -> NDArray:
    stream = OpContext().stream
    made = new_array(value.shape, value.dtype)
    write_numpy(made, value, stream)
    if tag is not None:
        made._chunk.reorder(tagged_desc(value.dtype, value.shape, tag), stream)
    return made


def contents(x: NDArray) -> np.ndarray:
    return read_numpy(x, OpContext().stream)


def numbers(start: int = 0) -> np.ndarray:
    return np.arange(start, start + 240, dtype=np.float32).reshape(SHAPE)


def one_input(compute: Any, **facts: Any) -> OpDef:
    return OpDef("made_for_a_test", NoParams, inputs=("data",), infer_shape=same_shape,
                 infer_type=same_type, compute=compute, no_gradient="none", **facts)


def double(ctx: Any, p: Any, ins: list[Any], outs: list[Any]) -> None:
    outs[0].write(ins[0] * 2)


@pytest.mark.parametrize("tag", [None, "acdb", "aBcd16b"])
@pytest.mark.parametrize("req", [Req.kWriteTo, Req.kAddTo])
@pytest.mark.parametrize("error", [ValueError, MemoryError, KeyboardInterrupt])
def test_an_operator_that_raises_leaves_what_was_there(tag: str | None, req: Req,
                                                       error: type[BaseException]) -> None:
    def fail(ctx: Any, p: Any, ins: list[Any], outs: list[Any]) -> None:
        outs[0].write(ins[0] * 2)
        raise error("no")
    x, y = array(numbers(), tag), array(numbers(7), tag)
    live = memory_stats()["live"]
    with pytest.raises(error):
        dispatch(one_input(fail), NoParams(), OpContext(), [x], [y], [req])
    assert (contents(x) == numbers()).all()
    assert (contents(y) == numbers(7)).all()
    assert x._chunk.native.lease == y._chunk.native.lease == 0
    assert memory_stats()["live"] == live


def test_a_refusal_ends_in_numpy_with_its_reason() -> None:
    def refuse(ctx: Any, p: Any, ins: list[Any], outs: list[Any]) -> None:
        get_data(ins[0], ctx.stream)
        raise Unsupported("only on Sundays")
    op = one_input(double, compute_ex=refuse)
    told: list[Dispatched] = []
    stop = observe(told.append)
    REASONS.reset()  # they are bounded, and tests before this one may have filled them
    x, y = array(numbers(), "aBcd16b"), array(numbers(7), "acdb")
    try:
        dispatch(op, NoParams(), OpContext(), [x], [y], [Req.kAddTo])
    finally:
        stop()
    assert (contents(y) == numbers(7) + 2 * numbers()).all()
    assert told[0].reason == "only on Sundays"
    assert told[0].key.library == "numpy"
    assert told[0].layouts_in == ("nChw16c",)
    assert REASONS.as_dict()[op.name, "only on Sundays"] == 1
    dispatch(op, NoParams(), OpContext(), [x], [y], [Req.kWriteTo])
    assert len(told) == 1, "an observer that was stopped was told"


def test_refuses_is_asked_before_anything_runs() -> None:
    def never(ctx: Any, p: Any, ins: list[Any], outs: list[Any]) -> None:
        raise AssertionError("ran although it was refused")
    op = one_input(double, compute_ex=never, refuses=lambda p, ins: "not today")
    y = array(numbers())
    dispatch(op, NoParams(), OpContext(), [array(numbers())], [y], [Req.kWriteTo])
    assert (contents(y) == 2 * numbers()).all()


def test_without_onednn_nothing_runs_on_it() -> None:
    def never(ctx: Any, p: Any, ins: list[Any], outs: list[Any]) -> None:
        raise AssertionError("ran natively")
    y = array(numbers())
    with config.override(NDRT_ONEDNN=False):
        dispatch(one_input(double, compute_ex=never), NoParams(), OpContext(),
                 [array(numbers())], [y], [Req.kWriteTo])
    assert (contents(y) == 2 * numbers()).all()


def test_an_operator_sees_the_mode_of_its_own_call() -> None:
    """Each call says it; none is left for the next, also behind an error."""
    seen: list[Any] = []

    def look(ctx: Any, p: Any, ins: list[Any], outs: list[Any]) -> None:
        seen.append((ctx.is_train, ctx.variant))
        if len(seen) == 2:
            raise ValueError("no")
        double(ctx, p, ins, outs)
    ctx, op, x, y = OpContext(), one_input(look), array(numbers()), new_array(SHAPE, F32)

    def run(*mode: Mode) -> None:
        dispatch(op, NoParams(), ctx, [x], [y], [Req.kWriteTo], None, *mode)
    run()
    with pytest.raises(ValueError, match="no"):
        run(Mode(True, "blocked"))
    run()
    run(TRAINING)
    assert seen == [(False, ""), (True, "blocked"), (False, ""), (True, "")]
    with pytest.raises(AttributeError):
        setattr(ctx, "is_train", True)  # noqa: B010


def test_nothing_requested_is_nothing_done() -> None:
    def never(ctx: Any, p: Any, ins: list[Any], outs: list[Any]) -> None:
        raise AssertionError("ran although nothing was asked for")
    y = new_array(SHAPE, F32)
    dispatch(one_input(never), NoParams(), OpContext(), [array(numbers())], [y], [Req.kNullOp])
    assert not y._chunk.is_allocated


def test_outputs_that_swap_the_memory_of_inputs() -> None:
    """Each output may take the memory of one input and needs the other: values are kept first."""
    def swap(ctx: Any, p: Any, ins: list[Any], outs: list[Any]) -> None:
        outs[0].write(ins[1])
        outs[1].write(ins[0])
    op = OpDef("swap_for_a_test", NoParams, inputs=("a", "b"), outputs=("x", "y"),
               infer_shape=same_shape, infer_type=same_type, compute=swap, no_gradient="none",
               inplace={0: 0, 1: 1})
    values = [numbers(), numbers(1000)]
    subject = Subject(op, NoParams(), values, [LAYOUTS[4]] * 2, "float32", False, "auto",
                      lambda dtype: (1e-6, 1e-6), [values[1], values[0]])
    failures, runtime = Failures(), NumpyRuntime(False)
    for check in Bench(subject, runtime).all_checks():
        check(failures)
    failures.settle()
    a, b = (array(value) for value in values)
    dispatch(op, NoParams(), OpContext(), [a, b], [a, b], [Req.kWriteInplace] * 2)
    assert (contents(a) == values[1]).all()
    assert (contents(b) == values[0]).all()


def test_a_mutated_input_counts_as_written() -> None:
    def bump(ctx: Any, p: Any, ins: list[Any], outs: list[Any]) -> None:
        outs[0].write(ins[0].copy())
        ins[0][...] += 1
    x, y = array(numbers(), "aBcd16b"), array(numbers(7))
    writes = x._chunk.writes
    dispatch(one_input(bump, mutates=(0,)), NoParams(), OpContext(), [x], [y], [Req.kWriteTo])
    assert (contents(x) == numbers() + 1).all()
    assert (contents(y) == numbers()).all()
    assert x._chunk.writes > writes


def test_two_outputs_on_one_memory() -> None:
    """The second request adds to what the first one wrote."""
    def both(ctx: Any, p: Any, ins: list[Any], outs: list[Any]) -> None:
        outs[0].write(ins[0])
        outs[1].write(ins[0] * 10)
    op = OpDef("two_for_a_test", NoParams, inputs=("data",), outputs=("x", "y"),
               infer_shape=same_shape, infer_type=same_type, compute=both, no_gradient="none")
    y = array(numbers(7), "acdb")
    dispatch(op, NoParams(), OpContext(), [array(numbers())], [y, y], [Req.kWriteTo, Req.kAddTo])
    assert (contents(y) == 11 * numbers()).all()
