"""Our kernels that work along one axis, or axes side by side, of row-major arrays.

Registers no operator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from ..._array.layout import get_default
from ..._array.ndarray import NDArray
from ..._array.output import Output
from ...dtypes import FLOAT64, DType
from ...errors import Unsupported
from ...native import lib
from ...op.context import OpContext
from ...op.registry import Shape
from ...storage.desc import MemDesc, default_desc
from ...storage.kernel_call import KernelCall
from ...storage.kernels.reduce import reduce
from ...storage.stream import Mem
from .places import can_add

Part = tuple[int, int, int]  # elements outside of the axes, along them, inside of them

_KINDS = {11: lib.NDRT_F32, 12: lib.NDRT_F64, 5: lib.NDRT_S32}  # by numpy's numbers
FEW_COLUMNS = 8  # fewer than that are not worth a kernel that goes along rows


def kernel_kind(dtype: DType) -> int | None:
    """What the kernels call a dtype; None where they do not compute in it."""
    return _KINDS.get(dtype.num)


def need_kind(*arrays: NDArray) -> str | None:
    """A reason why the kernels may not: a dtype that they do not compute in."""
    for array in arrays:
        if array.dtype.num not in _KINDS:
            return f"no kernel computes in {array.dtype}"
    return None


def part_of(shape: Shape, axes: Sequence[int]) -> Part | None:
    """An array seen along neighbouring axes; None where others of several elements lie between."""
    axes = [axis for axis in axes if shape[axis] != 1]
    if not axes:
        return prod(shape), 1, 1
    first, last = min(axes), max(axes)
    if any(shape[axis] != 1 and axis not in axes for axis in range(first, last)):
        return None
    return prod(shape[:first]), prod(shape[first:last + 1]), prod(shape[last + 1:])


def along(ctx: OpContext, kernel: Callable[..., KernelCall], part: Part, data: NDArray,
          out: Output, **counts: int) -> None:
    """Runs a kernel whose output and input are of one dtype, the latter along `part`."""
    if not out.requested:
        return
    can_add(out)
    x = get_default(data, ctx.stream)
    with out.open(default_desc(data.dtype, out.shape), ctx.stream) as y:
        outer, length, inner = part
        ctx.kernel(kernel(out=y, data=x, outer=outer, length=length, inner=inner,
                          kind=kernel_kind(data.dtype) or 0, **counts))


def reduce_part(ctx: OpContext, what: int, part: Part, x: Mem, y: Mem, kind: int,
                factor: float = 1.0) -> None:
    """y = x reduced along the middle of `part`, times a factor."""
    outer, length, inner = part
    parts = None
    if inner == 1 and length > lib.NDRT_REDUCE_BLOCK:
        blocks = -(-length // lib.NDRT_REDUCE_BLOCK)
        parts = ctx.stream.scratch(default_desc(FLOAT64, (outer * blocks,)))
    ctx.kernel(reduce(out=y, data=x, parts=parts, outer=outer, length=length, inner=inner,
                      kind=kind, what=what, factor=factor))


def reduced(ctx: OpContext, what: int, data: NDArray, axes: Sequence[int], out: Output,
            factor: float = 1.0) -> None:
    """out = data reduced over axes, group by group of them, from the innermost on."""
    if not out.requested:
        return
    can_add(out)
    stream, kind = ctx.stream, kernel_kind(data.dtype)
    if kind is None or not data.size:
        raise Unsupported("nothing that a kernel reduces")
    parts = _parts(data.shape, axes)
    if len(parts) > 1 and what in (lib.NDRT_REDUCE_NORM1, lib.NDRT_REDUCE_NORM2):
        raise Unsupported("a norm over axes that are no neighbours")
    if any(1 < inner < FEW_COLUMNS for _, _, inner in parts):
        raise Unsupported("few columns")
    x = get_default(data, stream)
    with out.open(default_desc(data.dtype, out.shape), stream) as y:
        for i, part in enumerate(parts):
            last = i == len(parts) - 1
            target = y if last else stream.scratch(_flat(data.dtype, part[0] * part[2]))
            reduce_part(ctx, what, part, x, target, kind, factor if last else 1.0)
            x = target


def _flat(dtype: DType, n: int) -> MemDesc:
    return default_desc(dtype, (n,))


def _parts(shape: Shape, axes: Sequence[int]) -> list[Part]:
    """One part for each group of neighbouring axes, the innermost group first."""
    made: list[Part] = []
    left = list(shape)
    group: list[int] = []
    for axis in range(len(shape) - 1, -1, -1):
        if shape[axis] == 1:
            continue
        if axis in axes:
            group.append(axis)
        elif group:
            made.append(_take(left, group))
            group = []
    if group or not made:
        made.append(_take(left, group))
    return made


def _take(left: list[int], group: list[int]) -> Part:
    """The part of a group, whose axes are gone from `left` afterwards."""
    found = part_of(tuple(left), group)
    assert found is not None
    for axis in group:
        left[axis] = 1
    return found
