"""gather_nd, scatter_nd, _scatter_set_nd: elements or parts named by several coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ...errors import ShapeError
from ...ndarray.layout import AnyArray
from ...ndarray.output import NumpyOutput
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, known, merge, merge_types
from ...op.params import NoParams, Params, params_class
from ...op.params import shape as dims
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ..floats import wide
from .numeric import convert
from .places import whole


@params_class
class ScatterParams(Params):
    shape: tuple[int, ...] = dims(low=0, doc="shape of the output")


class OutOfBounds(ShapeError, IndexError):
    """A coordinate that names no element."""


def _depth(indices: Shape, data: Shape | None, what: str = "data") -> int:
    """How many axes the coordinates name."""
    if len(indices) < 2:
        raise ShapeError(f"indices has shape {indices}, expected rank 2 at least")
    if data is not None and indices[0] > len(data):
        raise ShapeError(f"indices has shape {indices}, more coordinates than {what} {data} has "
                         "axes")
    return indices[0]


def flat_places(indices: AnyArray, data: Shape) -> AnyArray:
    """The number of the part of data that each column of coordinates names.

    A coordinate below 0 counts from the end; OutOfBounds for one beyond the axis.
    """
    found = whole(indices)
    made: AnyArray = np.zeros(indices.shape[1:], np.int64)
    for axis, at in enumerate(found):
        length = data[axis]
        wrong = at[(at < -length) | (at >= length)]
        if wrong.size:
            raise OutOfBounds(f"index {wrong[0]} is out of bounds for axis {axis} with size "
                              f"{length}")
        made = made * length + np.where(at < 0, at + length, at)
    return made


def _rows(x: AnyArray, depth: int) -> AnyArray:
    """x as (parts that coordinates name, elements of a part)."""
    return x.reshape(prod(x.shape[:depth]), prod(x.shape[depth:]))


# ---- gather_nd ----------------------------------------------------------------------------------


def infer_shape_gather(p: NoParams, ins: ShapeList, outs: ShapeList,
                       ) -> tuple[ShapeList, ShapeList]:
    data, indices = ins
    if data is None or indices is None:
        return ins, outs
    depth = _depth(indices, data)
    if depth == -1:
        return ins, outs
    return ins, [merge(outs[0], (*indices[1:], *data[depth:]), "output shapes")]


def infer_type_gather(p: NoParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    one = merge_types([ins[0], outs[0]])
    return [one, ins[1]], [one]


def compute_gather(ctx: OpContext, p: NoParams, ins: list[AnyArray],
                   outs: list[NumpyOutput]) -> None:
    data, indices = ins
    at = flat_places(indices, data.shape)
    outs[0].write(_rows(data, len(indices))[at.reshape(-1)].reshape(outs[0].shape))


def gradient_gather(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    made = emit("_backward_gather_nd", None, out_grads[0], *node.inputs)[0]
    return [made, emit.zeros_like(node.inputs[1])]


def infer_shape_backward(p: NoParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[1], outs[0], "data and its gradient")
    _, (out,) = infer_shape_gather(p, [data, ins[2]], [ins[0]])
    return [out, data, ins[2]], [data]


def infer_type_backward(p: NoParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    one = merge_types([*ins[:2], outs[0]])
    return [one, one, ins[2]], [one]


def compute_backward(ctx: OpContext, p: NoParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dy, data, indices = ins
    at = flat_places(indices, data.shape).reshape(-1)
    made = np.zeros(data.shape, wide(dy).dtype)
    rows = _rows(made, len(indices))
    np.add.at(rows, at, wide(dy).reshape(len(at), rows.shape[1]))
    outs[0].write(convert(made, data.dtype))


def gradient_backward(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return [emit("gather_nd", None, out_grads[0], node.inputs[2])[0], None, None]


# ---- scatter_nd ---------------------------------------------------------------------------------


def _wanted(p: ScatterParams, indices: Shape) -> Shape:
    depth = _depth(indices, p.shape, "shape")
    return (*indices[1:], *p.shape[depth:])


def infer_shape_scatter(p: ScatterParams, ins: ShapeList, outs: ShapeList,
                        ) -> tuple[ShapeList, ShapeList]:
    data, indices = ins
    if indices is not None and known(indices):
        data = merge(data, _wanted(p, indices), "shapes of data and of what indices name")
    return [data, indices], [merge(outs[0], p.shape, "output shapes")]


def compute_scatter(ctx: OpContext, p: ScatterParams, ins: list[AnyArray],
                    outs: list[NumpyOutput]) -> None:
    data, indices = ins
    _write(np.zeros(p.shape, data.dtype), data, indices, outs[0])


def _write(made: AnyArray, data: AnyArray, indices: AnyArray, out: NumpyOutput) -> None:
    """Gives `made` with data's parts where indices say; of several the last one stays."""
    at = flat_places(indices, made.shape).reshape(-1)
    rows = _rows(made, len(indices))
    rows[at] = data.reshape(len(at), rows.shape[1])
    out.write(made)


def gradient_scatter(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    indices = node.inputs[1]
    return [emit("gather_nd", None, out_grads[0], indices)[0], emit.zeros_like(indices)]


def infer_shape_set(p: ScatterParams, ins: ShapeList, outs: ShapeList,
                    ) -> tuple[ShapeList, ShapeList]:
    (rhs, indices), (out,) = infer_shape_scatter(p, ins[1:], outs)
    lhs = merge(ins[0], out, "shapes of lhs and output")
    return [lhs, rhs, indices], [lhs]


def infer_type_set(p: ScatterParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    one = merge_types([*ins[:2], outs[0]])
    return [one, one, ins[2]], [one]


def compute_set(ctx: OpContext, p: ScatterParams, ins: list[AnyArray],
                outs: list[NumpyOutput]) -> None:
    lhs, rhs, indices = ins
    _write(lhs.copy(), rhs, indices, outs[0])


register(OpDef("gather_nd", NoParams, inputs=("data", "indices"), infer_shape=infer_shape_gather,
               infer_type=infer_type_gather, compute=compute_gather, gradient=gradient_gather,
               doc="The elements of data, or parts of it, whose coordinates indices has.\n\n"
                   "indices (m, y...) of any dtype, floats cut off towards zero; data (x0, ..., "
                   "xn), m of whose axes go; the output (y..., xm, ..., xn) has data's dtype. A "
                   "coordinate below 0 counts from the end. Raises an IndexError for one beyond "
                   "the axis. Source: MXNet's gather_nd."))
register(OpDef("_backward_gather_nd", NoParams, inputs=("out_grad", "data", "indices"),
               outputs=("data_grad",), infer_shape=infer_shape_backward,
               infer_type=infer_type_backward, compute=compute_backward,
               gradient=gradient_backward, ignores=(1,), is_backward=True,
               doc="The gradient of gather_nd's data: sums where coordinates come twice."))
register(OpDef("scatter_nd", ScatterParams, inputs=("data", "indices"),
               infer_shape=infer_shape_scatter, infer_type=infer_type_gather,
               compute=compute_scatter, gradient=gradient_scatter,
               doc="Zeros of a shape, with data's elements or parts at the coordinates of indices."
                   "\n\ngather_nd turned round; of several for one place the last one stays. "
                   "Raises an IndexError for a coordinate beyond the shape. Source: MXNet's "
                   "scatter_nd."))
register(OpDef("_scatter_set_nd", ScatterParams, inputs=("lhs", "rhs", "indices"),
               infer_shape=infer_shape_set, infer_type=infer_type_set, compute=compute_set,
               inplace={0: 0}, no_gradient="MXNet has none",
               doc="lhs with rhs' elements or parts at the coordinates of indices.\n\nAs "
                   "scatter_nd; lhs has the shape given. Source: MXNet's _scatter_set_nd."))
