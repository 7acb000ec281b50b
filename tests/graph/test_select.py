"""select: which implementation computes a call, and what is said of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import op
from ndarray_rt.cpu_level import Level
from ndarray_rt.dtypes import INT32
from ndarray_rt.errors import Unsupported
from ndarray_rt.executor.layout.kernels import kernel_nodes
from ndarray_rt.op.choose import BLOCKED, CHANNELS_LAST, NATIVE, ONEDNN
from ndarray_rt.op.context import OpContext
from ndarray_rt.op.dispatch import Dispatched, observe
from ndarray_rt.op.registry import REGISTRY
from ndarray_rt.op.select import Implementation, Refusal, Selection, compute, seen_as
from ndarray_rt.ops.fused import normed_convolution
from ndarray_rt.ops.nn import conv_backward, pool_onednn
from ndarray_rt.symbol.node import topological

DATA = mx.sym.Variable("data")


class Call(NamedTuple):
    """A call that writes down who computed it."""

    done: list[str]
    variant: str = ""
    weight: Any = np.zeros(1, "f4")


def one(name: str, library: str = NATIVE, **more: Any) -> Implementation[Call]:
    return Implementation(name, library, lambda ctx, call: call.done.append(name), **more)


def fails(name: str, reason: str) -> Implementation[Call]:
    def run(ctx: OpContext, call: Call) -> None:
        raise Unsupported(reason)
    return Implementation(name, ONEDNN, run)


def taken(implementations: list[Implementation[Call]], variant: str = "",
          ) -> tuple[str, list[tuple[str, str]]]:
    ctx, call = OpContext(), Call([], variant)
    compute(ctx, implementations, call)
    (name,) = call.done
    return name, [(refusal.name, refusal.reason) for refusal in ctx.refused]


def says(reason: str | None) -> Callable[[OpContext, Call], str | None]:
    return lambda ctx, call: reason


def test_the_first_that_can_is_taken() -> None:
    assert taken([one("a"), one("b")]) == ("a", [])
    assert taken([one("a", accepts=says("too large")), one("b")]) == ("b", [("a", "too large")])


def test_what_does_not_pay_comes_last() -> None:
    slow = one("a", pays=says("b is faster"))
    assert taken([slow, one("b", ONEDNN)]) == ("b", [("a", "b is faster")])
    assert taken([slow, fails("b", "no code")]) == ("a", [("b", "no code")])


def test_what_the_plan_measured_stands_above_what_is_expected() -> None:
    slow = one("a", pays=says("b is faster"))
    assert taken([slow, one("b", ONEDNN)], NATIVE) == ("a", [])
    name, refused = taken([one("a"), one("b", ONEDNN)], ONEDNN)
    assert (name, [r[0] for r in refused]) == ("b", ["a"])


def test_kernels_for_other_cpus_and_dtypes_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Level.AMX, "is_here", False)
    assert taken([one("a", level=Level.AMX), one("b")]) == ("b", [("a", "the CPU has no AMX")])
    assert taken([one("a", dtypes=(INT32,)), one("b")]) == ("b", [("a", "it is not for float32")])
    ours = [one("a", level=Level.AMX), one("b", ONEDNN)]
    chosen = Selection(lambda ctx, p, ins, outs: Call([]), ours)
    assert not chosen.has_libraries
    monkeypatch.setattr(Level.AMX, "is_here", True)
    assert taken(ours) == ("a", [])
    assert chosen.has_libraries


def test_layouts_of_the_plan_are_kept_to() -> None:
    last = one("a", layouts=(CHANNELS_LAST,))
    assert taken([last, one("b")], CHANNELS_LAST)[0] == "a"
    assert taken([last, one("b")], BLOCKED) == ("b", [("a", "the plan has blocked layouts")])


def test_where_none_can_all_reasons_are_told() -> None:
    with pytest.raises(Unsupported, match=r"^no code; none either$"):
        taken([one("a", accepts=says("odd")), fails("b", "no code"), fails("c", "none either")])
    with pytest.raises(Unsupported, match=r"^odd$"):
        taken([one("a", accepts=says("odd"))])


def test_calls_of_another_kind_are_seen_as_ones_that_are_known() -> None:
    def view(call: Call) -> Call | str:
        return "no such call" if call.variant else call
    other = seen_as(view, one("a", accepts=says(None), pays=says(None)), "as a")
    assert (other.name, other.library) == ("as a", NATIVE)
    assert taken([other]) == ("a", [])
    assert taken([other, one("b")], CHANNELS_LAST) == ("b", [("as a", "no such call")])


def test_each_selection_has_names_and_a_way_that_takes_all() -> None:
    """Of each operator that select chooses for: one of oneDNN's stands last and refuses nothing
    beforehand, names differ. Of a layer that leaves out steps oneDNN has none."""
    found: list[Any] = [one.compute_ex.implementations for one in REGISTRY.ops()
                        if isinstance(one.compute_ex, Selection) and one.name != "_masked_RNN"]
    assert len(found) >= 5
    found += [pool_onednn.FORWARD, normed_convolution.PRODUCTS, conv_backward.OF_DATA,
              conv_backward.OF_WEIGHTS]
    for implementations in found:
        names = [one.name for one in implementations]
        assert len(set(names)) == len(names)
        last = implementations[-1]
        assert (last.library, last.accepts, last.pays) == (ONEDNN, None, None)


@pytest.fixture
def told() -> Iterator[list[Dispatched]]:
    seen: list[Dispatched] = []
    stop = observe(seen.append)
    yield seen
    stop()


def test_observers_and_reports_are_told_why_not(told: list[Dispatched],
                                                capsys: pytest.CaptureFixture[str]) -> None:
    x, w = mx.nd.ones((2, 3, 5, 5)), mx.nd.ones((4, 3, 3, 3))
    with mx.config.override(NDRT_TRACE=True):
        mx.nd.Convolution(x, w, kernel=(3, 3), num_filter=4, no_bias=True)
    call = next(call for call in told if call.op.name == "Convolution")
    reasons = dict(call.refused)
    assert reasons["packed GEMM of pixels"] == "windows or strides"
    assert "not packed GEMM of pixels: " in capsys.readouterr().err
    net = mx.sym.Convolution(DATA, kernel=(3, 3), num_filter=4, name="c")
    executor = net.simple_bind(mx.cpu(), grad_req="null", data=(2, 3, 5, 5))
    executor.forward()
    row = next(row for row in executor.explain().rows if row.node == "c")
    assert dict(row.refused).keys() >= {"packed GEMM of pixels"}
    assert row.as_dict()["refused"][0] == list(row.refused[0])


def test_reasons_do_not_stay_for_the_next_call(told: list[Dispatched]) -> None:
    x, w = mx.nd.ones((2, 3, 5, 5)), mx.nd.ones((4, 3, 3, 3))
    mx.nd.Convolution(x, w, kernel=(3, 3), num_filter=4, no_bias=True)
    mx.nd.cos(x)
    refused = {call.op.name: call.refused for call in told}
    assert refused["Convolution"]
    assert not refused["cos"]


# ---- a user's own -------------------------------------------------------------------------------


class Doubling(NamedTuple):
    """The user's call."""

    data: Any
    out: Any
    variant: str

    @property
    def weight(self) -> Any:
        return self.data


def _double(ctx: Any, call: Doubling) -> None:
    x = op.get_data(call.data, ctx.stream)
    prim = ctx.primitive(("doubling", x.desc.id), lambda: op.make_primitive(
        op.Kind.ELTWISE, op.Direction.FORWARD_INFERENCE, alg=op.lib.NDRT_ELTWISE_LINEAR,
        alpha=2.0, beta=0.0, src=x.desc, dst=x.desc))
    with call.out.open(x.desc, ctx.stream) as y:
        ctx.run(prim, ((op.Arg.SRC, x), (op.Arg.DST, y)))


def _small(ctx: Any, call: Doubling) -> str | None:
    return None if call.data.size <= 4 else "more than four elements"


OWN = op.OpDef(
    "my_double", op.NoParams, inputs=("data",), infer_shape=op.same_shape, infer_type=op.same_type,
    compute=lambda ctx, p, ins, outs: outs[0].write(ins[0] * 2), no_gradient="a test",
    refuses=lambda p, ins: op.need_float32(*ins),
    compute_ex=Selection(lambda ctx, p, ins, outs: Doubling(ins[0], outs[0], ctx.variant), (
        Implementation("mine", NATIVE, _double, accepts=_small),
        Implementation("oneDNN's", ONEDNN, _double))))


def test_an_operator_of_ones_own_is_chosen_for_and_tuned(told: list[Dispatched]) -> None:
    op.register(OWN)
    try:
        for size in (3, 5):
            made = mx.nd.my_double(mx.nd.ones((size,))).asnumpy()
            np.testing.assert_array_equal(made, np.full(size, 2, "f4"))
        calls = [call for call in told if call.op is OWN]
        assert [call.refused for call in calls] == [
            (), (Refusal("mine", "more than four elements"),)]
        net = getattr(mx.sym, OWN.name)(DATA)
        nodes = topological(net.entries)
        types = {entry: np.dtype("float32") for node in nodes for entry in node.outputs}
        chosen = kernel_nodes(nodes, types)
        assert [node.op for node in chosen] == [OWN]
    finally:
        op.unregister("my_double")
