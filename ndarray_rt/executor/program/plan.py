"""Plan: what a bound graph will do, as data. Runs nothing and owns no memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import prod

from ..._array.req import Req
from ...dtypes import DType
from ...symbol.node import Entry, Node


class Kind(Enum):
    """Where a value lives."""

    EXTERNAL = "external"  # the user's array: argument, aux state or gradient
    OUTPUT = "output"  # memory of the executor's that the user sees, all of it one value's own
    CONSTANT = "constant"  # computed from parameters alone, kept from run to run
    PLANNED = "planned"  # memory shared by values that do not live at the same time
    UNUSED = "unused"  # nobody reads it and nothing is computed for it


@dataclass
class Value:
    """One entry of the graph with all that is known of it."""

    index: int
    entry: Entry
    shape: tuple[int, ...]
    dtype: DType
    kind: Kind
    name: str
    storage: int = -1
    padded: tuple[int, ...] | None = None  # the dims that its layout pads the shape to
    within: tuple[int, int] | None = None  # the value that it is a part of, bytes into that
    has_parts: bool = False  # others are within it

    @property
    def nbytes(self) -> int:
        """What it takes, padding included."""
        return prod(self.padded or self.shape) * self.dtype.itemsize


@dataclass
class Storage:
    """A span of the arena, for values that follow one another in place."""

    nbytes: int
    born: int  # the first step that writes to it
    dies: int  # the last step that touches it
    offset: int = 0
    inside: tuple[int, int] | None = None  # the storage that it is a span of, bytes into that
    team: int = -1  # where one lane alone touches it: the team and lane of that
    lane: int = -1
    used: int = 0  # what its values take, which `nbytes` rounds up

    def overlaps(self, other: Storage) -> bool:
        """Both have some memory in common."""
        return (self.offset < other.offset + other.nbytes
                and other.offset < self.offset + self.nbytes)


def any_overlap(some: Iterable[Storage], others: Iterable[Storage]) -> bool:
    """One of these and one of the others have some memory in common."""
    spans = sorted((s.offset, s.offset + s.nbytes, side)
                   for side, storages in enumerate((some, others)) for s in storages)
    end = [0, 0]
    for begin, behind, side in spans:
        if begin < end[1 - side] and begin < behind:
            return True
        end[side] = max(end[side], behind)
    return False


@dataclass
class Step:
    """One operator call: positions of its values, and what is asked of its outputs."""

    node: Node
    ins: tuple[int, ...]
    outs: tuple[int, ...]
    reqs: list[Req]
    is_backward: bool
    family: str = ""  # of layouts to compute in, where the layout plan has one
    tile_of: Node | None = None  # the node whose work it does for a part of the batch
    team: int = -1  # of tiles that run at once, with a thread each
    lane: int = -1  # which of them it works for


@dataclass
class Plan:
    """Steps in order: prologue, forward, backward; the values they touch; the storages of those.

    `num_forward` counts the steps of the prologue too, `num_prologue` these alone.
    """

    steps: list[Step]
    values: list[Value]
    heads: list[int]
    storages: list[Storage]
    num_forward: int
    num_prologue: int = 0
    lanes: int = 1  # threads that run tiles of the batch at once
    threads: int = 0  # how many the places in the arena were chosen for
    fragmentation: float = 1.0  # the arena over what lives at one time, where these were chosen
    # operators of forward and their gradients by input, as `gradient_graph` tells of them
    gradients: Sequence[tuple[Node, list[tuple[int, Entry | None]]]] = ()

    def _bytes_of(self, *kinds: Kind) -> int:
        return sum(v.nbytes for v in self.values if v.kind in kinds)

    @property
    def naive_bytes(self) -> int:
        """What the executor's own values would take without sharing."""
        return self._bytes_of(Kind.OUTPUT, Kind.PLANNED)

    @property
    def planned_bytes(self) -> int:
        """What they take: the arena, and the outputs, which are not in it."""
        return self.arena_bytes + self._bytes_of(Kind.OUTPUT)

    @property
    def arena_bytes(self) -> int:
        return max((s.offset + s.nbytes for s in self.storages), default=0)

    @property
    def constant_bytes(self) -> int:
        """What is computed from parameters alone and kept."""
        return self._bytes_of(Kind.CONSTANT)

    @property
    def backward_repeats(self) -> bool:
        """Backward overwrites nothing of forward's that it reads: it may run twice in a row."""
        forward, backward = self.steps[:self.num_forward], self.steps[self.num_forward:]
        made = {i for step in forward for i in step.outs}
        needed = {self.values[i].storage for step in backward for i in step.ins if i in made}
        written = {self.values[i].storage for step in backward
                   for i, req in zip(step.outs, step.reqs, strict=True) if req != Req.kNullOp}
        return not any_overlap([self.storages[i] for i in needed - {-1}],
                               [self.storages[i] for i in written - {-1}])

    def __str__(self) -> str:
        lines = [f"{len(self.steps)} steps ({self.num_forward} forward), "
                 f"{len(self.storages)} storages, "
                 f"{self.naive_bytes} -> {self.planned_bytes} bytes"]
        for step in self.steps:
            outs = ", ".join(self._describe(i, req)
                             for i, req in zip(step.outs, step.reqs, strict=True))
            ins = ", ".join(self.values[i].name for i in step.ins)
            op = step.node.op.name if step.node.op is not None else "variable"
            family = f" [{step.family}]" if step.family else ""
            lines.append(f"  {op} {step.node.name}: {ins} -> {outs}{family}")
        return "\n".join(lines)

    def _describe(self, index: int, req: Req) -> str:
        value = self.values[index]
        where = f"#{value.storage}" if value.storage >= 0 else value.kind.value
        return f"{value.name} {value.shape} {where} {req.name}"


def make_plan(forward: Sequence[Node], backward: Sequence[Node], heads: Sequence[Entry],
              external: Mapping[Entry, str], grad_reqs: Mapping[Entry, Req],
              shapes: Mapping[Entry, tuple[int, ...]], types: Mapping[Entry, DType],
              prologue: Collection[Node] = ()) -> Plan:
    """The steps of a graph in order, and every value with its kind; storage is planned later.

    `external` names the entries that live in the user's arrays: variables, and gradients that are
    written straight into them, for which `grad_reqs` says how. `prologue` are nodes that need
    nothing but variables and one another.
    """
    values: list[Value] = []
    early = set(prologue)
    forward = [*(n for n in forward if n in early), *(n for n in forward if n not in early)]
    place: dict[Entry, int] = {}
    read = {entry for node in (*forward, *backward) for entry in node.inputs}
    head_set = set(heads)

    def value_of(entry: Entry) -> int:
        if entry not in place:
            if entry in external:
                kind, name = Kind.EXTERNAL, external[entry]
            else:
                kind = (Kind.OUTPUT if entry in head_set
                        else Kind.CONSTANT if entry.node in early
                        else Kind.PLANNED if entry in read else Kind.UNUSED)
                name = f"{entry.node.name}[{entry.index}]"
            place[entry] = len(values)
            values.append(Value(len(values), entry, shapes[entry], types[entry], kind, name))
        return place[entry]

    steps: list[Step] = []
    num_forward = sum(node.op is not None for node in forward)
    for node in (*forward, *backward):
        if node.op is None:
            continue
        outs = tuple(value_of(entry) for entry in node.outputs)
        reqs = [grad_reqs.get(values[i].entry, Req.kNullOp if values[i].kind is Kind.UNUSED
                              else Req.kWriteTo) for i in outs]
        steps.append(Step(node, tuple(value_of(entry) for entry in node.inputs), outs, reqs,
                          is_backward=len(steps) >= num_forward))
    return Plan(steps, values, [value_of(entry) for entry in heads], [], num_forward, len(early))


def reshaped_plan(plan: Plan, shapes: Mapping[Entry, tuple[int, ...]]) -> Plan:
    """What `make_plan` makes of the same graph where its values have other shapes."""
    values = [Value(v.index, v.entry, shapes[v.entry], v.dtype, v.kind, v.name)
              for v in plan.values]
    steps = [Step(s.node, s.ins, s.outs,
                  # in place or not is a matter of the plan of memory
                  [Req.kWriteTo if req == Req.kWriteInplace else req for req in s.reqs],
                  s.is_backward) for s in plan.steps]
    return Plan(steps, values, plan.heads, [], plan.num_forward, plan.num_prologue,
                gradients=plan.gradients)
