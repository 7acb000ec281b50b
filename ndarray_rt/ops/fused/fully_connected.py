"""_fused_FullyConnected: a linear transformation, and what is done to its result."""

from __future__ import annotations

from functools import partial

from ..._array.layout import AnyArray, get_default
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...op.choose import first_supported
from ...op.context import OpContext
from ...op.packing import keeps_packed
from ...op.params import params_class
from ...op.registry import OpDef, register
from ...storage.desc import default_desc
from ...storage.primitive import Arg, Direction, Kind, Primitive, make_primitive
from ..blas import uses_blas
from ..floats import same_float_type, wide
from ..nn import fully_connected as plain
from ..nn.kept_products import multiply
from ..nn.product_weights import Reading, chosen, readings
from .params import PostOpParams, infer_with_operands, inplace, own_inputs, with_operands
from .post_ops import apply_chain, post_specs
from .run import choose, finish_of, run


@params_class
class FusedFullyConnectedParams(plain.FullyConnectedParams, PostOpParams):
    """The layer's parameters and the post-ops."""


@uses_blas
def compute(ctx: OpContext, p: FusedFullyConnectedParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    y = wide(ins[0].reshape(plain.matrix(p, ins[0].shape))) @ wide(ins[1]).T
    if not p.no_bias:
        y = y + wide(ins[2])
    made = apply_chain(p.chain, y.reshape(outs[0].shape), [wide(x) for x in ins[own_inputs(p):]])
    outs[0].write(made.astype(ins[0].dtype, copy=False))


def _refuses(p: FusedFullyConnectedParams, ins: list[NDArray]) -> str | None:
    rows = plain.matrix(p, ins[0].shape)[0]
    for operand in ins[own_inputs(p):]:
        if operand.size != rows * p.num_hidden and (
                operand.size != p.num_hidden or operand.shape[-1] != p.num_hidden):
            return f"an operand of shape {operand.shape} does not broadcast over a matrix"
    return plain.refuses(p, ins)


def compute_ex(ctx: OpContext, p: FusedFullyConnectedParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    data, weight, operands = ins[0], ins[1], ins[own_inputs(p):]
    dtype, chain, stream = data.dtype, p.chain, ctx.stream
    finish, shape = finish_of(chain, operands, outs[0].shape), plain.matrix(p, data.shape)
    given = plain.source_as_it_is(data) if p.flatten else None
    if finish is not None and multiply(ctx, shape[0], data, weight,
                                       None if p.no_bias else ins[2], outs[0], given, finish):
        return
    packed = keeps_packed(ctx, weight)
    ways = readings(default_desc(dtype, shape), weight, given, packed)
    dst = default_desc(dtype, (shape[0], p.num_hidden))
    own = default_desc(dtype, outs[0].shape)
    shapes = [_matrix_shape(operand.shape, outs[0].shape, dst.dims) for operand in operands]

    def build(in_place: bool) -> Primitive:
        bias = None if p.no_bias else default_desc(dtype, (p.num_hidden,))

        def one(way: Reading) -> Primitive:
            return make_primitive(
                Kind.INNER_PRODUCT, Direction.FORWARD_INFERENCE, src=way.src, weights=way.weights,
                bias=bias, dst=dst, post_ops=post_specs(chain, dst, dtype, shapes, in_place))
        return first_supported(partial(one, way) for way in ways)
    sign = ("FullyConnected.fused", p, shape, None if given is None else given.id, packed, *shapes)
    fused = choose(ctx, sign, build, chain, operands, outs[0], own)
    prim = fused.prim
    args = plain.operands(ctx, prim, chosen(prim, ways), data, weight)
    if not p.no_bias:
        args.append((Arg.BIAS, get_default(ins[2], stream)))
    run(ctx, fused, chain, operands, outs[0], args, own)


def _matrix_shape(shape: tuple[int, ...], out: tuple[int, ...],
                  matrix: tuple[int, ...]) -> tuple[int, ...]:
    """An operand's shape where the result is seen as a matrix."""
    return matrix if shape == out else (1, shape[-1])


register(OpDef("_fused_FullyConnected", FusedFullyConnectedParams,
               inputs=with_operands(plain.input_names),
               infer_shape=infer_with_operands(plain.infer_shape), infer_type=same_float_type,
               compute=compute, compute_ex=compute_ex, refuses=_refuses, inplace=inplace,
               is_fused=True, no_gradient="it is for inference",
               epilogue=plain.EPILOGUE, flops=plain.flops,
               doc="A linear transformation and what is done to its result.\n\n"
                   "Inputs are those of FullyConnected, then one operand for each binary "
                   "post-op: of the result's shape, or broadcast to it. Made by passes. Source: "
                   "oneDNN inner product with post-ops."))
