"""tile and repeat: an array, or its elements, several times."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import Output
from ...op.context import OpContext
from ...op.infer import normalize_axis
from ...op.params import Params, integer, optional_integer, params_class, shape
from ...op.registry import Shape
from .linear import rearranged, register_linear, row_strides, summed
from .pointwise import need_native

MAX_NATIVE = 12  # axes of a layout


@params_class
class TileParams(Params):
    reps: tuple[int, ...] = shape(low=0, doc="how often along each of the last axes")


@params_class
class RepeatParams(Params):
    repeats: int = integer(low=0, doc="how often each element comes")
    axis: int | None = optional_integer(doc="the axis along which; None: data as one row")


# ---- tile ---------------------------------------------------------------------------------------


def _aligned(p: TileParams, data: Shape) -> tuple[Shape, Shape]:
    """Repetitions and dims with as many axes each."""
    rank = max(len(p.reps), len(data))
    return (1,) * (rank - len(p.reps)) + p.reps, (1,) * (rank - len(data)) + data


def _by_turns(p: TileParams, data: Shape) -> tuple[int, ...]:
    """For each axis its repetitions, then its length."""
    return tuple(n for pair in zip(*_aligned(p, data), strict=True) for n in pair)


def tiled_shape(p: TileParams, data: Shape) -> Shape:
    return tuple(times * dim for times, dim in zip(*_aligned(p, data), strict=True))


def tile(p: TileParams, x: AnyArray) -> AnyArray:
    if not x.size or 0 in p.reps:
        return np.zeros(tiled_shape(p, x.shape), x.dtype)  # numpy's counts what it passes over
    return np.tile(x, p.reps)


def tile_back(p: TileParams, dy: AnyArray, data: Shape) -> AnyArray:
    dims = _by_turns(p, data)
    return summed(dy.reshape(dims), tuple(range(0, len(dims), 2))).reshape(data)


def _need_moves(dims: Shape, x: NDArray) -> str | None:
    if 0 in dims:
        return "no elements"
    return need_native(x) or (f"more than {MAX_NATIVE} axes"
                              if sum(dim > 1 for dim in dims) > MAX_NATIVE else None)


def refuses_tile(p: TileParams, ins: list[NDArray]) -> str | None:
    return _need_moves(_by_turns(p, ins[0].shape), ins[0])


def compute_ex_tile(ctx: OpContext, p: TileParams, ins: list[NDArray], outs: list[Output]) -> None:
    _, data = _aligned(p, ins[0].shape)
    strides = tuple(n for step in row_strides(data) for n in (0, step))
    rearranged(ctx, ins[0], outs[0], _by_turns(p, ins[0].shape), strides)


# ---- repeat -------------------------------------------------------------------------------------


def repeated_shape(p: RepeatParams, data: Shape) -> Shape:
    if p.axis is None:
        return (prod(data) * p.repeats,)
    axis = normalize_axis(p.axis, len(data))
    return (*data[:axis], data[axis] * p.repeats, *data[axis + 1:])


def _parts(p: RepeatParams, data: Shape) -> tuple[int, int, int]:
    """Elements before the axis, the axis, and those behind it."""
    if p.axis is None:
        return 1, prod(data), 1
    axis = p.axis % len(data)
    return prod(data[:axis]), data[axis], prod(data[axis + 1:])


def repeat(p: RepeatParams, x: AnyArray) -> AnyArray:
    made: AnyArray = np.repeat(x, p.repeats, p.axis)
    return made


def repeat_back(p: RepeatParams, dy: AnyArray, data: Shape) -> AnyArray:
    outer, length, inner = _parts(p, data)
    return summed(dy.reshape(outer, length, p.repeats, inner), (2,)).reshape(data)


def refuses_repeat(p: RepeatParams, ins: list[NDArray]) -> str | None:
    return _need_moves((*_parts(p, ins[0].shape), p.repeats), ins[0])


def compute_ex_repeat(ctx: OpContext, p: RepeatParams, ins: list[NDArray], outs: list[Output],
                      ) -> None:
    outer, length, inner = _parts(p, ins[0].shape)
    rearranged(ctx, ins[0], outs[0], (outer, length, p.repeats, inner),
               (length * inner, inner, 0, 1))


def _doc(text: str, name: Any) -> str:
    return (f"{text} The dtype stays; the gradient is summed over the copies. Source: MXNet's "
            f"{name}; oneDNN reorder.")


register_linear("tile", TileParams, tiled_shape, tile, tile_back,
                _doc("data, reps times along each axis.\n\nWhere data or reps has fewer axes, 1 "
                     "stands before its first.", "tile"),
                compute_ex=compute_ex_tile, refuses=refuses_tile)
register_linear("repeat", RepeatParams, repeated_shape, repeat, repeat_back,
                _doc("Each element of data, `repeats` times in a row.\n\nAlong one axis, "
                     "or of data as one row: then the output has rank 1.", "repeat"),
                compute_ex=compute_ex_repeat, refuses=refuses_repeat)
