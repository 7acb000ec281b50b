"""A prepared model as plain nodes and arrays, read without any framework: for the converters."""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .models import Files

Array = npt.NDArray[Any]
MERGED, SPLIT = (-3, 0, 0), -4  # MXNet's codes in the shape of a reshape


class Unsupported(Exception):
    """Something in a graph that a converter has no counterpart for."""


@dataclass(frozen=True)
class Node:
    """One operator; `inputs` are names of nodes, parameters and inputs of the network."""

    op: str
    name: str
    attrs: dict[str, Any]
    inputs: tuple[str, ...]

    def pair(self, key: str, default: int) -> tuple[int, int]:
        """A size for both spatial dimensions; an empty one counts as not given."""
        given = self.attrs.get(key) or (default, default)
        if len(given) != 2:
            raise Unsupported(f"{self.op} {self.name}: {key}={given}, expected two numbers")
        return int(given[0]), int(given[1])

    def refuse(self, what: str) -> Unsupported:
        return Unsupported(f"{self.op} {self.name}: {what}")


@dataclass(frozen=True)
class Graph:
    """Nodes in an order in which they can run, the parameters, and the node of the output."""

    nodes: list[Node]
    params: dict[str, Array]
    output: str

    @property
    def by_name(self) -> dict[str, Node]:
        return {node.name: node for node in self.nodes}

    def count_users(self) -> dict[str, int]:
        """How often each name is read; the output counts once more."""
        users = {self.output: 1}
        for node in self.nodes:
            for name in node.inputs:
                users[name] = users.get(name, 0) + 1
        return users


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def read_graph(files: Files) -> Graph:
    """The graph of a prepared model; only first outputs of nodes are ever read."""
    raw = json.loads(files.symbol.read_text(encoding="utf-8"))
    names = [node["name"] for node in raw["nodes"]]
    nodes = []
    for node in raw["nodes"]:
        if node["op"] == "null":
            continue
        attrs = {key: _value(text) for key, text in (node.get("attrs") or {}).items()}
        if any(entry[1] for entry in node["inputs"]):
            raise Unsupported(f"{node['name']} reads a second output")
        nodes.append(Node(node["op"], node["name"], attrs,
                          tuple(names[entry[0]] for entry in node["inputs"])))
    with np.load(files.arrays) as arrays:
        params = {name: arrays[name] for name in arrays.files}
    return Graph(nodes, params, names[raw["heads"][0][0]])


# ---- attention ----------------------------------------------------------------------------------

def join_attention(graph: Graph) -> Graph:
    """The graph with attention as one node where it is spelled out on merged batches and heads.

    Other frameworks keep batch and head apart, and what they do fastest is written that way.
    The node is `attention` of query, key and value (batch, head, position, feature), `scale`.
    """
    by_name = graph.by_name
    joined: dict[str, Node] = {}
    for node in graph.nodes:
        found = _attention_ending_in(node, by_name)
        if found is not None:
            joined[node.name] = found
    nodes = [joined.get(node.name, node) for node in graph.nodes]
    return Graph(_reachable(nodes, graph.output), graph.params, graph.output)


def _attention_ending_in(node: Node, by_name: dict[str, Node]) -> Node | None:
    shape = _reshape_codes(node)
    if shape is None or shape[0] != SPLIT:
        return None
    product = by_name.get(node.inputs[0])
    if product is None or product.op != "batch_dot":
        return None
    softmax = by_name.get(product.inputs[0])
    if softmax is None or softmax.op != "softmax":
        return None
    scores = by_name.get(softmax.inputs[0])
    if scores is None or scores.op != "batch_dot" or not scores.attrs.get("transpose_b"):
        return None
    scaled = by_name.get(scores.inputs[0])
    if scaled is None or scaled.op != "_mul_scalar":
        return None
    parts = [by_name.get(name) for name in (scaled.inputs[0], scores.inputs[1], product.inputs[1])]
    if any(part is None or _reshape_codes(part) != MERGED for part in parts):
        return None
    sources = tuple(part.inputs[0] for part in parts if part is not None)
    return Node("attention", node.name, {"scale": float(scaled.attrs["scalar"])}, sources)


def _reshape_codes(node: Node) -> tuple[int, ...] | None:
    if node.op not in ("Reshape", "reshape"):
        return None
    return tuple(node.attrs["shape"])


def _reachable(nodes: Sequence[Node], output: str) -> list[Node]:
    wanted = {output}
    kept = []
    for node in reversed(nodes):
        if node.name in wanted:
            kept.append(node)
            wanted.update(node.inputs)
    return kept[::-1]


def plain_reshape(node: Node) -> tuple[int, ...]:
    """The shape of a reshape with 0 (as it was) and one -1 (the rest) as its only codes.

    Possible where a dimension is split whose parts are given, and where the last ones are merged.
    """
    codes = list(_reshape_codes(node) or ())
    shape: list[int] = []
    while codes:
        code = codes.pop(0)
        if code == SPLIT and len(codes) >= 2:
            shape += [codes.pop(0), codes.pop(0)]
        elif code == -3 and not codes:
            shape.append(-1)
        elif code >= -1:
            shape.append(code)
        else:
            raise node.refuse(f"shape {node.attrs['shape']}")
    changed = next((i for i, size in enumerate(shape) if size != 0), len(shape))
    if shape.count(-1) > 1 or 0 in shape[changed:]:
        raise node.refuse(f"shape {node.attrs['shape']}")
    return tuple(shape)


# ---- LSTM ---------------------------------------------------------------------------------------

@dataclass(frozen=True)
class LstmLayer:
    """Weights of one layer, gates in the order input, forget, candidate, output."""

    from_input: Array
    from_hidden: Array
    input_bias: Array
    hidden_bias: Array


def lstm_layers(node: Node, graph: Graph) -> list[LstmLayer]:
    """The layers of an RNN node of mode lstm, whose parameters are one vector.

    In the vector come the two matrices of each layer, then the two biases of each layer. States
    that are given must be zeros: the converters leave them out.
    """
    if node.attrs["mode"] != "lstm" or node.attrs.get("bidirectional"):
        raise node.refuse("only a forward LSTM is converted")
    rest, size = graph.params[node.inputs[1]], int(node.attrs["state_size"])
    count, gates = int(node.attrs["num_layers"]), 4 * size
    # what the first layer takes is found from the length of all
    fixed = count * (gates * size + 2 * gates) + (count - 1) * gates * size
    width = (rest.size - fixed) // gates
    matrices, biases = [], []
    for layer in range(count):
        for columns in (size if layer else width, size):
            matrices.append(rest[:gates * columns].reshape(gates, columns))
            rest = rest[gates * columns:]
    for _ in range(2 * count):
        biases.append(rest[:gates])
        rest = rest[gates:]
    if rest.size:
        raise node.refuse(f"{rest.size} parameters are left over")
    return [LstmLayer(matrices[2 * i], matrices[2 * i + 1], biases[2 * i], biases[2 * i + 1])
            for i in range(count)]
