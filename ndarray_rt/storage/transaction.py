"""Transaction: the steps of one operator that write to arrays; all of them run, or none.

Everything that they need is acquired when they are issued. They run in one native call, so that
neither a failed allocation nor a signal can come between them.
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
    """A primitive, or (if None) a kernel, with packed arguments, and the memory they point into."""

    prim: Primitive | None
    nargs: int
    packed: Any
    given: Args | KernelCall
    parameters: ParameterBlock | None = None

    def mems(self) -> Iterable[Mem]:
        """The memory that it reads or writes, scratch excluded."""
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
        """Appends it to a native plan."""
        if self.prim is None:
            call(lib.ndrt_plan_add_kernel, plan, self.packed, what="adding a kernel to a plan")
        else:
            call(lib.ndrt_plan_add_prim, plan, self.prim.ptr, self.nargs, self.packed,
                 what=self.prim.impl)


class Transaction:
    """Steps that wait, the chunks that they write to, and the former placement of those."""

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
        """Counts the coming writes once, before they start, so that none is missed."""
        for chunk in self._written:
            lib.ndrt_chunk_add_writes(chunk.native)
        self._written = ()

    def uses(self, memory: object) -> bool:
        """A step that waits reads or writes this memory."""
        return any(mem.keep is memory for step in self.steps for mem in step.mems())

    @property
    def has_run(self) -> bool:
        """Something was written, however the native call ended."""
        return self._statuses == [0] or (self._cursor is not None and self._cursor[0] > 0)

    def run(self) -> None:
        """Runs the steps in one native call; whatever can fail is done before the first step."""
        if len(self.steps) > 1:
            self._run_plan()
            return
        prim, nargs, packed, *_ = self.steps[0]
        # an interrupt is served after `extend`, and by then the status is in the list
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
