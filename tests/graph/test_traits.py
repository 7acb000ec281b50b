"""Facts that operators say of themselves: passes, tiles and reports take a user's for their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import op
from ndarray_rt.executor.tiles import batch as batch_tiles
from ndarray_rt.op.registry import REGISTRY
from ndarray_rt.ops.fused.post_ops import apply_chain, parse_chain

from .pass_checks import check, operators, optimized

DATA = mx.sym.Variable("data")
SHAPE = (2, 3, 8, 8)


@op.params_class
class SlopeParams(op.Params):
    slope: float = op.number(0.5, doc="of what is below zero")


@op.params_class
class LayerParams(op.Params):
    num_hidden: int = op.integer(low=1, doc="length of a row of the output")
    no_bias: bool = op.boolean(False, doc="no bias is added")
    post_ops: str = op.text("", doc="what is done to the result")


def _operands(p: LayerParams) -> tuple[str, ...]:
    count = sum(one.has_operand for one in parse_chain(p.post_ops))
    return tuple(f"operand{i}" for i in range(count))


def _names(p: LayerParams) -> tuple[str, ...]:
    own = ("data", "weight") if p.no_bias else ("data", "weight", "bias")
    return (*own, *_operands(p))


def _layer_shapes(p: LayerParams, ins: list[Any], outs: list[Any]) -> tuple[list[Any], list[Any]]:
    out = (ins[0][0], p.num_hidden)
    made = [ins[0], (p.num_hidden, ins[0][1]), *([] if p.no_bias else [(p.num_hidden,)])]
    return [*made, *ins[len(made):]], [out]


def _layer(ctx: Any, p: LayerParams, ins: list[Any], outs: list[Any]) -> None:
    own = 2 if p.no_bias else 3
    y = ins[0] @ ins[1].T + (0 if p.no_bias else ins[2])
    outs[0].write(apply_chain(parse_chain(p.post_ops), y, ins[own:]))


OWN = (
    op.OpDef("my_leaky", SlopeParams, inputs=("data",), infer_shape=op.same_shape,
             infer_type=op.same_type, no_gradient="a test", per_sample=True,
             compute=lambda ctx, p, ins, outs: outs[0].write(
                 np.where(ins[0] > 0, ins[0], ins[0] * np.float32(p.slope))),
             elementwise=lambda p: op.Elementwise("leaky", (op.X, p.slope))),
    op.OpDef("my_sum", op.NoParams, inputs=("lhs", "rhs"), infer_shape=op.same_shape,
             infer_type=op.same_type, no_gradient="a test",
             compute=lambda ctx, p, ins, outs: outs[0].write(ins[0] + ins[1]),
             elementwise=op.Elementwise("add", (op.X, op.Y))),
    op.OpDef("my_same", op.NoParams, inputs=("data",), infer_shape=op.same_shape,
             infer_type=op.same_type, no_gradient="a test", identity=True,
             compute=lambda ctx, p, ins, outs: outs[0].write(ins[0])),
    op.OpDef("my_turned", op.NoParams, inputs=("data",),
             infer_shape=lambda p, ins, outs: (ins, [ins[0] and ins[0][::-1]]),
             infer_type=op.same_type, no_gradient="a test",
             permutes=lambda p, rank: tuple(reversed(range(rank))),
             compute=lambda ctx, p, ins, outs: outs[0].write(ins[0].T)),
    op.OpDef("my_sums", op.NoParams, inputs=("data",), flattens=lambda p: True,
             infer_shape=lambda p, ins, outs: (ins, [ins[0] and ins[0][:1]]),
             infer_type=op.same_type, no_gradient="a test",
             compute=lambda ctx, p, ins, outs: outs[0].write(
                 ins[0].sum(axis=tuple(range(1, ins[0].ndim))))),
    op.OpDef("my_layer", LayerParams, inputs=_names, infer_shape=_layer_shapes,
             infer_type=op.same_type, no_gradient="a test", compute=_layer,
             epilogue=op.Epilogue("my_layer", operand=lambda p, out, shape: shape == out),
             folds_affine=lambda p, rank: op.AffineFold(),
             flops=lambda p, ins, outs: 2 * ins[0][0] * ins[0][1] * outs[0][1]),
)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    for one in OWN:
        op.register(one)
    yield
    for one in OWN:
        op.unregister(one.name)


own: Any = mx.sym  # it has the functions of registered operators


def conv(x: Any, **more: Any) -> Any:
    return mx.sym.Convolution(x, kernel=(3, 3), num_filter=3, pad=(1, 1), name="c", **more)


def layer(x: Any) -> Any:
    return own.my_layer(x, num_hidden=5, name="own")


def test_functions_go_into_layers() -> None:
    check(own.my_leaky(conv(DATA), slope=0.25), ["_fused_Convolution"], data=SHAPE)
    net = own.my_leaky(own.my_sum(conv(DATA), mx.sym.cos(DATA)))
    check(net, ["cos", "_fused_Convolution"], data=SHAPE)


def test_functions_in_a_row_are_one_pass() -> None:
    check(mx.sym.sigmoid(own.my_leaky(DATA, slope=0.25)), ["_fused_elementwise"], data=SHAPE)
    check(own.my_leaky(own.my_sum(DATA, mx.sym.cos(DATA)), slope=0.25),
          ["cos", "_fused_elementwise"], data=SHAPE)


def test_formulas_are_recognized() -> None:
    above, below = mx.sym.relu(DATA), mx.sym.relu(-DATA)
    check(own.my_sum(above, below * -0.25), ["LeakyReLU"], data=SHAPE)


def test_an_identity_is_dropped() -> None:
    check(mx.sym.tanh(own.my_same(DATA)), ["tanh"], data=SHAPE)


def test_permutations_in_a_row_are_one_or_none() -> None:
    turned = own.my_turned(DATA)
    check(mx.sym.tanh(mx.sym.transpose(turned)), ["tanh"], data=SHAPE)
    swapped = mx.sym.SwapAxis(turned, dim1=1, dim2=2)
    check(mx.sym.tanh(swapped), ["transpose", "tanh"], data=SHAPE)


def test_nothing_is_flattened_for_who_does_so() -> None:
    check(own.my_sums(mx.sym.Flatten(DATA)), ["my_sums"], data=SHAPE)


def heads(net: Any) -> list[str]:
    return operators(optimized(net, data=(4, 6)).heads)


def agrees(net: Any) -> None:
    """Inference gives what the graph without passes gives."""
    executor = net.simple_bind(mx.cpu(), grad_req="null", data=(4, 6))
    random = np.random.default_rng(0)
    for array in {**executor.arg_dict, **executor.aux_dict}.values():
        array[:] = random.uniform(0.5, 1.5, array.shape).astype(np.float32)
    got = executor.forward()[0].asnumpy()
    with mx.config.override(NDRT_SKIP_PASSES="all"):
        other = net.bind(mx.cpu(), executor.arg_dict, aux_states=executor.aux_dict,
                         grad_req="null")
        np.testing.assert_allclose(got, other.forward()[0].asnumpy(), rtol=1e-5)


def test_a_layer_does_what_follows_it() -> None:
    dense = mx.sym.FullyConnected(DATA, num_hidden=5)
    net = mx.sym.sigmoid(mx.sym.elemwise_add(layer(DATA), dense))
    assert heads(net) in (["FullyConnected", "my_layer"], ["my_layer", "_fused_FullyConnected"])
    agrees(net)
    net = mx.sym.sigmoid(layer(DATA) + 1)
    assert heads(net) == ["my_layer"]
    agrees(net)


def test_a_norm_folds_into_a_layer() -> None:
    net = mx.sym.BatchNorm(layer(DATA), fix_gamma=False, eps=1e-3, name="bn")
    assert heads(net) == ["_fold_batch_norm", "my_layer"]
    agrees(net)


def test_reports_count_a_layer() -> None:
    executor = layer(DATA).simple_bind(mx.cpu(), grad_req="null", data=(4, 6))
    executor.forward()
    row = next(row for row in executor.explain().rows if row.node == "own")
    assert row.flops == 2 * 4 * 6 * 5


def test_a_function_runs_in_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_tiles, "shared_cache_bytes", lambda: 4096)
    with mx.config.override(NDRT_SKIP_PASSES="fuse_post_ops"):
        net = own.my_leaky(conv(DATA, no_bias=True), name="act")
        net = mx.sym.FullyConnected(net, num_hidden=3)
        executor = net.simple_bind(mx.cpu(), grad_req="null", data=(4, 3, 12, 12))
        executor.forward()
        names = [step.node.name for step in executor.inference_plan.steps]
    assert names.count("act") > 1


def test_every_word_of_an_operator_is_known_or_says_nothing() -> None:
    """An operator's elementwise word names only places that it has."""
    for one in REGISTRY.ops():
        said = one.elementwise
        if said is not None and not callable(said):
            places = [arg.position for arg in said.args if isinstance(arg, type(op.X))]
            assert places == list(range(len(places))), one.name
            assert len(places) == one.num_inputs(op.NoParams.parse({}, one.name)), one.name
