"""The table of measured times of nodes and graphs, of this machine and others.

Measures and plans nothing itself.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeVar

from ... import config
from ...dtypes import DType, dtype_name
from ...fork import renew_in_child
from ...native import ffi, lib, text
from ...symbol.node import Entry, Node

Shape = tuple[int, ...]
# (bytes that a reorder writes, its milliseconds), for a small and a large tensor
Reorders = tuple[tuple[float, float], tuple[float, float]]
K = TypeVar("K")
V = TypeVar("V")

# default number of runs per plan
TUNING_RUNS = 5
# bound on entries: a graph of 500 different nodes in 30 shapes; the least recently used are dropped
MOST_NODES = 16384
MOST_GRAPHS = 1024
MOST_MACHINES = 256


class Machine(NamedTuple):
    """What times depend on: oneDNN's instruction sets and version, the CPU, threads."""

    isa: str
    onednn: str
    cpu: str
    threads: int


class NodeKey(NamedTuple):
    """Everything that the time of one node depends on."""

    machine: Machine
    operator: str
    params: str
    shapes: tuple[Shape, ...]  # of all inputs
    dtype: str  # of the first input


class GraphKey(NamedTuple):
    """A graph of nodes, regardless of their names."""

    machine: Machine
    digest: str


class GraphPlan(NamedTuple):
    """The best plan of a graph: the layout of each node that has one, in the graph's order;
    where tiles end and how many samples each has, if there are tiles; and whose kernel computes
    each node that has several ("": its operator decides; empty: so it is for all)."""

    layouts: tuple[str, ...]
    milliseconds: float
    tiling: tuple[int, int] | None = None
    kernels: tuple[str, ...] = ()


def this_machine() -> Machine:
    """This machine, with the present number of native threads."""
    return Machine(*_hardware(), lib.ndrt_threads_get())


@lru_cache(maxsize=1)
def _hardware() -> tuple[str, str, str]:
    version = ffi.new("int[3]")
    lib.ndrt_engine_version(version)
    return text(lib.ndrt_engine_isa()), ".".join(map(str, version)), _cpu()


def _cpu() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            names = [line.partition(":")[2].strip() for line in lines
                     if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else os.uname().machine


def node_key(machine: Machine, node: Node, shapes: Mapping[Entry, Shape],
             types: Mapping[Entry, DType]) -> NodeKey:
    """The key of a node of an inferred graph; it has inputs."""
    assert node.op is not None
    return NodeKey(machine, node.op.name, repr(node.params),
                   tuple(shapes[entry] for entry in node.inputs),
                   dtype_name(types[node.inputs[0]]))


def graph_key(machine: Machine, nodes: Sequence[Node], shapes: Mapping[Entry, Shape],
              types: Mapping[Entry, DType]) -> GraphKey:
    """The key of a graph from its nodes, each after its inputs."""
    place = {node: i for i, node in enumerate(nodes)}
    found = hashlib.sha256()
    for node in nodes:
        own = Entry(node, 0)
        told = ("variable" if node.op is None else node.op.name, repr(node.params),
                [(place[entry.node], entry.index) for entry in node.inputs],
                shapes[own], dtype_name(types[own]) if own in types else "")
        found.update(repr(told).encode())
    return GraphKey(machine, found.hexdigest())


class TuningTable:
    """Measured times by key, bounded, evicting the least recently used. Thread-safe.

    `read` returns the contents of the file that `NDRT_TUNING` names; called at the first use, and
    again when the switch names another file.
    """

    def __init__(self, read: Callable[[str], Measurements] | None = None) -> None:
        self._lock = threading.Lock()
        self._read = read
        self._named = ""
        self._nodes: OrderedDict[NodeKey, dict[str, float]] = OrderedDict()
        self._graphs: OrderedDict[GraphKey, GraphPlan] = OrderedDict()
        self._reorders: OrderedDict[Machine, Reorders] = OrderedDict()
        self._hits = self._misses = 0
        renew_in_child(self)

    def _renew_locks(self) -> None:
        """Called in a forked child."""
        self._lock = threading.Lock()

    # ---- lookup -----------------------------------------------------------------------------

    @property
    def is_empty(self) -> bool:
        """The table is empty, so that no look-up can succeed."""
        self._read_named()
        return not self._nodes and not self._graphs

    def node(self, key: NodeKey) -> Mapping[str, float] | None:
        """Milliseconds of a node by layout, or None."""
        with self._lock:
            found = self._nodes.get(key)
            if found is not None:
                self._nodes.move_to_end(key)
            return found

    def graph(self, key: GraphKey) -> GraphPlan | None:
        """The best measured plan of a graph, or None."""
        with self._lock:
            found = self._graphs.get(key)
            if found is not None:
                self._graphs.move_to_end(key)
            return found

    def reorders(self, machine: Machine) -> Reorders | None:
        """Times of changes of layout, or None."""
        with self._lock:
            return self._reorders.get(machine)

    def count(self, hit: bool) -> None:
        """Counts a graph that was planned from this table, or could not be."""
        with self._lock:
            self._hits += hit
            self._misses += not hit

    # ---- update -----------------------------------------------------------------------------

    def put(self, found: Measurements) -> None:
        """Adds measurements, which replace older ones of the same keys."""
        with self._lock:
            for key, times in found.nodes.items():
                _put(self._nodes, key, {**self._nodes.get(key, {}), **times}, MOST_NODES)
            for graph, plan in found.graphs.items():
                _put(self._graphs, graph, plan, MOST_GRAPHS)
            for machine, costs in found.reorders.items():
                _put(self._reorders, machine, costs, MOST_MACHINES)

    def all(self) -> Measurements:
        """All entries, also of other machines."""
        self._read_named()
        with self._lock:
            return Measurements({key: dict(times) for key, times in self._nodes.items()},
                                dict(self._graphs), dict(self._reorders))

    def clear(self) -> None:
        """Removes all entries. A file that `NDRT_TUNING` names is not read again."""
        with self._lock:
            self._nodes.clear()
            self._graphs.clear()
            self._reorders.clear()
            self._hits = self._misses = 0

    def stats(self) -> dict[str, int]:
        """Numbers of entries of this machine and number of threads, and of others."""
        self._read_named()
        here = this_machine()
        with self._lock:
            nodes = sum(key.machine == here for key in self._nodes)
            graphs = sum(key.machine == here for key in self._graphs)
            return {"nodes": nodes, "graphs": graphs, "hits": self._hits, "misses": self._misses,
                    "other_nodes": len(self._nodes) - nodes,
                    "other_graphs": len(self._graphs) - graphs}

    def _read_named(self) -> None:
        named = config.NDRT_TUNING
        if named == self._named or self._read is None:
            return
        if named:
            self.put(self._read(named))
        self._named = named


class Measurements(NamedTuple):
    """The contents of a table, or what is to be added to it."""

    nodes: dict[NodeKey, dict[str, float]]
    graphs: dict[GraphKey, GraphPlan]
    reorders: dict[Machine, Reorders]


def _put(into: OrderedDict[K, V], key: K, value: V, most: int) -> None:
    into[key] = value
    into.move_to_end(key)
    while len(into) > most:
        into.popitem(last=False)
