"""A stream that records steps first and runs them later, many in one native call."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import NdrtError
from ..native import call, ffi, lib
from .atom import Atom
from .kernel_call import KernelCall
from .parameters import ParameterBlock
from .primitive import Primitive
from .stream import BUDGET, Args, Mem, RecordingStream

if TYPE_CHECKING:
    from .chunk import Chunk, Placement


class StepFailed(Exception):
    """A step failed later than it was issued: no error of the operator that is being called.

    `position` is the stream's at the call of the operator whose step it was; that operator and all
    behind it wrote nothing that counts.
    """

    def __init__(self, position: int, error: NdrtError) -> None:
        super().__init__(str(error))
        self.position = position


class _Begun(NamedTuple):
    """An operator that was called: the stream's position, and how many steps came before."""

    position: int
    steps: int


class _Accepted(NamedTuple):
    """Steps that an operator wants done as a whole: up to where, and the operator's atom."""

    steps: int
    atom: Atom | None


class DeferringStream(RecordingStream):
    """Records steps, and runs those that wait when memory is needed in Python and at `finish`.

    What Python does for the next operator costs several times as much behind a step that filled the
    caches with something else. The order of steps is that in which they were issued, and arrays are
    in the end as if each had run at once: what does not run because something fails or interrupts
    it leaves memory and layouts as they were. The caller holds the leases until the end, and calls
    `finish`, or `abandon` where an operator raised.
    """

    __slots__ = ("_accepted", "_begun", "_count", "_cursor", "_defers", "_kept", "_undo")

    def __init__(self, estimate: int) -> None:
        super().__init__(estimate)
        self._defers = True
        # steps that wait or ran; the cursor says how many ran
        self._count = 0
        self._cursor: Any = ffi.new("int64_t *")
        self._accepted = _Accepted(0, None)
        self._begun: list[_Begun] = []
        # (steps before those that write, memory and layouts before), for each atom with steps
        self._undo: list[tuple[int, list[tuple[Chunk, Placement]]]] = []
        # what steps that wait point into
        self._kept: list[object] = []

    # ---- steps come -------------------------------------------------------------------------

    def begin_operator(self) -> None:
        super().begin_operator()
        if self._defers:
            self._begun.append(_Begun(self.position, self._count))

    def _pack(self, prim: Primitive, args: Args, scratchpad: Any) -> tuple[Any, int]:
        if self._defers:
            self._kept.append(args)
        return super()._pack(prim, args, scratchpad)

    def _kernel_call(self, given: KernelCall, parameters: ParameterBlock | None) -> Any:
        if self._defers:
            self._kept.append((given.arrays, parameters))
        return super()._kernel_call(given, parameters)

    def reorder(self, prim: Primitive, src: Mem, dst: Mem, now: bool = False) -> None:
        super().reorder(prim, src, dst, now)
        if now:
            self._catch_up()

    def _add(self, prim: Primitive | None, nargs: int, packed: Any) -> bool:
        """Whether a step waits now; else it has to run at once, and all before it did."""
        if not self._defers:
            return False
        self.recording.add(prim, nargs, packed)
        if self.recording.failed is not None:
            self._stop()
            return False
        self._count += 1
        return True

    def _run(self, prim: Primitive, nargs: int, packed: Any) -> None:
        if not self._add(prim, nargs, packed):
            super()._run(prim, nargs, packed)

    def _kernel(self, packed: Any) -> None:
        if not self._add(None, 0, packed):
            super()._kernel(packed)

    def _run_steps(self, atom: Atom) -> None:
        begin = self._count
        if self._defers:
            for prim, nargs, packed, given in atom.steps:
                self._kept.append(given)
                self.recording.add(prim, nargs, packed)
            if self.recording.failed is None:
                self._count = begin + len(atom.steps)
                self._undo.append((begin, atom.undo))
                # one assignment: an interrupt finds the steps accepted for good, or not at all
                self._accepted = _Accepted(self._count, atom)
                return
            self.recording.cut(begin)
            self._stop()
        super()._run_steps(atom)

    def drop(self) -> None:
        """Forgets what waits of this operator, unless it was accepted."""
        if self._atom is not None and self._atom is self._accepted.atom:
            self._atom = None
        super().drop()

    # ---- steps run --------------------------------------------------------------------------

    def flush(self) -> None:
        super().flush()
        self._catch_up()

    def callback(self, function: Callable[[], None]) -> None:
        self.read_in_python()
        super().callback(function)

    def read_in_python(self) -> None:
        self.flush()
        self._stop()

    def finish(self) -> None:
        """Runs what waits. Raises StepFailed, and what interrupts it."""
        self.recording.end_lanes()
        self._stop()

    def abandon(self) -> None:
        """Runs what waits of operators that were called before the one that raised; after an
        interrupt too, unless that came while steps ran: then memory and layouts are put back."""
        if not self._defers:
            return
        # an interrupt may have come between a step and its counting
        self._count = max(int(self._cursor[0]), self._accepted.steps)
        self.recording.cut(self._count)
        self._stop()

    def _stop(self) -> None:
        self._catch_up()
        self._defers = False
        self._kept.clear()
        self._begun.clear()
        self._undo.clear()

    def _catch_up(self) -> None:
        """Runs all steps that wait, serving signals between operators."""
        cursor, count = self._cursor, self._count
        if cursor[0] == count:
            return
        plan = self.recording.native_plan()
        try:
            while cursor[0] < count:
                call(lib.ndrt_plan_run, plan, BUDGET, cursor, what="running an operator's steps")
        except NdrtError as error:
            position = max((b for b in self._begun if b.steps <= cursor[0]),
                           key=lambda b: b.steps, default=_Begun(0, 0)).position
            self.put_back()
            raise StepFailed(position, error) from error
        except BaseException:
            self.put_back()
            raise

    def put_back(self) -> None:
        """Memory and layouts as they were before what did not run; none of it will."""
        if self._cursor[0] == self._count:
            return
        for begin, undo in reversed(self._undo):
            if begin >= self._cursor[0]:
                for chunk, placement in reversed(undo):
                    chunk.restore(placement)
        self.recording.failed = "a step failed or was interrupted"
        self._count = int(self._cursor[0])
        self._defers = False
