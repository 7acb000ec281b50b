"""BatchNorm: each channel brought to mean beta and deviation gamma, by its own statistics."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..._array.layout import AnyArray, get_data, get_data_reorder, get_default, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32, DType
from ...errors import ShapeError, TypeMismatch, Unsupported
from ...native import lib
from ...op.choose import first_supported
from ...op.context import OpContext
from ...op.elementwise import PostOp
from ...op.epilogue import Epilogue
from ...op.infer import ShapeList, TypeList, merge, merge_types, normalize_axis
from ...op.params import Params, boolean, integer, number, optional_number, params_class
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ...storage.desc import MemDesc, blocked_desc, channels_last_desc, default_desc
from ...storage.kernels import elementwise
from ...storage.kernels.norm import batch_stats, normalize_channels
from ...storage.primitive import Arg, Direction, Kind, Primitive, make_primitive
from ...storage.stream import Mem
from ..floats import need_float_types, wide
from ..fused.params import PostOpParams, with_post_ops
from ..fused.post_ops import ELTWISE, apply_chain, chain_of_params
from ..tensor.functions import on_memory
from .shape_rules import expect

# of a batch that is normalized without oneDNN, which would make a primitive for each eps
MOST_ELEMENTS, LEAST_PIXELS = 1 << 13, 8
TINY = 1e-30
RELU = (PostOp("relu"),)


@params_class
class BatchNormParams(Params):
    eps: float = number(1e-3, low=0.0, doc="added to the variance")
    momentum: float = number(0.9, doc="what the moving statistics keep of themselves at each step")
    fix_gamma: bool = boolean(True, doc="gamma counts as 1 and its gradient is 0")
    use_global_stats: bool = boolean(False, doc="the moving statistics in training too")
    output_mean_var: bool = boolean(False, doc="mean and 1 / sqrt(variance + eps) are outputs")
    axis: int = integer(1, doc="the axis of channels")
    min_calib_range: float | None = optional_number(doc="of quantized models; no effect here")
    max_calib_range: float | None = optional_number(doc="of quantized models; no effect here")

    def uses_batch(self, is_train: bool) -> bool:
        """The statistics of the batch itself and not the moving ones."""
        return is_train and not self.use_global_stats


@params_class
class FusedBatchNormParams(BatchNormParams, PostOpParams):
    """BatchNorm's parameters and the post-ops, which are elementwise functions."""

    def uses_batch(self, is_train: bool) -> bool:
        return False


def output_names(p: BatchNormParams) -> tuple[str, ...]:
    # the last one is the variance itself, which the gradient reads: of 1 / sqrt(variance + eps)
    # nothing is left of it where eps is large
    names = ("output", "mean", "var")
    return (*names, "variance") if p.output_mean_var else names


def infer_shape(p: BatchNormParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[0], outs[0], "shapes of data and output")
    if data is None:
        channels: Shape | None = None
        for shape in (*ins[1:], *outs[1:]):
            channels = merge(channels, shape, "lengths of gamma, beta and statistics")
        return [None, *[channels] * 4], [None, *[channels] * (len(outs) - 1)]
    if not data:
        raise ShapeError("data has shape (), expected rank 1 or more")
    axis = normalize_axis(p.axis, len(data), "axis")
    channels = (data[axis],)
    if all(shape is None or shape == channels for shape in (*ins[1:], *outs[1:])):
        return [data, *[channels] * 4], [data, *[channels] * (len(outs) - 1)]
    implied = f"data {data}, axis={p.axis}"
    names = ("gamma", "beta", "moving_mean", "moving_var", "mean", "var", "variance")
    # twice, so that what the last says reaches the first
    for _ in range(2):
        for name, shape in zip(names, (*ins[1:], *outs[1:]), strict=False):
            channels = expect(shape, channels, name, implied)
    data = (*data[:axis], channels[0], *data[axis + 1:])
    return [data, *[channels] * 4], [data, *[channels] * (len(outs) - 1)]


def infer_type(p: BatchNormParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    data = merge_types([ins[0], outs[0]])
    need_float_types([data])
    stats = merge_types([*ins[1:], *outs[1:]])
    if data is not None:
        wanted = _stats_type(data)
        if stats is not None and stats != wanted:
            raise TypeMismatch(f"gamma, beta or statistics have dtype {stats}, expected {wanted} "
                               f"from data of {data}")
        stats = wanted
    return [data, *[stats] * 4], [data, *[stats] * (len(outs) - 1)]


def _stats_type(data: DType) -> DType:
    """Statistics of narrow floats are kept in float32."""
    return FLOAT32 if data.itemsize < 4 else data


class Axes(NamedTuple):
    """Where channels are: the axes summed over, and the shape that makes a vector of them fit."""

    summed: tuple[int, ...]
    column: tuple[int, ...]
    size: int  # elements of one channel


def axes_of(p: BatchNormParams, data: Shape) -> Axes:
    axis = normalize_axis(p.axis, len(data))
    summed = tuple(i for i in range(len(data)) if i != axis)
    column = tuple(-1 if i == axis else 1 for i in range(len(data)))
    return Axes(summed, column, prod(data[i] for i in summed))


def compute(ctx: OpContext, p: BatchNormParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    x, (gamma, beta, mean, var) = wide(ins[0]), ins[1:]
    axes = axes_of(p, x.shape)
    if p.uses_batch(ctx.is_train):
        if axes.size:
            mean, var = _statistics(x, axes)
        else:
            mean = var = np.zeros(mean.shape, x.dtype)
    made = apply_chain(chain_of_params(p), _normalized(p, x, gamma, beta, mean, var), ())
    outs[0].write(made.astype(ins[0].dtype, copy=False))
    outs[1].write(mean)
    if p.output_mean_var:
        outs[2].write(scale_of(p, var))
    outs[-1].write(var)


def _statistics(x: AnyArray, axes: Axes) -> tuple[AnyArray, AnyArray]:
    """Mean and variance of each channel, from sums of doubles."""
    mean = x.mean(axis=axes.summed, dtype=np.float64)
    var = np.square(x - mean.reshape(axes.column)).mean(axis=axes.summed)
    return mean.astype(x.dtype), var.astype(x.dtype)


def scale_of(p: BatchNormParams, var: AnyArray) -> AnyArray:
    made: AnyArray = 1 / np.sqrt(var + var.dtype.type(p.eps))
    return made


def _normalized(p: BatchNormParams, x: AnyArray, gamma: AnyArray, beta: AnyArray, mean: AnyArray,
                var: AnyArray) -> AnyArray:
    """x brought to mean beta and deviation gamma, by these statistics."""
    column = axes_of(p, x.shape).column
    slope = scale_of(p, var) if p.fix_gamma else scale_of(p, var) * gamma
    made: AnyArray = ((x - mean.reshape(column)) * slope.reshape(column) + beta.reshape(column))
    return made


def refuses(p: BatchNormParams, ins: list[NDArray]) -> str | None:
    return need_float32(*ins)


def ignored(p: BatchNormParams) -> tuple[int, ...]:
    return (1,) if p.fix_gamma else ()


def layouts_of(p: BatchNormParams, data: NDArray, given: MemDesc) -> list[tuple[MemDesc, MemDesc]]:
    """Layouts to try: (the data's own axes, oneDNN's axes (N, C, *rest) over the same bytes)."""
    shape, n = data.shape, data.ndim
    axis = normalize_axis(p.axis, n)
    if axis == 1 and n <= 5:
        last = channels_last_desc(FLOAT32, shape)
        if given.is_padded and p.eps < TINY:
            # channels of padding have variance 0: without eps they would become NaN
            return [(last, last)]
        return list(dict.fromkeys(((given, given), (last, last))))
    plain = default_desc(FLOAT32, shape)
    if axis == n - 1 and 3 <= n <= 5:
        inward = (0, n - 1, *range(1, n - 1))
        return [(desc, desc.permuted(inward)) for desc in dict.fromkeys((given, plain))]
    outer, inner = prod(shape[:axis]), prod(shape[axis + 1:])
    return [(plain, default_desc(FLOAT32, (outer, shape[axis], inner)))]


def flags_of(p: BatchNormParams, batch: bool) -> int:
    return int(lib.NDRT_USE_SHIFT | (0 if p.fix_gamma else lib.NDRT_USE_SCALE)
               | (0 if batch else lib.NDRT_USE_GLOBAL_STATS))


# how often a run of channels repeats, channels, elements between, channels that lie side by side
ChannelBlocks = tuple[int, int, int, int]


def channel_blocks(desc: MemDesc) -> ChannelBlocks | None:
    """Where a layout of (N, C, *rest) has its channels; None for what has no such blocks."""
    n, channels, *rest = desc.dims
    inner = prod(rest)
    if desc.inner_blks:
        (block, *more), wanted = desc.inner_blks, None
        if not more and desc.inner_idxs == (1,):
            wanted = blocked_desc(FLOAT32, desc.dims, block)
    elif desc.same_as == default_desc(FLOAT32, desc.dims).same_as:
        block, wanted = 1 if inner > 1 else max(channels, 1), desc
    else:
        block, wanted = max(channels, 1), channels_last_desc(FLOAT32, desc.dims)
    if wanted is None or desc.same_as != wanted.same_as:
        return None
    return n, channels, inner, block


def _need_blocks(native: MemDesc) -> ChannelBlocks:
    blocks = channel_blocks(native)
    if blocks is None:
        raise Unsupported(f"{native!r}: channels lie neither apart, side by side nor in blocks")
    return blocks


Step = tuple[int, float, float]  # an elementwise algorithm, its alpha and beta


class _Made(NamedTuple):
    """What normalizes: a primitive or, without one, a native kernel; the layout of the arrays,
    where that has its channels, and what is done to the result after it."""

    prim: Primitive | None
    own: MemDesc
    blocks: ChannelBlocks
    steps: list[Primitive]


def _make_step(step: Step, desc: MemDesc) -> Primitive:
    alg, alpha, beta = step
    return make_primitive(Kind.ELTWISE, Direction.FORWARD_INFERENCE, alg=alg, src=desc, dst=desc,
                          alpha=alpha, beta=beta)


def _make_steps(chain: Sequence[PostOp], desc: MemDesc) -> list[Primitive]:
    return [_make_step((ELTWISE[op.name][0], op.alpha, op.beta), desc) for op in chain]


def _make_root(vector: MemDesc) -> Primitive:
    return _make_step((lib.NDRT_ELTWISE_POW, 1.0, -0.5), vector)


def _small_layout(p: BatchNormParams, data: NDArray, given: MemDesc,
                  ) -> tuple[MemDesc, ChannelBlocks] | None:
    """The layout in which a native kernel, which is given eps, does a small batch; or None."""
    if not 0 < data.size <= MOST_ELEMENTS:
        return None
    own, native = layouts_of(p, data, given)[0]
    blocks = channel_blocks(native)
    # where channels lie side by side, oneDNN is twice as fast
    is_apart = blocks is not None and blocks[2] >= LEAST_PIXELS and blocks[3] == 1
    return (own, blocks) if blocks is not None and is_apart else None


def compute_ex(ctx: OpContext, p: BatchNormParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    if p.uses_batch(ctx.is_train):
        _normalize_batch(ctx, p, ins, outs)
    else:
        _normalize_as_given(ctx, p, ins, outs)


def _write_scale(ctx: OpContext, p: BatchNormParams, var: Mem, eps: float, out: Output) -> None:
    """1 / sqrt(variance + eps), where that is an output that is asked for."""
    if not (p.output_mean_var and out.requested):
        return
    vector = default_desc(FLOAT32, var.desc.dims)
    root = ctx.primitive(("BatchNorm.root", vector.id), partial(_make_root, vector))
    with out.open(vector, ctx.stream) as scale:
        on_memory(ctx, lib.NDRT_FUNCTION_ADD, var, scale, eps)
        ctx.run(root, ((Arg.SRC, scale), (Arg.DST, scale)))


def _run_steps(ctx: OpContext, steps: Sequence[Primitive], y: Mem) -> None:
    for prim in steps:
        ctx.run(prim, ((Arg.SRC, y), (Arg.DST, y)))


def _normalize_batch(ctx: OpContext, p: BatchNormParams, ins: list[NDArray],
                     outs: list[Output]) -> None:
    """By the statistics of the batch itself."""
    data, gamma, beta = ins[:3]
    stream = ctx.stream
    given = get_data(data, stream).desc
    vector = default_desc(FLOAT32, gamma.shape)
    chain = chain_of_params(p)

    def make(own: MemDesc, native: MemDesc) -> _Made:
        prim = make_primitive(Kind.BATCH_NORM, Direction.FORWARD_TRAINING, src=native, dst=native,
                              epsilon=p.eps, flags=flags_of(p, True))
        return _Made(prim, own, _need_blocks(native), _make_steps(chain, own))
    small = _small_layout(p, data, given)
    if small is not None:
        prim, own, blocks, steps = ctx.primitive(
            ("BatchNorm.small", given.id, p.axis, chain),
            lambda: _Made(None, *small, _make_steps(chain, small[0])))
    else:
        prim, own, blocks, steps = ctx.primitive(
            ("BatchNorm.forward", p.eps, flags_of(p, True), p.axis, given.id, chain),
            lambda: first_supported(partial(make, *pair) for pair in layouts_of(p, data, given)))
    # where the primitive has it, kernels are given no number that may vary without it
    eps = p.eps if prim is None else float(p.eps)
    x = get_data_reorder(data, own, stream)
    vectors = [(Arg.SHIFT, get_default(beta, stream))]
    if not p.fix_gamma:
        vectors.append((Arg.SCALE, get_default(gamma, stream)))
    # not in place: where float loses the statistics, the data is read again
    with (outs[0].open(own, stream) as y,
          outs[1].open(vector, stream) as mean, outs[-1].open(vector, stream) as var):
        if prim is not None:
            ctx.run(prim, [*vectors, (Arg.SRC, x.as_desc(prim.src)), (Arg.MEAN, mean),
                           (Arg.DST, y.as_desc(prim.dst)), (Arg.VARIANCE, var)])
        ctx.kernel(batch_stats(
            out=y, mean=mean, var=var, data=x, beta=vectors[0][1],
            gamma=None if p.fix_gamma else vectors[1][1], outer=blocks[0],
            channels=blocks[1], inner=blocks[2], block=blocks[3], all=prim is None,
            epsilon=eps))
        _run_steps(ctx, steps, y)
        _write_scale(ctx, p, var, eps, outs[2])


def _normalize_as_given(ctx: OpContext, p: BatchNormParams, ins: list[NDArray],
                        outs: list[Output]) -> None:
    """By the moving statistics."""
    data, gamma, beta, moving_mean, moving_var = ins
    stream = ctx.stream
    given = get_data(data, stream).desc
    vector = default_desc(FLOAT32, gamma.shape)
    chain = chain_of_params(p)
    is_relu = chain[:1] == RELU

    def make(own: MemDesc, native: MemDesc) -> _Made:
        return _Made(None, own, _need_blocks(native), _make_steps(chain[is_relu:], own))
    _, own, (outer, channels, inner, block), steps = ctx.primitive(
        ("BatchNorm.given", p.axis, given.id, chain),
        lambda: first_supported(partial(make, *pair) for pair in layouts_of(p, data, given)))
    x = get_data_reorder(data, own, stream)
    mean, var = get_default(moving_mean, stream), get_default(moving_var, stream)
    with outs[0].open(own, stream, inplace_of=x) as y:
        ctx.kernel(normalize_channels(
            out=y, data=x, mean=mean, var=var, beta=get_default(beta, stream),
            gamma=None if p.fix_gamma else get_default(gamma, stream), outer=outer,
            channels=channels, inner=inner, block=block, relu=is_relu, epsilon=p.eps))
        _run_steps(ctx, steps, y)
    for out, used in ((outs[1], mean), (outs[-1], var)):
        if out.requested:
            with out.open(vector, stream) as copy:
                ctx.kernel(elementwise.copy(out=copy, data=used, nbytes=vector.nbytes))
    _write_scale(ctx, p, var, p.eps, outs[2])


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    # as in MXNet, gradients of the outputs mean and var go nowhere
    data, gamma, _, moving_mean, moving_var = node.inputs
    return emit("_backward_BatchNorm", node.params, out_grads[0], data, gamma, node.outputs[1],
                node.outputs[-1], moving_mean, moving_var)


EPILOGUE = Epilogue("_fused_BatchNorm", takes=lambda p: not p.output_mean_var)


BATCH_NORM = register(OpDef(
    "BatchNorm", BatchNormParams, inputs=("data", "gamma", "beta"),
    aux=("moving_mean", "moving_var"), outputs=output_names,
    visible_outputs=lambda p: 3 if p.output_mean_var else 1,
    infer_shape=infer_shape, infer_type=infer_type, compute=compute,
    compute_ex=compute_ex, refuses=refuses, gradient=gradient, inplace={0: 0},
    ignores=ignored, aliases=("BatchNorm_v1",), numbers=("eps",), per_sample=True,
    epilogue=EPILOGUE,
    doc="Batch normalization: (x - mean) / sqrt(variance + eps) * gamma + beta for "
        "each channel.\n\n"
        "data of any rank with C channels at axis; gamma, beta, moving_mean, moving_var "
        "(C,). Training takes mean and (biased) variance of the batch, and its backward "
        "moves the moving statistics towards them; inference, or use_global_stats, "
        "takes the moving ones. With output_mean_var the mean and 1 / sqrt(variance + "
        "eps) used are outputs too; gradients do not flow through them. Floats of any "
        "width; for float16 data the vectors are float32. With fix_gamma the values of "
        "gamma are neither read nor written. Source: MXNet's BatchNorm; oneDNN batch "
        "normalization in training, a native kernel with the moving statistics and where float "
        "loses the batch's."))
register(with_post_ops(
    BATCH_NORM, FusedBatchNormParams,
    "BatchNorm with the moving statistics, and what is done to its result.\n\n"
    "Inputs are those of BatchNorm. Made by passes. Source: a native kernel.", infer_type))
