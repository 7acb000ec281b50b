"""What operators on images and boxes share: rules and helpers. Registers no operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._array.layout import get_data_reorder, need_float32
from ..._array.ndarray import NDArray
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.registry import Emit, GradNode, Shape
from ...storage.desc import default_desc
from ...storage.stream import Mem


def zero_gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    """Zeros for all inputs."""
    return [emit.zeros_like(entry) for entry in node.inputs]


def plain(ctx: OpContext, x: NDArray) -> Mem:
    """An input in the default layout of its own shape."""
    return get_data_reorder(x, default_desc(x.dtype, x.shape), ctx.stream)


def need_plain(*arrays: NDArray) -> str | None:
    """A reason why the native kernels may not: a dtype other than float32, nothing to read."""
    if not all(array.size for array in arrays):
        return "an input has no elements"
    return need_float32(*arrays)


def fits(shape: Shape | None, wanted: Sequence[int], what: str) -> Shape | None:
    """A shape with what is wanted of it; -1 is any length. ShapeError where they disagree."""
    if shape is None:
        return None
    good = len(shape) == len(wanted) and all(
        -1 in (have, want) or have == want for have, want in zip(shape, wanted, strict=True))
    if not good:
        text = ", ".join("any" if want == -1 else str(want) for want in wanted)
        raise ShapeError(f"{what} has shape {shape}, expected ({text})")
    return tuple(max(have, want) for have, want in zip(shape, wanted, strict=True))
