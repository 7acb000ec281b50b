"""Values of a model while it is planned: what is known of each before anything runs."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtypes import TYPE_FLAGS
from ..errors import InputMismatch
from .graph import Array

if TYPE_CHECKING:
    from ..symbol.symbol import Symbol
    from .build import GraphBuilder
    from .steps import Maker, Steps

DType = np.dtype[Any]

# for how many bytes files may only describe tensors
MAX_BYTES: ContextVar[int] = ContextVar("max_bytes", default=1 << 33)


@dataclass(eq=False)
class Value:
    """A tensor: a constant, an output of the graph that is being made, or an array that is there
    when a step runs (`slot` is its name).

    An array has at least one axis in a graph, so that a tensor of rank 0 has the shape (1,) there.
    `fixed` constants are the same whatever the model's inputs are.
    """

    shape: tuple[int, ...]
    dtype: DType
    const: Array | None = None
    symbol: Symbol | None = None
    slot: str | None = None
    fixed: bool = False
    # of a tensor that repeats another one along its last axis, of which that has one element
    repeats: Value | None = None
    # of rows that are 1 (or true) in one place and else 0: the places (..., 1), any whole numbers
    places: Value | None = None
    # of floats that whole numbers stand for
    steps: Steps | None = None
    # of floats that may become whole numbers
    maker: Maker | None = None
    # of what follows from data that are rounded when a run has them: the graph, and what it is
    dynamic: tuple[GraphBuilder, Any] | None = None

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def is_float(self) -> bool:
        """Operators of the engine compute on it: float32 or float64."""
        return self.dtype in FAST

    @property
    def graph_shape(self) -> tuple[int, ...]:
        """The shape that it has in a graph."""
        return self.shape or (1,)

    def number(self) -> float | None:
        """The number that a constant of one element is."""
        if self.const is None or self.const.size != 1:
            return None
        return float(self.const.reshape(-1)[0])


@dataclass(eq=False)
class SequenceValue:
    """A sequence of tensors whose length is known."""

    items: tuple[Value, ...]
    dtype: DType | None = None


@dataclass(eq=False)
class NothingValue:
    """An optional value that is not there."""


FAST = (np.dtype(np.float32), np.dtype(np.float64))


def in_graphs(dtype: DType) -> bool:
    """Arrays of the engine have this dtype."""
    return dtype.name in TYPE_FLAGS and dtype.name != "bfloat16"


def constant(array: Any, fixed: bool = False) -> Value:
    """A constant as a value."""
    made = np.asarray(array)
    return Value(made.shape, made.dtype, const=made, fixed=fixed)


def is_fixed(value: Any) -> bool:
    """It is the same whatever the model's inputs are."""
    if isinstance(value, SequenceValue):
        return all(is_fixed(item) for item in value.items)
    return not isinstance(value, Value) or value.fixed


def stand_in(value: Value) -> Array:
    """An array of the shape and dtype of a value that takes no memory, or the value's constant."""
    if value.const is not None:
        return value.const
    return np.broadcast_to(np.zeros((), value.dtype), value.shape)


def need_bytes(shape: Any, dtype: DType) -> None:
    """InputMismatch where a tensor that is only described is larger than allowed."""
    size = dtype.itemsize
    for dim in shape:
        if int(dim) < 0:
            raise InputMismatch(f"describes a tensor of shape {tuple(map(int, shape))}")
        size *= int(dim)
    if size > MAX_BYTES.get():
        raise InputMismatch(f"describes a tensor of shape {tuple(map(int, shape))} and {dtype}, "
                            f"{size} bytes; allowed are {MAX_BYTES.get()} (max_bytes)")
