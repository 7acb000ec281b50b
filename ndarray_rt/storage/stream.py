"""Stream: where every step of work goes, to be run at once or to be recorded as well.

A step is an oneDNN primitive, a kernel of ours or a Python callback. Reorders, copies back and
add-backs are steps like any other. Holds no knowledge of operators.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import NdrtError
from ..native import call, ffi, kernel_name, lib, make
from .atom import Atom, add_step
from .desc import MemDesc
from .kernel_call import KernelCall
from .parameters import ParameterBlock
from .primitive import Arg, Primitive
from .tmp_mem import TmpMemMgr

if TYPE_CHECKING:
    from .chunk import Chunk


# after so many milliseconds a run comes back for a moment, so that Python can serve signals
BUDGET = 20.0


# stands for a stop among what a recording has issued
STOP = -1


class Mem:
    """References memory in a layout; valid inside the operator call it was handed out in."""

    __slots__ = ("desc", "epoch", "keep", "ptr")

    def __init__(self, desc: MemDesc, ptr: Any, keep: object, epoch: int) -> None:
        self.desc = desc
        self.ptr = ptr
        self.keep = keep
        self.epoch = epoch

    def as_desc(self, desc: MemDesc) -> Mem:
        """The same bytes under an equivalent layout."""
        return self if desc is self.desc else Mem(desc, self.ptr, self.keep, self.epoch)

    def behind(self, nbytes: int) -> Mem:
        """What lies so many bytes behind it, in the same layout."""
        if not nbytes:
            return self
        return Mem(self.desc, ffi.cast("char *", self.ptr) + nbytes, self.keep, self.epoch)


class StaleMemory(NdrtError):
    """Memory of one operator call was used in a later one."""


class Counters:
    """What a stream did: primitives and kernels run, reorders among them, bytes they wrote."""

    __slots__ = ("callbacks", "kernels", "primitives", "reorder_bytes", "reorders")

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.primitives = self.kernels = self.callbacks = 0
        self.reorders = self.reorder_bytes = 0

    def add(self, more: Mapping[str, int]) -> None:
        """Adds what `as_dict` gave elsewhere."""
        for name, value in more.items():
            setattr(self, name, getattr(self, name) + value)

    def as_dict(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in sorted(self.__slots__)}


Args = Sequence[tuple[int, Mem]]


class ImmediateStream:
    """Runs each step when it is issued.

    Between `hold` and `settle`, steps wait from the moment that an array is opened for writing, and
    run together at the end: what raises before that has written nothing, and `drop` puts
    the arrays' memory and layouts back.
    """

    __slots__ = ("_atom", "counters", "epoch", "impls", "position", "tmp")

    def __init__(self, tmp: TmpMemMgr | None = None) -> None:
        self.tmp = tmp or TmpMemMgr()
        self.epoch = 0
        # which step of a run is being called, as its caller counts
        self.position = 0
        self.counters = Counters()
        # names of what ran since the operator began: primitives and kernels
        self.impls: list[str] = []
        self._atom: Atom | None = None

    # ---- all or nothing -------------------------------------------------------------------

    def hold(self, written: Sequence[Chunk], early: bool) -> None:
        """What follows is done as a whole or not at all.

        `written` count as written right before the first step that may write to them; with `early`
        that is now.
        """
        self._atom = atom = Atom(written)
        if early:
            atom.count_writes()

    def touch(self, chunk: Chunk) -> None:
        """Memory or layout of `chunk` is about to change, for contents still to come."""
        if self._atom is not None:
            self._atom.undo.append((chunk, chunk.placement))

    def open(self, chunk: Chunk) -> None:
        """Like `touch`; and steps issued from now on may write to the chunk."""
        atom = self._atom
        if atom is not None:
            atom.undo.append((chunk, chunk.placement))
            atom.waits = True

    def settle(self) -> None:
        """Runs what waits; whole from here on."""
        atom = self._atom
        if atom is not None:
            atom.count_writes()
            if atom.steps:
                self._run_steps(atom)
            self._atom = None

    def drop(self) -> None:
        """Forgets what waits, and puts back memory and layouts that nothing was written to."""
        atom, self._atom = self._atom, None
        if atom is not None and not atom.has_run:
            for chunk, placement in reversed(atom.undo):
                chunk.restore(placement)

    def flush(self) -> None:
        """Runs what waits, as memory is needed now; that can not be undone any more."""
        atom = self._atom
        if atom is None or not atom.waits:
            return
        atom.count_writes()
        if atom.steps:
            self._run_steps(atom)
        self._atom = Atom(())

    def _run_steps(self, atom: Atom) -> None:
        atom.run()

    @property
    def notes_python(self) -> bool:
        """Python functions that are steps are called again where this is run again."""
        return False

    def read_in_python(self) -> None:
        """From here on Python itself reads and writes memory: no step waits any longer than this
        operator."""

    def enter_lane(self, team: int, lane: int) -> None:
        """The operators from here on are of this lane of a team; -1: of none."""

    def aside(self) -> ImmediateStream:
        """A stream for what is done once, whatever is recorded of this one: its steps run at once,
        behind all that waits here, in memory of its own."""
        self.flush()
        made = ImmediateStream()
        made.counters = self.counters
        return made

    def begin_operator(self) -> None:
        """Memory handed out before is invalid from now on."""
        self.epoch += 1
        self.tmp.reset()
        self.impls.clear()
        self._atom = None

    def scratch(self, desc: MemDesc) -> Mem:
        """Memory for a layout, valid until the operator ends; contents are garbage."""
        ptr, keep = self.tmp.alloc(desc.nbytes)
        return Mem(desc, ptr, keep, self.epoch)

    def run(self, prim: Primitive, args: Args) -> None:
        """Runs a primitive; its scratchpad comes from the stream."""
        self._issue(prim, args, self._scratchpad(prim))

    def run_each(self, prim: Primitive, calls: Iterable[Args]) -> None:
        """Runs a primitive for several sets of arguments, one after the other in one scratchpad."""
        scratchpad = self._scratchpad(prim)
        for args in calls:
            self._issue(prim, args, scratchpad)

    def _issue(self, prim: Primitive, args: Args, scratchpad: Any) -> None:
        packed, n = self._pack(prim, args, scratchpad)
        self.counters.primitives += 1
        self.impls.append(prim.impl)
        atom = self._atom
        if atom is not None and atom.waits:
            atom.steps.append((prim, n, packed, args))
        else:
            self._run(prim, n, packed)

    def reorder(self, prim: Primitive, src: Mem, dst: Mem, now: bool = False) -> None:
        """Runs a reorder, and counts it as one; with `now` it does not wait for others."""
        self.counters.reorders += 1
        self.counters.reorder_bytes += dst.desc.nbytes
        args = ((Arg.SRC, src), (Arg.DST, dst))
        packed, n = self._pack(prim, args, self._scratchpad(prim))
        atom = self._atom
        if atom is not None and atom.waits and not now:
            atom.steps.append((prim, n, packed, args))
            return
        if atom is not None and atom.uses(src.keep):
            self.flush()
        self._run(prim, n, packed)

    def convert(self, given: KernelCall, now: bool) -> None:
        """Runs a kernel whose first array is the second one converted; with `now` it does not wait
        for others."""
        packed = self._kernel_call(given, None)
        atom, source = self._atom, given.arrays[1]
        if atom is not None and atom.waits and not now:
            atom.steps.append((None, 0, packed, [mem for mem in given.arrays if mem is not None]))
            return
        if atom is not None and source is not None and atom.uses(source.keep):
            self.flush()
        self._kernel(packed)

    def kernel(self, given: KernelCall, parameters: ParameterBlock | None = None) -> None:
        """Runs one of our own kernels over the memories given.

        With `parameters` the numbers there count, at each run those that it holds then.
        """
        packed = self._kernel_call(given, parameters)
        self.counters.kernels += 1
        self.impls.append(kernel_name(given.kernel))
        atom = self._atom
        if atom is not None and atom.waits:
            atom.steps.append((None, 0, packed, [mem for mem in given.arrays if mem is not None]))
        else:
            self._kernel(packed)

    def _kernel_call(self, given: KernelCall, parameters: ParameterBlock | None) -> Any:
        packed = ffi.new("ndrt_kernel_call *")
        packed.kernel = given.kernel
        packed.counts = given.counts
        for i, mem in enumerate(given.arrays):
            if mem is not None:
                self._check(mem)
                packed.data[i] = mem.ptr
        packed.numbers = given.numbers
        if parameters is not None:
            packed.parameters = parameters.ptr
        return packed

    def note(self, function: Callable[[], None]) -> None:
        """Has a Python function called wherever what was issued is run again; not now."""

    def callback(self, function: Callable[[], None]) -> None:
        """Runs a Python function as a step, at once."""
        self.counters.callbacks += 1
        self.flush()
        function()

    def _check(self, mem: Mem) -> None:
        if mem.epoch != self.epoch:
            raise StaleMemory("memory handed out in an earlier operator call was used: take it "
                              "again with an access method of this call")

    def _scratchpad(self, prim: Primitive) -> Any:
        return self.tmp.alloc(prim.scratchpad)[0] if prim.scratchpad else None

    def _pack(self, prim: Primitive, args: Args, scratchpad: Any) -> tuple[Any, int]:
        n = len(args)
        packed = ffi.new("ndrt_arg[]", n + 1)
        for i, (arg, mem) in enumerate(args):
            if mem.epoch != self.epoch:
                self._check(mem)
            slot = packed[i]
            slot.arg = arg
            slot.desc = mem.desc.ptr
            slot.data = mem.ptr
        if scratchpad is not None:
            slot = packed[n]
            slot.arg = Arg.SCRATCHPAD
            slot.desc = prim.desc(Arg.SCRATCHPAD).ptr
            slot.data = scratchpad
            n += 1
        return packed, n

    def _run(self, prim: Primitive, nargs: int, packed: Any) -> None:
        call(lib.ndrt_prim_run, prim.ptr, nargs, packed, what=prim.impl)

    def _kernel(self, packed: Any) -> None:
        call(lib.ndrt_kernel_run, packed, what="kernel")


class RecordingStream(ImmediateStream):
    """Runs each step when it is issued, and records it for `Recording.replay`.

    Scratch comes from a manager that the recording keeps, so that recorded pointers stay good.
    Nothing else is kept alive but primitives: the arrays' owners hold the arrays.
    """

    __slots__ = ("once", "recording", "takes_python")

    def __init__(self, estimate: int) -> None:
        super().__init__(TmpMemMgr(estimate, keep=True))
        self.recording = Recording([self.tmp])
        # what it is for can call Python functions between native steps
        self.takes_python = False
        # of what was done aside, which a replay does not do again
        self.once = Counters()

    def enter_lane(self, team: int, lane: int) -> None:
        scratch, at = self.recording.scratch, lane + 1
        while len(scratch) <= at:
            scratch.append(TmpMemMgr(self.tmp.estimate, keep=True))
        self.tmp = scratch[at]
        self.recording.enter_team(team)

    @property
    def estimate(self) -> int:
        """The most scratch that an operator took."""
        return max(tmp.estimate for tmp in self.recording.scratch)

    def aside(self) -> ImmediateStream:
        made = super().aside()
        made.counters = self.once
        return made

    def count_for(self, plain: ImmediateStream) -> None:
        """Tells the stream that this one stands for what was done, aside too."""
        for counters in (self.counters, self.once):
            plain.counters.add(counters.as_dict())

    def _run(self, prim: Primitive, nargs: int, packed: Any) -> None:
        super()._run(prim, nargs, packed)
        self.recording.add(prim, nargs, packed)

    def _kernel(self, packed: Any) -> None:
        super()._kernel(packed)
        self.recording.add(None, 0, packed)

    def _run_steps(self, atom: Atom) -> None:
        super()._run_steps(atom)
        for prim, nargs, packed, _ in atom.steps:
            self.recording.add(prim, nargs, packed)

    def settle(self) -> None:
        super().settle()
        self.recording.end_whole(self.position)

    @property
    def notes_python(self) -> bool:
        return self.takes_python

    def note(self, function: Callable[[], None]) -> None:
        self.recording.add_callback(function)

    def callback(self, function: Callable[[], None]) -> None:
        super().callback(function)
        self.note(function)


class Recording:
    """Recorded steps: a native plan, which stops where Python functions are called.

    Recording never stops the run that is recorded: where it fails, `failed` says why.
    """

    __slots__ = ("_lanes", "_plan", "_wholes", "failed", "issued", "scratch", "stops")

    def __init__(self, scratch: list[TmpMemMgr]) -> None:
        # of steps in no lane, and of each lane of a team
        self.scratch = scratch
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

    def add(self, prim: Primitive | None, nargs: int, packed: Any) -> None:
        """Notes a step that ran: a primitive, or (None) a kernel."""
        if self.failed is not None:
            return
        try:
            self.issued.append(packed.kernel if prim is None else prim)
            add_step(self.native_plan(), prim, nargs, packed)
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

    def enter_team(self, team: int) -> None:
        """The steps from here on are a lane of this team's; -1: of none."""
        self._lanes.append((team, self.size))

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
