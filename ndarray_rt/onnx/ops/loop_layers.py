"""Loops that are layers of recurrent cells, known by what their bodies compute.

Exporters write cells so that they have no operator for, such as those that leave out masked steps.
Step by step these are dozens of nodes a turn; as a layer they are one product for the inputs of all
steps, and a kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..build import GraphBuilder
from ..graph import Array, Graph, Node
from ..planner import Planner
from ..values import Value, constant

_GATES = 4


class _Chosen(NamedTuple):
    """`new` where the step's row of a mask is set, else `old`; without a mask always `new`."""

    mask: str | None
    new: str
    old: str


@dataclass
class Layer:
    """A layer of LSTM cells: names of values outside of the loop, weights, and what the loop gives.

    Each of `states` and `scans` is a constant, "hidden", "cell", "output" or "counter".
    """

    data: Value
    mask: Value | None
    vector: Array
    hidden: Value
    cell: Value
    holds: bool
    states: list[Value | str]
    scans: list[str]


class _Body:
    """The body of a loop as expressions of its states, of the turn, and of values outside."""

    def __init__(self, planner: Planner, node: Node, body: Graph, carried: Sequence[Any]) -> None:
        self.planner, self.node, self.body, self.carried = planner, node, body, carried
        self.makers = {name: made for made in body.nodes for name in made.outputs if name}
        self.states = {name: i for i, name in enumerate(body.inputs[2:])}

    def source(self, name: str) -> str:
        """Where a value comes from, behind nodes that change nothing."""
        made = self.makers.get(name)
        while made is not None and made.op == "Identity":
            name = made.inputs[0]
            made = self.makers.get(name)
        return name

    def result(self, i: int) -> str:
        return self.source(self.body.outputs[1 + i])

    def made(self, name: str, op: str) -> Node | None:
        """The node of this operator that makes a value."""
        found = self.makers.get(self.source(name))
        return found if found is not None and found.op == op and not found.domain else None

    def pair(self, name: str, op: str) -> tuple[str, str] | None:
        found = self.made(name, op)
        if found is None or len(found.inputs) != 2:
            return None
        return self.source(found.inputs[0]), self.source(found.inputs[1])

    def state(self, name: str) -> int | None:
        """Which state a value is, of those that change."""
        i = self.states.get(self.source(name))
        return None if i is None or self.result(i) == self.body.inputs[2 + i] else i

    def outer(self, name: str) -> Value | None:
        """A value that is the same in each turn."""
        name = self.source(name)
        found: Any = None
        if name in self.body.constants:
            found = constant(self.body.constants[name], True)
        elif name in self.states:
            i = self.states[name]
            found = self.carried[i] if self.state(name) is None else None
        elif name not in self.makers and name not in self.body.inputs[:2]:
            found = self.planner.scope.get(self.node.closure.get(name, name))
        return found if isinstance(found, Value) else None

    def array(self, name: str) -> Array | None:
        found = self.outer(name)
        return None if found is None else found.const

    def is_turn(self, name: str) -> bool:
        """It is the number of the turn, from 0 up."""
        name = self.source(name)
        if name == self.body.inputs[0]:
            return True
        i = self.state(name)
        return i is not None and self.counts(i) and not np.any(self.carried[i].const)

    def counts(self, i: int) -> bool:
        """The state is a number that grows by one."""
        first, terms = self.carried[i], self.pair(self.result(i), "Add")
        if not isinstance(first, Value) or first.const is None or first.size != 1 or terms is None:
            return False
        own = self.body.inputs[2 + i]
        more = self.array(terms[1] if terms[0] == own else terms[0])
        return own in terms and more is not None and more.size == 1 and bool(more == 1)

    def step(self, name: str) -> Value | None:
        """The value whose row of this turn it is."""
        found = self.made(name, "Gather")
        if found is None or found.attr("axis", 0) or not self.is_turn(found.inputs[1]):
            return None
        return self.outer(found.inputs[0])

    def terms(self, name: str) -> list[str]:
        """What is added up."""
        pair = self.pair(name, "Add")
        return [self.source(name)] if pair is None else [*self.terms(pair[0]), *self.terms(pair[1])]

    def chosen(self, name: str) -> _Chosen:
        """A value as a choice of two by a mask."""
        where = self.made(name, "Where")
        if where is not None:
            return _Chosen(*(self.source(one) for one in where.inputs))
        products = [self.pair(one, "Mul") for one in self.pair(name, "Add") or ()]
        new: tuple[str, str] | None = None
        old: tuple[str, str] | None = None
        for product in products:
            for factor, other in (product or (), (product or ())[::-1]) if product else ():
                found = self.factor(factor)
                if found is not None and found[1]:
                    new = found[0], other
                elif found is not None:
                    old = found[0], other
        if new is None or old is None or new[0] != old[0]:
            return _Chosen(None, self.source(name), "")
        return _Chosen(new[0], new[1], old[1])

    def factor(self, name: str) -> tuple[str, bool] | None:
        """Of a mask as numbers the mask, and whether 1 stands for what is set."""
        cast = self.made(name, "Cast")
        if cast is None:
            return None
        turned = self.made(cast.inputs[0], "Not")
        if turned is not None:
            return self.source(turned.inputs[0]), False
        return self.source(cast.inputs[0]), True

    def gate(self, name: str, function: str) -> tuple[Node, int] | None:
        """A function of one of the parts of a value."""
        found = self.made(name, function)
        if found is None:
            return None
        part = self.source(found.inputs[0])
        split = self.made(part, "Split")
        return None if split is None else (split, split.outputs.index(part))


class _Cells(NamedTuple):
    """The parts of an LSTM cell: the gates' split, where i f g o stand in it, the new states."""

    split: Node
    order: tuple[int, ...]
    cell: int  # which state
    new_cell: str
    new_hidden: str


def layer_of(planner: Planner, node: Node, body: Graph, carried: Sequence[Any]) -> Layer | None:
    """The layer that a loop is, or None."""
    made = _Body(planner, node, body, carried)
    for hidden in range(len(carried)):
        for cell in range(len(carried)):
            if hidden != cell and made.state(body.inputs[2 + cell]) is not None:
                found = _layer(made, hidden, cell)
                if found is not None:
                    return found
    return None


def _layer(made: _Body, hidden: int, cell: int) -> Layer | None:
    own_hidden, own_cell = made.body.inputs[2 + hidden], made.body.inputs[2 + cell]
    for_hidden, for_cell = made.chosen(made.result(hidden)), made.chosen(made.result(cell))
    if for_hidden.mask != for_cell.mask or (for_hidden.mask is not None and (
            for_hidden.old != own_hidden or for_cell.old != own_cell)):
        return None
    cells = _cells(made, for_hidden.new, for_cell.new, cell)
    if cells is None:
        return None
    weights = _weights(made, cells, own_hidden)
    mask = None if for_hidden.mask is None else made.step(for_hidden.mask)
    if weights is None or (for_hidden.mask is not None and mask is None):
        return None
    data, vector, size = weights
    first, second = made.carried[hidden], made.carried[cell]
    batch = data.shape[1]
    if not all(isinstance(one, Value) and one.shape == (batch, size) and one.dtype == data.dtype
               for one in (first, second)):
        return None
    if mask is not None and (mask.dtype.kind != "b" or mask.shape != (data.shape[0], batch, 1)):
        return None
    kinds = _outputs(made, hidden, cell, for_hidden)
    if kinds is None:
        return None
    states, scans, holds = kinds
    return Layer(data, mask, vector, first, second, holds, states, scans)


def _cells(made: _Body, new_hidden: str, new_cell: str, cell: int) -> _Cells | None:
    """h = sigmoid(o) tanh(c'), c' = sigmoid(f) c + sigmoid(i) tanh(g)."""
    own = made.body.inputs[2 + cell]
    gates: dict[str, tuple[Node, int] | None] = {}
    for first, second in _both(made.pair(new_hidden, "Mul")):
        squashed = made.made(second, "Tanh")
        if squashed is not None and made.source(squashed.inputs[0]) == new_cell:
            gates["o"] = made.gate(first, "Sigmoid")
    for kept, added in _both(made.pair(new_cell, "Add")):
        for first, second in _both(made.pair(kept, "Mul")):
            if second == own:
                gates["f"] = made.gate(first, "Sigmoid")
                for third, fourth in _both(made.pair(added, "Mul")):
                    if made.gate(fourth, "Tanh") is not None:
                        gates["i"], gates["g"] = made.gate(third, "Sigmoid"), made.gate(
                            fourth, "Tanh")
    found = [gates.get(name) for name in "ifgo"]
    if any(gate is None for gate in found):
        return None
    known = [gate for gate in found if gate is not None]
    split, order = known[0][0], tuple(at for _, at in known)
    if any(gate[0] is not split for gate in known) or sorted(order) != list(range(_GATES)):
        return None
    return _Cells(split, order, cell, new_cell, new_hidden)


def _both(pair: tuple[str, str] | None) -> list[tuple[str, str]]:
    """A pair in both orders."""
    return [] if pair is None else [pair, pair[::-1]]


def _weights(made: _Body, cells: _Cells, hidden: str) -> tuple[Value, Array, int] | None:
    """The data, all weights as the engine's RNN takes them, and the size of a state."""
    sizes = made.array(cells.split.inputs[1]) if len(cells.split.inputs) > 1 else (
        cells.split.attr("split"))
    if len(cells.split.outputs) != _GATES or cells.split.attr("axis", 0) not in (1, -1) or (
            sizes is not None and len(set(np.asarray(sizes).tolist())) != 1):
        return None
    data: Value | None = None
    i2h: Array | None = None
    h2h: Array | None = None
    biases: list[Array] = []
    for term in made.terms(cells.split.inputs[0]):
        product, bias = made.pair(term, "MatMul"), made.array(term)
        if bias is not None and bias.ndim and bias.size == bias.shape[-1]:
            biases.append(bias.reshape(-1))
            continue
        matrix = None if product is None else made.array(product[1])
        if product is None or matrix is None or matrix.ndim != 2:
            return None
        if product[0] == hidden and h2h is None:
            h2h = matrix
        elif i2h is None:
            data, i2h = made.step(product[0]), matrix
        else:
            return None
    if data is None or i2h is None or h2h is None or not data.is_float or data.rank != 3:
        return None
    size, rows = h2h.shape
    if rows != _GATES * size or i2h.shape != (data.shape[2], rows) or any(
            array.dtype != data.dtype for array in (i2h, h2h, *biases)) or any(
            bias.size != rows for bias in biases):
        return None
    return data, _vector(made.node, i2h, h2h, biases, cells.order), size


def _vector(node: Node, i2h: Array, h2h: Array, biases: list[Array],
            order: tuple[int, ...]) -> Array:
    found = node.known.get("layer")
    if found is not None and found[0] is i2h and found[1] is h2h:
        made: Array = found[2]
        return made

    def ordered(part: Array) -> Array:
        return part.reshape(_GATES, -1, *part.shape[1:])[list(order)].reshape(-1)
    bias = sum(biases, np.zeros(h2h.shape[1], h2h.dtype))
    made = np.concatenate([ordered(i2h.T), ordered(h2h.T), ordered(bias), np.zeros_like(bias)])
    node.known["layer"] = i2h, h2h, made
    return made


def _outputs(made: _Body, hidden: int, cell: int, chosen: _Chosen,
             ) -> tuple[list[Value | str], list[str], bool] | None:
    """What each state is behind the last turn, what each scan gathers, and whether steps that are
    left out put out the last state."""
    count = len(made.carried)
    kinds: set[bool] = set()

    def output(name: str, own: int | None) -> bool:
        """It is what a layer puts out at a step."""
        name = made.source(name)
        if name == made.result(hidden):
            kinds.add(True)
            return True
        found = made.chosen(name)
        if (found.mask, found.new) != (chosen.mask, chosen.new):
            return False
        if found.mask is not None:
            first = made.array(found.old)
            if first is not None and not np.any(first):
                kinds.add(False)
            elif found.old == made.body.inputs[2 + hidden]:
                kinds.add(True)
            elif own is not None and found.old == made.body.inputs[2 + own] and all(
                    isinstance(one, Value) and one.const is not None and not np.any(one.const)
                    for one in (made.carried[own], made.carried[hidden])):
                # it began where the state did, and went with it
                kinds.add(True)
            else:
                return False
        return True
    states: list[Value | str] = []
    outputs: dict[str, int] = {}
    for i in range(count):
        name = made.result(i)
        if made.state(made.body.inputs[2 + i]) is None:
            states.append(made.carried[i])
        elif i in (hidden, cell):
            states.append("hidden" if i == hidden else "cell")
        elif made.counts(i):
            states.append("counter")
        elif output(name, i):
            states.append("output")
            outputs[name] = i
        else:
            return None
    scans = []
    for k in range(count, len(made.body.outputs) - 1):
        name = made.result(k)
        if not output(name, outputs.get(name)):
            return None
        scans.append("output")
    if len(kinds) > 1 and chosen.mask is not None:
        return None
    return states, scans, True in kinds


def give_layer(planner: Planner, node: Node, layer: Layer, turns: int,
               carried: Sequence[Any]) -> None:
    """Puts a layer of so many steps in the place of a loop."""
    b: GraphBuilder = planner.builder
    b.hint = node.name or next(name for name in node.outputs if name)
    data, mask = (_steps(b, value, turns) for value in (layer.data, layer.mask))
    assert data is not None
    batch, size = layer.hidden.shape
    states = [b.reshaped(state, (1, batch, size)) for state in (layer.hidden, layer.cell)]
    vector = Value(layer.vector.shape, layer.vector.dtype, const=layer.vector, fixed=True)
    params: dict[str, Any] = {"state_size": size, "num_layers": 1, "mode": "lstm",
                              "state_outputs": True}
    if mask is None:
        made = b.ops("RNN", data, vector, *states, **params)
    else:
        made = b.ops("_masked_RNN", data, vector, *states, mask, holds=layer.holds, **params)
    output, hidden, cell = made

    def value(what: Value | str, first: Any) -> Any:
        if isinstance(what, Value):
            return what
        if what == "counter":
            return constant(first.const + first.const.dtype.type(turns))
        if what == "output":
            last = b.op("slice_axis", output, axis=0, begin=turns - 1, end=turns)
            return b.reshaped(last, (batch, size))
        return b.reshaped(hidden if what == "hidden" else cell, (batch, size))
    wanted = [name != "" for name in node.outputs]
    values = [value(what, first) if i < len(wanted) and wanted[i] else None
              for i, (what, first) in enumerate(zip(layer.states, carried, strict=True))]
    planner.give(node, [*values, *(output for _ in layer.scans)])


def _steps(b: GraphBuilder, value: Value | None, turns: int) -> Value | None:
    """The first rows of a value."""
    if value is None or value.shape[0] == turns:
        return value
    if value.const is not None:
        return constant(value.const[:turns], value.fixed)
    return b.op("slice_axis", value, axis=0, begin=0, end=turns)
