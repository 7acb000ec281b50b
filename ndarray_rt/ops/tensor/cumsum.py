"""cumsum: running sums along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import INT64, find_dtype
from ...errors import Unsupported
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, known, merge, merge_types, normalize_axis
from ...op.params import Params, optional_choice, optional_integer, params_class
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ...storage.kernels.reduce import running_sum
from .axis_kernels import FEW_COLUMNS, along, need_kind, part_of
from .numeric import convert


@params_class
class CumsumParams(Params):
    axis: int | None = optional_integer(doc="the axis; None: data counts as one row")
    dtype: str | None = optional_choice("float16", "float32", "float64", "int8", "int32", "int64",
                                        doc="dtype of the sums; None is that of data, int64 for "
                                            "bool")


def _out_shape(p: CumsumParams, data: Shape) -> Shape | None:
    if p.axis is not None:
        normalize_axis(p.axis, len(data))
        return data
    return (prod(data),) if known(data) else None


def infer_shape(p: CumsumParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    data = ins[0]
    if data is None:
        return [outs[0] if p.axis is not None else None], outs
    return [data], [merge(outs[0], _out_shape(p, data), "output shapes")]


def infer_type(p: CumsumParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    data = ins[0]
    if p.dtype is not None:
        return ins, [merge_types([outs[0], find_dtype(p.dtype)])]
    if data is not None and data.kind == "b":
        return ins, [merge_types([outs[0], INT64])]
    one = merge_types([data, outs[0]])
    return [one], [one]


def _sums(x: AnyArray, axis: int | None, backwards: bool = False) -> AnyArray:
    if axis is None:
        x, axis = x.reshape(-1), 0
    if backwards:
        return np.flip(np.cumsum(np.flip(x, axis), axis=axis, dtype=x.dtype), axis)
    return np.cumsum(x, axis=axis, dtype=x.dtype)


def compute(ctx: OpContext, p: CumsumParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    # each element is cast before it is added
    outs[0].write(_sums(convert(ins[0], outs[0].dtype), p.axis))


def refuses(p: CumsumParams, ins: list[NDArray]) -> str | None:
    if p.dtype not in (None, ins[0].dtype.name):
        return f"sums in {p.dtype} of {ins[0].dtype}"
    return need_kind(ins[0])


def _run(ctx: OpContext, p: CumsumParams, source: NDArray, like: NDArray, out: Output,
         backwards: bool) -> None:
    """Sums of `source`, seen in the shape of data, along data's axis."""
    axes = range(like.ndim) if p.axis is None else (p.axis % like.ndim,)
    part = part_of(like.shape, tuple(axes))
    if part is None or not source.size or 1 < part[2] < FEW_COLUMNS:
        raise Unsupported("no rows or columns that a kernel goes along")
    along(ctx, running_sum, part, source, out, backwards=int(backwards))


def compute_ex(ctx: OpContext, p: CumsumParams, ins: list[NDArray], outs: list[Output]) -> None:
    _run(ctx, p, ins[0], ins[0], outs[0], False)


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("_backward_cumsum", node.params, out_grads[0], node.inputs[0])


def infer_shape_backward(p: CumsumParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[1], outs[0])
    grad = ins[0] if data is None else merge(ins[0], _out_shape(p, data))
    return [grad, data], [data]


def infer_type_backward(p: CumsumParams, ins: TypeList, outs: TypeList,
                        ) -> tuple[TypeList, TypeList]:
    data = merge_types([ins[1], outs[0]])
    _, (grad,) = infer_type(p, [data], [ins[0]])
    return [grad, data], [data]


def compute_backward(ctx: OpContext, p: CumsumParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dy = convert(ins[0], outs[0].dtype)
    outs[0].write(_sums(dy, p.axis, backwards=True).reshape(outs[0].shape))


def refuses_backward(p: CumsumParams, ins: list[NDArray]) -> str | None:
    if ins[0].dtype != ins[1].dtype:
        return f"sums in {ins[0].dtype} of {ins[1].dtype}"
    return need_kind(ins[0])


def compute_ex_backward(ctx: OpContext, p: CumsumParams, ins: list[NDArray],
                        outs: list[Output]) -> None:
    _run(ctx, p, ins[0], ins[1], outs[0], True)


def gradient_backward(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return [emit("_np_cumsum", node.params, out_grads[0])[0], None]


register(OpDef("_np_cumsum", CumsumParams, inputs=("a",), infer_shape=infer_shape,
               infer_type=infer_type, compute=compute, compute_ex=compute_ex, refuses=refuses,
               gradient=gradient, aliases=("cumsum",),
               doc="The sums of all elements up to each, along an axis.\n\nThe output has data's "
                   "shape; without an axis data counts as one row, which the output is, too. "
                   "Whole numbers wrap around. Source: MXNet's cumsum; a native kernel."))
register(OpDef("_backward_cumsum", CumsumParams, inputs=("out_grad", "data"),
               infer_shape=infer_shape_backward, infer_type=infer_type_backward,
               compute=compute_backward, compute_ex=compute_ex_backward, refuses=refuses_backward,
               gradient=gradient_backward, ignores=(1,), is_backward=True,
               doc="The gradient of cumsum: sums from the end."))
