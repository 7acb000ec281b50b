"""What is known of values of a model that whole numbers of 8 bits stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .graph import Array, Node
from .values import DType, Value, constant

if TYPE_CHECKING:
    from .build import GraphBuilder

BYTES = (np.dtype(np.int8), np.dtype(np.uint8))
# nodes whose results are computed of whole numbers where a QuantizeLinear reads them
LAYERS = frozenset({"Conv", "Gemm", "MatMul"})
_SUMS = frozenset({"Add", "Sub", "Sum"})
AVERAGES = frozenset({"AveragePool", "GlobalAveragePool"})
MOVES = frozenset({"DepthToSpace", "Expand", "Flatten", "MaxPool", "Reshape", "Slice",
                   "SpaceToDepth", "Squeeze", "Tile", "Transpose", "Unsqueeze"})
FUNCTIONS = frozenset({
    "Abs", "Celu", "Clip", "Elu", "Erf", "Exp", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu",
    "Mish", "Neg", "Relu", "Selu", "Sigmoid", "Softplus", "Softsign", "Sqrt", "Tanh",
    "ThresholdedRelu"})
_NOTED = LAYERS | _SUMS | AVERAGES | MOVES | FUNCTIONS | {"Concat"}


class Steps(NamedTuple):
    """Whole numbers, and the floats that they stand for: those less the zero points, times the
    scales. Both are one, or one for each place of an axis. `builder` makes the graph that they are
    in, where they are in one."""

    whole: Value
    scales: Array
    zeros: Array
    axis: int
    builder: GraphBuilder

    @property
    def is_plain(self) -> bool:
        """8 bits with one scale."""
        return self.whole.dtype in BYTES and self.scales.size == 1

    @property
    def scale(self) -> np.float32:
        found: np.float32 = self.scales[0]
        return found

    @property
    def zero(self) -> int:
        return int(self.zeros[0])


class Maker(NamedTuple):
    """The node that computes a value, and what it reads."""

    node: Node
    ins: tuple[Value | None, ...]
    builder: GraphBuilder


@dataclass(frozen=True)
class Target:
    """What floats are to become: by the scale, rounded, plus the zero point, within bounds."""

    scale: np.float32
    zero: int
    dtype: DType
    low: int
    high: int

    def of(self, x: Array) -> Array:
        """Floats as whole numbers, as QuantizeLinear has it."""
        with np.errstate(all="ignore"):
            whole = np.rint(x.astype(np.float32) / self.scale) + np.float32(self.zero)
        made: Array = np.clip(np.where(np.isnan(whole), 0, whole), self.low,
                              self.high).astype(self.dtype)
        return made

    def within(self, low: float, high: float) -> Target:
        """The same of floats that are kept within bounds before."""
        ends = self.of(np.array([low, high], np.float32))
        return Target(self.scale, self.zero, self.dtype, int(ends[0]), int(ends[1]))


def whole_target(scale: np.float32, zero: int, dtype: DType) -> Target:
    """Of all numbers that a dtype has."""
    info = np.iinfo(dtype)
    return Target(scale, zero, dtype, int(info.min), int(info.max))


def made_steps(b: GraphBuilder, whole: Value | None, scale: Value | None, zero: Value | None,
               axis: int = 0) -> Steps | None:
    """Whole numbers with constant float32 scales, finite and not 0, and zero points; None for
    others."""
    if (whole is None or scale is None or scale.const is None or scale.dtype != np.float32
            or scale.rank > 1 or (zero is not None and zero.const is None)):
        return None
    scales = scale.const.reshape(-1)
    zeros = np.zeros(scales.size, np.int64)
    if zero is not None and zero.const is not None:
        if zero.const.size not in (1, scales.size) or zero.dtype.kind not in "iu":
            return None
        zeros += zero.const.reshape(-1).astype(np.int64)
    if not scales.size or not (np.isfinite(scales).all() and (scales > 0).all()):
        return None
    return Steps(whole, scales, zeros, axis % max(whole.rank, 1), b)


def whole_of_itself(b: GraphBuilder, x: Value, zero: Value | None, axis: int = 0) -> Steps | None:
    """Whole numbers that stand for themselves, less their zero point."""
    count = 1 if zero is None else zero.size
    return made_steps(b, x, constant(np.ones(count, np.float32)), zero, axis)


def target_of(scale: Value | None, zero: Value | None) -> Target | None:
    """What QuantizeLinear makes of floats: None for others than 8 bits with one constant scale."""
    if (scale is None or scale.const is None or scale.dtype != np.float32 or scale.size != 1
            or (zero is not None and (zero.const is None or zero.dtype not in BYTES
                                      or zero.size != 1))):
        return None
    number = scale.const.reshape(-1)[0]
    if not (np.isfinite(number) and number > 0):
        return None
    if zero is None or zero.const is None:
        return whole_target(number, 0, np.dtype(np.uint8))
    return whole_target(number, int(zero.const.reshape(-1)[0]), zero.dtype)


def is_usable(found: Steps | Maker | None, b: GraphBuilder) -> bool:
    """It may be read in the graph that is being made."""
    if isinstance(found, Steps) and found.whole.symbol is None:
        return True
    return found is not None and found.builder is b


def note(b: GraphBuilder, node: Node, ins: Any, made: Any) -> None:
    """What a node's output is made of."""
    if not isinstance(made, Value) or node.domain not in ("", "com.microsoft"):
        return
    if node.op == "DequantizeLinear":
        if made.dtype == np.float32 and not node.attr("block_size", 0):
            zero = ins[2] if len(ins) > 2 else None
            made.steps = made_steps(b, ins[0], ins[1], zero, int(node.attr("axis", 1)))
    elif node.op in _NOTED and made.const is None and made.dtype == np.float32:
        made.maker = Maker(node, tuple(ins), b)
