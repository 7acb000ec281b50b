"""LeakyReLU: the identity above zero, something flatter below."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ..._array.layout import (
    AnyArray,
    get_data,
    get_data_reorder,
    get_default,
    need_float32,
)
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32
from ...errors import ShapeError
from ...native import lib
from ...op.choose import first_supported
from ...op.context import OpContext
from ...op.elementwise import Elementwise, X
from ...op.infer import ShapeList, merge
from ...op.params import Params, choice, number, params_class
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ...storage.desc import MemDesc, channels_last_desc, default_desc, strided_desc
from ...storage.kernels import elementwise
from ...storage.kernels.random import uniform
from ...storage.kernels.reduce import prelu
from ...storage.primitive import Arg, Direction, Kind, Primitive, make_primitive
from ...storage.reorder import reorder_mem
from ...storage.stream import Mem
from ..floats import same_float_type, wide
from ..tensor.functions import function, is_padded, slope
from ..tensor.numeric import erf
from .leaky_curves import SELU_LAMBDA, gradient_backward

SELU_ALPHA = 1.6732632423543772848170429916717
PRELU_DIMS = 5  # oneDNN has no prelu of more
# kernels that take the slope as an argument: the function and its slope
SLOPED = {"leaky": (lib.NDRT_FUNCTION_LEAKY, lib.NDRT_FUNCTION_LEAKY_SLOPE),
          "elu": (lib.NDRT_FUNCTION_ELU, lib.NDRT_FUNCTION_ELU_SLOPE)}
_ELU_FROM_DST = 0x102  # oneDNN's number


@params_class
class LeakyReLUParams(Params):
    act_type: str = choice("elu", "gelu", "leaky", "prelu", "rrelu", "selu", default="leaky",
                           doc="which function below zero")
    slope: float = number(0.25, doc="factor below zero, of leaky and elu")
    lower_bound: float = number(0.125, doc="least random slope, of rrelu")
    upper_bound: float = number(0.334, doc="greatest random slope, of rrelu")

    @property
    def mean_slope(self) -> float:
        """The slope of rrelu where nothing is random."""
        return (self.lower_bound + self.upper_bound) / 2


def input_names(p: LeakyReLUParams) -> tuple[str, ...]:
    return ("data", "gamma") if p.act_type == "prelu" else ("data",)


def output_names(p: LeakyReLUParams) -> tuple[str, ...]:
    return ("output", "mask") if p.act_type == "rrelu" else ("output",)


def gamma_dims(gamma: Shape, data: Shape) -> Shape:
    """gamma's shape as numpy broadcasts it; MXNet lets it vary over the first two axes only."""
    made = [1] * len(data)
    left = len(gamma)
    for axis in range(min(len(data), 2) - 1, -1, -1):
        if left and gamma[left - 1] in (1, -1, data[axis]):
            left -= 1
            made[axis] = gamma[left]
    if left:
        raise ShapeError(f"gamma has shape {gamma}, expected one that broadcasts over the first "
                         f"two axes from data {data}")
    return tuple(made)


def infer_shape(p: LeakyReLUParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[0], outs[0], "shapes of data and output")
    if p.act_type == "rrelu":
        data = merge(data, outs[1], "shapes of data and mask")
    made = [data]
    if p.act_type == "prelu":
        gamma = ins[1]
        if data is not None and gamma is None:
            gamma = (data[1] if len(data) > 1 else 1,)
        elif data is not None and gamma is not None and -1 not in data:
            gamma_dims(gamma, data)
        made.append(gamma)
    return made, [data] * len(outs)


def _below(p: LeakyReLUParams, x: AnyArray, slope: Any) -> AnyArray:
    """f(x) where x is not above zero."""
    if p.act_type in ("elu", "selu"):
        # nothing overflows where x is above zero
        return np.asarray(np.expm1(np.minimum(x, 0)) * x.dtype.type(
            SELU_ALPHA if p.act_type == "selu" else slope))
    return np.asarray(x * slope)


def _one_slope(p: LeakyReLUParams, x: AnyArray) -> Any:
    return x.dtype.type(p.mean_slope if p.act_type == "rrelu" else p.slope)


def compute(ctx: OpContext, p: LeakyReLUParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    x = wide(ins[0])
    slope: Any = _one_slope(p, x)
    if p.act_type == "gelu":
        outs[0].write((x * 0.5 * (1 + erf(x / x.dtype.type(math.sqrt(2))))).astype(ins[0].dtype))
        return
    if p.act_type == "prelu":
        slope = wide(ins[1]).reshape(gamma_dims(ins[1].shape, x.shape))
    elif p.act_type == "rrelu":
        if ctx.is_train:
            unit = ctx.random.uniform(x.size).reshape(x.shape).astype(np.float64)
            slope = (p.lower_bound + (p.upper_bound - p.lower_bound) * unit).astype(ins[0].dtype)
        outs[1].write(np.broadcast_to(np.asarray(slope, ins[0].dtype), x.shape))
    y = np.where(x > 0, x, _below(p, x, slope))
    if p.act_type == "selu":
        y = y * x.dtype.type(SELU_LAMBDA)
    outs[0].write(y.astype(ins[0].dtype, copy=False))


def refuses(p: LeakyReLUParams, ins: list[NDArray]) -> str | None:
    if p.act_type == "prelu" and any(x.ndim > PRELU_DIMS for x in ins):
        return f"oneDNN's prelu takes at most {PRELU_DIMS} dims"
    return need_float32(*ins)


def _is_random(p: LeakyReLUParams) -> bool:
    return p.act_type == "rrelu"


def _eltwise(p: LeakyReLUParams) -> tuple[int, float]:
    """oneDNN's algorithm and its alpha."""
    if p.act_type == "gelu":
        return lib.NDRT_ELTWISE_GELU_ERF, 0.0
    if p.act_type == "elu":
        return lib.NDRT_ELTWISE_ELU, p.slope
    return lib.NDRT_ELTWISE_RELU, p.mean_slope if p.act_type == "rrelu" else p.slope


def _scaling(ctx: OpContext, desc: MemDesc, factor: float) -> Primitive:
    """y = factor x, in place."""
    return ctx.primitive(("LeakyReLU.scale", factor, desc.id), lambda: make_primitive(
        Kind.ELTWISE, Direction.FORWARD_INFERENCE, alg=lib.NDRT_ELTWISE_LINEAR, alpha=factor,
        src=desc, dst=desc))


def compute_ex(ctx: OpContext, p: LeakyReLUParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    if p.act_type == "prelu":
        _prelu_ex(ctx, ins, outs[0])
        return
    if p.act_type == "rrelu" and (ctx.is_train or outs[1].requested):
        _random_slopes_ex(ctx, p, ins[0], outs)
        return
    if p.act_type in SLOPED and not is_padded(ins[0]):
        function(ctx, SLOPED[p.act_type][0], ins[0], outs[0], p.slope, 1.0)
        return
    if p.act_type == "selu":  # oneDNN's elu loses digits near zero, all of them in the end
        function(ctx, lib.NDRT_FUNCTION_ELU, ins[0], outs[0], SELU_LAMBDA * SELU_ALPHA, SELU_LAMBDA)
        return
    x = get_data(ins[0], ctx.stream)

    def build() -> Primitive:
        alg, alpha = _eltwise(p)
        return make_primitive(Kind.ELTWISE, Direction.FORWARD_TRAINING, alg=alg, alpha=alpha,
                              src=x.desc, dst=x.desc)
    prim = ctx.primitive(("LeakyReLU.forward", p, x.desc.id), build)
    with outs[0].open(x.desc, ctx.stream, inplace_of=x) as y:
        ctx.run(prim, ((Arg.SRC, x), (Arg.DST, y)))


def _random_slopes_ex(ctx: OpContext, p: LeakyReLUParams, data: NDArray,
                      outs: list[Output]) -> None:
    """Slopes are drawn in row-major order."""
    desc = default_desc(data.dtype, data.shape)
    x = get_default(data, ctx.stream)
    with outs[0].open(desc, ctx.stream, inplace_of=x) as y, \
            outs[1].open(desc, ctx.stream) as slopes:
        if ctx.is_train:
            ctx.kernel(uniform(
                out=slopes, stream=ctx.random_mem(), n=desc.nelems, low=p.lower_bound,
                width=p.upper_bound - p.lower_bound, limit=math.inf))
        else:
            ctx.kernel(elementwise.fill(out=slopes, n=desc.nelems, value=p.mean_slope))
        ctx.kernel(elementwise.sloped(out=y, x=x, slopes=slopes, data=x, n=desc.nelems))


def _prelu_layouts(ctx: OpContext, data: NDArray) -> list[MemDesc]:
    """Layouts for the data of a prelu with row-major slopes, the present one first."""
    own = get_data(data, ctx.stream).desc
    return [own, channels_last_desc(data.dtype, data.shape),
            default_desc(data.dtype, data.shape)]


def _slope_dims(gamma: NDArray, data: NDArray) -> Shape:
    """One slope a channel where gamma has one number for all, else gamma's own dims."""
    dims = gamma_dims(gamma.shape, data.shape)
    if gamma.size == 1 and data.ndim > 1:
        return (1, data.shape[1], *(1,) * (data.ndim - 2))
    return dims


def _slopes(ctx: OpContext, gamma: NDArray, dims: Shape) -> Mem:
    """gamma as row-major `dims`, repeated where it has one number for all channels."""
    desc = default_desc(gamma.dtype, dims)
    mem = get_default(gamma, ctx.stream)
    if gamma.size == desc.nelems:
        return mem.as_desc(desc)
    slopes = ctx.stream.scratch(desc)
    reorder_mem(ctx.stream, mem.as_desc(strided_desc(gamma.dtype, dims, (0,) * len(dims))), slopes)
    return slopes


def _channel_blocks(desc: MemDesc, dims: Shape) -> tuple[int, int, int, int] | None:
    """Data in a layout as the kernel goes over it, with slopes of these dims.

    (outer, blocks of channels, inner, channels of a block); None for other layouts.
    """
    data = desc.dims
    if desc.same_as == default_desc(FLOAT32, data).same_as:
        varying = [axis for axis, dim in enumerate(dims) if dim != 1]
        first, end = (varying[0], varying[-1] + 1) if varying else (0, 0)
        if end == len(data):
            return prod(data[:first]), 1, 1, prod(data[first:])
        return prod(data[:first]), prod(data[first:end]), prod(data[end:]), 1
    if len(data) < 3 or dims[0] != 1:
        return None
    if desc.same_as == channels_last_desc(FLOAT32, data).same_as:
        return data[0] * prod(data[2:]), 1, 1, data[1]
    return None


def _prelu_ex(ctx: OpContext, ins: list[NDArray], out: Output) -> None:
    """By a native kernel: oneDNN's multiplies 0 by the slope where data is above 0."""
    data, gamma = ins
    dims = _slope_dims(gamma, data)
    found = ((desc, _channel_blocks(desc, dims)) for desc in _prelu_layouts(ctx, data))
    layout, blocks = next((desc, blocks) for desc, blocks in found if blocks is not None)
    slopes = _slopes(ctx, gamma, dims)
    x = get_data_reorder(data, layout, ctx.stream)
    with out.open(layout, ctx.stream, inplace_of=x) as y:
        outer, count, inner, channels = blocks
        ctx.kernel(prelu(out=y, data=x, slopes=slopes, outer=outer, blocks=count, inner=inner,
                         channels=channels))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    p: LeakyReLUParams = node.params
    reads = [node.outputs[0]] if p.act_type == "selu" else list(node.inputs)
    if p.act_type == "rrelu":
        reads.append(node.outputs[1])
    return emit("_backward_LeakyReLU", p, out_grads[0], *reads)


def backward_inputs(p: LeakyReLUParams) -> tuple[str, ...]:
    more = {"selu": ("out",), "prelu": ("data", "gamma"), "rrelu": ("data", "mask")}
    return ("out_grad", *more.get(p.act_type, ("data",)))


def backward_outputs(p: LeakyReLUParams) -> tuple[str, ...]:
    return ("data_grad", "gamma_grad") if p.act_type == "prelu" else ("data_grad",)


def infer_shape_backward(p: LeakyReLUParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    data = merge(merge(ins[0], ins[1]), outs[0])
    if p.act_type == "prelu":
        gamma = merge(ins[2], outs[1])
        return [data, data, gamma], [data, gamma]
    return [data] * len(ins), [data]


def _slope_at(p: LeakyReLUParams, x: AnyArray, more: list[AnyArray]) -> AnyArray:
    """f'(x), of selu from y = f(x)."""
    below: Any
    if p.act_type == "gelu":
        root = x.dtype.type(math.sqrt(2))
        density = np.exp(-x * x / 2) * x.dtype.type(1 / math.sqrt(2 * math.pi))
        return np.asarray(0.5 * (1 + erf(x / root)) + x * density)
    if p.act_type == "selu":
        # MXNet's formula: it takes y for the value before the last scaling
        alpha, scale = x.dtype.type(SELU_ALPHA), x.dtype.type(SELU_LAMBDA)
        return np.asarray(np.where(x > 0, scale, scale * (alpha + x)))
    if p.act_type == "elu":
        below = np.exp(np.minimum(x, 0)) * x.dtype.type(p.slope)
    elif p.act_type == "prelu":
        below = wide(more[0]).reshape(gamma_dims(more[0].shape, x.shape))
    elif p.act_type == "rrelu":
        below = wide(more[0])
    else:
        below = x.dtype.type(p.slope)
    return np.asarray(np.where(x > 0, x.dtype.type(1), below))


def compute_backward(ctx: OpContext, p: LeakyReLUParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dy, x = wide(ins[0]), wide(ins[1])
    dtype = ins[0].dtype
    if outs[0].requested:
        outs[0].write((dy * _slope_at(p, x, ins[2:])).astype(dtype, copy=False))
    if p.act_type == "prelu" and outs[1].requested:
        gamma = ins[2]
        dims = gamma_dims(gamma.shape, x.shape)
        shared = tuple(axis for axis, dim in enumerate(dims) if dim == 1)
        sums = (dy * np.minimum(x, 0)).sum(axis=shared, dtype=x.dtype)
        outs[1].write(sums.reshape(gamma.shape).astype(dtype, copy=False))


def compute_ex_backward(ctx: OpContext, p: LeakyReLUParams, ins: list[NDArray],
                        outs: list[Output]) -> None:
    if p.act_type == "prelu":
        _prelu_backward_ex(ctx, ins, outs)
        return
    if p.act_type == "rrelu":
        x = get_data(ins[1], ctx.stream)
        slopes = get_data_reorder(ins[2], x.desc, ctx.stream)
        dy = get_data_reorder(ins[0], x.desc, ctx.stream)
        with outs[0].open(x.desc, ctx.stream, inplace_of=dy) as dx:
            ctx.kernel(elementwise.sloped(out=dx, x=x, slopes=slopes, data=dy,
                                          n=x.desc.nbytes // 4))
        return
    if p.act_type in SLOPED and not is_padded(ins[0]):
        slope(ctx, SLOPED[p.act_type][1], ins[0], ins[1], outs[0], p.slope)
        return
    data = get_data(ins[1], ctx.stream)
    dy = get_data_reorder(ins[0], data.desc, ctx.stream)
    selu = p.act_type == "selu"

    def build() -> Primitive:
        if selu:
            return make_primitive(Kind.ELTWISE, Direction.BACKWARD, alg=_ELU_FROM_DST,
                                  alpha=SELU_ALPHA, dst=data.desc, diff_src=data.desc,
                                  diff_dst=data.desc)
        alg, alpha = _eltwise(p)
        return make_primitive(Kind.ELTWISE, Direction.BACKWARD, alg=alg, alpha=alpha,
                              src=data.desc, diff_src=data.desc, diff_dst=data.desc)
    prim = ctx.primitive(("LeakyReLU.backward", p, data.desc.id), build)
    scale = _scaling(ctx, data.desc, SELU_LAMBDA) if selu else None
    with outs[0].open(data.desc, ctx.stream, inplace_of=dy) as dx:
        ctx.run(prim, ((Arg.DST if selu else Arg.SRC, data), (Arg.DIFF_DST, dy),
                       (Arg.DIFF_SRC, dx)))
        if scale is not None:
            ctx.run(scale, ((Arg.SRC, dx), (Arg.DST, dx)))


def _prelu_backward_ex(ctx: OpContext, ins: list[NDArray], outs: list[Output]) -> None:
    grad, data, gamma = ins
    stream = ctx.stream
    dims = _slope_dims(gamma, data)
    w = default_desc(gamma.dtype, dims)
    layouts = _prelu_layouts(ctx, data)

    def build() -> Primitive:
        return first_supported(
            partial(make_primitive, Kind.PRELU, Direction.BACKWARD, src=desc, weights=w,
                    diff_src=desc, diff_weights=w, diff_dst=desc) for desc in layouts)
    prim = ctx.primitive(("LeakyReLU.prelu_backward", dims, layouts[0].id), build)
    single = gamma.size != w.nelems
    row = default_desc(gamma.dtype, (1, w.nelems))
    one = default_desc(gamma.dtype, (1, 1))
    total = ctx.primitive(("LeakyReLU.sum", w.nelems), lambda: make_primitive(
        Kind.REDUCTION, alg=lib.NDRT_REDUCTION_SUM, src=row, dst=one)) if single else None
    slopes = _slopes(ctx, gamma, dims)
    x = get_data_reorder(data, prim.src, stream)
    dy = get_data_reorder(grad, prim.diff_dst, stream)
    args = [(Arg.SRC, x), (Arg.WEIGHTS, slopes), (Arg.DIFF_DST, dy)]
    with outs[0].open(prim.diff_src, stream) as dx, \
            outs[1].open(default_desc(gamma.dtype, gamma.shape), stream) as dgamma:
        sums = stream.scratch(w) if single else dgamma.as_desc(w)
        ctx.run(prim, [*args, (Arg.DIFF_SRC, dx), (Arg.DIFF_WEIGHTS, sums)])
        if total is not None:
            ctx.run(total, ((Arg.SRC, sums.as_desc(row)), (Arg.DST, dgamma.as_desc(one))))


def _elementwise(p: LeakyReLUParams) -> Elementwise | None:
    """At inference; not where slopes are learnt."""
    return {"leaky": Elementwise("leaky", (X, float(p.slope))),
            "rrelu": Elementwise("leaky", (X, float(p.mean_slope))),
            "elu": Elementwise("elu", (X, float(p.slope))),
            "gelu": Elementwise("gelu"), "selu": Elementwise("selu")}.get(p.act_type)


register(OpDef("LeakyReLU", LeakyReLUParams, inputs=input_names, outputs=output_names,
               infer_shape=infer_shape, infer_type=same_float_type, compute=compute,
               compute_ex=compute_ex, refuses=refuses, gradient=gradient, inplace={0: 0},
               is_random=_is_random, numbers=("slope",), elementwise=_elementwise, per_sample=True,
               doc="Leaky activations, element by element: x above zero, something flatter below."
                   "\n\nleaky: slope x; prelu: gamma x, gamma learnt, by default one for each "
                   "channel; rrelu: x times a random slope in [lower_bound, upper_bound) when "
                   "training, their mean otherwise, the slopes in the second output; elu: slope "
                   "(exp(x) - 1); selu: fixed numbers, and all of it scaled; gelu: x Phi(x) "
                   "everywhere. Shapes and dtypes are those of data. Source: MXNet's LeakyReLU; "
                   "oneDNN eltwise, native kernels for prelu and rrelu."))
register(OpDef("_backward_LeakyReLU", LeakyReLUParams, inputs=backward_inputs,
               outputs=backward_outputs, infer_shape=infer_shape_backward,
               infer_type=same_float_type, compute=compute_backward,
               compute_ex=compute_ex_backward, refuses=refuses, is_backward=True,
               numbers=("slope",), gradient=gradient_backward))
