"""Epilogue: which following operators a layer can compute itself, as post-ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Shape = tuple[int, ...]


class Epilogue(NamedTuple):
    """How a layer takes over the operators after it, as a chain of post-ops.

    `op` is the operator that does both: it has the layer's parameters, `post_ops` (the chain as
    text), and after the layer's inputs one for each operand of the chain. An operator may name
    itself. `takes(params)`: whether a layer with these parameters can do so; None: always.
    `operand(params, out, shape)`: whether an operand of this shape, which broadcasts to the result
    `out` and has its rank, can be used by a post-op; None: never.
    """

    op: str
    takes: Callable[[Any], bool] | None = None
    operand: Callable[[Any, Shape, Shape], bool] | None = None

    def accepts(self, params: Any) -> bool:
        """A layer with these parameters can take post-ops."""
        return self.takes is None or self.takes(params)

    def accepts_operand(self, params: Any, out: Shape, shape: Shape) -> bool:
        """A post-op can take an operand of this shape."""
        if len(shape) != len(out) or any(a not in (1, b) for a, b in zip(shape, out, strict=True)):
            return False
        return self.operand is not None and self.operand(params, out, shape)


def whole_or_channels(p: Any, out: Shape, shape: Shape) -> bool:
    """The operand has the result's shape, or one number per channel of axis 1."""
    return shape == out or all(dim == 1 for i, dim in enumerate(shape) if i != 1)


def whole_or_row(p: Any, out: Shape, shape: Shape) -> bool:
    """The operand has the result's shape, or one number per column of the last axis."""
    return shape == out or (all(dim == 1 for dim in shape[:-1]) and shape[-1] == out[-1])


class AffineFold(NamedTuple):
    """How a factor and a shift per output channel are folded into a layer's weight and bias.

    The weight is input 1, with output channels on axis 0, or on axis 1 if `transposed`, in
    `num_group` groups along axis 0; the bias is input 2 unless the parameter `no_bias` is set.
    """

    transposed: bool = False
    num_group: int = 1
