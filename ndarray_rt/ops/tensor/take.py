"""take: slices of an array along an axis, chosen by their positions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_types, normalize_axis
from ...op.params import Params, choice, integer, params_class
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from .numeric import convert, wide
from .places import (
    Rows,
    gather,
    gather_grad,
    inside,
    need_kind,
    need_moved,
    scatter_add,
    whole,
)


@params_class
class TakeParams(Params):
    axis: int = integer(0, doc="the axis along which is taken")
    mode: str = choice("clip", "raise", "wrap", default="clip",
                       doc="beyond the axis: clip to its nearer end, wrap round, or raise")

    @property
    def wrap(self) -> bool:
        """Positions beyond the axis count round."""
        return self.mode == "wrap"


def infer_shape(p: TakeParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    a, indices = ins
    if a is None:
        return ins, outs
    axis = normalize_axis(p.axis, len(a))
    if indices is None:
        return ins, outs
    if a[axis] == 0 and 0 not in indices:
        raise ShapeError(f"a has shape {a}: nothing can be taken along axis {p.axis}")
    return ins, [merge(outs[0], (*a[:axis], *indices, *a[axis + 1:]), "output shapes")]


def infer_type(p: TakeParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    one = merge_types([ins[0], outs[0]])
    return [one, ins[1]], [one]


def _rows(p: TakeParams, a: Shape, indices: Shape) -> Rows:
    axis = p.axis % len(a)
    return prod(a[:axis]), prod(indices), a[axis], prod(a[axis + 1:])


def compute(ctx: OpContext, p: TakeParams, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
    a, indices = ins
    length = a.shape[p.axis]
    if p.mode == "raise":
        found = whole(indices)
        wrong = found[(found < 0) | (found >= length)]
        if wrong.size:
            raise ShapeError(f"indices holds {wrong[0]}, expected 0 to {length - 1} from a of "
                             f"shape {a.shape}, axis={p.axis}")
    at = inside(indices, max(length, 1), p.wrap)
    outs[0].write(np.take(a, at, axis=p.axis) if at.size else np.empty(outs[0].shape, a.dtype))


def refuses(p: TakeParams, ins: list[NDArray]) -> str | None:
    if p.mode == "raise":
        return "numpy looks for indices beyond the axis"
    return need_kind(ins[1]) or need_moved(ins[0])


def compute_ex(ctx: OpContext, p: TakeParams, ins: list[NDArray], outs: list[Output]) -> None:
    gather(ctx, ins[0], ins[1], outs[0], _rows(p, ins[0].shape, ins[1].shape), p.wrap)


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    # positions are whole numbers: nothing comes back to them
    return [emit("_backward_take", node.params, out_grads[0], *node.inputs)[0], None]


def infer_shape_backward(p: TakeParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    a = merge(ins[1], outs[0], "a and its gradient")
    _, (out,) = infer_shape(p, [a, ins[2]], [ins[0]])
    return [out, a, ins[2]], [a]


def infer_type_backward(p: TakeParams, ins: TypeList, outs: TypeList,
                        ) -> tuple[TypeList, TypeList]:
    one = merge_types([*ins[:2], outs[0]])
    return [one, one, ins[2]], [one]


def compute_backward(ctx: OpContext, p: TakeParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dy, a, indices = ins
    summed = scatter_add(wide(dy), indices, _rows(p, a.shape, indices.shape), p.wrap)
    outs[0].write(convert(summed.reshape(a.shape), a.dtype))


def refuses_backward(p: TakeParams, ins: list[NDArray]) -> str | None:
    return need_kind(ins[2]) or need_float32(ins[0])


def compute_ex_backward(ctx: OpContext, p: TakeParams, ins: list[NDArray],
                        outs: list[Output]) -> None:
    # forward has refused what is beyond the axis in mode raise
    gather_grad(ctx, ins[0], ins[2], outs[0], _rows(p, ins[1].shape, ins[2].shape), p.wrap)


def gradient_backward(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return [emit("take", node.params, out_grads[0], node.inputs[2])[0], None, None]


register(OpDef("take", TakeParams, inputs=("a", "indices"), infer_shape=infer_shape,
               infer_type=infer_type, compute=compute, compute_ex=compute_ex, refuses=refuses,
               gradient=gradient,
               doc="The slices of a along an axis whose positions indices holds.\n\n"
                   "In the output the axes of indices stand in the place of that axis; the dtype "
                   "is that of a. indices of any dtype; floats are cut off towards zero. What is "
                   "taken several times gets the sum of its gradients. Raises ShapeError for "
                   "positions beyond the axis with mode raise. Source: MXNet's take."))
register(OpDef("_backward_take", TakeParams, inputs=("out_grad", "a", "indices"),
               outputs=("a_grad",), infer_shape=infer_shape_backward,
               infer_type=infer_type_backward, compute=compute_backward,
               compute_ex=compute_ex_backward, refuses=refuses_backward,
               gradient=gradient_backward, ignores=(1,), is_backward=True,
               doc="The gradient of take's first input."))
