"""The table of ONNX operators: what each computes in NumPy, and the symbols that it becomes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from .graph import Node

# (node, arrays or None) -> an array, or a tuple of them
Function = Callable[..., Any]
# (builder, node, values or None) -> a value, a tuple of them, or None: there is no such operator
SymbolFunction = Callable[..., Any]
# (node, arrays or None) -> shape and dtype of the largest result, before it is allocated
Sized = Callable[..., Any]
# (node, values or None) -> arrays that follow from what is known before anything runs, or None
Early = Callable[..., Any]


@dataclass(eq=False)
class Operator:
    """An operator of ONNX in all its versions; a function asks `node.opset` where they differ.

    `function` is the definition of right, on NumPy arrays. `shape_from` are the positions of inputs
    whose values decide about shapes of outputs; of `data_dependent` ones all values do. `early`
    needs shapes and constants only. `is_layer`: its symbols are for whole numbers, also those that
    are there when a run begins. `size_function` reads the values of no inputs but those of
    `shape_from`, or of data_dependent operators.
    """

    name: str
    function: Function
    shape_from: tuple[int, ...] = ()
    data_dependent: bool = False
    draws: bool = False
    is_layer: bool = False
    symbols: SymbolFunction | None = None
    early_function: Early | None = None
    size_function: Sized | None = None

    def symbol(self, function: SymbolFunction) -> SymbolFunction:
        """Decorator: the symbols that a node becomes."""
        self.symbols = function
        return function

    def early(self, function: Early) -> Early:
        """Decorator: what follows from shapes and constants."""
        self.early_function = function
        return function

    def sized(self, function: Sized) -> Sized:
        """Decorator: how large the result is, where it may be far larger than what is given."""
        self.size_function = function
        return function


TABLE: dict[tuple[str, str], Operator] = {}


def operator(*names: str, domain: str = "", shape_from: Iterable[int] = (),
             data_dependent: bool = False, draws: bool = False,
             is_layer: bool = False) -> Callable[[Function], Operator]:
    """Decorator: puts an operator with these names into the table."""
    def add(function: Function) -> Operator:
        made = Operator(names[0], function, tuple(shape_from), data_dependent, draws, is_layer)
        for name in names:
            TABLE[domain, name] = made
        return made
    return add


# operators that need the planner: those with graphs inside, and those of sequences
SPECIAL: dict[tuple[str, str], Callable[[Any, Node, list[Any]], None]] = {}


def special(*names: str) -> Callable[[Callable[[Any, Node, list[Any]], None]],
                                     Callable[[Any, Node, list[Any]], None]]:
    """Decorator: an operator that the planner itself carries out."""
    def add(function: Callable[[Any, Node, list[Any]], None],
            ) -> Callable[[Any, Node, list[Any]], None]:
        for name in names:
            SPECIAL["", name] = function
        return function
    return add


def axes_of(node: Node, given: Any, rank: int, attribute: str = "axes",
            ) -> tuple[int, ...] | None:
    """Axes from an input or, in older versions, an attribute, counted from the front."""
    found = node.attr(attribute) if given is None else [int(i) for i in given.reshape(-1)]
    if found is None:
        return None
    for axis in found:
        if not -rank <= axis < rank:
            raise ValueError(f"axis {axis} of a tensor of rank {rank}")
    return tuple(axis % rank for axis in found)


def axis_of(node: Node, rank: int, default: int, attribute: str = "axis") -> int:
    """One axis, counted from the front."""
    axis = int(node.attr(attribute, default))
    if not -rank <= axis < max(rank, 1):
        raise ValueError(f"axis {axis} of a tensor of rank {rank}")
    return axis % rank if rank else 0

