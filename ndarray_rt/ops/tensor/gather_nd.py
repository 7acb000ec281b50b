"""gather_nd, scatter_nd, _scatter_set_nd: elements or parts named by several coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, get_bytes, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import UINT8
from ...errors import OutOfBounds, ShapeError
from ...native import lib
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, known, merge, merge_types
from ...op.params import NoParams, Params, params_class
from ...op.params import shape as dims
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ...storage.desc import default_desc
from ...storage.kernels import elementwise
from ...storage.kernels import index as kernels
from ...storage.stream import Mem
from ..floats import wide
from .numeric import convert
from .places import can_add, kind_of, need_kind, need_moved, whole


@params_class
class ScatterParams(Params):
    shape: tuple[int, ...] = dims(low=0, doc="shape of the output")


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


# ---- natively -----------------------------------------------------------------------------------

MAX_AXES = 7  # of coordinates, that the kernel takes


def need_coordinates(indices: NDArray) -> str | None:
    """A reason why the native kernels may not: coordinates that they do not read."""
    if not 1 <= indices.shape[0] <= MAX_AXES:
        return f"coordinates along {indices.shape[0]} axes"
    return need_kind(indices)


def native_places(ctx: OpContext, indices: NDArray, data: Shape) -> Mem:
    """`flat_places` in scratch; the step raises, before anything is written to an array."""
    depth, count = indices.shape[0], prod(indices.shape[1:])
    source = get_bytes(indices, ctx.stream)
    made = ctx.stream.scratch(default_desc(UINT8, (8 * count,)))
    ctx.kernel(kernels.flat_places(out=made, coordinates=source, rank=depth, n=count,
                                   kind=kind_of(indices.dtype) or 0, lengths=data[:depth]))
    return made


def refuses_gather(p: NoParams, ins: list[NDArray]) -> str | None:
    return need_moved(ins[0]) or need_coordinates(ins[1])


def compute_ex_gather(ctx: OpContext, p: NoParams, ins: list[NDArray],
                      outs: list[Output]) -> None:
    (data, indices), out, stream = ins, outs[0], ctx.stream
    can_add(out)
    depth = indices.shape[0]
    places, table = native_places(ctx, indices, data.shape), get_bytes(data, stream)
    with out.open(default_desc(data.dtype, out.shape), stream) as y:
        ctx.kernel(kernels.gather(
            out=y, table=table, places=places, outer=1, count=prod(indices.shape[1:]),
            rows=prod(data.shape[:depth]), width=prod(data.shape[depth:]) * data.dtype.itemsize,
            kind=lib.NDRT_INDEX_S64, wrap=False))


def refuses_backward(p: NoParams, ins: list[NDArray]) -> str | None:
    return need_float32(ins[0]) or need_coordinates(ins[2])


def compute_ex_backward(ctx: OpContext, p: NoParams, ins: list[NDArray],
                        outs: list[Output]) -> None:
    dy, data, indices = ins
    stream, depth = ctx.stream, indices.shape[0]
    places, source = native_places(ctx, indices, data.shape), get_bytes(dy, stream)
    with outs[0].open_weight_grad(default_desc(dy.dtype, data.shape), stream) as dx:
        ctx.kernel(kernels.gather_grad(
            dx=dx, dy=source, places=places, outer=1, count=prod(indices.shape[1:]),
            rows=prod(data.shape[:depth]), width=prod(data.shape[depth:]),
            kind=lib.NDRT_INDEX_S64, wrap=False))


def refuses_scatter(p: ScatterParams, ins: list[NDArray]) -> str | None:
    return need_moved(ins[0]) or need_coordinates(ins[-1])


def _put(ctx: OpContext, lhs: NDArray | None, data: NDArray, indices: NDArray,
         out: Output) -> None:
    """out = lhs, or zeros, with data's parts where indices say."""
    stream, shape, depth = ctx.stream, out.shape, indices.shape[0]
    can_add(out)
    places, source = native_places(ctx, indices, shape), get_bytes(data, stream)
    desc = default_desc(data.dtype, shape)
    under = get_bytes(lhs, stream) if lhs is not None else None
    with out.open(desc, stream, inplace_of=under) as y:
        if under is None:
            ctx.kernel(elementwise.zero(out=y, nbytes=desc.nbytes))
        elif y.ptr != under.ptr:
            ctx.kernel(elementwise.copy(out=y, data=under, nbytes=desc.nbytes))
        ctx.kernel(kernels.put_rows(
            out=y, data=source, places=places, n=prod(indices.shape[1:]), rows=prod(shape[:depth]),
            width=prod(shape[depth:]) * data.dtype.itemsize))


def compute_ex_scatter(ctx: OpContext, p: ScatterParams, ins: list[NDArray],
                       outs: list[Output]) -> None:
    data, indices = ins
    _put(ctx, None, data, indices, outs[0])


def compute_ex_set(ctx: OpContext, p: ScatterParams, ins: list[NDArray],
                   outs: list[Output]) -> None:
    lhs, rhs, indices = ins
    _put(ctx, lhs, rhs, indices, outs[0])


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
               infer_type=infer_type_gather, compute=compute_gather,
               compute_ex=compute_ex_gather, refuses=refuses_gather, gradient=gradient_gather,
               doc="The elements of data, or parts of it, whose coordinates indices has.\n\n"
                   "indices (m, y...) of any dtype, floats cut off towards zero; data (x0, ..., "
                   "xn), m of whose axes go; the output (y..., xm, ..., xn) has data's dtype. A "
                   "coordinate below 0 counts from the end. Raises an IndexError for one beyond "
                   "the axis. Source: MXNet's gather_nd; native kernels."))
register(OpDef("_backward_gather_nd", NoParams, inputs=("out_grad", "data", "indices"),
               outputs=("data_grad",), infer_shape=infer_shape_backward,
               infer_type=infer_type_backward, compute=compute_backward,
               compute_ex=compute_ex_backward, refuses=refuses_backward,
               gradient=gradient_backward, ignores=(1,), is_backward=True,
               doc="The gradient of gather_nd's data: sums where coordinates come twice."))
register(OpDef("scatter_nd", ScatterParams, inputs=("data", "indices"),
               infer_shape=infer_shape_scatter, infer_type=infer_type_gather,
               compute=compute_scatter, compute_ex=compute_ex_scatter, refuses=refuses_scatter,
               gradient=gradient_scatter,
               doc="Zeros of a shape, with data's elements or parts at the coordinates of indices."
                   "\n\ngather_nd turned round; of several for one place the last one stays. "
                   "Raises an IndexError for a coordinate beyond the shape. Source: MXNet's "
                   "scatter_nd; native kernels."))
register(OpDef("_scatter_set_nd", ScatterParams, inputs=("lhs", "rhs", "indices"),
               infer_shape=infer_shape_set, infer_type=infer_type_set, compute=compute_set,
               compute_ex=compute_ex_set, refuses=refuses_scatter,
               inplace={0: 0}, no_gradient="MXNet has none",
               doc="lhs with rhs' elements or parts at the coordinates of indices.\n\nAs "
                   "scatter_nd; lhs has the shape given. Source: MXNet's _scatter_set_nd; "
                   "native kernels."))
