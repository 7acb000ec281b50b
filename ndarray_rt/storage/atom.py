"""Atom: the steps of one operator that write to arrays, run as a whole or not at all.

Everything that they need is acquired when they are issued. They run in one native call, so that
neither a lack of memory nor a signal can come between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..native import call, check, ffi, lib, make
from .primitive import Primitive

if TYPE_CHECKING:
    from .chunk import Chunk, Placement

# a primitive (None: a kernel), its number of arguments, the packed arguments, what they point into
Step = tuple[Primitive | None, int, Any, Any]


class Atom:
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
        return any(mem.keep is memory for *_, given in self.steps
                   for mem in (pair[1] if isinstance(pair, tuple) else pair for pair in given))

    @property
    def has_run(self) -> bool:
        """Something was written, however the native call was left."""
        return self._statuses == [0] or (self._cursor is not None and self._cursor[0] > 0)


    def run(self) -> None:
        """Runs the steps in one native call; all that can fail is done before the first."""
        if len(self.steps) > 1:
            self._run_plan()
            return
        prim, nargs, packed, _ = self.steps[0]
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
        for prim, nargs, packed, _ in self.steps:
            add_step(plan, prim, nargs, packed)
        self._cursor = ffi.new("int64_t *")
        call(lib.ndrt_plan_run, plan, -1.0, self._cursor, what="running an operator's steps")


def add_step(plan: Any, prim: Primitive | None, nargs: int, packed: Any) -> None:
    """Puts a step at the end of a native plan."""
    if prim is None:
        call(lib.ndrt_plan_add_kernel, plan, packed, what="adding a kernel to a plan")
    else:
        call(lib.ndrt_plan_add_prim, plan, prim.ptr, nargs, packed, what=prim.impl)
