"""The harness itself: it must find faults, and meet every kind of memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ndarray_rt._array.layout import get_data, plain_numpy
from ndarray_rt._array.req import Req
from ndarray_rt.errors import Unsupported
from ndarray_rt.native import ffi, lib
from ndarray_rt.op.infer import same_shape, same_type
from ndarray_rt.op.params import NoParams
from ndarray_rt.op.registry import OpDef, find
from ndarray_rt.storage.handle import Handle
from ndarray_rt.storage.primitive import Arg, Direction, Kind, make_primitive
from ndarray_rt.testing.case import LAYOUTS, Case, Input
from ndarray_rt.testing.checks import Bench, Failures, no_leak
from ndarray_rt.testing.compare import assert_bits, assert_close
from ndarray_rt.testing.gradient import Slope
from ndarray_rt.testing.memory_kinds import is_padded, layout_of, possible
from ndarray_rt.testing.runtimes import NumpyRuntime, OneDnnRuntime, Runtime
from ndarray_rt.testing.subject import Subject, subject_of

from ..case_table import all_cases

SHAPE = (2, 20, 2, 3)


def right(ctx: Any, p: Any, ins: list[Any], outs: list[Any]) -> None:
    outs[0].write(np.maximum(ins[0], 0))


def right_ex(ctx: Any, p: Any, ins: list[Any], outs: list[Any]) -> None:
    x = get_data(ins[0], ctx.stream)
    prim = make_primitive(Kind.ELTWISE, Direction.FORWARD_INFERENCE, alg=lib.NDRT_ELTWISE_RELU,
                          src=x.desc, dst=x.desc)
    with outs[0].open(x.desc, ctx.stream, inplace_of=x) as y:
        ctx.run(prim, ((Arg.SRC, x), (Arg.DST, y)))


def failures_of(runtime: type[Runtime], compute: Callable[..., None] = right,
                compute_ex: Callable[..., None] | None = None, must: bool | str = "auto",
                **facts: Any) -> list[str]:
    """What the harness says of a relu that is made like this."""
    op = OpDef("relu_under_test", NoParams, inputs=("data",), infer_shape=same_shape,
               infer_type=same_type, compute=compute, compute_ex=compute_ex,
               doc="A relu.", no_gradient="none", **facts)
    value = np.random.default_rng(0).uniform(-1, 1, SHAPE).astype(np.float32)
    subject = Subject(op, NoParams(), [value], [LAYOUTS[4]], "float32", False, must,
                      lambda dtype: (1e-6, 1e-6), [np.maximum(value, 0)])
    failures = Failures()
    running = runtime(False)
    for check in Bench(subject, running).all_checks():
        check(failures)
    running.close()
    return failures.found


@pytest.mark.parametrize("runtime", [NumpyRuntime, OneDnnRuntime])
def test_a_right_operator_passes(runtime: type[Runtime]) -> None:
    assert failures_of(runtime, right, right_ex, inplace={0: 0}) == []


def test_finds_a_wrong_number() -> None:
    def wrong(ctx: Any, p: Any, ins: list[Any], outs: list[Any]) -> None:
        y = np.maximum(ins[0], 0)
        y[1, 19, 1, 2] += 0.01
        outs[0].write(y)
    found = failures_of(NumpyRuntime, wrong)
    assert "worst at (1, 19, 1, 2)" in found[0]


def test_finds_a_changed_input() -> None:
    def wrong(ctx: Any, p: Any, ins: list[Any], outs: list[Any]) -> None:
        outs[0].write(np.maximum(ins[0], 0))
        ins[0][0] = 0
    assert any("input 0 was changed" in text for text in failures_of(NumpyRuntime, wrong))


def test_finds_a_disregarded_request() -> None:
    def wrong(ctx: Any, p: Any, ins: list[Any], outs: list[Any]) -> None:
        outs[0].req = Req.kWriteTo
        outs[0].write(np.maximum(ins[0], 0))
    found = failures_of(NumpyRuntime, wrong)
    assert any("kAddTo" in text for text in found)
    assert not any("kWriteTo]" in text for text in found)


def test_finds_a_silent_fallback() -> None:
    def refused(ctx: Any, p: Any, ins: list[Any], outs: list[Any]) -> None:
        raise Unsupported("never")
    found = failures_of(OneDnnRuntime, right, refused, must=True)
    assert found
    assert all("fell back to numpy: never" in text for text in found)
    assert failures_of(OneDnnRuntime, right, refused, must=False) == []


def test_finds_a_claim_that_does_not_hold() -> None:
    found = failures_of(OneDnnRuntime, right, right_ex, must=False, inplace={0: 0})
    assert "never runs natively" in found[0]


def test_finds_reference_code() -> None:
    def slow(ctx: Any, p: Any, ins: list[Any], outs: list[Any]) -> None:
        right_ex(ctx, p, ins, outs)
        ctx.stream.impls.append("ref:any")
    found = failures_of(OneDnnRuntime, right, slow)
    assert "reference implementations ran" in found[0]


def test_finds_dirty_padding() -> None:
    def dirty(ctx: Any, p: Any, ins: list[Any], outs: list[Any]) -> None:
        right_ex(ctx, p, ins, outs)
        chunk = outs[0].array._chunk
        if chunk.mkl_mem is not None and chunk.mkl_mem.is_padded:
            np.frombuffer(ffi.buffer(chunk.handle.ptr, chunk.mkl_mem.nbytes),
                          np.float32)[-1] = 1
    found = failures_of(OneDnnRuntime, right, dirty)
    assert any("padding" in text for text in found)


def test_finds_a_write_past_a_view() -> None:
    def wide(ctx: Any, p: Any, ins: list[Any], outs: list[Any]) -> None:
        outs[0].write(np.maximum(ins[0], 0))
        x = outs[0].array
        if x._byte_offset:
            np.frombuffer(x._chunk.handle.buffer(), np.float32)[0] = 99
    found = failures_of(NumpyRuntime, wide)
    assert any("left its view" in text for text in found)


def test_finds_an_input_that_is_read_too_late() -> None:
    """A promised in-place pair whose kernel writes before it has read everything."""
    def late(ctx: Any, p: Any, ins: list[Any], outs: list[Any]) -> None:
        x = outs[0].array
        target = plain_numpy(x) if x._chunk.mkl_mem is None else None
        if target is not None and np.may_share_memory(target, ins[0]):
            target[...] = 0
        outs[0].write(np.maximum(ins[0], 0))
    found = failures_of(NumpyRuntime, late, inplace={0: 0})
    assert any("output 0 is input 0" in text for text in found)


def test_finds_a_leak() -> None:
    kept = []

    def run() -> None:
        with no_leak():
            kept.append(Handle(1000))
    with pytest.raises(AssertionError, match="more are live"):
        run()
    kept.clear()


def test_finds_a_wrong_slope() -> None:
    case = Case("Activation", {"act_type": "tanh"}, [(2, 3)], reference=np.tanh)
    slope = Slope(case, "float64")
    slope.check_differences()
    gradient = slope.op.gradient
    assert gradient is not None

    def doubled(emit: Any, node: Any, out_grads: Any) -> Any:
        grad, = gradient(emit, node, out_grads)
        return emit("elemwise_add", None, grad, grad)
    slope.op = replace(slope.op, gradient=doubled)
    with pytest.raises(AssertionError, match="gradient of data along element"):
        slope.check_differences()


def test_compare_names_the_worst() -> None:
    with pytest.raises(AssertionError, match=r"worst at \(1, 0\)"):
        assert_close(np.array([[1.0, 2.1], [5.0, 4.0]]), [[1.0, 2.0], [3.0, 4.0]], 0, 1e-3)
    with pytest.raises(AssertionError, match="shape"):
        assert_close(np.zeros(3), np.zeros((3, 1)), 0, 1)
    for got, want in (([np.nan], [0.0]), ([0.0], [np.nan]), ([np.inf], [-np.inf])):
        with pytest.raises(AssertionError, match="differ"):
            assert_close(np.array(got), want, 1, 1)
    assert_close(np.array([np.nan, np.inf]), [np.nan, np.inf], 0, 0)
    with pytest.raises(AssertionError, match="equal bits"):
        assert_bits(np.array([0.0]), np.array([-0.0]))


def kinds_met(subject: Subject) -> set[str]:
    """Every kind of memory that a subject's inputs and outputs are tried in."""
    found: set[str] = set()
    for kinds in subject.kinds_of_inputs():
        for kind, value in zip(kinds, subject.values, strict=True):
            found.add(kind.split(":")[0])
            desc = layout_of(kind, value.shape, value.dtype) if "special" in kind else None
            if desc is not None and is_padded(desc):
                found.add("padded")
    for kind in subject.kinds_of_outputs():
        for shape, dtype in zip(subject.out_shapes, subject.out_dtypes, strict=True):
            if possible(kind, shape, dtype):
                found.add("output " + kind.split(":")[0])
    return found


@pytest.mark.parametrize("op", ["Activation", "Convolution"])
def test_cases_meet_every_kind(op: str) -> None:
    met: set[str] = set()
    for case in all_cases():
        if find(case.op).name == op:
            met |= kinds_met(subject_of(case, "float32"))
    wanted = {"plain", "view", "reshaped", "reused", "pinned", "special", "padded",
              "view_special", "output plain", "output view", "output reused", "output special",
              "output view_special"}
    if op == "Convolution":
        wanted |= {"grouped"}
    assert wanted <= met, f"never met: {wanted - met}"


def test_inputs_are_drawn_as_asked() -> None:
    rng = np.random.default_rng(0)
    assert (np.abs(Input((50,), kind="away").draw(rng, "float32")) >= 0.1).all()
    assert (Input((50,), kind="positive").draw(rng, "float64") > 0.1).all()
    distinct = Input((50,), kind="distinct").draw(rng, "float32")
    assert len(np.unique(distinct)) == 50
    assert Input((3,), dtype="int32").draw(rng, "float32").dtype == np.int32
    assert set(Input((50,), kind="bits").draw(rng, "float32")) == {0, 1}
    assert Input((2, 2), values=[1, 2, 3, 4]).draw(rng, "int8").tolist() == [[1, 2], [3, 4]]
