"""_slice_assign, _slice_assign_scalar, fill_element_0index: an array, parts of it replaced."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._array.layout import AnyArray, get_data, get_default, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import (
    ShapeList,
    TypeList,
    known,
    merge,
    merge_types,
    need_rank,
    same_shape,
    same_type,
)
from ...op.params import NoParams, Params, bounds, number, params_class
from ...op.registry import OpDef, Shape, register
from ...storage.desc import default_desc
from ...storage.kernels import elementwise
from ...storage.reorder import reorder_mem
from ...storage.stream import Mem
from .numeric import scalar_of
from .places import can_add, inside
from .pointwise import need_native
from .windows import SliceParams, in_place, strange, window_slice

NONE = "MXNet has none; where and slice have theirs"


@params_class
class AssignScalarParams(Params):
    begin: tuple[int | None, ...] = bounds(doc="first position along each axis, None for its end")
    end: tuple[int | None, ...] = bounds(doc="end along each axis, not included")
    scalar: float = number(0.0, doc="what is written")
    step: tuple[int | None, ...] = bounds((), doc="steps, None for 1; below 0 backwards")


def _cuts(p: Any, shape: Shape) -> tuple[slice, ...]:
    return tuple(cut for cut in window_slice(p, shape, None) if cut is not None)


def infer_shape_assign(p: SliceParams, ins: ShapeList, outs: ShapeList,
                       ) -> tuple[ShapeList, ShapeList]:
    whole = merge(ins[0], outs[0], "shapes of lhs and output")
    if whole is None or not known(whole):
        return [whole, ins[1]], [whole]
    wanted = tuple(len(range(*cut.indices(length)))
                   for cut, length in zip(_cuts(p, whole), whole, strict=True))
    return [whole, merge(ins[1], wanted, "shapes of rhs and of the window")], [whole]


def infer_shape_scalar(p: AssignScalarParams, ins: ShapeList, outs: ShapeList,
                       ) -> tuple[ShapeList, ShapeList]:
    made = same_shape(p, ins, outs)
    data = made[0][0]
    if data is not None:
        _cuts(p, data)
    return made


def compute_assign(ctx: OpContext, p: SliceParams, ins: list[AnyArray],
                   outs: list[NumpyOutput]) -> None:
    made = ins[0].copy()
    made[_cuts(p, made.shape)] = ins[1]
    outs[0].write(made)


def compute_scalar(ctx: OpContext, p: AssignScalarParams, ins: list[AnyArray],
                   outs: list[NumpyOutput]) -> None:
    made = ins[0].copy()
    made[_cuts(p, made.shape)] = scalar_of(p.scalar, made.dtype)
    outs[0].write(made)


def _empty(p: Any, shape: Shape) -> bool:
    return any(not range(*cut.indices(length))
               for cut, length in zip(_cuts(p, shape), shape, strict=True))


def refuses_assign(p: SliceParams, ins: list[NDArray]) -> str | None:
    shape = ins[0].shape
    return need_native(ins[0]) or strange(_cuts(p, shape), shape)


def refuses_scalar(p: AssignScalarParams, ins: list[NDArray]) -> str | None:
    shape = ins[0].shape
    return need_float32(ins[0]) or strange(_cuts(p, shape), shape)


def _put(ctx: OpContext, p: Any, lhs: NDArray, part: Mem | None, out: Output) -> None:
    """out = lhs with a part, in any layout, in the window."""
    stream = ctx.stream
    under, desc = get_default(lhs, stream), default_desc(lhs.dtype, lhs.shape)
    with out.open(desc, stream) as y:
        ctx.kernel(elementwise.copy(out=y, data=under, nbytes=desc.nbytes))
        if part is not None:
            reorder_mem(stream, part, in_place(y, _cuts(p, lhs.shape), part.desc.dims))


def compute_ex_assign(ctx: OpContext, p: SliceParams, ins: list[NDArray],
                      outs: list[Output]) -> None:
    if not outs[0].requested:
        return
    can_add(outs[0])
    lhs, rhs = ins
    part = None if _empty(p, lhs.shape) else get_data(rhs, ctx.stream)
    _put(ctx, p, lhs, part, outs[0])


def compute_ex_scalar(ctx: OpContext, p: AssignScalarParams, ins: list[NDArray],
                      outs: list[Output]) -> None:
    if not outs[0].requested:
        return
    data, part = ins[0], None
    if not _empty(p, data.shape):
        dims = tuple(len(range(*cut.indices(length)))
                     for cut, length in zip(_cuts(p, data.shape), data.shape, strict=True))
        part = ctx.stream.scratch(default_desc(FLOAT32, dims))
        ctx.kernel(elementwise.fill(out=part, n=part.desc.nelems, value=p.scalar))
    _put(ctx, p, data, part, outs[0])


def infer_shape_fill(p: NoParams, ins: ShapeList, outs: ShapeList,
                     ) -> tuple[ShapeList, ShapeList]:
    whole = merge(ins[0], outs[0], "shapes of lhs and output")
    need_rank(whole, (2,), "lhs")
    if whole is not None and whole[1] == 0:
        raise ShapeError(f"lhs has shape {whole}: its rows have no elements to fill")
    rows = merge(ins[1], ins[2], "shapes of mhs and rhs")
    if whole is not None:
        rows = merge(rows, whole[:1], "shapes of mhs, of rhs and of lhs' rows")
    return [whole, rows, rows], [whole]


def infer_type_fill(p: NoParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    one = merge_types([*ins[:2], outs[0]])
    return [one, one, ins[2]], [one]


def compute_fill(ctx: OpContext, p: NoParams, ins: list[AnyArray],
                 outs: list[NumpyOutput]) -> None:
    made = ins[0].copy()
    made[np.arange(len(made)), inside(ins[2], made.shape[1], wrap=False)] = ins[1]
    outs[0].write(made)


register(OpDef("_slice_assign", SliceParams, inputs=("lhs", "rhs"),
               infer_shape=infer_shape_assign, infer_type=same_type, compute=compute_assign,
               compute_ex=compute_ex_assign, refuses=refuses_assign,
               no_gradient=NONE, aliases=("_crop_assign",),
               doc="lhs with rhs in place of lhs[begin:end:step].\n\nrhs has the shape of that "
                   "part; one dtype. Source: MXNet's _slice_assign; oneDNN "
                   "reorder."))
register(OpDef("_slice_assign_scalar", AssignScalarParams, inputs=("data",),
               infer_shape=infer_shape_scalar, infer_type=same_type, compute=compute_scalar,
               compute_ex=compute_ex_scalar, refuses=refuses_scalar,
               no_gradient=NONE, aliases=("_crop_assign_scalar",),
               doc="data with a number in place of data[begin:end:step].\n\nThe dtype stays, the "
                   "number is cast to it. Source: MXNet's _slice_assign_scalar; oneDNN "
                   "reorder."))
register(OpDef("fill_element_0index", NoParams, inputs=("lhs", "mhs", "rhs"),
               infer_shape=infer_shape_fill, infer_type=infer_type_fill, compute=compute_fill,
               no_gradient=NONE,
               doc="lhs (n, m) with mhs[i] at lhs[i, rhs[i]].\n\nrhs of any dtype, floats cut off "
                   "towards zero, brought inside of the row. Source: MXNet's "
                   "fill_element_0index."))
