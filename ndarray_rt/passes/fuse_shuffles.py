"""Lets convolutions read shuffled channels in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..dtypes import FLOAT32
from ..native import lib
from ..ops.fused.post_ops import chain_bounds, chain_of_params, num_operands
from ..ops.fused.run import chain_adds_first
from ..ops.nn.convolution import EPILOGUE as CONVOLUTION
from ..symbol.node import Entry, Node
from .rewrite import Facts, Heads, make, replace


class _Shuffle(NamedTuple):
    """The entry whose channels are shuffled, and from how many groups."""

    data: Entry
    groups: int


def fuse_shuffles(heads: Sequence[Entry], facts: Facts) -> Heads:
    """A 1x1 convolution behind a channel shuffle (a reshape, a transpose and a reshape) reads the
    channels in place; a depthwise convolution between the two has its filters in the other
    order then (float32). Other shuffles become one node, which keeps the layout."""
    def change(node: Node, now: Mapping[Entry, Entry]) -> list[Entry] | None:
        if _is_pointwise(node, facts):
            return _fused(node, now, facts)
        found = _shuffle_of(node, facts)
        if found is None:
            return None
        return make("_shuffle_channels", {"groups": found.groups}, [now[found.data]],
                    node.name).outputs
    return replace(heads, change)


def _shuffle_of(node: Node, facts: Facts) -> _Shuffle | None:
    """The shuffle that ends in this node: the last reshape of three nodes, the others of which no
    other node reads."""
    if node.op is None or not node.op.reshapes or facts.is_open(node.outputs[0]):
        return None
    turned = node.inputs[0]
    if turned.node.op is None or turned.node.op.permutes is None or not facts.used_once(turned):
        return None
    split = turned.node.inputs[0]
    if split.node.op is None or not split.node.op.reshapes or not facts.used_once(split):
        return None
    data = split.node.inputs[0]
    shape, dims = facts.shapes[data], facts.shapes[split]
    rank = len(dims)
    if (rank < 3 or 0 in shape or len(shape) != rank - 1
            or (dims[0], dims[1] * dims[2], *dims[3:]) != shape
            or facts.shapes[node.outputs[0]] != shape
            or turned.node.op.permutes(turned.node.params, rank) != (0, 2, 1, *range(3, rank))):
        return None
    return _Shuffle(data, dims[1])


def _fused(node: Node, now: Mapping[Entry, Entry], facts: Facts) -> list[Entry] | None:
    source = node.inputs[0]
    depthwise = source.node if _is_depthwise(source.node, facts) else None
    if depthwise is not None:
        if not facts.used_once(source):
            return None
        source = depthwise.inputs[0]
    found = _shuffle_of(source.node, facts)
    if found is None or not facts.used_once(source) or found.groups > lib.NDRT_MOST_SHUFFLED:
        return None
    data = now[found.data]
    if depthwise is not None:
        data = _in_other_order(depthwise, data, [now[entry] for entry in depthwise.inputs[1:]],
                               facts.shapes[found.data][1] // found.groups)
    params: Any = node.params
    return make("_fused_shuffled_Convolution", {**params.to_attrs(), "shuffled": found.groups},
                [data, *(now[entry] for entry in node.inputs[1:])], node.name).outputs


def _in_other_order(depthwise: Node, data: Entry, weights: Sequence[Entry], groups: int) -> Entry:
    """The depthwise convolution of channels before they are shuffled. `groups`: those that its
    filters are shuffled from to undo that."""
    assert depthwise.op is not None
    assert depthwise.params is not None
    moved = [make("_shuffle_filters", {"groups": groups}, [entry],
                  f"{depthwise.name}_{name}_shuffled").outputs[0]
             for entry, name in zip(weights, ("weight", "bias"), strict=False)]
    return make(depthwise.op.name, depthwise.params, [data, *moved], depthwise.name).outputs[0]


def _is_layer(node: Node, facts: Facts) -> bool:
    return (node.op is not None and node.op.epilogue is CONVOLUTION
            and all(facts.types[entry] == FLOAT32 for entry in node.inputs)
            and 0 not in facts.shapes[node.inputs[0]])


def _is_depthwise(node: Node, facts: Facts) -> bool:
    """A filter for each channel, and nothing done to its result that tells channels apart."""
    if not _is_layer(node, facts):
        return False
    params: Any = node.params
    return (params.num_filter == params.num_group == facts.shapes[node.inputs[0]][1]
            and not num_operands(chain_of_params(params)))


def _is_pointwise(node: Node, facts: Facts) -> bool:
    """The native kernel for shuffled channels can do it."""
    if not _is_layer(node, facts):
        return False
    params: Any = node.params
    return (set(params.kernel) == {1} and not set(params.stride) - {1}
            and not set(params.pad) - {0} and _adds_or_bounds(node, facts))


def _adds_or_bounds(node: Node, facts: Facts) -> bool:
    """The result is only added to something of its shape, and clamped.
    """
    params: Any = node.params
    chain = chain_of_params(params)
    if chain_adds_first(chain):
        if facts.shapes[node.inputs[-num_operands(chain)]] != facts.shapes[node.outputs[0]]:
            return False
        chain = chain[1:]
    return chain_bounds(chain) is not None
