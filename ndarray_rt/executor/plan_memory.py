"""The memory plan: which values share storage. Allocates nothing.

Values whose lives do not overlap share a storage, best fit first; an output takes over the
storage of an input at its last use where the operator allows it (in place). Outputs and constants
have memory of their own.
"""

from __future__ import annotations

from ..ndarray.req import Req
from .plan import Kind, Plan, Step, Value

# A free storage may serve a value up to this many times smaller or larger; it grows if needed.
FIT = 16
ALIGNMENT = 64


def plan_memory(plan: Plan, share: bool = True) -> None:
    """Gives each planned value its storage, and marks outputs computed in place.

    With `share` false every value gets a storage of its own and nothing is done in place.
    """
    last_use = _last_uses(plan)
    planner = _Planner(plan, last_use, share)
    for number, step in enumerate(plan.steps):
        planner.step(number, step)
    plan.storage_bytes = planner.sizes


def _last_uses(plan: Plan) -> list[int]:
    """For each value the number of the last step that reads it; outputs live for ever."""
    never_ends = len(plan.steps)
    last = [-1] * len(plan.values)
    for number, step in enumerate(plan.steps):
        for index in (*step.ins, *step.outs):
            last[index] = number
    for index in plan.heads:
        last[index] = never_ends
    return last


class _Planner:
    def __init__(self, plan: Plan, last_use: list[int], share: bool) -> None:
        self.values = plan.values
        self.last_use = last_use
        self.share = share
        self.sizes: list[int] = []
        self.free: list[int] = []

    def step(self, number: int, step: Step) -> None:
        taken = self._take_in_place(number, step) if self.share else set()
        outs = [self.values[i] for i in step.outs if self.values[i].storage < 0
                and self.values[i].kind is Kind.PLANNED]
        for value in sorted(outs, key=lambda v: -v.nbytes):
            value.storage = self._allocate(value)
        if not self.share:
            return
        for index in {*step.ins, *step.outs}:
            value = self.values[index]
            if (value.storage >= 0 and value.storage not in taken
                    and self.last_use[index] == number):
                self.free.append(value.storage)

    def _take_in_place(self, number: int, step: Step) -> set[int]:
        """Lets outputs take their input's storage; says which storages live on in an output."""
        op, params = step.node.op, step.node.params
        taken: set[int] = set()
        if op is None or params is None:
            return taken
        mutated = op.mutated(params)
        for out_position, in_position in op.inplace_pairs(params).items():
            if out_position >= len(step.outs) or in_position in mutated:
                continue
            out, source = self.values[step.outs[out_position]], self.values[step.ins[in_position]]
            if (out.kind is Kind.PLANNED and out.storage < 0
                    and step.reqs[out_position] == Req.kWriteTo
                    and source.kind is Kind.PLANNED and source.storage not in taken
                    and self.last_use[source.index] == number
                    and step.ins.count(source.index) == 1
                    and out.nbytes == source.nbytes and out.dtype == source.dtype):
                out.storage = source.storage
                step.reqs[out_position] = Req.kWriteInplace
                taken.add(source.storage)
        return taken

    def _allocate(self, value: Value) -> int:
        wanted = max(ALIGNMENT, (value.nbytes + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT)
        if self.share:
            fits = [s for s in self.free
                    if wanted <= self.sizes[s] <= wanted * FIT]
            if fits:
                best = min(fits, key=lambda s: self.sizes[s])
                self.free.remove(best)
                return best
            smaller = [s for s in self.free if self.sizes[s] < wanted <= self.sizes[s] * FIT]
            if smaller:
                best = max(smaller, key=lambda s: self.sizes[s])
                self.free.remove(best)
                self.sizes[best] = wanted
                return best
        self.sizes.append(wanted)
        return len(self.sizes) - 1
