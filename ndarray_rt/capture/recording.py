"""Recording: steps of a run as a native plan, with the places where Python is called."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from ..errors import NdrtError
from ..native import call, ffi, lib, make
from ..storage.primitive import Primitive
from ..storage.stream import BUDGET
from ..storage.tmp_mem import TmpMemMgr
from ..storage.transaction import Step

# stands for a stop among what a recording has issued
STOP = -1


class Recording:
    """Recorded steps: a native plan, which stops where Python functions are called.

    Scratch comes from managers that the recording keeps, so that recorded pointers stay good.
    Nothing else is kept alive but primitives: the arrays' owners hold the arrays. Recording never
    stops the run that is recorded: where it fails, `failed` says why.
    """

    __slots__ = ("_lanes", "_plan", "_wholes", "failed", "issued", "scratch", "stops")

    def __init__(self, scratch: TmpMemMgr) -> None:
        """`scratch` keeps what it gives."""
        # of steps in no lane, and of each lane of a team
        self.scratch = [scratch]
        self.failed: str | None = None
        # what each step of the plan is: a primitive, which lives as long as this, the number of a
        # kernel, or STOP
        self.issued: list[Primitive | int] = []
        # step of the plan -> what is called there
        self.stops: dict[int, list[Callable[[], None]]] = {}
        self._plan: Any = None
        # of each operator: steps up to its end, and the stream's position
        self._wholes: list[tuple[int, int]] = []
        # teams whose lanes begin (-1: steps of none), and at which step
        self._lanes: list[tuple[int, int]] = []

    @property
    def estimate(self) -> int:
        """The most scratch that an operator took."""
        return max(tmp.estimate for tmp in self.scratch)

    def add(self, step: Step) -> None:
        """Notes a step that ran, or will."""
        if self.failed is not None:
            return
        try:
            self.issued.append(step.packed.kernel if step.prim is None else step.prim)
            step.add_to(self.native_plan())
        except (MemoryError, NdrtError) as error:
            self.failed = str(error)

    def add_callback(self, function: Callable[[], None]) -> None:
        """Notes a Python function that ran."""
        if self.failed is not None:
            return
        try:
            at = self.size
            if at - 1 in self.stops:
                self.stops[at - 1].append(function)
            else:
                call(lib.ndrt_plan_add_stop, self.native_plan(), what="adding a stop")
                self.issued.append(STOP)
                self.stops[at] = [function]
        except (MemoryError, NdrtError) as error:
            self.failed = str(error)

    @property
    def size(self) -> int:
        """Steps of the plan."""
        return int(lib.ndrt_plan_size(self.native_plan()))

    def enter_lane(self, team: int, lane: int) -> TmpMemMgr:
        """The steps from here on are of this lane of a team; -1: of none. Gives their scratch."""
        scratch, at = self.scratch, lane + 1
        while len(scratch) <= at:
            scratch.append(TmpMemMgr(scratch[-1].estimate, keep=True))
        self._lanes.append((team, self.size))
        return scratch[at]

    def end_lanes(self) -> None:
        """All is noted: from now on lanes run at once. A stop among them prevents that."""
        if self.failed is not None:
            return
        begins: dict[int, list[int]] = {}
        for (team, begin), (_, end) in itertools.pairwise((*self._lanes, (-1, self.size))):
            if team >= 0:
                begins.setdefault(team, [begin]).append(end)
        try:
            for begin, *ends in begins.values():
                if not any(begin <= stop < ends[-1] for stop in self.stops):
                    call(lib.ndrt_plan_add_lanes, self.native_plan(), begin, len(ends), ends,
                         what="adding lanes")
        except (MemoryError, NdrtError) as error:
            self.failed = str(error)

    def end_whole(self, position: int) -> None:
        """The steps noted so far leave every array whole; those behind the last such end are of
        the operator at this position of the stream."""
        if self._plan is not None:
            lib.ndrt_plan_mark_whole(self._plan)
            self._wholes.append((self.size, position))

    def position_of(self, step: int) -> int | None:
        """The position of the operator that a step of the native plan is of, if it was noted."""
        return next((position for end, position in self._wholes if step < end), None)

    @property
    def segments(self) -> int:
        """Native calls and stops that one replay makes."""
        return 1 + 2 * len(self.stops)

    def native_plan(self) -> Any:
        """All of it as one native plan; what is called at its stops is in `stops`."""
        if self._plan is None:
            self._plan = make(lib.ndrt_plan_new, out="ndrt_plan **", free=lib.ndrt_plan_free,
                              what="making a plan")
        return self._plan

    def cut(self, size: int) -> None:
        """Forgets all steps but the first ones."""
        if self._plan is not None:
            lib.ndrt_plan_cut(self._plan, size)

    def replay(self) -> None:
        """Runs all steps again, in order, with the arguments they were recorded with.

        What interrupts it does so where no array is half written.
        """
        cursor, plan, size = ffi.new("int64_t *"), self.native_plan(), self.size
        while cursor[0] < size:
            call(lib.ndrt_plan_run, plan, BUDGET, cursor, what="running a plan")
            for function in self.stops.get(cursor[0], ()):
                function()
            cursor[0] += cursor[0] in self.stops
