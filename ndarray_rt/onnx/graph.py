"""An ONNX graph as plain Python objects. Reads no file and computes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Reference:
    """An attribute that takes the value of an attribute of the function's call."""

    name: str


@dataclass(frozen=True)
class ValueInfo:
    """An input or output of a model.

    `dtype` is NumPy's, None where it is not told or no tensor. `shape` has an int, a name or None
    for each dimension; it is None where not even the rank is told. `kind` is "tensor", "sequence",
    "optional" or another word of the format.
    """

    name: str
    dtype: np.dtype[Any] | None
    shape: tuple[int | str | None, ...] | None
    kind: str = "tensor"


@dataclass(eq=False)
class Node:
    """One application of an operator. An input or output that is left out is ''.

    `opset` is that of the operator's domain. `closure` gives, for the graphs among the attributes,
    the names here of what they read from outside.
    """

    op: str
    domain: str
    opset: int
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attrs: dict[str, Any]
    place: str = ""
    closure: Mapping[str, str] = field(default_factory=dict)
    overload: str = ""
    # how many calls of functions it lies inside of
    depth: int = 0
    # what was found out about this node once and holds for every plan
    known: dict[Any, Any] = field(default_factory=dict, repr=False)

    def attr(self, name: str, default: Any = None) -> Any:
        """An attribute, or the default where the file has none."""
        return self.attrs.get(name, default)

    def graphs(self) -> Iterator[Graph]:
        """The graphs among the attributes."""
        for value in self.attrs.values():
            if isinstance(value, Graph):
                yield value
            elif isinstance(value, list) and value and isinstance(value[0], Graph):
                yield from value

    def reads(self) -> Iterator[str]:
        """Names of all values that it reads, those that its graphs read from outside too."""
        for name in self.inputs:
            if name:
                yield name
        for graph in self.graphs():
            for name in graph.free_names():
                yield self.closure.get(name, name)

    def __str__(self) -> str:
        return f"{self.op} {self.place}"


@dataclass(eq=False)
class Graph:
    """Nodes in an order in which each reads only what is there; `constants` are initialisers.

    Of a function `attributes` are the names and defaults of what its calls may give; of other
    graphs `infos` are what the file says about the outputs.
    """

    name: str
    inputs: list[str]
    outputs: list[str]
    nodes: list[Node]
    constants: dict[str, Array]
    attributes: dict[str, Any] = field(default_factory=dict)
    infos: list[ValueInfo] = field(default_factory=list)
    _free: tuple[str, ...] | None = None

    def free_names(self) -> tuple[str, ...]:
        """What it reads from outside."""
        if self._free is None:
            inside = {*self.inputs, *self.constants}
            found: dict[str, None] = {}
            for node in self.nodes:
                for name in node.reads():
                    if name not in inside:
                        found[name] = None
                inside.update(node.outputs)
            for name in self.outputs:
                if name and name not in inside:
                    found[name] = None
            self._free = tuple(found)
        return self._free

    def all_graphs(self) -> Iterator[Graph]:
        """This graph and those inside of its nodes."""
        yield self
        for node in self.nodes:
            for graph in node.graphs():
                yield from graph.all_graphs()

    def all_nodes(self) -> Iterator[Node]:
        """The nodes, and those of graphs inside of them."""
        for graph in self.all_graphs():
            yield from graph.nodes


@dataclass(eq=False)
class ModelFile:
    """All that a file says, read and checked.

    `overridable` are inputs whose values are among the graph's constants: a run may give others.
    """

    graph: Graph
    inputs: list[ValueInfo]
    outputs: list[ValueInfo]
    opsets: dict[str, int]
    functions: dict[tuple[str, str, str], Graph]
    metadata: dict[str, Any]
    file: str
    overridable: list[ValueInfo] = field(default_factory=list)
