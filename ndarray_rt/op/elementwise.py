"""What an operator computes element by element, as data that passes read and rewrite."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """The input at a position, as an argument."""

    position: int


X, Y = Place(0), Place(1)


class Elementwise(NamedTuple):
    """A function of each element, by its word and arguments: places of inputs, or numbers.

    `add`, `sub`, `mul`, `div`, `maximum`, `minimum` and `power` take two arguments, `clip` a place,
    low and high. Other words are a function of a place, with its numbers: `relu`, `leaky` (slope),
    `elu` (alpha), `selu`, `gelu`, `sigmoid`, `tanh`, `softrelu`, `swish` (factor), `mish`,
    `hardsigmoid` and `hardswish` (factor, shift), `exp`, `log`, `erf`, `sqrt`, `square`, `abs`,
    `negative` and whatever else numpy calls so. A word that no pass knows says nothing.
    """

    word: str
    args: tuple[Place | float, ...] = (X,)


class PostOp(NamedTuple):
    """One post-op: an elementwise function with its constants, or an operation with an operand.

    An alpha of 1 says of an operand that its shape is the result's, so that either tells the other.
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
