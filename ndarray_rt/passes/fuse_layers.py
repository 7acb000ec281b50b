"""Layers and what follows them as one node each, with a graph inside: what MXNet's backends
MKLDNN and MKLDNN_QUANTIZE make of a graph on floats.

Such graphs are what is quantized best: weights are rounded filter by filter, and sums are brought
to 8 bits together with what follows. They can be written to files, which MXNet reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..op.registry import find
from ..symbol.compose import output_name
from ..symbol.node import Entry, Node, topological
from ..symbol.subgraph import KEY
from .rewrite import Heads, replace

CONV, DENSE = "_sg_mkldnn_conv", "_sg_mkldnn_fully_connected"
SCORES, WEIGHTED = "_sg_mkldnn_selfatt_qk", "_sg_mkldnn_selfatt_valatt"
ACTIVATIONS = ("Activation", "LeakyReLU", "clip")


class Reads:
    """Who reads the outputs of a graph's nodes."""

    def __init__(self, heads: Sequence[Entry]) -> None:
        self.order = topological(heads)
        self._heads = {entry.node for entry in heads}
        self._readers: dict[Node, list[Node]] = {}
        # nodes of which more than the first output is read
        self.of_several = {entry.node for entry in heads if entry.index}
        for node in self.order:
            for entry in node.inputs:
                self._readers.setdefault(entry.node, []).append(node)
                if entry.index:
                    self.of_several.add(entry.node)

    def only_reader(self, node: Node) -> Node | None:
        """The node that reads the first output, once, where nothing else of the node is read."""
        readers = self._readers.get(node, [])
        return readers[0] if len(readers) == 1 and node not in self._heads else None

    def only_node(self, node: Node) -> Node | None:
        """The only node that reads outputs, where none is the graph's."""
        readers = self.reading_nodes(node)
        return readers.pop() if len(readers) == 1 and node not in self._heads else None

    def reading_nodes(self, node: Node) -> set[Node]:
        """All nodes that read an output."""
        return set(self._readers.get(node, []))


class _Kind(NamedTuple):
    """How a kind of layer is fused: `ops` are the fused operators by the layers that they start
    with, `takes(chain, node, for bytes)`: the node may follow."""

    ops: Mapping[str, str]
    starts: Callable[[Node], bool]
    takes: Callable[[list[Node], Node, bool], bool]
    attrs: Callable[[list[Node]], dict[str, str]]
    words: Mapping[str, str]


def fuse_layers(heads: Sequence[Entry], for_bytes: bool) -> Heads:
    """The graph with fused layers; `for_bytes`: only with what can be computed of 8-bit numbers."""
    made = _drop_identities(heads)
    for kind in (_CONV, _DENSE, _ATTENTION):
        made = _fuse(made, kind, for_bytes)
    return made


def _drop_identities(heads: Sequence[Entry]) -> Heads:
    """Without copies and dropout, which do nothing at inference."""
    def change(node: Node, now: Mapping[Entry, Entry]) -> list[Entry] | None:
        name = "" if node.op is None else node.op.name
        p: Any = node.params
        if (name == "_copy" or (name == "Dropout" and p.mode == "training")) and (
                not node.inputs[0].node.is_variable):
            return [now[node.inputs[0]]]
        return None
    return replace(heads, change)


def _fuse(heads: Heads, kind: _Kind, for_bytes: bool) -> Heads:
    reads = Reads(heads)
    chains: dict[Node, tuple[str, list[Node]]] = {}
    taken: set[Node] = set()
    for node in reads.order:
        if node.op is None or not kind.starts(node):
            continue
        chain = [node]
        while True:
            after = reads.only_reader(chain[-1])
            if after is None or after in taken or after in reads.of_several or (
                    not kind.takes(chain, after, for_bytes)):
                break
            chain.append(after)
        taken.update(chain)
        words = [kind.words[member.op.name] for member in chain if member.op is not None]
        chains[chain[-1]] = f"sg_mkldnn_{'_'.join(words)}_{len(chains)}", chain

    def change(node: Node, now: Mapping[Entry, Entry]) -> list[Entry] | None:
        if node not in chains:
            return None
        name, chain = chains[node]
        inner, inputs = _inside(chain, now)
        assert chain[0].op is not None
        op, attrs = find(kind.ops[chain[0].op.name]), kind.attrs(chain)
        params = op.params.parse({**attrs, KEY: [[Entry(inner, 0)]]}, op.name, name)
        return Node(op, name, attrs, params, inputs).outputs
    return replace(heads, change)


def _inside(chain: list[Node], now: Mapping[Entry, Entry]) -> tuple[Node, list[Entry]]:
    """The last node of the graph inside, and the inputs that its variables take."""
    counts: Counter[str] = Counter()
    inputs: list[Entry] = []
    made: Node | None = None
    for i, node in enumerate(chain):
        own = []
        before = [entry for entry in node.inputs if i and entry.node is chain[i - 1]]
        for entry in node.inputs:
            if entry in before:
                continue
            name = output_name(now[entry])
            own.append(Entry(Node(None, f"{name}{counts[name]}"), 0))
            counts[name] += 1
            inputs.append(now[entry])
        # of a sum the layer is the left operand
        first = [] if made is None else [Entry(made, 0)]
        made = Node(node.op, node.name, dict(node.attrs), node.params, [*first, *own])
    assert made is not None
    return made, inputs


# ---- which nodes --------------------------------------------------------------------------------


def _is_data(chain: list[Node], node: Node) -> bool:
    """The node's first input is the chain's output."""
    return node.inputs[0] == Entry(chain[-1], 0)


def _is_activation(node: Node, name: str, for_bytes: bool, kinds: tuple[str, ...]) -> bool:
    p: Any = node.params
    if name == "Activation":
        return p.act_type in (("relu",) if for_bytes else ("relu", "sigmoid", "softrelu", "tanh"))
    if name == "LeakyReLU":
        return p.act_type in kinds
    return name == "clip" and p.a_min == 0


def _starts_conv(node: Node) -> bool:
    p: Any = node.params
    return (node.op is find("Convolution") and len(p.kernel) in (2, 3)
            and (p.layout or "NC").startswith("NC"))


def _follows_conv(chain: list[Node], node: Node, for_bytes: bool) -> bool:
    assert node.op is not None
    names = [member.op.name for member in chain if member.op is not None]
    name = node.op.name
    p: Any = node.params
    if any(done in ACTIVATIONS for done in names):
        return False
    has_sum = "elemwise_add" in names
    if name == "BatchNorm":
        return len(names) == 1 and _is_data(chain, node) and p.axis == 1
    if name == "elemwise_add":
        return not has_sum and node.inputs[0] != node.inputs[1]
    if name == "clip" and for_bytes and has_sum:
        return False
    return _is_activation(node, name, for_bytes, ("leaky", "gelu"))


def _conv_attrs(chain: list[Node]) -> dict[str, str]:
    names = [member.op.name for member in chain if member.op is not None]
    made = {}
    if "BatchNorm" in names:
        made["with_bn"] = "true"
    if "elemwise_add" in names:
        made["with_sum"] = "true"
    if names[-1] in ACTIVATIONS:
        made["with_postsum_act" if "with_sum" in made else "with_act"] = "true"
    return made


def _starts_dense(node: Node) -> bool:
    return node.op is find("FullyConnected")


def _follows_dense(chain: list[Node], node: Node, for_bytes: bool) -> bool:
    assert node.op is not None
    name = node.op.name
    if len(chain) > 1:
        return False
    if name in ("square", "sqrt", "exp"):
        return not for_bytes
    return name == "abs" or _is_activation(node, name, for_bytes, ("leaky", "elu", "gelu"))


def _dense_attrs(chain: list[Node]) -> dict[str, str]:
    return {"with_eltwise": "True"} if len(chain) > 1 else {}


def _starts_attention(node: Node) -> bool:
    return node.op is not None and node.op.name in _PRODUCTS


def _follows_attention(chain: list[Node], node: Node, for_bytes: bool) -> bool:
    return False


def _attention_attrs(chain: list[Node]) -> dict[str, str]:
    p: Any = chain[0].params
    return {"heads": str(p.heads), "quantized": "False", "enable_float_output": "False"}


_CONV = _Kind({"Convolution": CONV}, _starts_conv, _follows_conv, _conv_attrs, {
    "Convolution": "conv", "BatchNorm": "bn", "elemwise_add": "add",
    **dict.fromkeys(ACTIVATIONS, "act")})
_DENSE = _Kind({"FullyConnected": DENSE}, _starts_dense, _follows_dense, _dense_attrs, {
    "FullyConnected": "fully_connected",
    **dict.fromkeys((*ACTIVATIONS, "square", "sqrt", "exp", "abs"), "eltwise")})
_PRODUCTS = {"_contrib_interleaved_matmul_selfatt_qk": SCORES,
             "_contrib_interleaved_matmul_selfatt_valatt": WEIGHTED}
_ATTENTION = _Kind(_PRODUCTS, _starts_attention, _follows_attention, _attention_attrs, {
    name: name.removeprefix("_contrib_interleaved_matmul_") for name in _PRODUCTS})
