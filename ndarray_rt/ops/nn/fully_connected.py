"""FullyConnected: y = x w^T + b over the last axis, or over all axes but the first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any, NamedTuple

from ..._array.layout import AnyArray, get_data_reorder, get_default
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import ShapeError
from ...native import lib
from ...op.choose import NATIVE, ONEDNN, first_supported
from ...op.context import OpContext
from ...op.elementwise import Chain
from ...op.epilogue import AffineFold, Epilogue, whole_or_row
from ...op.infer import ShapeList, merge, merge_dim, same_type
from ...op.packing import keeps_packed, weights
from ...op.params import Params, boolean, integer, params_class
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ...op.select import Implementation, Selection, seen_as
from ...storage.desc import MemDesc, default_desc, strided_desc
from ...storage.kernels.elementwise import bias_grad
from ...storage.primitive import Arg, Direction, Kind, Primitive, make_primitive
from ..blocked_gemm import DTYPES, UNBOUNDED, is_blocked, multiply, need_product
from ..floats import wide
from ..fused.params import PostOpParams, own_inputs, with_post_ops
from ..fused.post_ops import apply_chain, chain_bounds, chain_of_params, post_specs
from ..fused.run import choose, native_epilogue, run
from ..products import product
from ..tensor.axis_kernels import kernel_kind, reduce_part
from ..tensor.places import can_add
from ..terms import product_gradient
from .gemm_weights import Reading, chosen, readings
from .packed_gemm import PACKED_GEMM, SKINNY_GEMM, GemmCall
from .shape_rules import expect


@params_class
class FullyConnectedParams(Params):
    num_hidden: int = integer(low=1, doc="length of the output's last axis")
    no_bias: bool = boolean(False, doc="no bias is added")
    flatten: bool = boolean(True, doc="all axes but the first count as one; False: the last axis "
                                      "is transformed, the others stay")


@params_class
class FusedFullyConnectedParams(FullyConnectedParams, PostOpParams):
    """The layer's parameters and the post-ops."""


def input_names(p: FullyConnectedParams) -> tuple[str, ...]:
    return ("data", "weight") if p.no_bias else ("data", "weight", "bias")


def matrix(p: FullyConnectedParams, shape: Shape) -> tuple[int, int]:
    """(rows, features) that the data counts as; -1 where that is unknown."""
    rows, features = (shape[:1], shape[1:]) if p.flatten else (shape[:-1], shape[-1:])
    return (-1 if -1 in rows else prod(rows), -1 if -1 in features else prod(features))


def infer_shape(p: FullyConnectedParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data = ins[0]
    if data is None:
        return ins, outs
    if data == ():
        raise ShapeError("data has shape (), expected rank 1 or more")
    features = matrix(p, data)[1]
    implied = f"data {data}, num_hidden={p.num_hidden}, flatten={p.flatten}"
    weight = expect(ins[1], (p.num_hidden, features), "weight", implied)
    made: ShapeList = [data, weight]
    if not p.no_bias:
        made.append(expect(ins[2], (p.num_hidden,), "bias", implied))
    if features == -1 and (not p.flatten or len(data) == 2):
        data = (*data[:-1], merge_dim(data[-1], weight[1]))
    kept = 1 if p.flatten else len(data) - 1
    out = merge(outs[0], (*data[:kept], p.num_hidden), "output shapes")
    if out is not None:
        data = (*out[:kept], *data[kept:])
    made[0] = data
    return made, [out]


def compute(ctx: OpContext, p: FullyConnectedParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    y = product(wide(ins[0].reshape(matrix(p, ins[0].shape))), wide(ins[1]).T,
                outs[0] if p.no_bias and not chain_of_params(p) else None)
    if not p.no_bias:
        y = y + wide(ins[2])
    made = apply_chain(chain_of_params(p), y.reshape(outs[0].shape),
                       [wide(operand) for operand in ins[own_inputs(p):]])
    outs[0].write(made.astype(ins[0].dtype, copy=False))


def refuses(p: FullyConnectedParams, ins: list[NDArray]) -> str | None:
    for operand in ins[own_inputs(p):]:
        rows = matrix(p, ins[0].shape)[0]
        if operand.size != rows * p.num_hidden and (
                operand.size != p.num_hidden or operand.shape[-1] != p.num_hidden):
            return f"an operand of shape {operand.shape} does not broadcast over a matrix"
    return need_product(chain_of_params(p), *ins)


class FullyConnectedCall(NamedTuple):
    """A linear transformation, as a product of rows, and the chain that is done to its result."""

    params: Any
    chain: Chain
    operands: Sequence[NDArray]
    product: GemmCall
    is_train: bool

    @property
    def variant(self) -> str:
        return self.product.variant

    @property
    def weight(self) -> NDArray:
        return self.product.weight


def _call(ctx: OpContext, p: FullyConnectedParams, ins: list[NDArray], outs: list[Output],
          ) -> FullyConnectedCall:
    chain, operands, data = chain_of_params(p), ins[own_inputs(p):], ins[0]
    product = GemmCall(
        matrix(p, data.shape)[0], data, ins[1], None if p.no_bias else ins[2], outs[0],
        native_epilogue(chain, operands, outs[0].shape), ctx.variant,
        source_as_it_is(data) if p.flatten else None)
    return FullyConnectedCall(p, chain, operands, product, ctx.is_train)


def _run_onednn(ctx: OpContext, call: FullyConnectedCall) -> None:
    p, (_, data, weight, bias, out, *_), given = call.params, call.product, call.product.given
    dtype, shape = data.dtype, matrix(p, data.shape)
    packed = keeps_packed(ctx, weight)
    ways = readings(default_desc(dtype, shape), weight, given, packed)
    dst, own = default_desc(dtype, (shape[0], p.num_hidden)), default_desc(dtype, out.shape)
    # where the result is seen as a matrix
    shapes = [dst.dims if operand.shape == out.shape else (1, operand.shape[-1])
              for operand in call.operands]
    direction = Direction.FORWARD_TRAINING if call.is_train else Direction.FORWARD_INFERENCE

    def build(in_place: bool) -> Primitive:
        def one(way: Reading) -> Primitive:
            return make_primitive(
                Kind.INNER_PRODUCT, direction, src=way.src, weights=way.weights,
                bias=None if bias is None else default_desc(dtype, (p.num_hidden,)), dst=dst,
                post_ops=post_specs(call.chain, dst, dtype, shapes, in_place))
        return first_supported(partial(one, way) for way in ways)
    sign = ("FullyConnected.forward", p, shape, None if given is None else given.id, packed,
            *shapes)
    fused = choose(ctx, sign, build, call.chain, call.operands, out, own)
    way = chosen(fused.prim, ways)
    # the weight first: converting it may move its memory
    w = weights(ctx, weight, way.packed or fused.prim.weights)
    src = get_data_reorder(data, way.source, ctx.stream)
    args = [(Arg.WEIGHTS, w.as_desc(fused.prim.weights)), (Arg.SRC, src.as_desc(fused.prim.src))]
    if bias is not None:
        args.append((Arg.BIAS, get_default(bias, ctx.stream)))
    run(ctx, fused, call.chain, call.operands, out, args, own)


def _run_blocked(ctx: OpContext, call: FullyConnectedCall) -> None:
    _, data, weight, bias, out, *_ = call.product
    can_add(out)
    rows, features, columns = call.product.dims
    dtype, stream = data.dtype, ctx.stream
    x = get_default(data, stream).as_desc(default_desc(dtype, (rows, features)))
    w = get_default(weight, stream).as_desc(_turned(weight))
    added = None if bias is None else get_default(bias, stream)
    with out.open(default_desc(dtype, out.shape), stream) as y:
        multiply(ctx, dtype, x, w, y.as_desc(default_desc(dtype, (rows, columns))), bias=added,
                 bounds=chain_bounds(call.chain) or UNBOUNDED)


def _turned(matrix: NDArray) -> MemDesc:
    """The transpose."""
    rows, columns = matrix.shape[0], prod(matrix.shape[1:])
    return strided_desc(matrix.dtype, (columns, rows), (1, columns))


def _product(call: FullyConnectedCall) -> GemmCall:
    return call.product


FORWARD = Selection(_call, (
    seen_as(_product, SKINNY_GEMM), seen_as(_product, PACKED_GEMM),
    Implementation("blocked GEMM", NATIVE, _run_blocked, dtypes=DTYPES),
    Implementation("oneDNN inner product", ONEDNN, _run_onednn)))


def source_as_it_is(data: NDArray) -> MemDesc | None:
    """The special layout of data of several axes, where a primitive could read it so."""
    desc = data._chunk.mkl_mem
    if desc is None or data.is_view or desc.dims != data.shape or not 3 <= data.ndim <= 5:
        return None
    return desc


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("_backward_FullyConnected", node.params, out_grads[0], node.inputs[0],
                node.inputs[1])


def gradient_backward(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return product_gradient("FullyConnected", emit, node, out_grads)


def backward_outputs(p: FullyConnectedParams) -> tuple[str, ...]:
    return ("data_grad", "weight_grad") if p.no_bias else ("data_grad", "weight_grad", "bias_grad")


def infer_shape_backward(p: FullyConnectedParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    grads = [merge(outs[0], ins[1]), merge(outs[1], ins[2])]
    return [ins[0], *grads], [*grads, (p.num_hidden,)][: len(outs)]


def compute_backward(ctx: OpContext, p: FullyConnectedParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dtype = ins[1].dtype
    x = wide(ins[1].reshape(matrix(p, ins[1].shape)))
    dy, w = wide(ins[0].reshape(x.shape[0], p.num_hidden)), wide(ins[2])
    if outs[0].requested:
        outs[0].write(product(dy, w).astype(dtype, copy=False).reshape(outs[0].shape))
    if outs[1].requested:
        outs[1].write(product(dy.T, x).astype(dtype, copy=False))
    if not p.no_bias and outs[2].requested:
        outs[2].write(dy.sum(axis=0, dtype=dy.dtype).astype(dtype, copy=False))


def refuses_backward(p: FullyConnectedParams, ins: list[NDArray]) -> str | None:
    return need_product((), *ins)


def _run_blocked_backward(ctx: OpContext, p: FullyConnectedParams, ins: list[NDArray],
                          outs: list[Output]) -> None:
    """Gradients by products of float64 or int32."""
    for out in outs:
        can_add(out)
    out_grad, data, weight = ins
    dtype, stream = data.dtype, ctx.stream
    rows, features = matrix(p, data.shape)
    x_desc = default_desc(dtype, (rows, features))
    w_desc = default_desc(dtype, (p.num_hidden, features))
    dy = get_default(out_grad, stream)
    if outs[0].requested:
        w = get_default(weight, stream).as_desc(w_desc)
        with outs[0].open(default_desc(dtype, data.shape), stream) as dx:
            multiply(ctx, dtype, dy.as_desc(default_desc(dtype, (rows, p.num_hidden))), w,
                     dx.as_desc(x_desc))
    if outs[1].requested:
        x = get_default(data, stream).as_desc(x_desc)
        turned = strided_desc(dtype, (p.num_hidden, rows), (1, p.num_hidden))
        with outs[1].open(default_desc(dtype, weight.shape), stream) as dw:
            multiply(ctx, dtype, dy.as_desc(turned), x, dw.as_desc(w_desc))
    if not p.no_bias and outs[2].requested:
        with outs[2].open(default_desc(dtype, (p.num_hidden,)), stream) as db:
            reduce_part(ctx, lib.NDRT_REDUCE_SUM, (1, rows, p.num_hidden), dy, db,
                        kernel_kind(dtype) or 0)


def compute_ex_backward(ctx: OpContext, p: FullyConnectedParams, ins: list[NDArray],
                        outs: list[Output]) -> None:
    if is_blocked(ins[0].dtype):
        _run_blocked_backward(ctx, p, ins, outs)
        return
    out_grad, data, weight = ins
    dtype, stream = data.dtype, ctx.stream
    rows, features = matrix(p, data.shape)
    x_desc, w_desc = default_desc(dtype, (rows, features)), default_desc(dtype, weight.shape)
    dy_desc = default_desc(dtype, (rows, p.num_hidden))
    db_desc = default_desc(dtype, (p.num_hidden,))
    with_bias = not p.no_bias and outs[2].requested

    def build_data() -> Primitive:
        return make_primitive(Kind.INNER_PRODUCT, Direction.BACKWARD_DATA, diff_src=x_desc,
                              weights=w_desc, diff_dst=dy_desc)

    def build_weights() -> Primitive:
        return make_primitive(Kind.INNER_PRODUCT, Direction.BACKWARD_WEIGHTS, src=x_desc,
                              diff_weights=w_desc, diff_bias=db_desc if with_bias else None,
                              diff_dst=dy_desc)

    # all are made before any runs, so that a refusal leaves everything as it was
    sign = ("FullyConnected.backward", p, data.shape)
    for_data = (ctx.primitive((*sign, "data"), build_data) if outs[0].requested else None)
    for_weights = (ctx.primitive((*sign, "weights", with_bias), build_weights)
                   if outs[1].requested else None)

    dy = get_data_reorder(out_grad, dy_desc, stream)
    if for_weights is not None:
        args = [(Arg.SRC, get_data_reorder(data, x_desc, stream)), (Arg.DIFF_DST, dy)]
        with outs[1].open_weight_grad(w_desc, stream) as dw:
            args.append((Arg.DIFF_WEIGHTS, dw))
            if with_bias:
                with outs[2].open(db_desc, stream) as db:
                    ctx.run(for_weights, [*args, (Arg.DIFF_BIAS, db)])
            else:
                ctx.run(for_weights, args)
    elif with_bias:
        with outs[2].open(db_desc, stream) as db:
            ctx.kernel(bias_grad(out=db, data=dy, rows=rows, channels=p.num_hidden))
    if for_data is not None:
        w = get_data_reorder(weight, w_desc, stream)
        with outs[0].open(default_desc(dtype, data.shape), stream) as dx:
            ctx.run(for_data, ((Arg.DIFF_DST, dy), (Arg.WEIGHTS, w),
                               (Arg.DIFF_SRC, dx.as_desc(x_desc))))


def flops(p: FullyConnectedParams, ins: Sequence[Shape], outs: Sequence[Shape]) -> int:
    """Multiplications and additions, without the bias."""
    return 2 * prod(outs[0]) * ins[1][1]


EPILOGUE = Epilogue("_fused_FullyConnected", operand=whole_or_row)


FULLY_CONNECTED = register(OpDef(
    "FullyConnected", FullyConnectedParams, inputs=input_names,
    infer_shape=infer_shape, infer_type=same_type, compute=compute,
    compute_ex=FORWARD, refuses=refuses, gradient=gradient,
    epilogue=EPILOGUE, flops=flops, flattens=lambda p: bool(p.flatten),
    folds_affine=lambda p, rank: AffineFold() if rank == 2 else None,
    doc="Linear transformation: data times the transpose of weight, plus bias.\n\n"
        "data (N, *axes), weight (num_hidden, product of axes), bias (num_hidden,); "
        "output (N, num_hidden). With flatten=False: data (*axes, D), weight "
        "(num_hidden, D); output (*axes, num_hidden). All of one dtype. Source: "
        "MXNet's FullyConnected; oneDNN inner product, native kernels for up to 256 "
        "rows."))
register(with_post_ops(
    FULLY_CONNECTED, FusedFullyConnectedParams,
    "A linear transformation and what is done to its result.\n\n"
    "Inputs are those of FullyConnected, then one operand for each binary post-op: of the result's "
    "shape, or broadcast to it. Made by passes. Source: oneDNN inner product with post-ops."))
register(OpDef("_backward_FullyConnected", FullyConnectedParams,
               inputs=("out_grad", "data", "weight"), outputs=backward_outputs,
               infer_shape=infer_shape_backward, infer_type=same_type,
               compute=compute_backward, compute_ex=compute_ex_backward,
               refuses=refuses_backward,
               flops=flops,
               gradient=gradient_backward, is_backward=True))
