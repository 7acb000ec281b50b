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
    OUTPUT = "output"  # the executor's memory that the user sees; holds one value only
    CONSTANT = "constant"  # computed from parameters alone, kept between runs
    PLANNED = "planned"  # memory shared by values that do not live at the same time
    UNUSED = "unused"  # not read by any step, and not computed


@dataclass
class Value:
    """One entry of the graph with everything that is known about it."""

    index: int
    entry: Entry
    shape: tuple[int, ...]
    dtype: DType
    kind: Kind
    name: str
    storage: int = -1
    padded: tuple[int, ...] | None = None  # its shape with the padding of its layout
    within: tuple[int, int] | None = None  # the value that contains it, offset in bytes
    has_parts: bool = False  # it contains other values

    @property
    def nbytes(self) -> int:
        """Bytes, padding included."""
        return prod(self.padded or self.shape) * self.dtype.itemsize


@dataclass
class Storage:
    """A span of the arena, for values that replace one another in place."""

    nbytes: int
    born: int  # the first step that writes to it
    dies: int  # the last step that touches it
    offset: int = 0
    inside: tuple[int, int] | None = None  # the storage that contains it, offset in bytes
    team: int = -1  # if only one lane touches it: the team and lane of that
    lane: int = -1
    used: int = 0  # bytes of its largest value, which `nbytes` rounds up

    def overlaps(self, other: Storage) -> bool:
        """Both share some memory."""
        return (self.offset < other.offset + other.nbytes
                and other.offset < self.offset + self.nbytes)


def any_overlap(some: Iterable[Storage], others: Iterable[Storage]) -> bool:
    """One of these and one of the others share some memory."""
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
    """One operator call: indices of its values, and the requests of its outputs."""

    node: Node
    ins: tuple[int, ...]
    outs: tuple[int, ...]
    reqs: list[Req]
    is_backward: bool
    variant: str = ""  # the planned layout or library, if there is a choice
    tile_of: Node | None = None  # the node of the whole batch, if it works for a part of that
    team: int = -1  # the team of tiles that run at the same time, one thread each
    lane: int = -1  # its tile in the team


@dataclass
class Plan:
    """Steps in order: prologue, forward, backward; the values that they touch; storages of those.

    `num_forward` includes the steps of the prologue, `num_prologue` counts these alone.
    """

    steps: list[Step]
    values: list[Value]
    heads: list[int]
    storages: list[Storage]
    num_forward: int
    num_prologue: int = 0
    lanes: int = 1  # threads that run tiles of the batch at the same time
    threads: int = 0  # number of threads for which offsets in the arena were chosen
    fragmentation: float = 1.0  # arena size over the most live bytes, when offsets were chosen
    # forward's operators with the gradients of their inputs, as `gradient_graph` returns them
    gradients: Sequence[tuple[Node, list[tuple[int, Entry | None]]]] = ()

    def _bytes_of(self, *kinds: Kind) -> int:
        return sum(v.nbytes for v in self.values if v.kind in kinds)

    @property
    def naive_bytes(self) -> int:
        """Memory of the executor's own values without any sharing."""
        return self._bytes_of(Kind.OUTPUT, Kind.PLANNED)

    @property
    def planned_bytes(self) -> int:
        """Memory of these values as planned: the arena and the outputs outside of it."""
        return self.arena_bytes + self._bytes_of(Kind.OUTPUT)

    @property
    def arena_bytes(self) -> int:
        return max((s.offset + s.nbytes for s in self.storages), default=0)

    @property
    def constant_bytes(self) -> int:
        """Bytes of values computed from parameters alone and kept."""
        return self._bytes_of(Kind.CONSTANT)

    @property
    def backward_repeats(self) -> bool:
        """Backward overwrites nothing that it reads of forward: it may run twice in a row."""
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
            variant = f" [{step.variant}]" if step.variant else ""
            lines.append(f"  {op} {step.node.name}: {ins} -> {outs}{variant}")
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
    stored directly in them, with the request in `grad_reqs`. `prologue` are nodes that depend on
    variables and one another only.
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
    """What `make_plan` returns for the same graph with other shapes."""
    values = [Value(v.index, v.entry, shapes[v.entry], v.dtype, v.kind, v.name)
              for v in plan.values]
    steps = [Step(s.node, s.ins, s.outs,
                  # in-place outputs are decided by the memory plan
                  [Req.kWriteTo if req == Req.kWriteInplace else req for req in s.reqs],
                  s.is_backward) for s in plan.steps]
    return Plan(steps, values, plan.heads, [], plan.num_forward, plan.num_prologue,
                gradients=plan.gradients)
