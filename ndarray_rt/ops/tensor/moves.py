"""Elements along axes to other places, as native steps, one axis after the other.

Windows of any step, ends repeated or turned round, and the way back of each, which sums. Registers
no operator.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple, TypedDict

from ..._array.layout import get_default
from ..._array.ndarray import NDArray
from ..._array.output import Output
from ...native import lib
from ...op.context import OpContext
from ...op.registry import Shape
from ...storage.desc import default_desc
from ...storage.kernels import index as kernels
from .places import can_add
from .pointwise import reshape


class Step(NamedTuple):
    """What is taken along one axis: `taken` elements, element i from begin + i * step.

    `kind` says what is taken from beyond the axis: NDRT_AXIS_WINDOW of what never goes there.
    """

    axis: int
    taken: int
    begin: int
    step: int = 1
    kind: int = lib.NDRT_AXIS_WINDOW


def window_steps(cuts: Sequence[slice], data: Shape) -> list[Step]:
    """The steps that take a window; axes that are taken whole have none."""
    found = []
    for axis, (cut, length) in enumerate(zip(cuts, data, strict=True)):
        places = range(*cut.indices(length))
        if places != range(length):
            found.append(Step(axis, len(places), places.start, places.step))
    return found


class _Counts(TypedDict):
    """Counts of the kernels for data of a shape."""

    outer: int
    length: int
    width: int
    count: int
    kind: int
    begin: int
    step: int


def _counts(shape: Sequence[int], step: Step, width: int) -> _Counts:
    return _Counts(outer=prod(shape[:step.axis]), length=shape[step.axis],
                   width=prod(shape[step.axis + 1:]) * width, count=step.taken, kind=step.kind,
                   begin=step.begin, step=step.step)


def take_steps(ctx: OpContext, data: NDArray, out: Output, steps: Sequence[Step]) -> None:
    """out = data after the steps."""
    if not out.requested:
        return
    if not steps:
        reshape(ctx, data, out)
        return
    can_add(out)
    stream, dtype = ctx.stream, data.dtype
    shapes = [data.shape]
    for step in steps:
        shapes.append((*shapes[-1][:step.axis], step.taken, *shapes[-1][step.axis + 1:]))
    mems = [get_default(data, stream),
            *(stream.scratch(default_desc(dtype, shape)) for shape in shapes[1:-1])]
    with out.open(default_desc(dtype, out.shape), stream) as y:
        mems.append(y)
        for i, step in enumerate(steps):
            ctx.kernel(kernels.axis_move(out=mems[i + 1], data=mems[i],
                                         **_counts(shapes[i], step, dtype.itemsize)))


def give_back(ctx: OpContext, grad: NDArray, out: Output, steps: Sequence[Step],
              seen: Shape | None = None) -> None:
    """out = the gradient of what `steps` took from an array of out's shape, in float32.

    `seen`: grad's shape with the axes that went.
    """
    if not out.requested:
        return
    if not steps:
        reshape(ctx, grad, out)
        return
    stream, dtype = ctx.stream, grad.dtype
    # the axes are apart: the way back may begin with the first one
    shapes = [list(seen or grad.shape)]
    for step in steps:
        made = list(shapes[-1])
        made[step.axis] = out.shape[step.axis]
        shapes.append(made)
    mems = [get_default(grad, stream),
            *(stream.scratch(default_desc(dtype, tuple(shape))) for shape in shapes[1:-1])]
    with out.open(default_desc(dtype, out.shape), stream) as dx:
        mems.append(dx)
        for i, step in enumerate(steps):
            ctx.kernel(kernels.axis_move_grad(dx=mems[i + 1], dy=mems[i],
                                              **_counts(shapes[i + 1], step, 1)))
