"""A model in memory: its file, the arrays of its constants, and plans for shapes of inputs."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array.ndarray import NDArray, new_array
from ..collector import resting_collector
from ..context import Context
from ..executor.executor import Executor
from ..precision import Precision, find_precision
from ..symbol.node import Entry, topological
from ..symbol.symbol import Symbol
from .build import Constants, GraphBuilder
from .graph import Graph, ModelFile
from .held import Held
from .inline import renewed
from .plan import Plan, Segment
from .planner import Planner, found_value
from .values import MAX_BYTES, SequenceValue, constant

if TYPE_CHECKING:
    from .calibrate import Calibrated, DynamicLayers, Watching

# plans that are kept: for so many different shapes of inputs
MOST_PLANS = 32
# inputs of so many elements may decide about plans by their values, for so many different ones
_MOST_VALUES = 4
MOST_MODES = 4


def _facts(value: Any) -> Any:
    """Shape and dtype of what an optional input is, or of each item of a sequence."""
    if value is None:
        return None
    return tuple((x.shape, x.dtype.num) for x in value)


def without_unused(graph: Graph) -> None:
    """Takes away nodes that nobody needs, and the names of outputs that nobody reads."""
    used = set(graph.outputs)
    kept = []
    for node in reversed(graph.nodes):
        if not any(name in used for name in node.outputs):
            continue
        node.outputs = tuple(name if name in used else "" for name in node.outputs)
        while node.outputs and not node.outputs[-1]:
            node.outputs = node.outputs[:-1]
        used.update(node.reads())
        kept.append(node)
        for inside in node.graphs():
            without_unused(inside)
    graph.nodes[:] = kept[::-1]
    graph._free = None


def with_inputs(file: ModelFile, names: Collection[str]) -> ModelFile:
    """The same model with some of its constants as inputs, behind the others."""
    graph = renewed(file.graph)
    more = [info for info in file.overridable if info.name in names]
    graph.inputs = [*graph.inputs, *(info.name for info in more)]
    graph.constants = {name: made for name, made in graph.constants.items() if name not in names}
    return replace(file, graph=graph, inputs=[*file.inputs, *more], overridable=[
        info for info in file.overridable if info.name not in names])


class Loaded:
    """What plans of one model share. Not to be used by two threads at a time."""

    def __init__(self, file: ModelFile, ctx: Context, max_bytes: int,
                 like: Loaded | None = None, precision: Precision | None = None) -> None:
        """`like` is another one's, whose constants and precision it has."""
        self.file = file
        self.ctx = ctx
        self.max_bytes = max_bytes
        self.precision: Precision = (find_precision(precision, "onnx.load") if like is None
                                     else like.precision)
        if like is None:
            without_unused(file.graph)
        self.constants: Constants = Constants() if like is None else like.constants
        self.plans: OrderedDict[Any, Plan] = OrderedDict()
        # of the plans that are kept, in the order in which they were bound
        self._executors: list[weakref.ref[Executor]] = []
        self.held = Held()
        # watches what graphs compute, or has quantized them
        self.on_bound: Watching | Calibrated | DynamicLayers | None = (
            None if like is None else like.on_bound)
        # that loops became in the plan that is being made, and that were planned to find out
        # whether they can
        self.unrolled_nodes = self.tried_nodes = 0
        self._slots = 0
        # positions of inputs whose values plans are made for, not only their shapes: small ones
        # of whole numbers, such as a rate or lengths, on which much else depends
        self.modes: list[int] = []
        if like is not None:
            self.modes = like.modes
        else:
            self.modes = [i for i, info in enumerate(file.inputs) if info.kind == "tensor"
                          and info.dtype is not None and info.dtype.kind in "iub"
                          and info.shape is not None and len(info.shape) < 2]
        # NumPy computes what follows from inputs of whole numbers alone before a graph runs
        self.computes_before = True
        self._seen: OrderedDict[Any, set[Any]] = OrderedDict()

    def forget_plans(self) -> None:
        """Drops all plans: the next run makes them anew, with executors of their own."""
        self.plans.clear()
        self._executors.clear()

    @property
    def executors(self) -> list[Executor]:
        """Those that plans have: each lives as long as a plan that runs it."""
        alive = [(made, ref) for ref in self._executors if (made := ref()) is not None]
        self._executors = [ref for _, ref in alive]
        return [made for made, _ in alive]

    def key(self, arrays: Sequence[Any]) -> Any:
        """All that a plan for these inputs depends on."""
        shapes = tuple([(x.shape, x.dtype.num) if x.__class__ is np.ndarray else _facts(x)
                        for x in arrays])
        if not self.modes:
            return shapes
        values = tuple([arrays[i].tobytes() if arrays[i].size <= _MOST_VALUES else b""
                        for i in self.modes])
        key = shapes, values
        if key in self.plans:
            return key
        seen = self._seen.setdefault(shapes, set())
        self._seen.move_to_end(shapes)
        seen.add(values)
        while len(self._seen) > MOST_PLANS:
            self._seen.popitem(last=False)
        if len(seen) > MOST_MODES:
            # they are data like all others
            self.modes = []
            self._seen.clear()
            return shapes
        return key

    @resting_collector()
    def plan(self, key: Any, arrays: Sequence[Any]) -> Plan:
        """The plan for inputs like these; `key` is all that it depends on of them."""
        found = self.plans.get(key)
        if found is not None:
            self.plans.move_to_end(key)
            return found
        graph = self.file.graph
        self.unrolled_nodes = self.tried_nodes = 0
        scope: dict[str, Any] = {name: constant(made, True)
                                 for name, made in graph.constants.items()}
        for name, given in zip(graph.inputs, arrays, strict=True):
            if (isinstance(given, np.ndarray) and given.size <= _MOST_VALUES
                    and graph.inputs.index(name) in self.modes):
                scope[name] = constant(np.array(given))
            elif isinstance(given, tuple):
                scope[name] = SequenceValue(tuple(found_value(item, f"{name}:{i}")
                                                  for i, item in enumerate(given)))
            else:
                scope[name] = found_value(given, name)
        token = MAX_BYTES.set(self.max_bytes)
        try:
            made_plan = Planner(self, scope, list(reversed(graph.nodes)), graph.outputs).run()
        finally:
            MAX_BYTES.reset(token)
        self.plans[key] = made_plan
        while len(self.plans) > MOST_PLANS:
            self.plans.popitem(last=False)
        return made_plan

    def slot(self, hint: str) -> str:
        """A name for what a step computes, unlike any other name of the model."""
        self._slots += 1
        return f"{hint}:{self._slots}"

    # ---- graphs --------------------------------------------------------------------------------

    def segment(self, builder: GraphBuilder,
                outputs: Sequence[tuple[Entry, str, tuple[int, ...]]]) -> Segment:
        """A graph that was made, bound; it goes on with what was packed for one that is the same
        for other shapes."""
        symbol = Symbol([entry for entry, _, _ in outputs])
        names = {node.name for node in topological(symbol.entries) if node.is_variable}
        fed = {name: made for name, made in builder.inputs.items() if name in names}
        shapes = {name: builder.shapes[made.entries[0]] for name, made in fed.items()}
        executor = self._reshaped(symbol, shapes)
        if executor is None:
            args = {name: new_array(shape, builder.types[fed[name].entries[0]], self.ctx,
                                    zero=True) for name, shape in shapes.items()}
            executor = self._bound(symbol, args)
        self._executors.append(weakref.ref(executor))
        if self.on_bound is not None:
            self.on_bound.bound(executor, fed)
        return Segment(executor, list(fed), [(slot, shape) for _, slot, shape in outputs])

    def _bound(self, symbol: Symbol, args: dict[str, NDArray]) -> Executor:
        aux = symbol.list_auxiliary_states()
        given = {name: args[name] if name in args else self.constants.bound(name, self.ctx)
                 for name in symbol.list_inputs()}
        made: Executor = symbol.bind(
            self.ctx, {name: given[name] for name in symbol.list_arguments()}, grad_req="null",
            aux_states={name: given[name] for name in aux}, precision=self.precision)
        return made

    def _reshaped(self, symbol: Symbol, shapes: dict[str, tuple[int, ...]]) -> Executor | None:
        for old in self.executors:
            if is_same_graph(old.symbol, symbol):
                # not each constant's shape follows from those of the inputs
                fixed = {name: x.shape for name, x in old.arg_dict.items()}
                return old.reshape(partial_shaping=True, allow_up_sizing=True,
                                   **{**fixed, **shapes})
        return None


def is_same_graph(a: Symbol, b: Symbol) -> bool:
    """Both have the same nodes, whatever the shapes of their variables are."""
    first, second = topological(a.entries), topological(b.entries)
    if len(first) != len(second) or len(a.entries) != len(b.entries):
        return False
    number: dict[Any, Any] = {}
    for x, y in zip(first, second, strict=True):
        if x.op is not y.op or len(x.inputs) != len(y.inputs):
            return False
        if x.op is None and x.name != y.name:
            return False
        if x.op is not None and x.params != y.params:
            return False
        if any(number[p.node] is not q.node or p.index != q.index
               for p, q in zip(x.inputs, y.inputs, strict=True)):
            return False
        number[x] = y
    return all(number[p.node] is q.node and p.index == q.index
               for p, q in zip(a.entries, b.entries, strict=True))
