"""Recording: the steps of a run as a native plan, with stops where Python is called."""

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

# marks a stop in the list of issued steps
STOP = -1


class Recording:
    """Recorded steps: a native plan, which stops where Python functions are called.

    Scratch comes from managers that the recording owns, so that recorded pointers stay valid. Apart
    from primitives it keeps nothing else alive: the owners of arrays do. An error while recording
    does not stop the run; `failed` holds the reason.
    """

    __slots__ = ("_ends", "_lanes", "_plan", "failed", "issued", "scratch", "stops")

    def __init__(self, scratch: TmpMemMgr) -> None:
        """`scratch` never frees what it has allocated."""
        # for steps in no lane, then for each lane of a team
        self.scratch = [scratch]
        self.failed: str | None = None
        # for each step of the plan: its primitive, which stays alive as long as this, the number of
        # its kernel, or STOP
        self.issued: list[Primitive | int] = []
        # position in the plan -> functions called there
        self.stops: dict[int, list[Callable[[], None]]] = {}
        self._plan: Any = None
        # for each operator: the number of steps up to its end, and the stream's position
        self._ends: list[tuple[int, int]] = []
        # where lanes begin: team (-1: steps in no lane), number of the first step
        self._lanes: list[tuple[int, int]] = []

    @property
    def estimate(self) -> int:
        """The most scratch that one operator took."""
        return max(tmp.estimate for tmp in self.scratch)

    def add(self, step: Step) -> None:
        """Records a step that ran, or will."""
        if self.failed is not None:
            return
        try:
            self.issued.append(step.packed.kernel if step.prim is None else step.prim)
            step.add_to(self.native_plan())
        except (MemoryError, NdrtError) as error:
            self.failed = str(error)

    def add_callback(self, function: Callable[[], None]) -> None:
        """Records a Python function that ran."""
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
        """Following steps belong to this lane of a team; -1: to none. Returns their scratch."""
        scratch, at = self.scratch, lane + 1
        while len(scratch) <= at:
            scratch.append(TmpMemMgr(scratch[-1].estimate, keep=True))
        self._lanes.append((team, self.size))
        return scratch[at]

    def end_lanes(self) -> None:
        """Ends recording: from now on lanes run in parallel, unless a stop is among them."""
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

    def end_operator(self, position: int) -> None:
        """Marks a consistent point: the operator at this position has issued all its steps."""
        if self._plan is not None:
            lib.ndrt_plan_mark_consistent(self._plan)
            self._ends.append((self.size, position))

    def position_of(self, step: int) -> int | None:
        """The position of the operator that issued a step of the native plan, if known."""
        return next((position for end, position in self._ends if step < end), None)

    @property
    def segments(self) -> int:
        """How many native calls and stops one replay makes."""
        return 1 + 2 * len(self.stops)

    def native_plan(self) -> Any:
        """The native plan of all steps; the functions called at its stops are in `stops`."""
        if self._plan is None:
            self._plan = make(lib.ndrt_plan_new, out="ndrt_plan **", free=lib.ndrt_plan_free,
                              what="making a plan")
        return self._plan

    def cut(self, size: int) -> None:
        """Drops all but the first `size` steps."""
        if self._plan is not None:
            lib.ndrt_plan_cut(self._plan, size)

    def replay(self) -> None:
        """Runs all steps again, in order, with the recorded arguments.

        Interrupts are served at consistent points.
        """
        cursor, plan, size = ffi.new("int64_t *"), self.native_plan(), self.size
        while cursor[0] < size:
            call(lib.ndrt_plan_run, plan, BUDGET, cursor, what="running a plan")
            for function in self.stops.get(cursor[0], ()):
                function()
            cursor[0] += cursor[0] in self.stops
