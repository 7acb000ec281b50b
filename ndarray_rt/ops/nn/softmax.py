"""softmax, log_softmax and softmin along one axis."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..._array.layout import AnyArray, get_data, get_data_reorder, get_default, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import INT32, find_dtype
from ...errors import ShapeError, TypeMismatch
from ...native import lib
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_all, merge_types, normalize_axis
from ...op.numbers import Domain
from ...op.params import (
    Params,
    boolean,
    integer,
    optional_choice,
    optional_number,
    params_class,
)
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ...storage.desc import MemDesc, channels_last_desc, default_desc, strided_desc
from ...storage.kernels.reduce import softmax_columns, softmax_grad
from ...storage.primitive import Arg, Direction, Kind, Primitive, make_primitive
from ...storage.reorder import reorder_mem
from ...storage.stream import Mem
from ..floats import need_float_types, wide
from ..tensor.functions import on_memory
from ..terms import Term, replaced, terms


@params_class
class SoftmaxParams(Params):
    axis: int = integer(-1, doc="the axis whose elements sum up to 1")
    temperature: float | None = optional_number(doc="data is divided by it; None is 1")
    dtype: str | None = optional_choice("float16", "float32", "float64",
                                        doc="dtype of the output; None is that of data")
    use_length: bool = boolean(False, doc="a second input says how many elements count")


class Flavour(NamedTuple):
    """Which member of the family."""

    name: str
    log: bool = False
    negate: bool = False

    @property
    def alg(self) -> int:
        return int(lib.NDRT_SOFTMAX_LOG if self.log else lib.NDRT_SOFTMAX_ACCURATE)

    def factor(self, p: SoftmaxParams) -> float:
        """What data is multiplied by first."""
        factor = 1.0 if p.temperature is None else 1.0 / p.temperature
        return -factor if self.negate else factor

    def temperature(self, p: SoftmaxParams) -> float:
        """What data is divided by first; a recorded call may do it with another number."""
        return 1.0 if p.temperature is None else p.temperature


def input_names(p: SoftmaxParams) -> tuple[str, ...]:
    return ("data", "length") if p.use_length else ("data",)


def _length_shape(p: SoftmaxParams, data: Shape) -> Shape:
    axis = normalize_axis(p.axis, len(data))
    return (data[:axis] + data[axis + 1:]) or (1,)


def infer_shape(p: SoftmaxParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[0], outs[0], "shapes of data and output")
    if data is not None:
        normalize_axis(p.axis, len(data))
    if not p.use_length:
        return [data], [data]
    length = ins[1]
    if data is not None:
        expected = _length_shape(p, data)
        try:
            length = merge(length, expected)
        except ShapeError:
            raise ShapeError(f"length has shape {length}, expected {expected} "
                             f"from data {data}, axis={p.axis}") from None
    return [data, length], [data]


def infer_type(p: SoftmaxParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    need_float_types([ins[0], outs[0]])
    if p.dtype is None:
        data = out = merge_types([ins[0], outs[0]])
    else:
        out = merge_types([find_dtype(p.dtype), outs[0]])
        data = out if ins[0] is None else ins[0]
    if not p.use_length:
        return [data], [out]
    length = INT32 if ins[1] is None else ins[1]
    if length.name not in ("int32", "int64"):
        raise TypeMismatch(f"length has dtype {length}, expected int32 or int64")
    return [data, length], [out]


def counted(length: AnyArray, shape: Shape, axis: int) -> AnyArray:
    """Which elements count: those before `length` along the axis."""
    places = np.arange(shape[axis]).reshape((-1,) + (1,) * (len(shape) - 1 - axis))
    made: AnyArray = places < np.expand_dims(length.reshape(shape[:axis] + shape[axis + 1:]), axis)
    return made


def softmax_numpy(x: AnyArray, axis: int, temperature: float = 1.0, log: bool = False,
                  mask: AnyArray | None = None) -> AnyArray:
    """softmax(x / temperature); elements outside the mask are left out and become 0."""
    if not x.size:
        return x
    if mask is not None:
        x = np.where(mask, x, x.dtype.type(-np.inf))
        # a line of which nothing counts gives zeros and not NaNs
        x = np.where(mask.any(axis=axis, keepdims=True), x, x.dtype.type(0))
    z = x - x.max(axis=axis, keepdims=True)
    if temperature != 1.0:
        z = z / x.dtype.type(temperature)
    e = np.exp(z)
    total = e.sum(axis=axis, keepdims=True)
    made: AnyArray = z - np.log(total) if log else e / total
    return made if mask is None else np.where(mask, made, x.dtype.type(0))


def compute(flavour: Flavour, ctx: OpContext, p: SoftmaxParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    x = wide(ins[0])
    axis = normalize_axis(p.axis, x.ndim)
    mask = counted(ins[1], x.shape, axis) if p.use_length else None
    temperature = 1.0 if p.temperature is None else p.temperature
    y = softmax_numpy(-x if flavour.negate else x, axis, temperature, flavour.log, mask)
    outs[0].write(y.astype(outs[0].dtype, copy=False))


_LEAST, _MOST = 1e-30, 1e30
# a temperature of 1 (of softmin: of -1) is none
_DOMAIN = Domain(_LEAST, _MOST, zero=False, nan=False, apart=(1.0, -1.0))


def refuses(p: SoftmaxParams, ins: list[NDArray]) -> str | None:
    if p.use_length:
        return "rows of different lengths"
    if p.dtype not in (None, "float32"):
        return f"output of dtype {p.dtype}"
    if p.temperature is not None and not _LEAST <= abs(p.temperature) <= _MOST:
        return "a very small or very large temperature"
    return need_float32(*ins)


def rows_desc(data: NDArray, axis: int) -> tuple[MemDesc, bool]:
    """A layout in which the axis is innermost, and whether the output may stay in it.

    oneDNN has kernels for such layouts only.
    """
    shape, n = data.shape, data.ndim
    if axis == n - 1:
        return default_desc(data.dtype, shape), True
    if axis == 1 and n <= 5:
        return channels_last_desc(data.dtype, shape), True
    strides = [0] * n
    step = 1
    for d in (axis, *(d for d in range(n - 1, -1, -1) if d != axis)):
        strides[d] = step
        step *= shape[d]
    return strided_desc(data.dtype, shape, tuple(strides)), False


def scale(ctx: OpContext, flavour: Flavour, p: SoftmaxParams, x: Mem, y: Mem) -> None:
    """y = x times the factor, in place or not; both are dense."""
    which = lib.NDRT_FUNCTION_NEG_OVER if flavour.negate else lib.NDRT_FUNCTION_OVER
    on_memory(ctx, which, x, y, flavour.temperature(p))


def forward_primitive(ctx: OpContext, desc: MemDesc, axis: int, alg: int) -> Primitive:
    """softmax over an axis that is innermost in `desc`."""
    return ctx.primitive(("softmax.forward", alg, axis, desc.id), lambda: make_primitive(
        Kind.SOFTMAX, Direction.FORWARD_TRAINING, alg=alg, src=desc, dst=desc, axis=axis))


MANY_COLUMNS = 16  # from there on a kernel that goes along rows is worth its while


def columns(ctx: OpContext, flavour: Flavour, temperature: float, data: NDArray, axis: int,
            out: Output) -> None:
    """softmax over an axis with others inside of it, of row-major memory."""
    if not out.requested:
        return
    shape, x = data.shape, get_default(data, ctx.stream)
    with out.open(x.desc, ctx.stream, inplace_of=x) as y:
        ctx.kernel(softmax_columns(
            out=y, data=x, outer=prod(shape[:axis]), length=shape[axis],
            inner=prod(shape[axis + 1:]), log=int(flavour.log), divisor=temperature,
            sign=-1.0 if flavour.negate else 1.0))


def compute_ex(flavour: Flavour, ctx: OpContext, p: SoftmaxParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    data, stream = ins[0], ctx.stream
    axis = normalize_axis(p.axis, data.ndim)
    inner = prod(data.shape[axis + 1:])
    if inner >= MANY_COLUMNS and data.size and data._chunk.mkl_mem is None:
        columns(ctx, flavour, flavour.temperature(p), data, axis, outs[0])
        return
    desc, stays = rows_desc(data, axis)
    prim = forward_primitive(ctx, desc, axis, flavour.alg)
    x = source = get_data_reorder(data, desc, stream)
    if flavour.factor(p) != 1.0:
        x = stream.scratch(desc)
        scale(ctx, flavour, p, source, x)
    if stays:
        with outs[0].open(desc, stream, inplace_of=source) as y:
            ctx.run(prim, ((Arg.SRC, x), (Arg.DST, y)))
        return
    rows = stream.scratch(desc)
    ctx.run(prim, ((Arg.SRC, x), (Arg.DST, rows)))
    with outs[0].open(default_desc(data.dtype, data.shape), stream) as y:
        reorder_mem(stream, rows, y)


def gradient(flavour: Flavour, emit: Emit, node: GradNode, out_grads: Sequence[Any],
             ) -> list[Any]:
    p: SoftmaxParams = node.params
    reads = [node.outputs[0]]
    if p.dtype is not None:
        reads.append(node.inputs[0])
    if p.use_length:
        reads.append(node.inputs[1])
    # lengths are whole numbers: nothing comes back to them
    return [emit(f"_backward_{flavour.name}", p, out_grads[0], *reads)[0], None][: 1 + p.use_length]


def gradient_backward(flavour: Flavour, emit: Emit, node: GradNode, out_grads: Sequence[Any],
                      ) -> list[Any]:
    p: SoftmaxParams = node.params
    grad, dy, y = terms(emit, out_grads[0], *node.inputs[:2])
    if p.dtype is not None:
        grad = grad("_backward_cast", None, dy)
    plain = replaced(p, temperature=None, dtype=None)

    def counted_only(term: Term) -> Term:
        """0 where the length says that nothing counts."""
        if not p.use_length:
            return term
        # dy - exp(y) sum(dy), where exp(y) is 0
        return term("_backward_log_softmax", plain, y("zeros_like") - 1e4,
                    Term(emit, node.inputs[-1]))

    def total(term: Term) -> Term:
        return term("sum", {"axis": p.axis, "keepdims": True})
    grad, dy = counted_only(grad * flavour.factor(p)), counted_only(dy)
    if flavour.log:
        size = y("exp")
        to_dy = grad("broadcast_sub", None, total(grad * size))
        to_y = -(grad * size)("broadcast_mul", None, total(dy))
    else:
        to_dy = y * grad("broadcast_sub", None, total(grad * y))
        to_y = (grad * dy("broadcast_sub", None, total(dy * y))
                - dy("broadcast_mul", None, total(grad * y)))
    return [counted_only(to_dy).entry, to_y.entry, *[None] * len(node.inputs[2:])]


def backward_inputs(p: SoftmaxParams) -> tuple[str, ...]:
    # data only says what dtype its gradient has
    return ("out_grad", "out", *(("data",) if p.dtype is not None else ()),
            *(("length",) if p.use_length else ()))


def backward_ignores(p: SoftmaxParams) -> tuple[int, ...]:
    return (2,) if p.dtype is not None else ()


def infer_shape_backward(p: SoftmaxParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    arrays = ins[:-1] if p.use_length else ins
    data = merge_all([*arrays, outs[0]])
    made: ShapeList = [data] * len(arrays)
    if p.use_length:
        made.append(ins[-1] if data is None else merge(ins[-1], _length_shape(p, data)))
    return made, [data]


def infer_type_backward(p: SoftmaxParams, ins: TypeList, outs: TypeList,
                        ) -> tuple[TypeList, TypeList]:
    given = None if p.dtype is None else find_dtype(p.dtype)
    out = merge_types([ins[0], ins[1], given])
    data = outs[0]
    data = merge_types([data, ins[2] if p.dtype is not None else out])
    made: TypeList = [out, out]
    if p.dtype is not None:
        made.append(data)
    if p.use_length:
        made.append(INT32 if ins[-1] is None else ins[-1])
    return made, [data]


def compute_backward(flavour: Flavour, ctx: OpContext, p: SoftmaxParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dy, y = wide(ins[0]), wide(ins[1])
    axis = normalize_axis(p.axis, y.ndim)
    mask = counted(ins[-1], y.shape, axis) if p.use_length else None
    if mask is not None:
        dy = np.where(mask, dy, dy.dtype.type(0))
    if flavour.log:
        dx = dy - np.exp(y) * dy.sum(axis=axis, keepdims=True)
    else:
        dx = y * (dy - (dy * y).sum(axis=axis, keepdims=True))
    if mask is not None:
        dx = np.where(mask, dx, dx.dtype.type(0))
    if flavour.negate:
        dx = -dx
    if p.temperature is not None:
        dx = dx / dx.dtype.type(p.temperature)
    outs[0].write(dx.astype(outs[0].dtype, copy=False))


def compute_ex_backward(flavour: Flavour, ctx: OpContext, p: SoftmaxParams, ins: list[NDArray],
                        outs: list[Output]) -> None:
    out, stream = ins[1], ctx.stream
    if not outs[0].requested:
        return
    axis = normalize_axis(p.axis, out.ndim)
    shape, y = out.shape, get_data(out, stream)
    outer, inner = prod(shape[:axis]), prod(shape[axis + 1:])
    desc, stays = rows_desc(out, axis)
    if stays and y.desc == desc:
        outer, inner = outer * inner, 1
    else:
        y = get_default(out, stream)
    dy = get_data_reorder(ins[0], y.desc, stream)
    with outs[0].open(y.desc, stream, inplace_of=dy) as dx:
        ctx.kernel(softmax_grad(
            dx=dx, y=y, dy=dy, outer=outer, length=shape[axis], inner=inner, log=flavour.log,
            divisor=flavour.temperature(p), sign=-1.0 if flavour.negate else 1.0))


def _register(flavour: Flavour, formula: str) -> None:
    register(OpDef(flavour.name, SoftmaxParams, inputs=input_names, infer_shape=infer_shape,
                   infer_type=infer_type, compute=partial(compute, flavour),
                   compute_ex=partial(compute_ex, flavour), refuses=refuses,
                   gradient=partial(gradient, flavour), inplace={0: 0},
                   by_name=() if flavour.name == "softmax" else ("length",),
                   numbers=("temperature",), domain=_DOMAIN, names_data=flavour.name != "softmin",
                   doc=f"{flavour.name} along one axis: {formula}, with z = data / temperature."
                       "\n\nThe output has the shape of data. With use_length only the first "
                       "length elements along the axis count and the others become 0; length "
                       "(int32 or int64) has the shape of data without the axis. Source: MXNet's "
                       f"{flavour.name}; oneDNN softmax."))
    register(OpDef(f"_backward_{flavour.name}", SoftmaxParams, inputs=backward_inputs,
                   infer_shape=infer_shape_backward, infer_type=infer_type_backward,
                   compute=partial(compute_backward, flavour),
                   compute_ex=partial(compute_ex_backward, flavour), refuses=refuses,
                   inplace={0: 0}, ignores=backward_ignores, is_backward=True,
                   numbers=("temperature",), domain=_DOMAIN,
                   gradient=partial(gradient_backward, flavour)))


_register(Flavour("softmax"), "exp(z) / sum(exp(z))")
_register(Flavour("log_softmax", log=True), "z - log(sum(exp(z)))")
_register(Flavour("softmin", negate=True), "exp(-z) / sum(exp(-z))")
