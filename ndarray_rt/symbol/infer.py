"""Inference of shapes and dtypes over a graph, forwards and backwards, to a fixed point.

Shapes are internal ones: None or -1 is unknown, 0 is a real dimension. infer_public.py translates
those of Symbol's public methods (0 and () for unknown, except under np_shape).
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from ..dtypes import FLOAT32, DType, find_dtype
from ..errors import MXNetError, ParameterError, ShapeError, TypeMismatch, shown, where
from ..np_shape import is_np_shape
from ..op.infer import merge, run_infer_shape, run_infer_type
from ..op.params import Params
from ..op.registry import OpDef, Shape
from .compose import input_names, output_name
from .json_upgrade import LONGEST_SHAPE
from .node import Entry, Node, topological

T = TypeVar("T")


class _Rules(ABC, Generic[T]):
    """The differences between shapes and dtypes."""

    what: str

    @abstractmethod
    def complete(self, values: Sequence[T | None]) -> bool:
        """Each value is known completely."""

    @abstractmethod
    def merge(self, a: T | None, b: T | None) -> T | None:
        """Combines what is known from two sources."""

    @abstractmethod
    def run(self, node: Node, ins: Sequence[T | None], outs: Sequence[T | None],
            ) -> tuple[list[T | None], list[T | None]]:
        """The operator's own rule, which gets lists of its own."""


class _ShapeRules(_Rules[Shape]):
    what = "shape"

    def complete(self, values: Sequence[Shape | None]) -> bool:
        # no `all`: called several times per node, and a generator would cost more than the check
        return not [value for value in values if value is None or -1 in value]

    def merge(self, a: Shape | None, b: Shape | None) -> Shape | None:
        return merge(a, b)

    def run(self, node: Node, ins: Sequence[Shape | None], outs: Sequence[Shape | None],
            ) -> tuple[list[Shape | None], list[Shape | None]]:
        op, params = rule_of(node)
        return run_infer_shape(op, params, ins, outs, node.name)


class _TypeRules(_Rules[DType]):
    what = "dtype"

    def complete(self, values: Sequence[DType | None]) -> bool:
        # no `in`: NumPy considers dtype float64 equal to None
        return all(value is not None for value in values)

    def merge(self, a: DType | None, b: DType | None) -> DType | None:
        if a is not None and b is not None and a != b:
            raise TypeMismatch(f"dtypes disagree: {a} and {b}")
        return b if a is None else a

    def run(self, node: Node, ins: Sequence[DType | None], outs: Sequence[DType | None],
            ) -> tuple[list[DType | None], list[DType | None]]:
        op, params = rule_of(node)
        return run_infer_type(op, params, ins, outs, node.name)


def rule_of(node: Node) -> tuple[OpDef, Params]:
    """The operator of a node that is no variable, and its parameters."""
    if node.op is None or node.params is None:
        raise MXNetError(f"{node!r} has no operator")
    if len(node.inputs) < node.op.num_inputs(node.params):
        lacking = input_names(node.op, node.params)[len(node.inputs):]
        raise ParameterError(f'node "{node.name}" ({node.op.name}) lacks the auxiliary states '
                             f"{', '.join(lacking)}: the file that it is of has none")
    return node.op, node.params


# Cached results of rules, by operator, id of the parameters and inputs; with the parameters, which
# keeps their id from being reused.
Answers = dict[Any, tuple[Params | None, list[Any]]]


class _Inference(Generic[T]):
    """One run: what is known of each output of each node, and its source."""

    def __init__(self, order: list[Node], rules: _Rules[T], answers: Answers | None = None) -> None:
        self.order = order
        self.answers = {} if answers is None else answers
        self.rules = rules
        self.known: dict[Node, list[T | None]] = {n: [None] * n.num_outputs for n in order}
        # entries whose value came last from another node than their own, and that node
        self.source: dict[tuple[Node, int], Node | str] = {}
        self.operators = [node for node in order if node.op is not None]
        self.done: set[Node] = set()

    def table(self) -> dict[Entry, T | None]:
        """What is known of each entry."""
        # Entry(node, i) without its constructor: there are thousands
        new = tuple.__new__
        return {new(Entry, (node, i)): value for node, values in self.known.items()
                for i, value in enumerate(values)}

    def set(self, node: Node, index: int, value: T | None, source: Node | str) -> bool:
        """Adds knowledge about an output; returns whether it is new."""
        old = self.known[node][index]
        new = value if old is None else self.rules.merge(old, value)
        # NumPy considers dtype float64 equal to None
        if new is None or (old is not None and new == old):
            return False
        self.known[node][index] = new
        self.source[node, index] = source
        return True

    def run(self) -> None:
        """Sweeps over all operators in order, then in reverse, until nothing changes."""
        while self._sweep(self.operators) and self._sweep(self.operators[::-1]):
            pass

    def _sweep(self, nodes: Sequence[Node]) -> bool:
        changed = False
        for node in nodes:
            if node not in self.done:
                changed |= self._visit(node)
        return changed

    def _visit(self, node: Node) -> bool:
        known, rules = self.known, self.rules
        ins = [known[source][index] for source, index in node.inputs]
        outs = known[node]
        given = rules.complete(ins)
        key = rules.what, node.op, id(node.params), tuple(ins)
        if given and not [value for value in outs if value is not None]:
            answer = self.answers.get(key)
            if answer is not None:
                outs[:] = answer[1]
                self.done.add(node)
                return True
        try:
            new_ins, new_outs = rules.run(node, ins, outs)
        except (ShapeError, TypeMismatch) as error:
            raise type(error)(f"{error}{self._explain(node)}") from None
        if len(new_ins) != len(ins) or len(new_outs) != len(outs):
            op = rule_of(node)[0]
            raise MXNetError(f"{where(op.name, node.name)}: its {rules.what} rule gave "
                             f"{len(new_ins)} inputs and {len(new_outs)} outputs for "
                             f"{len(ins)} and {len(outs)}")
        changed = False
        # the most frequent case: all inputs are known, and the rule confirms them
        is_said = given and new_ins == ins
        if (is_said and rules.complete(new_outs)
                and not [value for value in outs if value is not None]):
            outs[:] = new_outs
            self.answers[key] = node.params, new_outs
            self.done.add(node)
            return True
        if not is_said:
            for (source, index), old, new in zip(node.inputs, ins, new_ins, strict=True):
                if new is not None and (old is None or new != old):
                    changed |= self._tell(node, source, index, new)
        for index, new in enumerate(new_outs):
            old = outs[index]
            if new is not None and (old is None or new != old):
                changed |= self._tell(node, node, index, new)
        # the values in one result of a rule are consistent with each other
        if rules.complete(new_outs) and rules.complete(new_ins):
            self.done.add(node)
        elif rules.complete(outs):
            # a visit with all inputs known has checked the consistency of all values
            if given:
                self.done.add(node)
            elif rules.complete([known[source][index] for source, index in node.inputs]):
                changed = True
        return changed

    def _tell(self, node: Node, source: Node, index: int, value: T) -> bool:
        """Adds what a node's rule says about one of its inputs or outputs."""
        if source is node and self.known[node][index] is None:
            self.known[node][index] = value
            return True
        try:
            return self.set(source, index, value, node)
        except (ShapeError, TypeMismatch) as error:
            told = where(rule_of(node)[0].name, node.name)
            raise type(error)(f"{told}: {self.rules.what} of {output_name(Entry(source, index))}: "
                              f"{error}{self._explain(node)}") from None

    def _explain(self, node: Node) -> str:
        """Lists the inputs with their sources, for the end of an error message."""
        if node.op is None or node.params is None:
            return ""
        names = input_names(node.op, node.params)
        lines = []
        for i, entry in enumerate(node.inputs):
            value = self.known[entry.node][entry.index]
            if value is not None:
                name = names[i] if i < len(names) else f"input {i}"
                source = self.source.get(entry, entry.node)
                if isinstance(source, Node):
                    source = where(rule_of(source)[0].name, source.name)
                lines.append(f"\n  {name}: {output_name(entry)} has {self.rules.what} {value}, "
                             f"from {source}")
        return "".join(lines)


def infer_graph_shapes(heads: Sequence[Entry], known: Mapping[str, Shape | None],
                       answers: Answers | None = None) -> dict[Entry, Shape | None]:
    """The shape of each entry of the graph of `heads`, as far as it follows from the variables.

    `known` gives shapes of variables by name; `__shape__` attributes serve for the others. Hidden
    outputs and backward nodes are entries like all others. `answers` is for graphs that have
    parameters in common. Raises ShapeError when shapes do not go together.
    """
    rules = _ShapeRules()
    run = _Inference(topological(heads), rules, answers)
    for node in run.order:
        if not node.is_variable:
            continue
        given = known.get(node.name)
        if given is not None:
            run.set(node, 0, given, "what was given")
        text = node.attrs.get("__shape__")
        if text is not None and not rules.complete([given]):
            noted = shape_attribute(node.name, text)
            try:
                run.set(node, 0, noted, "its attribute __shape__")
            except ShapeError:
                # a partial shape that contradicts the attribute: the attribute wins
                run.known[node][0] = noted
                run.source[node, 0] = "its attribute __shape__"
    run.run()
    return run.table()


def shape_attribute(name: str, text: str) -> Shape | None:
    """The shape in a `__shape__` attribute; the mode decides which dimensions are unknown."""
    try:
        if len(text) > LONGEST_SHAPE:
            raise ValueError
        value: Any = ast.literal_eval(text.replace("L", ""))
        dims = (value,) if isinstance(value, int) else tuple(value)
        if not all(isinstance(dim, int) for dim in dims):
            raise ValueError
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        if text == "None":
            return None
        raise ParameterError(f'variable "{name}": attribute __shape__ got {shown(text)}, '
                             "expected a tuple of ints") from None
    return from_public(dims)


def from_public(dims: Sequence[int] | None) -> Shape | None:
    """The internal form of a shape in which 0 or -1 is an unknown dimension and () unknown.

    Under np_shape 0 and () are real.
    """
    if dims is None or (not dims and not is_np_shape()):
        return None
    least = 0 if is_np_shape() else 1
    return tuple(dim if dim >= least else -1 for dim in dims)


def to_public(shape: Shape | None) -> tuple[int, ...] | None:
    """A shape with 0 for an unknown dimension, () if nothing is known.

    Under np_shape these are -1 and None.
    """
    if is_np_shape():
        return shape
    return () if shape is None else tuple(max(dim, 0) for dim in shape)


def infer_graph_types(heads: Sequence[Entry], known: Mapping[str, DType | None],
                      default: DType | None = FLOAT32, answers: Answers | None = None,
                      ) -> dict[Entry, DType | None]:
    """The dtype of each entry of the graph of `heads`.

    `known` gives dtypes of variables by name; `__dtype__` attributes serve for the others.
    Variables whose dtype does not follow get `default`, one at a time, so that what follows from
    the first takes precedence over the default of the next; None leaves them unknown. `answers` is
    for graphs that share parameters. Raises TypeMismatch if dtypes contradict each other.
    """
    run = _Inference(topological(heads), _TypeRules(), answers)
    for node in run.order:
        if not node.is_variable:
            continue
        given = known.get(node.name)
        source = "what was given"
        if given is None and "__dtype__" in node.attrs:
            given = dtype_attribute(node.name, node.attrs["__dtype__"])
            source = "its attribute __dtype__"
        if given is not None:
            run.set(node, 0, given, source)
    run.run()
    if default is not None:
        for node in run.order:
            if node.is_variable and run.known[node][0] is None:
                run.set(node, 0, default, f"the default, {default}")
                run.run()
    return run.table()


def dtype_attribute(name: str, text: str) -> DType | None:
    """The dtype in a `__dtype__` attribute: a type flag or a name; -1 is unknown."""
    try:
        value: object = int(text) if text.lstrip("-").isdigit() else text
        return None if value == -1 else find_dtype(value)
    except TypeMismatch as error:
        raise ParameterError(f'variable "{name}": attribute __dtype__ got {text!r}: '
                             f"{error}") from None

