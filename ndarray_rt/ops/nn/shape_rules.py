"""Shape checks that the layers with weights share. Runs nothing."""

from __future__ import annotations

from ...errors import ShapeError
from ...op.infer import merge
from ...op.registry import Shape


def expect(got: Shape | None, wanted: Shape, name: str, implied: str) -> Shape:
    """What is known of an input together with what follows from others.

    `implied` says what it follows from. Raises ShapeError where the two disagree.
    """
    try:
        merged = merge(got, wanted)
    except ShapeError:
        raise ShapeError(f"{name} has shape {got}, expected {wanted} from {implied}") from None
    return wanted if merged is None else merged
