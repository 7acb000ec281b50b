"""Graphs contained in nodes: the parameters of _foreach, _while_loop and _cond. Runs nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ..errors import NameMismatch, ParameterError, TypeMismatch, where
from ..op.params import MAX_COUNT, Params, integer, params_class, shape
from ..op.registry import OpDef
from .compose import arguments_and_aux, parse_params
from .node import Entry, Node, topological

# the attribute that contains a node's graphs
KEY = "subgraphs"


class Subgraph:
    """A graph with its variables in order, which stand for inputs of the node."""

    __slots__ = ("aux", "draws", "heads", "order", "text", "variables")

    def __init__(self, heads: Sequence[Entry]) -> None:
        self.heads = list(heads)
        self.order = topological(heads)
        self.variables = [node for node in self.order if node.is_variable]
        written = set(arguments_and_aux(heads)[1])
        self.aux = tuple(i for i, node in enumerate(self.variables) if node in written)
        self.draws = any(node.op is not None and node.params is not None
                         and node.op.draws(node.params) for node in self.order)
        self.text: str | None = None

    @property
    def names(self) -> list[str]:
        return [node.name for node in self.variables]

    def as_text(self) -> str:
        """The graph as JSON."""
        if self.text is None:
            from .graph_json import save_graph
            self.text = save_graph(self.heads, False)
        return self.text


@params_class
class SubgraphParams(Params, ABC):
    """Parameters of an operator that runs graphs; `graphs` is not a parameter that users write."""

    @classmethod
    def parse(cls, attrs: Mapping[str, object], op: str, node: str | None = None) -> Any:
        given = dict(attrs)
        graphs = given.pop(KEY, None)
        made = super().parse(given, op, node)
        if isinstance(graphs, str):
            from .graph_json import load_graphs
            graphs = load_graphs(graphs)
        if not isinstance(graphs, (list, tuple)):
            raise ParameterError(f"{where(op, node)}: has no graphs: it is made by the functions "
                                 "of contrib")
        made.__dict__["_graphs"] = tuple(read_graph(graph) for graph in graphs)
        try:
            made.check()
        except (IndexError, ValueError) as error:
            raise ParameterError(f"{where(op, node)}: its graphs and the places of their inputs do "
                                 f"not go together: {error}") from None
        return made

    def check(self) -> None:
        """ValueError if numbers and graphs contradict each other."""

    @property
    def graphs(self) -> tuple[Subgraph, ...]:
        return cast("tuple[Subgraph, ...]", self.__dict__["_graphs"])

    @property
    def layers(self) -> tuple[str, ...]:
        return tuple(node.name for graph in self.graphs for node in graph.order
                     if not node.is_variable)

    @property
    def draws(self) -> bool:
        return any(graph.draws for graph in self.graphs)

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(f"data{i}" for i in range(self.num_inputs))

    @property
    def num_inputs(self) -> int:
        return int(getattr(self, "num_args", 0)) - len(self.graphs)

    @property
    @abstractmethod
    def places(self) -> list[Sequence[int]]:
        """For each graph the numbers of the inputs that its variables stand for."""

    @property
    def aux(self) -> tuple[int, ...]:
        """Numbers of the inputs that the graphs write to."""
        found = {place[i] for graph, place in zip(self.graphs, self.places, strict=True)
                 for i in graph.aux}
        return tuple(sorted(found))

    def __eq__(self, other: object) -> bool:
        return (type(other) is type(self) and isinstance(other, SubgraphParams)
                and self._key() == other._key()
                and (self.graphs is other.graphs
                     or [g.as_text() for g in self.graphs] == [g.as_text() for g in other.graphs]))

    def __hash__(self) -> int:
        return hash((type(self), self._key()))

    def to_attrs(self) -> dict[str, str]:
        text = ", ".join(graph.as_text() for graph in self.graphs)
        return {**super().to_attrs(), KEY: f"[{text}]"}


def reparsed(node: Node, op: OpDef, attrs: dict[str, str], name: str) -> Params:
    """The parameters of a node like another one, with its graphs, but with these attributes."""
    if isinstance(node.params, SubgraphParams):
        made: Params = op.params.parse({**attrs, KEY: node.params.graphs}, op.name, name)
        return made
    return parse_params(op, attrs, name)


def read_graph(given: Any) -> Subgraph:
    """A graph from itself, from its heads, or from a Symbol."""
    if isinstance(given, Subgraph):
        return given
    heads = getattr(given, "entries", given)
    if not isinstance(heads, (list, tuple)) or not all(isinstance(e, Entry) for e in heads):
        raise TypeMismatch(f"a graph inside of a node got {type(given).__name__}, expected a "
                           "Symbol")
    return Subgraph(heads)


def _need(condition: bool, what: str) -> None:
    if not condition:
        raise ValueError(what)


def _same_places(places: Sequence[int], count: int, what: str) -> None:
    _need(sorted(places) == list(range(count)), f"{what} are {tuple(places)}, expected each of "
                                                f"{count} once")


@params_class
class ForeachParams(SubgraphParams):
    """A graph, and which of its variables are data, states and others."""

    num_args: int = integer(low=1, high=MAX_COUNT, doc="number of inputs, the graph among them")
    num_outputs: int = integer(low=0, high=MAX_COUNT, doc="number of outputs")
    num_out_data: int = integer(low=0, doc="how many of them are made at each step")
    in_state_locs: tuple[int, ...] = shape(doc="variables of the graph that are states")
    in_data_locs: tuple[int, ...] = shape(doc="variables of the graph that are steps of the data")
    remain_locs: tuple[int, ...] = shape(doc="variables of the graph that stay as they are")

    def check(self) -> None:
        _need(len(self.graphs) == 1, f"{len(self.graphs)} graphs, expected 1")
        _need(len(self.graphs[0].heads) == self.num_outputs, "the graph has another number of "
                                                             "outputs")
        _same_places(self._locs, self.num_inputs, "the places of inputs")
        _need(len(self.graphs[0].variables) == self.num_inputs, "the graph has another number of "
                                                                "inputs")
        _need(self.num_outputs - self.num_out_data == len(self.in_state_locs),
              "there are other numbers of states before and after a step")
        _need(len(self.in_data_locs) > 0, "there is no data")

    @property
    def _locs(self) -> tuple[int, ...]:
        return (*self.in_data_locs, *self.in_state_locs, *self.remain_locs)

    @property
    def places(self) -> list[Sequence[int]]:
        locs = self._locs
        return [[locs.index(i) for i in range(len(locs))]]


@params_class
class WhileLoopParams(SubgraphParams):
    """A condition and a step, and which inputs each of them takes."""

    num_args: int = integer(low=2, high=MAX_COUNT, doc="number of inputs, the two graphs "
                                                         "among them")
    num_outputs: int = integer(low=1, high=MAX_COUNT, doc="number of outputs")
    num_out_data: int = integer(low=0, doc="how many of them are made at each step")
    max_iterations: int = integer(low=1, doc="the most steps")
    cond_input_locs: tuple[int, ...] = shape(doc="inputs that the condition takes")
    func_input_locs: tuple[int, ...] = shape(doc="inputs that the step takes")
    func_var_locs: tuple[int, ...] = shape(doc="which of those are variables of the loop")

    def check(self) -> None:
        _need(len(self.graphs) == 2, f"{len(self.graphs)} graphs, expected 2")
        cond, func = self.graphs
        _need(len(cond.heads) == 1, "the condition has more than one output")
        _need(len(func.heads) == self.num_outputs, "the step has another number of outputs")
        for graph, place in zip(self.graphs, self.places, strict=True):
            _need(len(graph.variables) == len(place), "a graph has another number of inputs")
            _need(all(0 <= i < self.num_inputs for i in place), "there is no such input")
        _need(all(0 <= i < len(func.variables) for i in self.func_var_locs),
              "there is no such variable")
        _need(self.num_outputs - self.num_out_data == len(self.func_var_locs),
              "there are other numbers of variables before and after a step")

    @property
    def places(self) -> list[Sequence[int]]:
        return [self.cond_input_locs, self.func_input_locs]

    @property
    def variables(self) -> list[int]:
        """Numbers of the inputs that are loop variables."""
        return [self.func_input_locs[i] for i in self.func_var_locs]


@params_class
class CondParams(SubgraphParams):
    """A condition and two branches, and which inputs each of them takes."""

    num_args: int = integer(low=3, high=MAX_COUNT, doc="number of inputs, the three graphs "
                                                         "among them")
    num_outputs: int = integer(low=1, high=MAX_COUNT, doc="number of outputs")
    cond_input_locs: tuple[int, ...] = shape(doc="inputs that the condition takes")
    then_input_locs: tuple[int, ...] = shape(doc="inputs that the first branch takes")
    else_input_locs: tuple[int, ...] = shape(doc="inputs that the second branch takes")

    def check(self) -> None:
        _need(len(self.graphs) == 3, f"{len(self.graphs)} graphs, expected 3")
        cond, then, other = self.graphs
        _need(len(cond.heads) == 1, "the condition has more than one output")
        _need(len(then.heads) == len(other.heads) == self.num_outputs,
              "the branches have another number of outputs")
        for graph, place in zip(self.graphs, self.places, strict=True):
            _need(len(graph.variables) == len(place), "a graph has another number of inputs")
            _need(all(0 <= i < self.num_inputs for i in place), "there is no such input")

    @property
    def places(self) -> list[Sequence[int]]:
        return [self.cond_input_locs, self.then_input_locs, self.else_input_locs]


# ---- extracting a graph from another one --------------------------------------------------------


class Cut:
    """The part of a graph that was made in a scope, and its inputs from outside.

    Nodes that have this value of the scope's attribute are inside. `taken` are the entries outside,
    one for each variable of the graph that is not one of `own`.
    """

    def __init__(self, heads: Sequence[Entry], mark: str, attribute: str,
                 own: Sequence[Node]) -> None:
        self._mark = mark
        self._attribute = attribute
        self._inside: dict[Node, Node] = {}
        self._variables: dict[Entry, Entry] = {}
        self.taken: dict[Node, Entry] = {}
        self._own = set(own)
        self.graph = Subgraph(self._cut(heads))
        twice = sorted(name for name, uses in Counter(self.graph.names).items() if uses > 1)
        if twice:
            raise NameMismatch(f"a graph inside of a node has several inputs called {twice[0]!r}")

    def is_inside(self, node: Node) -> bool:
        return node.attrs.get(self._attribute) == self._mark

    def _cut(self, heads: Sequence[Entry]) -> list[Entry]:
        stack = [entry.node for entry in heads]
        while stack:
            node = stack[-1]
            if node in self._inside or node.is_variable or not self.is_inside(node):
                stack.pop()
                continue
            waiting = [e.node for e in node.inputs if e.node not in self._inside
                       and not e.node.is_variable and self.is_inside(e.node)]
            if waiting:
                stack += waiting
                continue
            stack.pop()
            self._inside[node] = Node(node.op, node.name, dict(node.attrs), node.params,
                                      [self._entry(e) for e in node.inputs])
        return [self._entry(e) for e in heads]

    def _entry(self, entry: Entry) -> Entry:
        made = self._inside.get(entry.node)
        if made is not None:
            return Entry(made, entry.index)
        if entry.node in self._own:
            return entry
        found = self._variables.get(entry)
        if found is None:
            found = self._variables[entry] = Entry(self._variable(entry), 0)
        return found

    def _variable(self, entry: Entry) -> Node:
        from .compose import output_name
        outer = entry.node
        if not outer.is_variable:
            made = Node(None, output_name(entry))
            self.taken[made] = entry
            return made
        made = Node(None, outer.name, dict(outer.attrs))
        # a variable made inside becomes a separate node outside, as in MXNet
        self.taken[made] = entry
        return made
