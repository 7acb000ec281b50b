"""Graphs of functions, branches and loops under names that fit where they are put."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .graph import Array, Graph, Node, Reference


@dataclass(eq=False)
class Inlined:
    """A graph under names of the place where it is put."""

    inputs: list[str]
    outputs: list[str]
    nodes: list[Node]
    constants: dict[str, Array]


def inlined(node: Node, graph: Graph, what: str) -> Inlined:
    """The graph in the place of `node`; what is inside gets names that begin with the node's and
    with `what`. Made once for each of these."""
    key = "inlined", what, id(graph)
    found: Inlined | None = node.known.get(key)
    if found is None:
        found = node.known[key] = _inlined(node, graph, what)
    return found


def _inlined(node: Node, graph: Graph, what: str) -> Inlined:
    prefix = f"{next((name for name in node.outputs if name), node.name)}/{what}/"
    names = {name: prefix + name for name in (*graph.inputs, *graph.constants)}
    for inner in graph.nodes:
        names.update({name: prefix + name for name in inner.outputs if name})

    def renamed(name: str) -> str:
        if not name:
            return ""
        return names.get(name) or node.closure.get(name, name)
    given = {**graph.attributes, **node.attrs} if what in ("function", "schema") else None
    nodes = []
    for inner in graph.nodes:
        attrs = inner.attrs if given is None else _with_attributes(inner.attrs, given)
        closure = {name: renamed(inner.closure.get(name, name))
                   for inside in inner.graphs() for name in inside.free_names()}
        nodes.append(Node(
            inner.op, inner.domain, inner.opset, prefix + (inner.name or inner.op),
            tuple(map(renamed, inner.inputs)), tuple(map(renamed, inner.outputs)), attrs,
            f"{node.place}/{inner.place}", closure, inner.overload, node.depth + 1))
    return Inlined([names[name] for name in graph.inputs], [renamed(n) for n in graph.outputs],
                   nodes, {names[name]: array for name, array in graph.constants.items()})


def _with_attributes(attrs: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a node in a function, with what its call gave in the place of references.
    """
    made = {}
    for name, value in attrs.items():
        if isinstance(value, Reference):
            value = given.get(value.name)
            if value is None:
                continue
        elif isinstance(value, Graph):
            value = _graph_with(value, given)
        made[name] = value
    return made


def _graph_with(graph: Graph, given: Mapping[str, Any]) -> Graph:
    nodes = [Node(n.op, n.domain, n.opset, n.name, n.inputs, n.outputs,
                  _with_attributes(n.attrs, given), n.place, n.closure, n.overload, n.depth)
             for n in graph.nodes]
    return Graph(graph.name, graph.inputs, graph.outputs, nodes, graph.constants,
                 infos=graph.infos)


def renewed(graph: Graph) -> Graph:
    """The graph with nodes, inside of nodes too, of which nothing was found out yet."""
    return _graph_with(graph, {})
