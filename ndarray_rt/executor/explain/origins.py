"""Origins: what became of each node of a graph that went through the passes.

Passes record nothing about it. They keep the name of a node whose value is still computed; a node
that disappeared is found through its readers, one pass after the other.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from ...passes.pipeline import Stage
from ...symbol.node import Entry, Node, topological


class Fate(Enum):
    """What became of a node."""

    KEPT = "kept"  # still a step of its own name, which may do the work of others too
    FUSED = "fused"  # its work is done by a step of another name
    FOLDED = "folded"  # computed from parameters alone, again only when they change
    MERGED = "merged"  # another node computes the same value
    DROPPED = "dropped"  # has no effect: readers read its input


@dataclass(frozen=True)
class Outcome:
    """The fate of a node, and the node that now stands for it."""

    fate: Fate
    into: str


@dataclass
class Origins:
    """The outcome of each node of the bound graph, in the graph's order."""

    outcomes: dict[str, Outcome] = field(default_factory=dict)

    def of(self, step: str) -> tuple[str, ...]:
        """The nodes of the bound graph whose work a step does."""
        return tuple(name for name, outcome in self.outcomes.items()
                     if outcome.into == step and outcome.fate in (Fate.KEPT, Fate.FUSED))

    def count(self, fate: Fate) -> int:
        return sum(outcome.fate is fate for outcome in self.outcomes.values())


def trace_origins(heads: Sequence[Entry], stages: Sequence[Stage],
                  prologue: Collection[str] = ()) -> Origins:
    """The outcomes of all nodes of the graph `heads` after the passes' stages.

    `prologue` names the nodes of the last graph that are computed from parameters alone.
    """
    outcomes = {node.name: Outcome(Fate.KEPT, node.name) for node in _operators(heads)}
    for stage in stages:
        moved = _Moves(stage.before, stage.after).outcomes()
        for name, outcome in outcomes.items():
            move = moved.get(outcome.into)
            if move is not None:
                # a dropped or merged node stays so, whatever becomes of the other node
                fate = outcome.fate if outcome.fate in (Fate.DROPPED, Fate.MERGED) else move.fate
                outcomes[name] = Outcome(fate, move.into)
    for name, outcome in outcomes.items():
        if outcome.into in prologue and outcome.fate in (Fate.KEPT, Fate.FUSED):
            outcomes[name] = Outcome(Fate.FOLDED, outcome.into)
    return Origins(outcomes)


def _operators(heads: Sequence[Entry]) -> list[Node]:
    return [node for node in topological(heads) if node.op is not None]


class _Moves:
    """Where the nodes that one pass removed from a graph went."""

    def __init__(self, before: Sequence[Entry], after: Sequence[Entry]) -> None:
        self._before = {node.name: node for node in topological(before)}
        self._after = {node.name: node for node in topological(after)}
        self._order = [node for node in topological(before) if node.op is not None]
        # node -> its readers: (reader, position); (None, position) is an output
        self._readers: dict[str, list[tuple[Node | None, int]]] = {}
        for node in self._order:
            for i, entry in enumerate(node.inputs):
                self._readers.setdefault(entry.node.name, []).append((node, i))
        for i, entry in enumerate(before):
            self._readers.setdefault(entry.node.name, []).append((None, i))
        self._heads = after

    def outcomes(self) -> Mapping[str, Outcome]:
        """The outcome of each removed node, found from its readers."""
        found: dict[str, Outcome] = {}
        for node in reversed(self._order):
            if node.name not in self._after:
                seen = [outcome for reader, i in self._readers.get(node.name, ())
                        if (outcome := self._seen_by(node, reader, i, found)) is not None]
                # a reader that does the node's work says more than readers that do without it
                rank = [Fate.FUSED, Fate.MERGED, Fate.DROPPED]
                found[node.name] = min(seen, key=lambda o: rank.index(o.fate),
                                       default=Outcome(Fate.DROPPED, node.name))
        return found

    def _seen_by(self, node: Node, reader: Node | None, position: int,
                 found: Mapping[str, Outcome]) -> Outcome | None:
        if reader is None:
            return self._replaced(node, self._heads[position].node)
        now = self._after.get(reader.name)
        if now is None:
            return found.get(reader.name)
        if _does_the_same(reader, now):
            return self._replaced(node, now.inputs[position].node)
        return Outcome(Fate.FUSED, now.name)

    def _replaced(self, node: Node, by: Node) -> Outcome:
        """The outcome of a node that `by` replaces at unchanged readers."""
        known = self._before.get(by.name)
        if known is None:
            return Outcome(Fate.FUSED, by.name)
        is_before = any(other.name == by.name
                        for other in topological([Entry(node, 0)]) if other is not node)
        return Outcome(Fate.DROPPED if is_before else Fate.MERGED, by.name)


def _does_the_same(a: Node, b: Node) -> bool:
    return a.op is b.op and a.params == b.params and len(a.inputs) == len(b.inputs)
