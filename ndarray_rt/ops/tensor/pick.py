"""pick: one element along an axis for each place in the others."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, get_bytes, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_types, normalize_axis
from ...op.params import Params, boolean, choice, integer, params_class
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ...storage.desc import default_desc
from ...storage.kernels import index as kernels
from .places import can_add, inside, kind_of, need_kind, need_moved


@params_class
class PickParams(Params):
    axis: int = integer(-1, doc="the axis along which is picked")
    keepdims: bool = boolean(False, doc="the axis stays, with length 1")
    mode: str = choice("clip", "wrap", default="clip",
                       doc="beyond the axis: clip to its nearer end, or wrap round")


def infer_shape(p: PickParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    data, index = ins
    if data is None:
        return ins, outs
    axis = normalize_axis(p.axis, len(data))
    if data[axis] == 0:
        raise ShapeError(f"data has shape {data}: nothing can be picked along axis {p.axis}")
    kept = (*data[:axis], 1, *data[axis + 1:])
    dropped = (*data[:axis], *data[axis + 1:]) or (1,)
    try:
        if index is not None:
            index = merge(index, kept if len(index) == len(kept) else dropped)
    except ShapeError:
        raise ShapeError(f"index has shape {index}, expected {dropped} or {kept} from data {data}, "
                         f"axis={p.axis}") from None
    return [data, index], [merge(outs[0], kept if p.keepdims else dropped, "output shapes")]


def infer_type(p: PickParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    one = merge_types([ins[0], outs[0]])
    return [one, ins[1]], [one]


def _places(p: PickParams, data: Shape, index: AnyArray) -> AnyArray:
    """The places with the axis of data, as length 1."""
    axis = p.axis % len(data)
    kept = (*data[:axis], 1, *data[axis + 1:])
    return inside(index.reshape(kept), data[axis], p.mode == "wrap")


def compute(ctx: OpContext, p: PickParams, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
    data, index = ins
    made = np.take_along_axis(data, _places(p, data.shape, index), p.axis)
    outs[0].write(made.reshape(outs[0].shape))


def refuses(p: PickParams, ins: list[NDArray]) -> str | None:
    return need_kind(ins[1]) or need_moved(ins[0])


def _dims(p: PickParams, data: Shape) -> list[int]:
    axis = p.axis % len(data)
    return [prod(data[:axis]), data[axis], prod(data[axis + 1:])]


def compute_ex(ctx: OpContext, p: PickParams, ins: list[NDArray], outs: list[Output]) -> None:
    (data, index), out, stream = ins, outs[0], ctx.stream
    can_add(out)
    x, at = get_bytes(data, stream), get_bytes(index, stream)
    with out.open(default_desc(data.dtype, out.shape), stream) as y:
        outer, length, inner = _dims(p, data.shape)
        ctx.kernel(kernels.pick(
            out=y, data=x, places=at, outer=outer, length=length, inner=inner,
            size=data.dtype.itemsize, kind=kind_of(index.dtype) or 0, wrap=p.mode == "wrap"))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    # places are whole numbers: nothing comes back to them
    return [emit("_backward_pick", node.params, out_grads[0], *node.inputs)[0], None]


def infer_shape_backward(p: PickParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[1], outs[0], "data and its gradient")
    (data, index), (out,) = infer_shape(p, [data, ins[2]], [ins[0]])
    return [out, data, index], [data]


def infer_type_backward(p: PickParams, ins: TypeList, outs: TypeList,
                        ) -> tuple[TypeList, TypeList]:
    one = merge_types([*ins[:2], outs[0]])
    return [one, one, ins[2]], [one]


def compute_backward(ctx: OpContext, p: PickParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dy, data, index = ins
    at = _places(p, data.shape, index)
    dx = np.zeros(data.shape, data.dtype)
    np.put_along_axis(dx, at, dy.reshape(at.shape), p.axis)
    outs[0].write(dx)


def refuses_backward(p: PickParams, ins: list[NDArray]) -> str | None:
    return need_kind(ins[2]) or need_float32(ins[0])


def compute_ex_backward(ctx: OpContext, p: PickParams, ins: list[NDArray],
                        outs: list[Output]) -> None:
    (dy, data, index), stream = ins, ctx.stream
    source, at = get_bytes(dy, stream), get_bytes(index, stream)
    with outs[0].open(default_desc(data.dtype, data.shape), stream) as dx:
        outer, length, inner = _dims(p, data.shape)
        ctx.kernel(kernels.pick_grad(
            dx=dx, dy=source, places=at, outer=outer, length=length, inner=inner,
            kind=kind_of(index.dtype) or 0, wrap=p.mode == "wrap"))


def gradient_backward(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return [emit("pick", node.params, out_grads[0], node.inputs[2])[0], None, None]


register(OpDef("pick", PickParams, inputs=("data", "index"), infer_shape=infer_shape,
               infer_type=infer_type, compute=compute, compute_ex=compute_ex, refuses=refuses,
               gradient=gradient, aliases=("choose_element_0index",),
               doc="For each place in the other axes the element of data along one axis that index "
                   "names.\n\nindex has the shape of data without the axis, or with length 1 "
                   "there, and any dtype; floats are cut off towards zero. The output has the "
                   "shape of data without the axis, with keepdims with length 1 there. Source: "
                   "MXNet's pick."))
register(OpDef("_backward_pick", PickParams, inputs=("out_grad", "data", "index"),
               outputs=("data_grad",), infer_shape=infer_shape_backward,
               infer_type=infer_type_backward, compute=compute_backward,
               compute_ex=compute_ex_backward, refuses=refuses_backward,
               gradient=gradient_backward, ignores=(1,), is_backward=True,
               doc="The gradient of pick's data."))
