"""The memory plan: which values share memory, and where in one arena they lie. Allocates nothing.

An output takes over the storage of an input at its last use where the operator allows it (in
place). Storages whose lives do not overlap may lie over one another. Outputs and constants have
memory of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ndarray.req import Req
from .plan import Kind, Plan, Step, Storage, Value

Offsets = np.ndarray[tuple[int], np.dtype[np.int64]]
ALIGNMENT = 64
PAGE = 4096


def plan_memory(plan: Plan, share: bool = True) -> None:
    """Gives each planned value its storage, and marks outputs computed in place.

    With `share` false every value gets memory of its own and nothing is done in place.
    """
    last_use = _last_uses(plan)
    for number, step in enumerate(plan.steps):
        if share:
            _take_in_place(plan, last_use, number, step)
        for index in step.outs:
            value = plan.values[index]
            if value.kind is Kind.PLANNED and value.storage < 0:
                value.storage = len(plan.storages)
                plan.storages.append(Storage(_aligned(value.nbytes), number, number))
        for index in (*step.ins, *step.outs):
            value = plan.values[index]
            if value.storage >= 0:
                plan.storages[value.storage].dies = max(plan.storages[value.storage].dies, number)
    if share:
        _place(plan.storages)
    else:
        offset = 0
        for storage in plan.storages:
            storage.offset = offset
            offset += storage.nbytes


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
    """Lets outputs take their input's storage."""
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
                and source.kind is Kind.PLANNED and source.storage not in taken
                and last_use[source.index] == number
                and step.ins.count(source.index) == 1
                and _same_size(out, source)):
            out.storage = source.storage
            step.reqs[out_position] = Req.kWriteInplace
            taken.add(source.storage)


def _same_size(a: Value, b: Value) -> bool:
    return a.nbytes == b.nbytes and a.dtype == b.dtype


def _place(storages: list[Storage]) -> None:
    """The largest first, each as low as those that live at the same time allow.

    Source: greedy by size (Pisarchyk and Lee, 2020).
    """
    born = np.array([s.born for s in storages])
    dies = np.array([s.dies for s in storages])
    begin: Offsets = np.zeros(len(storages), np.int64)
    end: Offsets = np.full(len(storages), -1, np.int64)
    order = sorted(range(len(storages)), key=lambda i: (-storages[i].nbytes, storages[i].born))
    for i in order:
        storage = storages[i]
        rivals: Any = np.nonzero((end >= 0) & (born <= storage.dies) & (dies >= storage.born))[0]
        offset = 0
        for rival in rivals[np.argsort(begin[rivals], kind="stable")]:
            if begin[rival] - offset >= storage.nbytes:
                break
            offset = max(offset, int(end[rival]))
        storage.offset = offset
        begin[i], end[i] = offset, offset + storage.nbytes
