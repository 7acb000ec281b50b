"""What an operator computes element by element, as data that passes read and rewrite."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """An argument: the input at this position."""

    position: int


X, Y = Place(0), Place(1)


class Elementwise(NamedTuple):
    """A function of each element, by name, with its arguments: inputs (`Place`) or numbers.

    `add`, `sub`, `mul`, `div`, `maximum`, `minimum` and `power` take two arguments; `clip` an
    input, low and high. Others are functions of one input and constants: `relu`, `leaky` (slope),
    `elu` (alpha), `selu`, `gelu`, `sigmoid`, `tanh`, `softrelu`, `swish` (factor), `mish`,
    `hardsigmoid` and `hardswish` (factor, shift), `exp`, `log`, `erf`, `sqrt`, `square`, `abs`,
    `negative` and NumPy's names. Passes ignore names that they do not know.
    """

    word: str
    args: tuple[Place | float, ...] = (X,)


class PostOp(NamedTuple):
    """One post-op: an elementwise function with its constants, or an operation with an operand.

    An operand of the result's shape has alpha 1: the two shapes then follow from each other.
    """

    name: str
    alpha: float = 0.0
    beta: float = 0.0

    @property
    def has_operand(self) -> bool:
        return self.name in OPERATIONS


# post-ops that combine the result with an operand
OPERATIONS = ("add", "sub", "mul", "div")
Chain = tuple[PostOp, ...]
