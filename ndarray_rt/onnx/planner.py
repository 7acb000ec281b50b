"""From a graph and shapes of inputs to a Plan: walks the nodes once, as if it ran them.

What is known before anything runs (shapes, and all that follows from them) is computed here. What
the engine has operators for becomes symbols, all else a function of NumPy arrays: inside of the
graph where its shapes are known, else a step of its own, behind which the rest is planned when it
was computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputMismatch, MissingPackage, ModelFormatError, NdrtError, OutOfMemory
from . import steps
from .build import GraphBuilder
from .graph import Array, Graph, Node, Reference
from .inline import inlined
from .one_hot import note
from .opsets import check_texts, find_operator, find_special, schema_function
from .plan import Copied, Fork, HostStep, NodeCall, Plan, Segment, Table, shortened
from .table import Operator
from .values import (
    DType,
    NothingValue,
    SequenceValue,
    Value,
    constant,
    in_graphs,
    is_fixed,
    need_bytes,
    stand_in,
)

if TYPE_CHECKING:
    from .loaded import Loaded

# names of values at a point -> what is known of them
Scope = dict[str, Any]
# a node, other names for values, or something that the planner calls
Work = Node | dict[str, str] | Callable[["Planner"], None]

_DEEPEST = 100
_MOST_INLINED = 1 << 17
_HALF, _SINGLE = np.dtype(np.float16), np.dtype(np.float32)


class Planner:
    """Plans the work on a stack, its last item first. One is used for one stretch without forks."""

    def __init__(self, session: Loaded, scope: Scope, work: list[Work],
                 outputs: Sequence[str], inlined_nodes: int = 0) -> None:
        self.session = session
        self.scope = scope
        self.work = work
        self.outputs = tuple(outputs)
        self.plan = Plan()
        self.builder = GraphBuilder(session.constants)
        self._is_done = False
        self._inlined_nodes = inlined_nodes

    def run(self) -> Plan:
        """The plan."""
        while self.work and not self._is_done:
            item = self.work.pop()
            if isinstance(item, Node):
                self._node(item)
            elif isinstance(item, dict):
                self.scope.update({new: self.scope[old] for new, old in item.items()})
            else:
                item(self)
        if not self._is_done:
            self._finish()
        return self.plan

    def _finish(self) -> None:
        values = [self.scope[name] for name in self.outputs]
        self.flush(values)
        # arrays that a graph of this plan has just made; all others may be somebody else's too
        own = {name for step in self.plan.steps if isinstance(step, Segment)
               for name, _ in step.outputs}
        self.plan.results = [self._result(value, own) for value in values]
        self.plan.drop_unused()

    def _result(self, value: Any, own: set[str]) -> Any:
        if isinstance(value, SequenceValue):
            return [self._result(item, own) for item in value.items]
        if isinstance(value, NothingValue):
            return None
        if value.const is not None:
            return value.const
        if value.slot in own:
            own.remove(value.slot)
            return value.slot
        return Copied(value.slot)

    # ---- nodes ---------------------------------------------------------------------------------

    def _node(self, node: Node) -> None:
        ins = [self.scope[name] if name else None for name in node.inputs]
        try:
            self._carry_out(node, ins)
        except (InputMismatch, ModelFormatError) as error:
            if error.file:
                raise
            kind = self._blames(node) if isinstance(error, InputMismatch) else ModelFormatError
            raise kind(error.reason, self.session.file.file, str(node)) from error.__cause__
        except (OutOfMemory, MissingPackage):
            raise
        except MemoryError as error:
            raise OutOfMemory(f"{node}: {error}") from error
        except (NdrtError, ValueError, IndexError, TypeError, KeyError, AttributeError,
                OverflowError, ArithmeticError, AssertionError) as error:
            reason = str(error).removeprefix(f"{node}: ") if isinstance(error, NdrtError) else (
                f"{type(error).__name__}: {error}")
            raise self._blames(node)(reason, self.session.file.file, str(node)) from error

    def _blames(self, node: Node) -> type[InputMismatch | ModelFormatError]:
        """What to raise for a node that can not be carried out: no inputs of the model can mend
        what follows from the file alone."""
        return ModelFormatError if all(is_fixed(self.scope.get(name)) for name in node.reads()
                                       if name) else InputMismatch

    def _carry_out(self, node: Node, ins: list[Any]) -> None:
        function = self.session.file.functions.get((node.domain, node.op, node.overload))
        if function is not None:
            self.inline(node, function, "function")
            return
        handler = find_special(node)
        if handler is not None:
            handler(self, node, ins)
            return
        op = find_operator(node)
        if op is None:
            made = schema_function(node, ins)
            if made is None:
                raise ModelFormatError("there is no such operator here", self.session.file.file,
                                       str(node))
            self.inline(node, made, "schema")
            return
        self._operator(node, op, ins)
        if not self._is_done:
            made_value = self.scope.get(node.outputs[0])
            note(node, ins, made_value)
            steps.note(self.builder, node, ins, made_value)

    def _operator(self, node: Node, op: Operator, ins: list[Value | None]) -> None:
        given = [v for v in ins if v is not None]
        check_texts(node, ins)
        has_known_size = self._check_size(node, op, ins)
        if all(v.const is not None for v in given) and not op.draws:
            self._fold(node, op, ins, all(v.fixed for v in given))
            return
        if op.early_function is not None:
            early = op.early_function(node, *ins)
            if early is not None:
                self._set_constants(node, early, False)
                return
        # on whole numbers that are there when a run begins NumPy computes before it
        waits = op.is_layer or not self.session.computes_before or any(
            v.symbol is not None or v.dtype.kind == "f" for v in given if v.const is None)
        # kernels take arrays with elements only; what decides about shapes is no array of theirs
        filled = all(v.size for i, v in enumerate(ins) if v is not None and (
            v.const is None or i not in op.shape_from))
        if op.symbols is not None and waits and filled:
            self.builder.hint = node.name or node.outputs[0]
            made = self._of_whole_numbers(node, ins)
            if made is None:
                made = op.symbols(self.builder, node, *ins)
            if made is None and any(v.dtype == _HALF for v in given):
                made = self._widened(node, op, ins)
            if made is not None:
                self.give(node, [v if v.size else constant(np.zeros(v.shape, v.dtype))
                                 for v in (made if isinstance(made, tuple) else (made,))])
                return
        self._function(node, op, ins, has_known_size)

    def _of_whole_numbers(self, node: Node, ins: list[Value | None]) -> Value | None:
        """The floats of a layer over 8-bit numbers, and what belongs to one whose data are rounded
        when they come; None for all others."""
        if not node.domain and any(v is not None and v.dynamic is not None for v in ins):
            from .ops.dynamic import followed
            return followed(self.builder, node, ins)
        if node.op not in steps.LAYERS or node.domain or not all(
                v is not None and v.steps is not None for v in ins[:2]):
            return None
        from .ops.whole_numbers import floats_of
        return floats_of(self.builder, node, ins)

    def _check_size(self, node: Node, op: Operator, ins: list[Value | None]) -> bool:
        """InputMismatch where a result would be too large; False where only a run can tell."""
        for value in ins:
            if value is not None and value.size == 0:
                # a sum over the axis of length 0 has one element there
                need_bytes([dim or 1 for dim in value.shape], value.dtype)
        if op.size_function is None:
            return True
        decide = range(len(ins)) if op.data_dependent else op.shape_from
        for i in decide:
            value = ins[i] if i < len(ins) else None
            if value is not None and value.const is None:
                return False
        need_bytes(*op.size_function(node, *[None if v is None else stand_in(v) for v in ins]))
        return True

    def _widened(self, node: Node, op: Operator, ins: list[Value | None]) -> Any:
        """The symbols of an operator on float16, of which the engine computes little: in float32,
        and rounded behind it."""
        assert op.symbols is not None
        wide = [v if v is None or v.dtype != _HALF else self.builder.cast(v, _SINGLE)
                for v in ins]
        made = op.symbols(self.builder, node, *wide)
        if made is None:
            return None
        return tuple(self.builder.cast(v, _HALF) if v.dtype == _SINGLE else v
                     for v in (made if isinstance(made, tuple) else (made,)))

    def give(self, node: Node, values: Sequence[Any]) -> None:
        """What the outputs of a node are."""
        if len(values) < len(node.outputs):
            raise ModelFormatError(f"has {len(node.outputs)} outputs, the operator gives "
                                   f"{len(values)}", self.session.file.file, str(node))
        for name, value in zip(node.outputs, values, strict=False):
            if name:
                self.scope[name] = value

    def _fold(self, node: Node, op: Operator, ins: list[Value | None], fixed: bool) -> None:
        if fixed and "folded" in node.known:
            self._set_constants(node, node.known["folded"], True)
            return
        arrays = [None if v is None else v.const for v in ins]
        call = NodeCall(op, node, arrays, len(node.outputs))
        with np.errstate(all="ignore"):
            made = call()
        for value in made:
            if isinstance(value, np.ndarray) and value.dtype != object:
                need_bytes(value.shape, value.dtype)
        try:
            self.session.held.add(made, arrays)
        except InputMismatch as error:
            # also what other constants take counts, which may follow from shapes of inputs
            raise InputMismatch(error.reason, self.session.file.file, str(node)) from None
        if fixed:
            node.known["folded"] = made
        self._set_constants(node, made, fixed)

    def _set_constants(self, node: Node, made: Any, fixed: bool) -> None:
        values = made if isinstance(made, tuple) else (made,)
        self.give(node, [constant(value, fixed) for value in values])

    # ---- functions of NumPy arrays -------------------------------------------------------------

    def _function(self, node: Node, op: Operator, ins: list[Value | None],
                  has_known_size: bool) -> None:
        args: list[Value] = []
        given: list[Any] = []
        for value in ins:
            if value is None or value.const is not None:
                given.append(None if value is None else value.const)
                continue
            if value not in args:
                args.append(value)
            given.append(args.index(value))
        call = NodeCall(op, node, given, len(node.outputs), has_known_size)
        facts = None
        if not op.data_dependent and not any(
                i < len(ins) and ins[i] is not None and ins[i].const is None  # type: ignore[union-attr]
                for i in op.shape_from):
            facts = self._facts(node, call, args)
        if facts is None:
            self.host(call, args, node.outputs)
            return
        if any(0 in shape for shape, _ in facts) and not op.draws:
            facts_only = [constant(np.zeros(shape, dtype)) for shape, dtype in facts]
            if all(0 in shape for shape, _ in facts):
                self.give(node, facts_only)
                return
            self._host_known(call, args, node.outputs, facts)
        elif (all(v.slot is not None for v in args) and args) or not all(
                in_graphs(dtype) for dtype in
                [*(v.dtype for v in args), *(dtype for _, dtype in facts)]):
            self._host_known(call, args, node.outputs, facts)
        else:
            self.builder.hint = node.name or node.outputs[0]
            self.give(node, self.builder.function(call, args, facts, op.draws))

    def _facts(self, node: Node, call: NodeCall, args: Sequence[Value],
               ) -> list[tuple[tuple[int, ...], DType]] | None:
        """Shapes and dtypes of what a function gives, from a try with zeros; None where that
        fails."""
        key = ("facts", tuple((v.shape, v.dtype) for v in args),
               tuple(g if not isinstance(g, np.ndarray) else (g.shape, g.dtype.str, g.tobytes())
                     if g.nbytes <= 4096 else id(g) for g in call.given))
        if key in node.known:
            return node.known[key]  # type: ignore[no-any-return]
        facts = None
        try:
            with np.errstate(all="ignore"):
                made = call(*[_blank(v) for v in args])
            if all(isinstance(value, np.ndarray) for value in made):
                facts = [(value.shape, value.dtype) for value in made]
        except (InputMismatch, ModelFormatError):
            raise
        except Exception:  # whatever it does with zeros: real values decide then
            facts = None
        node.known[key] = facts
        return facts

    def _host_known(self, call: NodeCall, args: Sequence[Value], outputs: Sequence[str],
                    facts: Sequence[tuple[tuple[int, ...], DType]]) -> None:
        """A step between graphs whose results have known shapes: planning goes on."""
        self.flush(args, keep_rest=True)
        slots = tuple(self.session.slot(name) if name else "" for name in outputs)
        short = shortened(call, args[0].dtype, *facts[0]) if args and len(facts) == 1 else None
        self.plan.steps.append(HostStep(short or call, tuple(v.slot or "" for v in args), slots,
                                        call))
        for name, slot, (shape, dtype) in zip(outputs, slots, facts, strict=False):
            if name:
                self.scope[name] = Value(shape, dtype, slot=slot)

    def host(self, call: Callable[..., Sequence[Any]], args: Sequence[Value],
             outputs: Sequence[str]) -> None:
        """A step whose results are known when it has run: the rest is planned then."""
        self.flush(args, keep_rest=True, ends=True)
        slots = tuple(self.session.slot(name) if name else "" for name in outputs)
        self.plan.steps.append(HostStep(call, tuple(v.slot or "" for v in args), slots))
        self._fork({name: slot for name, slot in zip(outputs, slots, strict=True) if name}, False)

    def fork_on(self, name: str, again: Work) -> None:
        """The value of this name decides what comes: `again`, with the value as a constant."""
        value = self.scope[name]
        # what it reads is needed too
        self.work.append(again)
        self.flush([value], keep_rest=True, ends=True)
        self._fork({name: value.slot}, True)

    def _fork(self, names: Mapping[str, str], by_value: bool) -> None:
        scope, work, outputs, session = dict(self.scope), list(self.work), self.outputs, (
            self.session)
        inlined_nodes = self._inlined_nodes

        def plan_rest(table: Table) -> Plan:
            known = dict(scope)
            for name, slot in names.items():
                known[name] = (constant(np.array(table[slot])) if by_value
                               else found_value(table[slot], slot))
            return Planner(session, known, list(work), outputs, inlined_nodes).run()
        self.plan.fork = Fork(tuple(names.values()), by_value, plan_rest)
        self._is_done = True

    # ---- segments ------------------------------------------------------------------------------

    def flush(self, wanted: Iterable[Any], keep_rest: bool = False, ends: bool = False) -> None:
        """Ends the graph that is being made, if what is wanted is computed in it, or the plan
        `ends` in a fork: with `keep_rest` all that work still to be done reads is an output of it
        too."""
        found: dict[int, Value] = {}
        for value in wanted:
            _collect(value, found)
        if not found and not ends:
            return
        if keep_rest:
            for name in self._needed():
                _collect(self.scope.get(name), found)
        if not found:
            return
        values = list(found.values())
        entries: dict[Any, str] = {}
        outputs = []
        for value in values:
            assert value.symbol is not None
            entry = value.symbol.entries[0]
            key = entry, value.shape
            if key not in entries:
                entries[key] = self.session.slot(entry.node.name)
                outputs.append((entry, entries[key], value.shape))
        self.plan.steps.append(self.session.segment(self.builder, outputs))
        for value in values:
            assert value.symbol is not None
            value.slot = entries[value.symbol.entries[0], value.shape]
            value.symbol = None
        self.builder = GraphBuilder(self.session.constants)

    def _needed(self) -> set[str]:
        """Names that the rest of the work reads."""
        found = set(self.outputs)
        for item in self.work:
            if isinstance(item, Node):
                found.update(item.reads())
            elif isinstance(item, dict):
                found.update(item.values())
            else:
                found.update(getattr(item, "reads", ()))
        return found

    # ---- graphs inside of nodes ----------------------------------------------------------------

    def inline(self, node: Node, graph: Graph, what: str, inputs: Sequence[Any] | None = None,
               outputs: Sequence[str] | None = None) -> None:
        """Puts a graph's nodes in the place of a node. `inputs` are values (else those of the
        node's inputs), `outputs` names for what it gives (else the node's)."""
        if node.depth > _DEEPEST:
            raise ModelFormatError(f"functions are nested more than {_DEEPEST} deep",
                                   self.session.file.file, str(node))
        # functions that call others more than once become many nodes, whatever their depth
        self._inlined_nodes += len(graph.nodes)
        if self._inlined_nodes > _MOST_INLINED:
            raise ModelFormatError(f"with it functions, branches and loops become more than "
                                   f"{_MOST_INLINED} nodes", self.session.file.file, str(node))
        made = inlined(node, graph, what)
        given = [self.scope[name] if name else None for name in node.inputs] if (
            inputs is None) else inputs
        for name, value in zip(made.inputs, given, strict=False):
            self.scope[name] = value
        for name in made.inputs[len(given):]:
            self.scope[name] = None
        for name, array in made.constants.items():
            self.scope[name] = constant(array, True)
        names = node.outputs if outputs is None else outputs
        if len(names) > len(made.outputs):
            raise ModelFormatError(f"has {len(names)} outputs, the {what} gives "
                                   f"{len(made.outputs)}", self.session.file.file, str(node))
        asked = {new: old for new, old in zip(names, made.outputs, strict=False) if new}
        computed = {name for inner in made.nodes for name in inner.outputs}
        missing = next((old for old in asked.values()
                        if old not in computed and old not in self.scope), None)
        if missing is not None:
            raise ModelFormatError(f"its output {missing!r:.200} is computed nowhere in the {what}",
                                   self.session.file.file, str(node))
        self.work.append(asked)
        self.work.extend(reversed(made.nodes))


def found_value(made: Any, slot: str) -> Any:
    """What is known of something that a step computed."""
    if made is None:
        return NothingValue()
    if isinstance(made, (list, tuple)):
        return constant_sequence(made)
    array: Array = made
    if array.size == 0:
        return constant(array)
    return Value(array.shape, array.dtype, slot=slot)


def constant_sequence(arrays: Sequence[Array]) -> SequenceValue:
    """A sequence of constants."""
    return SequenceValue(tuple(constant(a) for a in arrays),
                         arrays[0].dtype if arrays else None)


def _collect(value: Any, found: dict[int, Value]) -> None:
    if isinstance(value, SequenceValue):
        for item in value.items:
            _collect(item, found)
    elif isinstance(value, Value) and value.symbol is not None and value.const is None:
        found[id(value)] = value


def _blank(value: Value) -> Array:
    if value.dtype == object:
        return np.full(value.shape, "", object)
    return np.zeros(value.shape, value.dtype)


__all__ = ["Planner", "Reference", "Work", "constant_sequence", "found_value"]
