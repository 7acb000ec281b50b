"""Parameters of reductions, which axes go, and what is left of a shape. Registers no operator."""

from __future__ import annotations

from typing import Any

from ...errors import ShapeError
from ...op.infer import normalize_axis
from ...op.params import Params, axes, boolean, params_class
from ...op.registry import Shape


@params_class
class ReduceParams(Params):
    axis: tuple[int, ...] | None = axes(doc="the axes to go; None or () is all of them")
    keepdims: bool = boolean(False, doc="the axes stay, with size 1")
    exclude: bool = boolean(False, doc="all axes go but those named")


def reduce_params(axis: tuple[int, ...] | None, keepdims: bool) -> ReduceParams:
    """Parameters of a reduction, for operators that have others."""
    make: Any = ReduceParams
    made: ReduceParams = make(axis=axis, keepdims=keepdims)
    return made


def reduced_axes(p: ReduceParams, rank: int) -> tuple[int, ...]:
    """The axes that go, in order."""
    if not p.axis:
        return tuple(range(rank))
    named = [normalize_axis(axis, rank) for axis in p.axis]
    if len(set(named)) != len(named):
        raise ShapeError(f"axis {p.axis} names an axis twice")
    return tuple(d for d in range(rank) if (d in named) != p.exclude)


def kept_shape(p: ReduceParams, data: Shape) -> Shape:
    """data's shape with size 1 for what goes."""
    gone = reduced_axes(p, len(data))
    return tuple(1 if axis in gone else dim for axis, dim in enumerate(data))


def output_shape(p: ReduceParams, data: Shape) -> Shape:
    """MXNet has no rank 0: what is reduced to one number has shape (1,)."""
    if p.keepdims:
        return kept_shape(p, data)
    gone = reduced_axes(p, len(data))
    return tuple(dim for axis, dim in enumerate(data) if axis not in gone) or (1,)
