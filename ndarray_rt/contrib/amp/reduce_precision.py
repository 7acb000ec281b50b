"""Casts put into a graph, so that some of its operators run in 16 bits.

Source: MXNet's pass ReducePrecision.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from ...dtypes import FLOAT32, TYPE_FLAGS, DType, dtype_name, find_dtype
from ...errors import TypeMismatch
from ...op.infer import run_infer_type
from ...op.registry import OpDef, find
from ...symbol.compose import mutated_inputs, output_name
from ...symbol.infer import infer_graph_types
from ...symbol.node import Entry, Node, topological


class Wanted(NamedTuple):
    """What runs in which precision, by registered names of operators."""

    dtype: DType
    in_low: frozenset[str]
    in_float32: frozenset[str]
    in_widest: frozenset[str]
    # operator -> [(parameter, values for which it runs in float32)]
    conditional: Mapping[str, Sequence[tuple[str, Sequence[str]]]]
    # names of nodes that stay float32
    excluded: frozenset[str]


def reduce_precision(heads: Sequence[Entry], wanted: Wanted, data: frozenset[str],
                     cast_params: bool) -> list[Entry]:
    """The outputs of a new graph that computes in the wanted precisions, float32 again.

    `data` are names of variables that come as float32. With `cast_params` the other variables are
    to be given in 16 bits where an operator wants them so, else they are cast in the graph.
    """
    return _Reduction(wanted, data, cast_params).outputs(heads)


class _Reduction:
    def __init__(self, wanted: Wanted, data: frozenset[str], cast_params: bool) -> None:
        self._wanted = wanted
        self._data = data
        self._cast_params = cast_params
        self._made: dict[Node, Node] = {}
        # old entry -> where it is to be had in that dtype
        self._in_float32: dict[Entry, Entry] = {}
        self._in_low: dict[Entry, Entry] = {}

    def outputs(self, heads: Sequence[Entry]) -> list[Entry]:
        for node in topological(heads):
            self._made[node] = self._copy(node)
        return [self._cast(head, FLOAT32) for head in heads]

    def _copy(self, node: Node) -> Node:
        op, wanted = node.op, self._wanted
        new = Node(op, node.name, dict(node.attrs), node.params)
        if op is None:
            return new
        if node.name in wanted.excluded or op.name in wanted.in_float32:
            self._note(node, new, [FLOAT32] * node.num_outputs)
            # variables are float32 by themselves
            new.inputs = [self._same(entry) if entry.node.is_variable
                          and entry not in self._in_float32 else self._cast(entry, FLOAT32)
                          for entry in node.inputs]
        elif op.name in wanted.in_low:
            self._run_low(node, new)
        elif op.name in wanted.in_widest:
            self._run_widest(node, new)
        elif self._is_conditional(node, op):
            self._note(node, new, [FLOAT32] * node.num_outputs)
            written = _written(node)
            new.inputs = [self._same(entry) if i in written and entry not in self._in_float32
                          else self._cast(entry, FLOAT32) for i, entry in enumerate(node.inputs)]
        else:
            first = self._dtype_of(node.inputs[0]) if node.inputs else None
            if first is not None:
                self._note(node, new, _dtypes(node, first)[1])
            new.inputs = [self._same(entry) for entry in node.inputs]
        return new

    def _run_low(self, node: Node, new: Node) -> None:
        low = self._wanted.dtype
        ins, outs = _dtypes(node, low)
        self._note(node, new, outs)
        written = _written(node)
        for i, entry in enumerate(node.inputs):
            is_param = entry.node.is_variable and entry.node.name not in self._data
            if entry in self._in_low:
                new.inputs.append(self._in_low[entry])
            elif (self._cast_params and is_param) or i in written or ins[i] not in (None, low):
                new.inputs.append(self._same(entry))
                if self._cast_params and entry.node.is_variable and ins[i] in (None, low):
                    self._in_low[entry] = new.inputs[-1]
            else:
                new.inputs.append(self._cast(entry, low))

    def _run_widest(self, node: Node, new: Node) -> None:
        known = [dtype for entry in node.inputs if (dtype := self._dtype_of(entry)) is not None]
        if len(known) < len(node.inputs):
            new.inputs = self._multicast(node.inputs)
            return
        widest = FLOAT32 if FLOAT32 in known else self._wanted.dtype
        self._note(node, new, [widest] * node.num_outputs)
        new.inputs = [self._cast(entry, widest) for entry in node.inputs]

    def _is_conditional(self, node: Node, op: OpDef) -> bool:
        return any(node.attrs.get(key) in values
                   for key, values in self._wanted.conditional.get(op.name, ()))

    def _same(self, entry: Entry) -> Entry:
        return Entry(self._made[entry.node], entry.index)

    def _dtype_of(self, entry: Entry) -> DType | None:
        """What an old entry is known to be; float32 where it is to be had in both."""
        if entry in self._in_float32:
            return FLOAT32
        return self._wanted.dtype if entry in self._in_low else None

    def _note(self, node: Node, new: Node, dtypes: Sequence[DType | None]) -> None:
        for i, dtype in enumerate(dtypes):
            if dtype is not None and dtype == self._wanted.dtype:
                self._in_low[Entry(node, i)] = Entry(new, i)
            elif dtype is not None and dtype == FLOAT32:
                self._in_float32[Entry(node, i)] = Entry(new, i)

    def _cast(self, entry: Entry, dtype: DType) -> Entry:
        known = self._in_float32 if dtype == FLOAT32 else self._in_low
        if entry not in known:
            name = dtype_name(dtype)
            known[entry] = Entry(_node("amp_cast", f"{output_name(entry)}_amp_cast_{name}",
                                       {"dtype": name}, [self._same(entry)]), 0)
        return known[entry]

    def _multicast(self, entries: Sequence[Entry]) -> list[Entry]:
        made = _node("amp_multicast", f"{output_name(entries[0])}_amp_multicast",
                     {"num_outputs": str(len(entries))}, [self._same(entry) for entry in entries])
        return made.outputs


def _node(op_name: str, name: str, attrs: dict[str, str], inputs: Sequence[Entry]) -> Node:
    op = find(op_name)
    return Node(op, name, attrs, op.params.parse(attrs, op.name, name), inputs)


def _written(node: Node) -> set[int]:
    assert node.op is not None
    assert node.params is not None
    return mutated_inputs(node.op, node.params)


def _dtypes(node: Node, first: DType) -> tuple[list[DType | None], list[DType | None]]:
    """(dtypes of inputs, of outputs) as far as they follow from that of the first input."""
    assert node.op is not None
    assert node.params is not None
    ins: list[DType | None] = [first, *[None] * (len(node.inputs) - 1)]
    outs: list[DType | None] = [None] * node.num_outputs
    try:
        return run_infer_type(node.op, node.params, ins, outs, node.name)
    except TypeMismatch:
        return ins, outs


def mark_params(heads: Sequence[Entry], low: DType, data: Collection[str],
                params: Collection[str], cast_params: bool) -> None:
    """Notes on variables of a reduced graph which dtype they are to have.

    On all `params`; where there are none, on those that have a dtype noted; what was noted before
    counts for nothing. With `cast_params` a variable that only casts to one dtype read, and nothing
    else tells of, gets that dtype.
    """
    nodes = topological(heads)
    noted = {node.name: node.attrs.pop("__dtype__") for node in nodes
             if node.is_variable and "__dtype__" in node.attrs}
    table = infer_graph_types(heads, dict.fromkeys(data, FLOAT32), None)
    found = {node.name: table[Entry(node, 0)] for node in nodes if node.is_variable}
    if cast_params:
        _adopt_casts(nodes, low, found)
    for node in nodes:
        if not node.is_variable:
            continue
        if node.name in (params or noted):
            dtype = found[node.name]
            node.attrs["__dtype__"] = str(TYPE_FLAGS["float32" if dtype is None else dtype.name])
        elif node.name in noted:
            node.attrs["__dtype__"] = noted[node.name]


def _adopt_casts(nodes: Sequence[Node], low: DType, found: dict[str, DType | None]) -> None:
    """Gives variables of unknown dtype the one that all their casts make of them."""
    seen: dict[str, DType] = {}
    for node in nodes:
        if node.op is None or node.op.name not in ("amp_cast", "amp_multicast"):
            continue
        dtype = low
        if node.op.name == "amp_cast":
            dtype = find_dtype(node.attrs["dtype"])
        elif not all(entry.node.is_variable for entry in node.inputs):
            continue
        for source, _ in node.inputs:
            name = source.name
            if not source.is_variable:
                continue
            if name in seen:
                if seen[name] != dtype:
                    found[name] = None
            elif found[name] is None:
                seen[name] = found[name] = dtype
