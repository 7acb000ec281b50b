"""Epilogue: what a layer says of doing the work of what follows it. Rules for operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Shape = tuple[int, ...]


class Epilogue(NamedTuple):
    """How a layer does what follows it: the post-ops of a chain, one after the other.

    `op` is the operator that does both: it has the layer's parameters, `post_ops`, which is the
    chain's text, and behind the layer's inputs one for each operand of the chain. An operator may
    name itself. `takes(params)`: a layer with these parameters can do that; None: it always can.
    `operand(params, out, shape)`: an operand of this shape, which broadcasts to the result `out`
    and has its rank, can be one of a post-op; None: no operand can.
    """

    op: str
    takes: Callable[[Any], bool] | None = None
    operand: Callable[[Any, Shape, Shape], bool] | None = None

    def accepts(self, params: Any) -> bool:
        """A layer with these parameters can do what follows it."""
        return self.takes is None or self.takes(params)

    def accepts_operand(self, params: Any, out: Shape, shape: Shape) -> bool:
        """An operand of this shape can be one of a post-op."""
        if len(shape) != len(out) or any(a not in (1, b) for a, b in zip(shape, out, strict=True)):
            return False
        return self.operand is not None and self.operand(params, out, shape)


def whole_or_channels(p: Any, out: Shape, shape: Shape) -> bool:
    """An operand of the result's shape, or with a number for each channel on axis 1."""
    return shape == out or all(dim == 1 for i, dim in enumerate(shape) if i != 1)


def whole_or_row(p: Any, out: Shape, shape: Shape) -> bool:
    """An operand of the result's shape, or with a number for each column of the last axis."""
    return shape == out or (all(dim == 1 for dim in shape[:-1]) and shape[-1] == out[-1])


class AffineFold(NamedTuple):
    """How a factor and a shift of each output channel go into a layer's weight and bias.

    The weight is input 1 and has the output channels on axis 0, or `transposed` on axis 1, in
    `num_group` groups of axis 0; the bias is input 2 unless the parameter `no_bias` is set.
    """

    transposed: bool = False
    num_group: int = 1
