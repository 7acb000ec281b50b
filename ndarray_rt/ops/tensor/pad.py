"""Pad: more elements at the edges of images."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._array.layout import AnyArray, get_data, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import Output
from ...errors import ShapeError
from ...native import lib
from ...op.context import OpContext
from ...op.params import Params, choice, number, params_class, shape
from ...op.registry import Shape
from ...storage.desc import default_desc, strided_desc
from ...storage.kernels.elementwise import fill
from ...storage.reorder import reorder_mem
from .linear import register_linear
from .moves import Step, give_back, take_steps
from .numeric import scalar_of
from .places import need_moved
from .pointwise import shifted


@params_class
class PadParams(Params):
    mode: str = choice("constant", "edge", "reflect", doc="what the new elements are: one value, "
                       "the nearest at the edge, or those behind the edge")
    pad_width: tuple[int, ...] = shape(doc="for each axis how many before and how many behind; 0 "
                                       "for the first two; below 0 elements go")
    constant_value: float = number(0.0, doc="the value of mode constant")

    def pairs(self) -> list[tuple[int, int]]:
        """(before, behind) of each axis."""
        return list(zip(self.pad_width[::2], self.pad_width[1::2], strict=True))


def out_shape(p: PadParams, data: Shape) -> Shape:
    if len(data) not in (4, 5):
        raise ShapeError(f"data has shape {data}, expected rank 4 or 5")
    if len(p.pad_width) != 2 * len(data):
        raise ShapeError(f"data has shape {data}, expected {2 * len(data)} numbers in "
                         f"pad_width={p.pad_width}")
    if any(p.pad_width[:4]):
        raise ShapeError(f"pad_width={p.pad_width}, expected 0 for the first two axes")
    made = []
    for dim, (before, behind) in zip(data, p.pairs(), strict=True):
        if p.mode == "reflect" and max(before, behind) >= max(dim, 1):
            raise ShapeError(f"data has shape {data}, expected more elements along each axis than "
                             f"pad_width={p.pad_width} has, as mode=reflect")
        if p.mode == "edge" and dim == 0 and max(before, behind) > 0:
            raise ShapeError(f"data has shape {data}: there is no edge to repeat")
        if min(before, 0) + min(behind, 0) + dim < 0:
            raise ShapeError(f"data has shape {data}, less than pad_width={p.pad_width} takes away")
        made.append(before + dim + behind)
    return tuple(made)


def _inner(p: PadParams, data: Shape) -> tuple[slice, ...]:
    """What of data stays where pad_width is below 0."""
    return tuple(slice(max(-before, 0), dim - max(-behind, 0))
                 for dim, (before, behind) in zip(data, p.pairs(), strict=True))


def forward(p: PadParams, x: AnyArray) -> AnyArray:
    kept = x[_inner(p, x.shape)]
    widths = [(max(before, 0), max(behind, 0)) for before, behind in p.pairs()]
    more: dict[str, Any] = {}
    if p.mode == "constant":
        more["constant_values"] = scalar_of(p.constant_value, x.dtype)
    made: AnyArray = np.pad(kept, widths, p.mode, **more)  # type: ignore[call-overload]
    return made


def _folded(p: PadParams, dy: AnyArray, axis: int, length: int, before: int) -> AnyArray:
    """The gradient along one axis: what came from an element is added to it."""
    moved = np.moveaxis(dy, axis, 0)
    made = moved[before:before + length].copy()
    if p.mode != "constant":
        outside = [*range(before), *range(before + length, len(moved))]
        for place in outside:
            at = place - before
            if p.mode == "edge":
                at = min(max(at, 0), length - 1)
            else:
                at = abs(at)
                at = 2 * (length - 1) - at if at >= length else at
            made[at] += moved[place]
    return np.moveaxis(made, 0, axis)


def back(p: PadParams, dy: AnyArray, data: Shape) -> AnyArray:
    cut = _inner(p, data)
    for axis, (before, _) in enumerate(p.pairs()):
        dy = _folded(p, dy, axis, cut[axis].stop - cut[axis].start, max(before, 0))
    if dy.shape == data:
        return dy
    made = np.zeros(data, dy.dtype)
    made[cut] = dy
    return made


def refuses(p: PadParams, ins: list[NDArray]) -> str | None:
    if min(p.pad_width) < 0 or 0 in ins[0].shape:
        return "elements go, or there are none"
    return need_float32(ins[0]) if p.mode == "constant" else need_moved(ins[0])


KINDS = {"constant": lib.NDRT_AXIS_WINDOW, "edge": lib.NDRT_AXIS_EDGE,
         "reflect": lib.NDRT_AXIS_REFLECT}


def _steps(p: PadParams, data: Shape) -> list[Step]:
    return [Step(axis, before + length + behind, -before, kind=KINDS[p.mode])
            for axis, (length, (before, behind)) in enumerate(zip(data, p.pairs(), strict=True))
            if before or behind]


def compute_ex(ctx: OpContext, p: PadParams, ins: list[NDArray], outs: list[Output]) -> None:
    data, out, stream = ins[0], outs[0], ctx.stream
    if p.mode != "constant":
        take_steps(ctx, data, out, _steps(p, data.shape))
        return
    if not out.requested:
        return
    desc = default_desc(data.dtype, out.shape)
    x = get_data(data, stream)
    with out.open(desc, stream) as y:
        ctx.kernel(fill(out=y, n=desc.nelems, value=p.constant_value))
        first = sum(step * before for step, (before, _) in zip(desc.strides, p.pairs(),
                                                               strict=True))
        window = strided_desc(data.dtype, data.shape, desc.strides)
        reorder_mem(stream, x, shifted(y, first, window))


def refuses_back(p: PadParams, ins: list[NDArray]) -> str | None:
    if min(p.pad_width) < 0 or 0 in ins[1].shape:
        return "elements go, or there are none"
    return need_moved(ins[0]) if p.mode == "constant" else need_float32(ins[0])


def compute_ex_back(ctx: OpContext, p: PadParams, ins: list[NDArray], outs: list[Output]) -> None:
    dy, shape = ins[0], outs[0].shape
    if p.mode != "constant":
        give_back(ctx, dy, outs[0], _steps(p, shape))
        return
    take_steps(ctx, dy, outs[0], [Step(axis, length, before) for axis, (length, (before, behind))
                                  in enumerate(zip(shape, p.pairs(), strict=True))
                                  if before or behind])


register_linear("Pad", PadParams, out_shape, forward, back,
                "Images with more elements at their edges.\n\ndata (n, c, h, w) or "
                "(n, c, d, h, w) of any dtype, which stays. mode reflect does not repeat the edge "
                "itself, and gives less than there are elements. Source: MXNet's Pad; "
                "native kernels and oneDNN reorder.",
                aliases=("pad",), compute_ex=compute_ex, refuses=refuses,
                compute_ex_back=compute_ex_back, refuses_back=refuses_back,
                numbers=("constant_value",),
                slope=lambda p: {"mode": p.mode, "pad_width": p.pad_width})
