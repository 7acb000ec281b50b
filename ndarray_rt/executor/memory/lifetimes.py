"""The memory plan: which values share memory, and their offsets in one arena. Allocates nothing.

An output takes over the storage of an input at its last use if the operator allows that (in place).
Storages whose lifetimes do not overlap may overlap in memory, and parts of a value lie inside its
storage. Outputs and constants have memory of their own.
"""

from __future__ import annotations

from ..._array.req import Req
from ...native import lib
from ..program.plan import Kind, Plan, Step, Storage, Value
from ..tiles.lanes import teams
from .joins import place_parts, whole_of
from .places import ALIGNMENT, PAGE, fragmentation_of, place, place_as


def plan_memory(plan: Plan, share: bool = True, like: Plan | None = None) -> None:
    """Assigns each planned value its storage, and marks outputs computed in place.

    Without `share` every value gets memory of its own and nothing is done in place. `like` is the
    plan of the same steps for other shapes, whose offsets are scaled if that is good enough.
    """
    last_use = _last_uses(plan)
    if share:
        place_parts(plan)
    for number, step in enumerate(plan.steps):
        if share:
            _take_in_place(plan, last_use, number, step)
        for index in step.outs:
            value = plan.values[index]
            if value.kind is Kind.PLANNED and value.storage < 0:
                _store(plan, value, number)
        for index in (*step.ins, *step.outs):
            value = plan.values[index]
            if value.storage >= 0:
                for storage in _spans(plan, value):
                    storage.dies = max(storage.dies, number)
    _keep_lanes_apart(plan)
    if share:
        plan.threads = int(lib.ndrt_threads_get())
        free = _free_storages(plan)
        if (like is not None and like.threads == plan.threads
                and place_as(_free_storages(like), free, like.fragmentation)):
            plan.fragmentation = like.fragmentation
        else:
            place(free, plan.threads)
            plan.fragmentation = fragmentation_of(free)
        for storage in plan.storages:
            if storage.inside is not None:
                outer, offset = storage.inside
                storage.offset = plan.storages[outer].offset + offset
    else:
        offset = 0
        for storage in plan.storages:
            storage.offset = offset
            offset += storage.nbytes


def _free_storages(plan: Plan) -> list[Storage]:
    """The storages that are not inside another one."""
    return [storage for storage in plan.storages if storage.inside is None]


def _keep_lanes_apart(plan: Plan) -> None:
    """Lanes of a team run at the same time: a storage that only one lane touches is marked as its
    own, any other one that they touch lives as long as the whole team."""
    bounds = {number: (team.begin, team.ends[-1] - 1)
              for team in teams(plan.steps) for number in range(team.begin, team.ends[-1])}
    if not bounds:
        return
    touched: dict[int, set[int]] = {}
    for number, step in enumerate(plan.steps):
        for index in (*step.ins, *step.outs):
            if plan.values[index].storage >= 0:
                for storage in _spans(plan, plan.values[index]):
                    touched.setdefault(id(storage), set()).add(number)
    for storage in plan.storages:
        numbers = touched.get(id(storage), set())
        owners = {(plan.steps[n].team, plan.steps[n].lane) for n in numbers}
        if len(owners) == 1:
            storage.team, storage.lane = owners.pop()
            continue
        for number in numbers & bounds.keys():
            storage.born = min(storage.born, bounds[number][0])
            storage.dies = max(storage.dies, bounds[number][1])


def _store(plan: Plan, value: Value, number: int) -> None:
    """Begins the life of a value's storage at this step, of a whole before its parts."""
    inside = None
    if value.within is not None:
        whole, offset = whole_of(plan, value)
        if whole.storage < 0:
            _store(plan, whole, number)
        inside = whole.storage, offset
    value.storage = len(plan.storages)
    nbytes = _aligned(value.nbytes) if inside is None else value.nbytes
    plan.storages.append(Storage(nbytes, number, number, inside=inside, used=value.nbytes))


def _spans(plan: Plan, value: Value) -> list[Storage]:
    """The storage of a value, and the one that contains it."""
    own = plan.storages[value.storage]
    return [own] if own.inside is None else [own, plan.storages[own.inside[0]]]


def _aligned(nbytes: int) -> int:
    unit = PAGE if nbytes >= PAGE else ALIGNMENT
    return max(unit, (nbytes + unit - 1) // unit * unit)


def _last_uses(plan: Plan) -> list[int]:
    """For each value the number of the last step that reads it."""
    last = [-1] * len(plan.values)
    for number, step in enumerate(plan.steps):
        for index in (*step.ins, *step.outs):
            last[index] = number
    return last


def _take_in_place(plan: Plan, last_use: list[int], number: int, step: Step) -> None:
    """Lets outputs take over an input's storage."""
    op, params = step.node.op, step.node.params
    taken: set[int] = set()
    if op is None or params is None:
        return
    mutated = op.mutated(params)
    for out_position, in_position in op.inplace_pairs(params).items():
        if out_position >= len(step.outs) or in_position in mutated:
            continue
        out = plan.values[step.outs[out_position]]
        source = plan.values[step.ins[in_position]]
        if (out.kind is Kind.PLANNED and out.storage < 0
                and step.reqs[out_position] == Req.kWriteTo
                and out.within is None and source.within is None and not source.has_parts
                and source.kind is Kind.PLANNED and source.storage not in taken
                and last_use[source.index] == number
                and step.ins.count(source.index) == 1
                and _same_size(out, source)):
            out.storage = source.storage
            step.reqs[out_position] = Req.kWriteInplace
            taken.add(source.storage)


def _same_size(a: Value, b: Value) -> bool:
    return a.nbytes == b.nbytes and a.dtype == b.dtype
