"""Transaction: the steps of one operator that write to arrays, run all or not at all.

Everything that they need is acquired when they are issued. They run in one native call, so that
neither a lack of memory nor a signal can come between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..native import call, check, ffi, lib, make
from .kernel_call import KernelCall
from .parameters import ParameterBlock
from .primitive import Primitive

if TYPE_CHECKING:
    from .chunk import Chunk, Placement
    from .stream import Args, Mem


class Step(NamedTuple):
    """A primitive, or (None) a kernel, with packed arguments, and what those point into."""

    prim: Primitive | None
    nargs: int
    packed: Any
    given: Args | KernelCall
    parameters: ParameterBlock | None = None

    def mems(self) -> Iterable[Mem]:
        """The memory that it reads or writes, but for scratch."""
        if isinstance(self.given, KernelCall):
            return [mem for mem in self.given.arrays if mem is not None]
        return [mem for _, mem in self.given]

    def run(self) -> None:
        """Runs it now."""
        if self.prim is None:
            call(lib.ndrt_kernel_run, self.packed, what="kernel")
        else:
            call(lib.ndrt_prim_run, self.prim.ptr, self.nargs, self.packed, what=self.prim.impl)

    def add_to(self, plan: Any) -> None:
        """Puts it at the end of a native plan."""
        if self.prim is None:
            call(lib.ndrt_plan_add_kernel, plan, self.packed, what="adding a kernel to a plan")
        else:
            call(lib.ndrt_plan_add_prim, plan, self.prim.ptr, self.nargs, self.packed,
                 what=self.prim.impl)


class Transaction:
    """Steps that wait, the chunks that they write to, and how those were before."""

    __slots__ = ("_cursor", "_statuses", "_written", "steps", "undo", "waits")

    def __init__(self, written: Sequence[Chunk]) -> None:
        self._written = written
        self.steps: list[Step] = []
        self.undo: list[tuple[Chunk, Placement]] = []
        # steps issued from now on may write to arrays
        self.waits = False
        self._statuses: list[int] | None = None
        self._cursor: Any = None

    def count_writes(self) -> None:
        """Counts the writes to come, once: before them, so that none can be missed."""
        for chunk in self._written:
            lib.ndrt_chunk_add_writes(chunk.native)
        self._written = ()

    def uses(self, memory: object) -> bool:
        """A step that waits reads or writes this memory."""
        return any(mem.keep is memory for step in self.steps for mem in step.mems())

    @property
    def has_run(self) -> bool:
        """Something was written, however the native call was left."""
        return self._statuses == [0] or (self._cursor is not None and self._cursor[0] > 0)

    def run(self) -> None:
        """Runs the steps in one native call; all that can fail is done before the first."""
        if len(self.steps) > 1:
            self._run_plan()
            return
        prim, nargs, packed, *_ = self.steps[0]
        # an interrupt is served when `extend` is done, and the status is in the list by then
        statuses: list[int] = []
        self._statuses = statuses
        if prim is None:
            statuses.extend(map(lib.ndrt_kernel_run, (packed,)))
        else:
            statuses.extend(map(lib.ndrt_prim_run, (prim.ptr,), (nargs,), (packed,)))
        if statuses[0]:
            check(statuses[0], "kernel" if prim is None else prim.impl)

    def _run_plan(self) -> None:
        plan = make(lib.ndrt_plan_new, out="ndrt_plan **", free=lib.ndrt_plan_free,
                    what="making a plan")
        for step in self.steps:
            step.add_to(plan)
        self._cursor = ffi.new("int64_t *")
        call(lib.ndrt_plan_run, plan, -1.0, self._cursor, what="running an operator's steps")
