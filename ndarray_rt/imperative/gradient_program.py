"""The program of a backward for tapes of one form: its operators, and where their values are.

A training loop records the same calls in each step. Their gradient graph is made once, compiled to
a program, and cached by the form of the tape. A program holds no array and no node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from enum import IntEnum
from typing import NamedTuple

from .._array.req import Req
from ..errors import where
from ..op.registry import REGISTRY
from ..symbol.node import Entry, Node, topological
from .call import may_keep
from .function import FunctionParams
from .gradient_call import Call, Wish
from .kept import Kept


class GradNode(Node):
    """A node of the gradient's graph."""

    __slots__ = ()


class HeadGradient(Node):
    """The gradient that is given for a head."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        super().__init__(None, "head_grad")
        self.index = index


class From(IntEnum):
    """Where a value comes from."""

    STEP = 0  # an earlier step; `place` is its slot
    HEAD = 1  # the given gradient of head number `place`
    TAPE = 2  # output `output` of the tape's node number `place`
    SHAPE = 3  # like TAPE, but its values are not read


class Source(NamedTuple):
    """A value that a step reads, or a result."""

    kind: From
    place: int
    output: int = 0


class Step(NamedTuple):
    """One call. `is_python`: its gradient is Python code; `reader` is the name for errors."""

    call: Call
    reader: str
    is_python: bool
    sources: tuple[Source, ...]
    places: tuple[int, ...]  # the slot of each output; -1: none
    wishes: tuple[Wish, ...]  # without targets
    targets: tuple[tuple[int, int], ...]  # (output, target that it is stored in)
    last: tuple[int, ...]  # slots that are not read after this step


class Program:
    """The calls in order, and the source of the result for each target (None: it is zero)."""

    __slots__ = ("results", "size", "steps", "targets")

    def __init__(self, results: Sequence[Entry | None], order: Sequence[Node],
                 reqs: Sequence[Req], apart: Sequence[bool], direct: bool) -> None:
        """`order` are the nodes of the tape, `reqs` the requests of the targets.

        With `direct` a result is computed directly in its target if that is `apart`, which means
        that it shares memory with no other target.
        """
        wanted = Counter(entry for entry in results if entry is not None)
        nodes = topological(wanted, GradNode)
        places_of = {node: i for i, node in enumerate(order)}
        uses: Counter[Entry] = Counter(entry for node in nodes for entry in node.inputs)
        targets: dict[Entry, int] = {}
        for i, (entry, req) in enumerate(zip(results, reqs, strict=True)):
            # if others read the entry, its target must hold exactly it, not a sum
            if (direct and entry is not None and entry not in targets and apart[i]
                    and isinstance(entry.node, GradNode) and not (
                        req == Req.kAddTo and (uses[entry] or wanted[entry] > 1))):
                targets[entry] = i
        readers = {entry: at for at, node in enumerate(nodes) for entry in node.inputs}
        values: dict[Entry, int] = {}
        self.size = 0

        def source(entry: Entry, ignored: bool) -> Source:
            node = entry.node
            if entry in values:
                return Source(From.STEP, values[entry])
            if isinstance(node, HeadGradient):
                return Source(From.HEAD, node.index)
            return Source(From.SHAPE if ignored else From.TAPE, places_of[node], entry.index)

        steps: list[Step] = []
        for at, node in enumerate(nodes):
            op, params = node.op, node.params
            assert op is not None
            assert params is not None
            ignored = op.ignored(params)
            sources = [source(entry, i in ignored) for i, entry in enumerate(node.inputs)]
            places = []
            for entry in node.outputs:
                kept = bool(uses[entry] or wanted[entry])
                if kept:
                    values[entry] = self.size
                    self.size += 1
                places.append(values[entry] if kept else -1)
            last = {values[entry] for entry in node.inputs
                    if entry in values and readers[entry] == at and not wanted[entry]}
            steps.append(Step(
                Call(op, params, params.by_name(), node.name), where(op.name, node.name),
                isinstance(params, FunctionParams),
                tuple(sources), tuple(places),
                tuple([None if place < 0 else True for place in places]),
                tuple([(i, targets[entry]) for i, entry in enumerate(node.outputs)
                       if entry in targets]), tuple(last)))
        self.steps = tuple(steps)
        self.results = tuple([None if entry is None else source(entry, False)
                              for entry in results])
        # results that were stored in their target when they were computed
        self.targets = tuple([entry is not None and targets.get(entry) == i
                              for i, entry in enumerate(results)])


# most cached nodes of tapes and steps of programs
CAPACITY = 1 << 15
_programs: Kept[Program] = Kept(CAPACITY)
REGISTRY.when_gone(lambda name: _programs.clear())


class Form:
    """What tapes with the same program have in common."""

    __slots__ = ("_order", "key")

    def __init__(self, order: Sequence[Node], heads: Sequence[Entry], given: Sequence[bool],
                 wrt: Sequence[Entry], reqs: Sequence[Req], apart: Sequence[bool],
                 direct: bool) -> None:
        """For the gradients of `heads` for `wrt`; `given`: which heads have given gradients."""
        self._order = order
        places = {node: i for i, node in enumerate(order)}
        key: list[Hashable] = [len(heads), len(wrt), direct, *given, *reqs, *apart]
        for node, index in (*heads, *wrt):
            key += (places[node], index)
        for node in order:
            op = node.op
            if op is None:
                key.append(None)
                continue
            key += (op, node.params, node.name, len(node.inputs))
            for source, index in node.inputs:
                key += (places[source], index)
        self.key = tuple(key)

    def find(self) -> Program | None:
        """The cached program, or None."""
        return _programs.made.get(self.key)

    def keep(self, program: Program) -> None:
        """Caches it from the second time on, unless parameters contain objects of users."""
        for node in self._order:
            if node.op is not None and node.params is not None and (
                    isinstance(node.params, FunctionParams) or not may_keep(node.op, node.params)):
                return
        _programs.offer(self.key, program, len(self._order) + len(program.steps))
