"""Sequences and optional values: bookkeeping, done while the model is planned."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph import Graph, Node
from ..planner import Planner
from ..table import special
from ..values import NothingValue, SequenceValue, Value, constant, need_bytes
from .casts import dtype_of

# what an item of a sequence takes while the model is planned
_PART = np.dtype("V1000")


def _position(planner: Planner, node: Node, name: str) -> int | None:
    """The number that a value is; None: the rest is planned when it is known."""
    value: Value = planner.scope[name]
    if value.const is None:
        planner.fork_on(name, node)
        return None
    return int(value.const.reshape(-1)[0])


@special("SequenceConstruct")
def sequence_construct(planner: Planner, node: Node, ins: list[Any]) -> None:
    planner.give(node, [SequenceValue(tuple(ins), ins[0].dtype)])


@special("SequenceEmpty")
def sequence_empty(planner: Planner, node: Node, ins: list[Any]) -> None:
    planner.give(node, [SequenceValue((), dtype_of(node.attr("dtype", 1)))])


@special("SequenceLength")
def sequence_length(planner: Planner, node: Node, ins: list[Any]) -> None:
    planner.give(node, [constant(np.asarray(len(ins[0].items), np.int64))])


@special("SequenceAt")
def sequence_at(planner: Planner, node: Node, ins: list[Any]) -> None:
    position = _position(planner, node, node.inputs[1])
    if position is not None:
        planner.give(node, [ins[0].items[position]])


@special("SequenceInsert")
def sequence_insert(planner: Planner, node: Node, ins: list[Any]) -> None:
    items = list(ins[0].items)
    position: int | None = len(items)
    if len(ins) > 2 and ins[2] is not None:
        position = _position(planner, node, node.inputs[2])
    if position is None:
        return
    if not -len(items) <= position <= len(items):
        raise IndexError(f"position {position} of a sequence of {len(items)}")
    items.insert(position, ins[1])
    planner.give(node, [SequenceValue(tuple(items), ins[1].dtype)])


@special("SequenceErase")
def sequence_erase(planner: Planner, node: Node, ins: list[Any]) -> None:
    items = list(ins[0].items)
    position: int | None = -1
    if len(ins) > 1 and ins[1] is not None:
        position = _position(planner, node, node.inputs[1])
    if position is None:
        return
    del items[position]
    planner.give(node, [SequenceValue(tuple(items), ins[0].dtype)])


@special("SplitToSequence")
def split_to_sequence(planner: Planner, node: Node, ins: list[Any]) -> None:
    x: Value = ins[0]
    axis = int(node.attr("axis", 0)) % x.rank
    length = x.shape[axis]
    keeps = True
    if len(ins) < 2 or ins[1] is None:
        need_bytes([length], _PART)
        sizes, keeps = [1] * length, bool(node.attr("keepdims", 1))
    elif ins[1].const is None:
        planner.fork_on(node.inputs[1], node)
        return
    elif ins[1].rank == 0:
        part = int(ins[1].const)
        if part < 1:
            raise ValueError(f"parts of {part}")
        need_bytes([-(-length // part)], _PART)
        sizes = [min(part, length - start) for start in range(0, length, part)]
    else:
        sizes = [int(s) for s in ins[1].const]
    name = next(n for n in node.outputs if n)
    parts = [f"{name}/part{i}" for i in range(len(sizes))]
    work: list[Any] = [Node("Split", "", 11, name, (node.inputs[0],), tuple(parts),
                            {"axis": axis, "split": sizes}, node.place)]
    if not keeps:
        work += [Node("Squeeze", "", 11, part, (part,), (f"{part}/row",), {"axes": [axis]},
                      node.place) for part in parts]
        parts = [f"{part}/row" for part in parts]
    work.append(Node("SequenceConstruct", "", 11, name, tuple(parts), (name,), {}, node.place))
    planner.work.extend(reversed(work))


@special("ConcatFromSequence")
def concat_from_sequence(planner: Planner, node: Node, ins: list[Any]) -> None:
    name = next(n for n in node.outputs if n)
    parts = []
    work: list[Any] = []
    axis = int(node.attrs["axis"])
    for i, item in enumerate(ins[0].items):
        part = f"{name}/item{i}"
        planner.scope[part] = item
        if node.attr("new_axis", 0):
            work.append(Node("Unsqueeze", "", 11, part, (part,), (f"{part}/row",),
                             {"axes": [axis]}, node.place))
            part = f"{part}/row"
        parts.append(part)
    work.append(Node("Concat", "", 13, name, tuple(parts), (name,), {"axis": axis}, node.place))
    planner.work.extend(reversed(work))


@special("SequenceMap")
def sequence_map(planner: Planner, node: Node, ins: list[Any]) -> None:
    body: Graph = node.attrs["body"]
    outer = next(name for name in node.outputs if name)
    rows = []
    for i in range(len(ins[0].items)):
        given = [value.items[i] if isinstance(value, SequenceValue) else value for value in ins]
        rows.append((given, [f"{outer}/map{k}/{i}" for k in range(len(body.outputs))]))
    for k, name in enumerate(node.outputs):
        op = "SequenceConstruct" if rows else "SequenceEmpty"
        planner.work.append(Node(op, "", 11, name, tuple(names[k] for _, names in rows), (name,),
                                 {}, node.place))
    for i, (given, names) in reversed(list(enumerate(rows))):
        planner.inline(node, body, f"item{i}", given, names)


@special("Optional")
def optional(planner: Planner, node: Node, ins: list[Any]) -> None:
    planner.give(node, [ins[0] if ins and ins[0] is not None else NothingValue()])


@special("OptionalHasElement")
def optional_has_element(planner: Planner, node: Node, ins: list[Any]) -> None:
    there = bool(ins) and ins[0] is not None and not isinstance(ins[0], NothingValue)
    planner.give(node, [constant(np.asarray(there))])


@special("OptionalGetElement")
def optional_get_element(planner: Planner, node: Node, ins: list[Any]) -> None:
    if isinstance(ins[0], NothingValue):
        raise ValueError("the optional value is not there")
    planner.give(node, [ins[0]])
