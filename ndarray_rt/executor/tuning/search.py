"""Tuning: chooses layouts and kernels of an inference graph by running it with each of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from time import perf_counter
from typing import NamedTuple

from ..._array.ndarray import new_array
from ...context import Context
from ...dtypes import FLOAT32
from ...op.choose import BLOCK, KERNELS, NATIVE, prefers_channels_last
from ...op.context import OpContext
from ...op.packing import PackedStore
from ...op.random_state import RandomState
from ...storage.account import Account
from ...storage.desc import blocked_desc, channels_last_desc
from ...storage.handle import Handle
from ...storage.primitive import Kind as PrimitiveKind
from ...storage.primitive import Primitive
from ...storage.reorder import reorder_mem
from ...storage.stream import Mem, Stream
from ...storage.tmp_mem import TmpMemMgr
from ...symbol.node import Node, topological
from ..explain.measure import Call, Measured, Part, measure
from ..layout.choose import LAYOUTS, convolutions
from ..layout.kernels import cheapest_kernels, kernel_nodes
from ..layout.measured import cheapest_layouts
from ..program.bound_graph import Facts
from ..program.inference import InferenceGraph, plan_inference
from ..program.plan import Kind
from ..program.program import Program
from ..session import Session
from ..tiles.batch import Tiling, choose_tiling
from ..values import copy_value
from .file import TABLE
from .table import (
    GraphPlan,
    Measurements,
    NodeKey,
    Reorders,
    graph_key,
    node_key,
    this_machine,
)

MIXED, USUAL = "mixed", "usual"
# tile sizes to try
TILES = (1, 2, 4, 8)
# a plan with more reorders is taken only if it is faster by this share
GAIN = 0.01
# shapes for measuring reorders: one fits into a core's cache, one does not
_SMALL, _LARGE = (1, 64, 28, 28), (8, 64, 112, 112)


@dataclass(frozen=True)
class Tuned:
    """What `Executor.tune` found.

    Plans are named by layouts: "channels-last", "blocked", or "mixed" if the cheapest choice per
    node is neither; with "in tiles of N" if first layers run for N samples of the batch at a time.
    After a comma follows whose kernels compute products and recurrent layers: "native" (native
    ones), "oneDNN", or "mixed". A graph without a choice of layouts has plans named by kernels
    only, and "usual", where each operator follows its own rule.

    `milliseconds` are times of whole runs, `variants` maps nodes by name to their layout or kernel
    library, `reorders` counts the changes of layout in a run. `chosen` is the fastest plan, "" if
    there is nothing to choose (`reason` says why); `changed`: the executor now runs another plan.
    """

    chosen: str
    changed: bool
    milliseconds: Mapping[str, float]
    variants: Mapping[str, Mapping[str, str]]
    reorders: Mapping[str, int]
    reason: str = ""

    def __str__(self) -> str:
        if not self.chosen:
            return f"nothing to tune: {self.reason}"
        lines = [f"{'*' if name == self.chosen else ' '} {name}: {time:.3f} ms, "
                 f"{self.reorders[name]} reorders" for name, time in self.milliseconds.items()]
        return "\n".join([*lines, "the plan changed" if self.changed else "the plan stays"])


class Choice(NamedTuple):
    """Layouts, kernels and tiles of a graph."""

    variants: dict[Node, str]
    tiling: Tiling | None

    def named(self, layouts: str) -> str:
        """The plan's name, given a name for the layouts."""
        if self.tiling is None:
            return layouts
        return f"{layouts} in tiles of {self.tiling.samples}"


class Trials:
    """Programs of one inference graph with other layouts, over the user's arrays, which keep their
    contents: weights are packed into private copies, and outputs are separate arrays.

    `arena` is memory that may be overwritten.
    """

    def __init__(self, graph: InferenceGraph, ctx: Context, plainly_bound: bool,
                 arena: Handle | None) -> None:
        self._graph = graph
        self._ctx = ctx
        self._plainly_bound = plainly_bound
        self._arena = arena
        self._programs: dict[str, Program] = {}
        self.facts: dict[str, Facts] = {}
        self._session = Session()
        self._bound = [graph.given[value.entry] for value in graph.plan.values
                       if value.kind is Kind.EXTERNAL]
        self._context = OpContext(
            Stream(TmpMemMgr()), session=self._session.key, random=RandomState(),
            shapes=tuple(array.shape for array in self._bound))
        self._context.keep_plain = frozenset(array._chunk.native.id for array in self._bound)
        self._context.packed = PackedStore()

    def add(self, name: str, choice: Choice) -> None:
        """Adds a program with these layouts and tiles."""
        graph = self._graph
        made = plan_inference(graph.optimized.heads, graph.facts, *choice, graph.bound)
        given = dict(made.given)
        given.update({value.entry: new_array(value.shape, value.dtype, self._ctx)
                      for value in made.plan.values if value.kind is Kind.OUTPUT})
        program = Program(made.plan, given, self._context, self._ctx, self._plainly_bound,
                          self._arena)
        self.facts[name] = made.facts
        # the largest arena so far serves all following programs
        self._arena = program.state.arena or self._arena
        self._programs[name] = program

    def measure(self, names: Sequence[str], repeat: int) -> dict[str, Measured]:
        """Times of whole runs and of their steps."""
        parts = [_part(self._programs[name]) for name in names]
        written = {chunk for name in names
                   for chunk in Program.written(self._programs[name].steps)}
        kept = [(array, array.copy()) for array in self._bound if array._chunk in written]
        try:
            # the shortest run, as other work on the machine only adds to times
            found = measure(parts, self._context, repeat, apart=True, of_runs=min)
            return dict(zip(names, found, strict=True))
        finally:
            for array, before in kept:
                copy_value(before, array, "tune")


def _part(program: Program) -> Part:
    plan = program.plan
    span = slice(plan.num_prologue, plan.num_forward)
    return Part(plan.steps[span], program.steps[span], program.forward_capture(),
                lambda: program.run_forward(False))


def tune_layouts(graph: InferenceGraph, ctx: Context, plainly_bound: bool, arena: Handle | None,
                 repeat: int) -> Tuned:
    """Measures a graph in each layout, plans from the times, and stores both in the table.

    The caller holds the executor's lock; `graph` and its arrays do not change.
    """
    nodes = topological(graph.optimized.heads)
    shapes, types = graph.facts.shapes, graph.facts.types
    # below AVX-512 kernels have only one layout
    chosen = convolutions(nodes, shapes, types) if prefers_channels_last() else []
    products = kernel_nodes(nodes, types)
    if not chosen and not products:
        return nothing_to_tune("there is no choice of layouts or of kernels")
    with Account("tuning"):
        found = _Search(graph, Trials(graph, ctx, plainly_bound, arena), nodes, chosen, repeat)
        if chosen:
            found.search_layouts()
        if products:
            found.search_kernels(products)
    choices, measured = found.choices, found.measured
    if not measured:
        return nothing_to_tune("each node has one kernel")
    times = {name: of_run.milliseconds for name, of_run in measured.items()}
    fastest = min(times, key=lambda name: times[name] / (1 - GAIN * found.must_gain(name)))
    best = choices[fastest]
    TABLE.put(Measurements({}, {graph_key(this_machine(), nodes, shapes, types): GraphPlan(
        tuple(best.variants[node] for node in chosen), times[fastest], best.tiling,
        tuple(best.variants.get(node, "") for node in products))}, {}))
    return Tuned(fastest, best != Choice(graph.variants, graph.tiling), times,
                 {name: {node.name: variant for node, variant in choice.variants.items()}
                  for name, choice in choices.items()},
                 {name: _reorders(of_run) for name, of_run in measured.items()})


class _Search:
    """Plans tried so far, by name: each layout, the cheapest mixture, tile sizes, kernels."""

    def __init__(self, graph: InferenceGraph, trials: Trials, nodes: Sequence[Node],
                 chosen: Sequence[Node], repeat: int) -> None:
        self._graph, self._trials = graph, trials
        self._nodes, self._chosen, self._repeat = nodes, chosen, repeat
        self._machine = this_machine()
        self._usual = choose_tiling(graph.optimized.heads, graph.facts)
        self._with_kernels: set[str] = set()
        self.choices: dict[str, Choice] = {}
        self.measured: dict[str, Measured] = {}

    def must_gain(self, name: str) -> bool:
        """This plan is taken only if it is faster by GAIN."""
        return name.startswith(MIXED) or name in self._with_kernels

    def search_layouts(self) -> None:
        graph, usual = self._graph, self._usual
        heads, facts = graph.optimized.heads, graph.facts
        # running step by step shows the time of each node in each layout
        self._measure([(layout, Choice(dict.fromkeys(self._chosen, layout), usual))
                       for layout in LAYOUTS])
        self._note_times({name: LAYOUTS[i] for i, name in enumerate(self.measured)})
        if not TABLE.reorders(self._machine):
            TABLE.put(Measurements({}, {}, {self._machine: measure_reorders()}))
        best = self._best()
        cheapest = Choice(cheapest_layouts(self._machine, heads, self._nodes, facts, usual), usual)
        if cheapest not in self.choices.values():
            # measured in turn, so that other work on the machine affects both
            self._measure([(MIXED, cheapest)], beside=best)
        best = self._best()
        variants = self.choices[best].variants
        layouts = best.partition(" in ")[0]
        tilings = [None, *(choose_tiling(heads, facts, n) for n in TILES)]
        others = [(layouts, Choice(variants, tiling)) for tiling in dict.fromkeys(tilings)
                  if tiling != usual]
        if others:
            self._measure(others, beside=best)

    def search_kernels(self, products: Sequence[Node]) -> None:
        """Tries native kernels and oneDNN's in the best plan so far, or in the usual one."""
        facts, layouts = self._graph.facts, self._best() if self.measured else ""
        usual = layouts or USUAL
        base = self.choices[usual] if layouts else Choice({}, self._usual)

        def name(kernel: str) -> str:
            return f"{layouts}, {kernel}" if layouts else kernel

        def plan(kernels: Mapping[Node, str]) -> Choice:
            return base._replace(variants={**base.variants, **kernels})
        whose = {name(kernel): kernel for kernel in KERNELS}
        self._with_kernels = {name(MIXED), *whose}
        self._measure_plans({usual: base, **{
            of_all: plan(dict.fromkeys(products, kernel)) for of_all, kernel in whose.items()}})
        issued = {tried: self._kernels_issued(tried) for tried in (usual, *whose)}
        keys = {node: node_key(self._machine, node, facts.shapes, facts.types)
                for node in products}
        open_to = [node for node, key in keys.items()
                   if any(issued[of_all].get(key) != issued[name(NATIVE)].get(key)
                          for of_all in whose)]
        self._note_times(whose, {keys[node] for node in open_to})
        fastest = cheapest_kernels(self._machine, open_to, facts)
        cheapest = plan({
            node: kernel for node, kernel in fastest.items()
            if issued[name(kernel)].get(keys[node]) != issued[usual].get(keys[node])})
        for of_all in whose:
            if issued[of_all] == issued[usual]:
                del self.choices[of_all], self.measured[of_all]
        if not open_to and not layouts:
            self.measured.clear()
        elif len(set(fastest.values())) > 1 and cheapest != base:
            self._measure_plans({name(MIXED): cheapest}, beside=usual)

    def _kernels_issued(self, name: str) -> dict[NodeKey, list[tuple[int, ...]]]:
        """For each set of equal nodes, the native kernels that a plan runs for them."""
        found: dict[NodeKey, list[tuple[int, ...]]] = {}
        for call in self.measured[name].calls:
            if call.planned.node.inputs:
                found.setdefault(self._key(name, call), []).append(
                    tuple(i for i in call.issued if isinstance(i, int)))
        return found

    def _key(self, name: str, call: Call) -> NodeKey:
        facts = self._trials.facts[name]
        return node_key(self._machine, call.planned.node, facts.shapes, facts.types)

    def _best(self) -> str:
        return min(self.measured, key=lambda name: self.measured[name].milliseconds)

    def _measure(self, more: Sequence[tuple[str, Choice]], beside: str = "") -> None:
        """Adds plans, by the names of their layouts, and measures them together with an earlier
        plan `beside`."""
        self._measure_plans({choice.named(layouts): choice for layouts, choice in more}, beside)

    def _measure_plans(self, more: Mapping[str, Choice], beside: str = "") -> None:
        """The same for plans by full name; a known plan is measured again."""
        for name, choice in more.items():
            if name not in self.choices:
                self.choices[name] = choice
                self._trials.add(name, choice)
        names = [beside, *more] if beside else [*more]
        self.measured.update(self._trials.measure(names, self._repeat))

    def _note_times(self, labels: Mapping[str, str], keys: Collection[NodeKey] | None = None,
                    ) -> None:
        """Stores the mean time of equal nodes in the table; `labels` maps a plan to the layout or
        library under which its times are stored. If `keys` are given, for those nodes only."""
        found: dict[NodeKey, dict[str, list[float]]] = {}
        for name, of_run in self.measured.items():
            label = labels.get(name)
            if label is None:
                continue
            for call in of_run.calls:
                if call.planned.node.inputs:
                    key = self._key(name, call)
                    if keys is None or key in keys:
                        found.setdefault(key, {}).setdefault(label, []).append(call.milliseconds)
        TABLE.put(Measurements(
            {key: {label: sum(times) / len(times) for label, times in by_label.items()}
             for key, by_label in found.items()}, {}, {}))


def nothing_to_tune(reason: str) -> Tuned:
    """The result for a graph without any choice."""
    return Tuned("", False, {}, {}, {}, reason)


def _reorders(found: Measured) -> int:
    return sum(isinstance(issued, Primitive) and issued.kind == PrimitiveKind.REORDER
               for call in found.calls for issued in call.issued)


def measure_reorders(repeat: int = 7) -> Reorders:
    """Times of changing between the layouts, for a small and a large tensor."""
    stream = Stream(TmpMemMgr())

    def measured(shape: tuple[int, ...]) -> tuple[float, float]:
        mems = []
        for desc in (channels_last_desc(FLOAT32, shape), blocked_desc(FLOAT32, shape, BLOCK)):
            handle = Handle(desc.nbytes, zero=True)
            mems.append(Mem(desc, handle.ptr, handle, stream.epoch))
        times = []
        for _ in range(repeat):
            start = perf_counter()
            # to the other layout and back
            reorder_mem(stream, mems[0], mems[1], now=True)
            reorder_mem(stream, mems[1], mems[0], now=True)
            times.append((perf_counter() - start) * 1e3 / 2)
        return 4.0 * prod(shape), min(times)
    return measured(_SMALL), measured(_LARGE)


