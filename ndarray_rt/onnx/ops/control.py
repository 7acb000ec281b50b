"""If, Loop and Scan: branches and turns become part of the plan where that is known beforehand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import InputMismatch, ModelFormatError, NdrtError, OutOfMemory
from ..graph import Array, Graph, Node
from ..held import need_room
from ..plan import MOST_WAYS, Plan, Table
from ..planner import Planner, found_value
from ..table import special
from ..values import NothingValue, SequenceValue, Value, constant
from .loop_layers import give_layer, layer_of
from .no_turns import no_rows

# loops with at most so many turns, and so many nodes in all of those of a plan, become part of it
_MOST_TURNS = 64
_MOST_NODES = 4096
# nodes that are planned, turn by turn, to find out how many turns there are
_MOST_TRIED = 1 << 15
# turns of a loop whose end nobody knows beforehand
_NO_LIMIT = (1 << 63) - 1
_ROWS = "rows that turns gave"


@special("Identity")
def identity(planner: Planner, node: Node, ins: list[Any]) -> None:
    planner.give(node, ins)


@special("If")
def if_(planner: Planner, node: Node, ins: list[Any]) -> None:
    condition: Value = ins[0]
    if condition.const is None:
        planner.fork_on(node.inputs[0], node)
        return
    word = "then_branch" if bool(condition.const.reshape(-1)[0]) else "else_branch"
    planner.inline(node, node.attrs[word], word, [])


# ---- loops --------------------------------------------------------------------------------------


def _room(planner: Planner) -> int:
    """How many nodes loops may still become: those inside of others are many times there."""
    return max(_MOST_NODES - planner.session.unrolled_nodes, 0)


def _known_turns(planner: Planner, node: Node, body: Graph, count: int,
                 carried: Sequence[Any], most: int) -> int | None:
    """How many turns a loop makes, where that follows from constants: each condition from what
    was known before the first turn, and at most `count` turns. None where it does not, or where
    there are more than `most`."""
    known = _known_states(planner, node, body, carried)
    if known is None:
        return None
    if not body.nodes or _makers(body).get(body.outputs[0]) is None:
        # the condition of the first turn goes on, or an outer one holds
        return count if count <= most else None
    part = _part_for(body, [body.outputs[0], *(body.outputs[1 + i] for i in known)])
    values = [carried[i] for i in known]
    turns = 0
    while turns < count:
        if turns > most:
            return None
        scope = dict(planner.scope)
        inner = {name: node.closure.get(name, name) for name in part.free_names()}
        scope.update({name: planner.scope[outer] for name, outer in inner.items()})
        scope.update({name: constant(array, True) for name, array in body.constants.items()})
        scope[body.inputs[0]] = constant(np.asarray(turns, np.int64))
        scope[body.inputs[1]] = constant(np.asarray(True))
        scope.update({body.inputs[2 + i]: value for i, value in zip(known, values, strict=True)})
        # they are planned for each turn, and so are loops inside
        planner.session.tried_nodes += len(part.nodes)
        if planner.session.tried_nodes > _MOST_TRIED:
            return None
        plan = Planner(planner.session, scope, list(reversed(part.nodes)), part.outputs).run()
        results = plan.results
        if plan.steps or plan.fork or not all(isinstance(r, np.ndarray) for r in results):
            return None
        turns += 1
        if not bool(results[0].reshape(-1)[0]):
            break
        values = [constant(result) for result in results[1:]]
    return turns if turns <= most else None


def _makers(body: Graph) -> dict[str, Node]:
    return {name: node for node in body.nodes for name in node.outputs if name}


def _part_for(body: Graph, outputs: list[str]) -> Graph:
    """The nodes that some of the outputs need."""
    needed = set(outputs)
    nodes = []
    for node in reversed(body.nodes):
        if needed.intersection(node.outputs):
            nodes.append(node)
            needed.update(node.reads())
    return Graph(body.name, body.inputs, outputs, nodes[::-1], body.constants)


def _known_states(planner: Planner, node: Node, body: Graph, carried: Sequence[Any],
                  ) -> list[int] | None:
    """Numbers of the states that are constants in every turn; None where the condition is none."""
    known = [i for i, value in enumerate(carried)
             if isinstance(value, Value) and value.const is not None]
    while True:
        constants = {*body.inputs[:2], *body.constants, *(body.inputs[2 + i] for i in known)}
        for name in body.free_names():
            value = planner.scope.get(node.closure.get(name, name))
            if isinstance(value, Value) and value.const is not None:
                constants.add(name)
        for inner in body.nodes:
            if all(name in constants for name in inner.reads()):
                constants.update(inner.outputs)
        kept = [i for i in known if body.outputs[1 + i] in constants]
        if kept == known:
            return known if body.outputs[0] in constants else None
        known = kept


@special("Loop")
def loop(planner: Planner, node: Node, ins: list[Any]) -> None:
    body: Graph = node.attrs["body"]
    trips, condition = ins[0], ins[1]
    if (trips is None or trips.const is not None) and (
            condition is None or condition.const is not None):
        count = _NO_LIMIT if trips is None else int(trips.const.reshape(-1)[0])
        runs = condition is None or bool(condition.const.reshape(-1)[0])
        if count <= 0 or not runs:
            scope = {name: planner.scope[node.closure.get(name, name)]
                     for name in body.free_names()}
            scope.update(zip(body.inputs, _first_turn(ins[2:]), strict=True))
            empty = no_rows(planner.session, body, scope, len(ins) - 1, planner)
            planner.give(node, [*ins[2:], *map(constant, empty)])
            return
        layer = layer_of(planner, node, body, ins[2:])
        if layer is not None:
            turns = _known_turns(planner, node, body, count, ins[2:], layer.data.shape[0])
            if turns is not None:
                give_layer(planner, node, layer, turns, ins[2:])
                return
        most = min(_MOST_TURNS, _room(planner) // max(len(body.nodes), 1))
        turns = _known_turns(planner, node, body, count, ins[2:], most)
        if turns is not None:
            planner.session.unrolled_nodes += turns * len(body.nodes)
            _Unrolled(planner, node, body, turns, ins[2:])
            return
    carried = list(node.inputs[2:])
    names = [name for name in node.inputs[:2] if name]
    outer = _outer(node, body)
    _host_loop(planner, node, body, [*names, *carried, *outer], _Loop(
        planner, node, body, ins[0] is not None, ins[1] is not None, len(carried), outer))


def _first_turn(states: Sequence[Any]) -> list[Any]:
    """What the body of a loop takes in its first turn."""
    return [constant(np.asarray(0, np.int64)), constant(np.asarray(True)), *states]


def _outer(node: Node, body: Graph) -> list[str]:
    return [node.closure.get(name, name) for name in body.free_names()]


class _Unrolled:
    """A loop whose turns stand one after the other in the plan."""

    def __init__(self, planner: Planner, node: Node, body: Graph, count: int,
                 carried: Sequence[Any]) -> None:
        self.node, self.body, self.count = node, body, count
        self.states = len(carried)
        self.prefix = next(name for name in node.outputs if name) + "/loop"
        self.turn = 0
        for i, value in enumerate(carried):
            planner.scope[f"{self.prefix}/state{i}"] = value
        planner.work.append(self.next_turn())

    def next_turn(self) -> Callable[[Planner], None]:
        turn = self.turn

        def work(planner: Planner) -> None:
            self.begin(planner, turn)
        work.reads = self.reads(turn)  # type: ignore[attr-defined]
        return work

    def reads(self, turn: int) -> set[str]:
        """Names that this and later turns read."""
        found = {f"{self.prefix}/state{i}" for i in range(self.states)}
        found.update(_outer(self.node, self.body))
        found.update(self.scan_name(k, t) for k in self.scans() for t in range(turn))
        return found

    def scans(self) -> range:
        return range(len(self.body.outputs) - 1 - self.states)

    def scan_name(self, k: int, turn: int) -> str:
        return f"{self.prefix}/scan{k}/{turn}"

    def begin(self, planner: Planner, turn: int) -> None:
        if turn >= self.count:
            self.end(planner, turn)
            return
        self.turn = turn + 1
        planner.work.append(self.next_turn())
        states = [planner.scope[f"{self.prefix}/state{i}"] for i in range(self.states)]
        names = [f"{self.prefix}/condition",
                 *(f"{self.prefix}/state{i}" for i in range(self.states)),
                 *(self.scan_name(k, turn) for k in self.scans())]
        planner.inline(self.node, self.body, f"turn{turn}",
                       [constant(np.asarray(turn, np.int64), True),
                        constant(np.asarray(True)), *states], names)

    def end(self, planner: Planner, turns: int) -> None:
        values: list[Any] = [planner.scope[f"{self.prefix}/state{i}"] for i in range(self.states)]
        planner.scope.update({name: value for name, value in zip(
            self.node.outputs, values, strict=False) if name})
        for k, name in zip(self.scans(), self.node.outputs[self.states:], strict=False):
            if not name:
                continue
            _stack(planner, self.node, name, [self.scan_name(k, t) for t in range(turns)], 0)


def _stack(planner: Planner, node: Node, name: str, parts: list[str], axis: int) -> None:
    """Joins what turns gave along a new axis."""
    rows = []
    for i, part in enumerate(parts):
        row = f"{name}/row{i}"
        rows.append(Node("Unsqueeze", "", 11, row, (part,), (row,), {"axes": [axis]}, node.place))
    planner.work.append(Node("Concat", "", 13, name, tuple(n.outputs[0] for n in rows), (name,),
                             {"axis": axis}, node.place))
    planner.work.extend(reversed(rows))


# ---- graphs that are called from Python ---------------------------------------------------------


class Subplans:
    """A graph inside of a node, called with arrays: a plan for each combination of shapes."""

    def __init__(self, planner: Planner, node: Node, body: Graph, outer: Sequence[str]) -> None:
        self.session = planner.session
        self.body = body
        self.outer = list(outer)
        # what is a constant outside is one inside
        self.fixed = {name: planner.scope[name] for name in outer
                      if isinstance(planner.scope[name], Value)
                      and planner.scope[name].const is not None}
        self.node = node
        self.plans: dict[Any, Plan] = {}
        self.empty: dict[Any, list[Array]] = {}

    def __call__(self, given: Sequence[Any], outer: Sequence[Any]) -> list[Any]:
        values = dict(zip(self.body.inputs, given, strict=True))
        table: Table = {f"in:{name}": value for name, value in values.items()}
        table.update({f"in:{name}": value for name, value in zip(self.outer, outer, strict=True)})
        key = tuple(_facts(value) for value in (*given, *outer))
        plan = self.plans.get(key)
        if plan is None:
            plan = self._plan(table)
            _keep(self.plans, key, plan)
        return plan.run(table)

    def _plan(self, table: Table) -> Plan:
        scope = {name: constant(array, True) for name, array in self.body.constants.items()}
        scope.update(self._outside([table[f"in:{name}"] for name in self.outer]))
        for name in self.body.inputs:
            scope[name] = _known(table[f"in:{name}"], f"in:{name}")
        return Planner(self.session, scope, list(reversed(self.body.nodes)),
                       self.body.outputs).run()

    def _outside(self, outer: Sequence[Any]) -> dict[str, Any]:
        """What is known of what the body reads from outside."""
        inner = {self.node.closure.get(name, name): name for name in self.body.free_names()}
        return {inner[name]: self.fixed.get(name) or _known(value, f"in:{name}")
                for name, value in zip(self.outer, outer, strict=True)}

    def no_rows(self, given: Sequence[Any], outer: Sequence[Any], first: int) -> list[Array]:
        """What the outputs of no calls are, one upon the other, from number `first` on. What is
        given is an array like those that calls would be, or a constant of all calls."""
        key = tuple(_facts(value) for value in (*given, *outer) if not isinstance(value, Value))
        found = self.empty.get(key)
        if found is None:
            scope = self._outside(outer)
            scope.update({name: value if isinstance(value, Value) else _known(value, f"in:{name}")
                          for name, value in zip(self.body.inputs, given, strict=True)})
            found = no_rows(self.session, self.body, scope, first)
            _keep(self.empty, key, found)
        return found


def _keep(kept: dict[Any, Any], key: Any, made: Any) -> None:
    kept[key] = made
    while len(kept) > MOST_WAYS:
        del kept[next(iter(kept))]


def _known(value: Any, slot: str) -> Any:
    if isinstance(value, np.ndarray):
        return found_value(value, slot)
    return NothingValue() if value is None else SequenceValue(tuple(constant(v) for v in value))


def _facts(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str
    if value is None:
        return None
    # sequences count as constants
    return tuple((v.shape, v.dtype.str, v.tobytes()) for v in value)


class _Loop:
    """A loop that runs turn by turn."""

    name = "Loop"

    def __init__(self, planner: Planner, node: Node, body: Graph, has_trips: bool,
                 has_condition: bool, states: int, outer: Sequence[str]) -> None:
        self.body = Subplans(planner, node, body, outer)
        self.has_trips, self.has_condition, self.states = has_trips, has_condition, states
        self.scans = len(body.outputs) - 1 - states

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        rest = list(args)
        trips = int(rest.pop(0).reshape(-1)[0]) if self.has_trips else _NO_LIMIT
        runs = bool(rest.pop(0).reshape(-1)[0]) if self.has_condition else True
        states, outer = rest[:self.states], rest[self.states:]
        if not runs or trips <= 0:
            return (*states, *self.body.no_rows(_first_turn(states), outer, 1 + self.states))
        scans: list[list[Array]] = [[] for _ in range(self.scans)]
        turn = size = 0
        while runs and turn < trips:
            made = self.body([np.asarray(turn, np.int64), np.asarray(True), *states], outer)
            runs = bool(made[0].reshape(-1)[0])
            states = made[1:1 + self.states]
            for scan, value in zip(scans, made[1 + self.states:], strict=True):
                scan.append(value)
                size += value.nbytes
            need_room(size, _ROWS)
            turn += 1
        return (*states, *map(np.stack, scans))


def _host_loop(planner: Planner, node: Node, body: Graph, names: Sequence[str],
               call: Callable[..., Sequence[Any]]) -> None:
    """A step that runs a loop on what these names stand for."""
    values = [planner.scope[name] for name in names]
    args: list[Value] = []
    given = [_places(value, args) for value in values]

    file = planner.session.file.file

    def run(*arrays: Any) -> Sequence[Any]:
        try:
            return call(*[_filled(place, arrays) for place in given])
        except InputMismatch as error:
            if error.place:
                raise
            raise InputMismatch(error.reason, file, str(node)) from error.__cause__
        except NdrtError:
            raise
        except MemoryError as error:
            raise OutOfMemory(f"{node}: {error}") from error
        except (ValueError, IndexError, KeyError, TypeError, AttributeError,
                OverflowError) as error:
            raise InputMismatch(f"{type(error).__name__}: {error}", file, str(node)) from error
    planner.host(run, args, node.outputs)


def _places(value: Any, args: list[Value]) -> Any:
    """A value with numbers of arguments in the place of what is known when it runs."""
    if isinstance(value, SequenceValue):
        return [_places(item, args) for item in value.items]
    if value is None or isinstance(value, NothingValue):
        return None
    if value.const is not None:
        return value.const
    args.append(value)
    return len(args) - 1


def _filled(place: Any, arrays: Sequence[Any]) -> Any:
    if isinstance(place, list):
        return [_filled(item, arrays) for item in place]
    return arrays[place] if isinstance(place, int) else place


# ---- Scan ---------------------------------------------------------------------------------------


@special("Scan")
def scan(planner: Planner, node: Node, ins: list[Any]) -> None:
    if node.opset < 9:
        ins = ins[1:]
        names = list(node.inputs[1:])
    else:
        names = list(node.inputs)
    body: Graph = node.attrs["body"]
    outer = _outer(node, body)
    count = int(node.attrs["num_scan_inputs"])
    if not 1 <= count <= len(names):
        raise ModelFormatError(f"num_scan_inputs of {count}, there are {len(names)} inputs")
    _host_loop(planner, node, body, [*names, *outer],
               _Scan(planner, node, body, len(names) - count, count, outer))


class _Scan:
    """A loop over the places of an axis of its inputs."""

    name = "Scan"

    def __init__(self, planner: Planner, node: Node, body: Graph, states: int, count: int,
                 outer: Sequence[str]) -> None:
        self.body = Subplans(planner, node, body, outer)
        self.states, self.count, self.is_batched = states, count, node.opset < 9
        scans = len(body.outputs) - states
        word = "directions" if self.is_batched else "scan_input_directions"
        self.directions = node.attr(word) or [0] * count
        self.axes = node.attr("scan_input_axes") or [0] * count
        self.out_directions = node.attr("scan_output_directions") or [0] * scans
        self.out_axes = node.attr("scan_output_axes") or [0] * scans

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        outer = args[self.states + self.count:]
        given = args[:self.states + self.count]
        if not self.is_batched:
            return tuple(self._one(given, outer))
        if not len(given[0]):
            steps = given[self.states].shape[1]
            empty = self._no_rows([_row(x) for x in given[:self.states]],
                                  [_row(_row(x)) for x in given[self.states:]], outer)
            return (*given[:self.states],
                    *(np.zeros((0, steps, *x.shape[1:]), x.dtype) for x in empty))
        rows = [self._one([x[i, ...] for x in given], outer) for i in range(given[0].shape[0])]
        return tuple(np.stack(parts) for parts in zip(*rows, strict=True))

    def _one(self, given: Sequence[Any], outer: Sequence[Any]) -> list[Any]:
        states = list(given[:self.states])
        data = [np.moveaxis(x, axis, 0)[::-1 if direction else 1] for x, axis, direction in zip(
            given[self.states:], self.axes, self.directions, strict=True)]
        if not len(data[0]):
            empty = self._no_rows(states, [_row(x) for x in data], outer)
            return [*states, *(np.moveaxis(x, 0, axis) for x, axis in zip(
                empty, self.out_axes, strict=True))]
        rows: list[list[Array]] = [[] for _ in self.out_axes]
        size = 0
        for i in range(data[0].shape[0]):
            made = self.body([*states, *(x[i, ...] for x in data)], outer)
            states = made[:self.states]
            for row, value in zip(rows, made[self.states:], strict=True):
                row.append(value)
                size += value.nbytes
            need_room(size, _ROWS)
        joined = []
        for row, axis, direction in zip(rows, self.out_axes, self.out_directions, strict=True):
            row = row[::-1] if direction else row
            joined.append(np.stack(row, axis))
        return [*states, *joined]

    def _no_rows(self, states: Sequence[Any], data: Sequence[Any], outer: Sequence[Any],
                 ) -> list[Array]:
        return self.body.no_rows([*states, *data], outer, self.states)


def _row(x: Array) -> Array:
    """An array like those along the first axis, of which there may be none."""
    return np.broadcast_to(np.zeros((), x.dtype), x.shape[1:])
