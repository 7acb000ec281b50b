"""Stream: where every step of work goes. What becomes of it is its sink's to say.

A step is an oneDNN primitive, a kernel of ours or a Python callback. Reorders, copies back and
add-backs are steps like any other. A sink runs them at once (`Immediate`, here), or records them as
well (capture/). Holds no knowledge of operators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import NdrtError
from ..native import ffi, kernel_name
from .desc import MemDesc
from .kernel_call import KernelCall
from .parameters import ParameterBlock
from .primitive import Arg, Primitive
from .tmp_mem import TmpMemMgr
from .transaction import Step, Transaction

if TYPE_CHECKING:
    from .chunk import Chunk


# after so many milliseconds a run comes back for a moment, so that Python can serve signals
BUDGET = 20.0


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


class Sink(Protocol):
    """What becomes of the steps that a stream has packed, in the order in which they come."""

    @property
    def defers(self) -> bool:
        """Steps may run later than they come, so that Python has to wait for them."""

    @property
    def takes_python(self) -> bool:
        """Python functions that are steps are called again where this is run again."""

    def begin(self, position: int) -> None:
        """An operator begins, at this position of the stream."""

    def hold(self, written: Sequence[Chunk]) -> None:
        """The operator begins a transaction that writes these."""

    def run(self, step: Step) -> None:
        """A step, behind all that came before."""

    def commit(self, transaction: Transaction) -> None:
        """Runs the steps of a transaction, all or none."""

    def is_accepted(self, transaction: Transaction) -> bool:
        """The steps of the transaction run, whatever becomes of its operator."""

    def end(self, position: int) -> None:
        """The operator at this position has left every array whole."""

    def catch_up(self) -> None:
        """Memory is needed: all steps that came have run when this is done."""

    def stop(self) -> None:
        """The same; and no step waits any longer from here on."""

    def note(self, function: Callable[[], None]) -> None:
        """Has a Python function called where the steps are run again; not now."""

    def lane(self, team: int, lane: int) -> TmpMemMgr | None:
        """The steps from here on are of this lane of a team; -1: of none. Their scratch, where that
        is another one."""


class Immediate:
    """Runs each step when it comes, and keeps nothing."""

    __slots__ = ()
    defers = takes_python = False

    def begin(self, position: int) -> None:
        """Nothing to do."""

    def hold(self, written: Sequence[Chunk]) -> None:
        """Nothing to do."""

    def run(self, step: Step) -> None:
        step.run()

    def commit(self, transaction: Transaction) -> None:
        transaction.run()

    def is_accepted(self, transaction: Transaction) -> bool:
        return False

    def end(self, position: int) -> None:
        """Nothing to do."""

    def catch_up(self) -> None:
        """All has run."""

    def stop(self) -> None:
        """All has run."""

    def note(self, function: Callable[[], None]) -> None:
        """This is not run again."""

    def lane(self, team: int, lane: int) -> TmpMemMgr | None:
        return None


_IMMEDIATE = Immediate()


class Stream:
    """Packs steps, and gives them to its sink; without one each runs when it is issued.

    Between `hold` and `settle`, steps wait from the moment that an array is opened for writing, and
    run together at the end: what raises before that has written nothing, and `drop` puts
    the arrays' memory and layouts back.
    """

    __slots__ = ("_transaction", "counters", "epoch", "impls", "once", "position", "sink", "tmp")

    def __init__(self, tmp: TmpMemMgr | None = None, sink: Sink = _IMMEDIATE) -> None:
        self.tmp = tmp or TmpMemMgr()
        self.sink = sink
        self.epoch = 0
        # which step of a run is being called, as its caller counts
        self.position = 0
        self.counters = Counters()
        # of what was done aside, which is not done again where the sink's steps are
        self.once = self.counters if sink is _IMMEDIATE else Counters()
        # names of what ran since the operator began: primitives and kernels
        self.impls: list[str] = []
        self._transaction: Transaction | None = None

    # ---- all or nothing -------------------------------------------------------------------

    def hold(self, written: Sequence[Chunk], early: bool) -> None:
        """What follows is done as a whole or not at all.

        `written` count as written right before the first step that may write to them; with `early`
        that is now.
        """
        self._transaction = transaction = Transaction(written)
        self.sink.hold(written)
        if early:
            transaction.count_writes()

    def touch(self, chunk: Chunk) -> None:
        """Memory or layout of `chunk` is about to change, for contents still to come."""
        if self._transaction is not None:
            self._transaction.undo.append((chunk, chunk.placement))

    def open(self, chunk: Chunk) -> None:
        """Like `touch`; and steps issued from now on may write to the chunk."""
        transaction = self._transaction
        if transaction is not None:
            transaction.undo.append((chunk, chunk.placement))
            transaction.waits = True

    def settle(self) -> None:
        """Runs what waits; whole from here on."""
        transaction = self._transaction
        if transaction is not None:
            transaction.count_writes()
            if transaction.steps:
                self.sink.commit(transaction)
            self._transaction = None
        self.sink.end(self.position)

    def drop(self) -> None:
        """Forgets what waits, and puts back memory and layouts that nothing was written to."""
        transaction, self._transaction = self._transaction, None
        if (transaction is not None and not transaction.has_run
                and not self.sink.is_accepted(transaction)):
            for chunk, placement in reversed(transaction.undo):
                chunk.restore(placement)

    def flush(self) -> None:
        """Runs what waits, as memory is needed now; that can not be undone any more."""
        transaction = self._transaction
        if transaction is not None and transaction.waits:
            transaction.count_writes()
            if transaction.steps:
                self.sink.commit(transaction)
            self._transaction = Transaction(())
        self.sink.catch_up()

    @property
    def notes_python(self) -> bool:
        """Python functions that are steps are called again where this is run again."""
        return self.sink.takes_python

    def read_in_python(self) -> None:
        """From here on Python itself reads and writes memory: no step waits any longer than this
        operator."""
        if self.sink.defers:
            self.flush()
            self.sink.stop()

    def enter_lane(self, team: int, lane: int) -> None:
        """The operators from here on are of this lane of a team; -1: of none."""
        self.tmp = self.sink.lane(team, lane) or self.tmp

    def aside(self) -> Stream:
        """A stream for what is done once, whatever is recorded of this one: its steps run at once,
        behind all that waits here, in memory of its own."""
        self.flush()
        made = Stream()
        made.counters = made.once = self.once
        return made

    def count_for(self, plain: Stream) -> None:
        """Tells the stream that this one stands for what was done, aside too."""
        for counters in (self.counters, self.once):
            plain.counters.add(counters.as_dict())

    def begin_operator(self) -> None:
        """Memory handed out before is invalid from now on."""
        self.epoch += 1
        self.tmp.reset()
        self.impls.clear()
        self._transaction = None
        self.sink.begin(self.position)

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
        step = self._pack(prim, args, scratchpad)
        self.counters.primitives += 1
        self.impls.append(prim.impl)
        self._take(step)

    def _take(self, step: Step) -> None:
        transaction = self._transaction
        if transaction is not None and transaction.waits:
            transaction.steps.append(step)
        else:
            self.sink.run(step)

    def _take_now(self, step: Step, read: Mem | None) -> None:
        """The step has run when this is done, and so has what was to write what it reads."""
        transaction = self._transaction
        if transaction is not None and read is not None and transaction.uses(read.keep):
            self.flush()
        self.sink.run(step)
        self.sink.catch_up()

    def reorder(self, prim: Primitive, src: Mem, dst: Mem, now: bool = False) -> None:
        """Runs a reorder, and counts it as one; with `now` it does not wait for others."""
        self.counters.reorders += 1
        self.counters.reorder_bytes += dst.desc.nbytes
        args = ((Arg.SRC, src), (Arg.DST, dst))
        step = self._pack(prim, args, self._scratchpad(prim))
        if now:
            self._take_now(step, src)
        else:
            self._take(step)

    def convert(self, given: KernelCall, now: bool) -> None:
        """Runs a kernel whose first array is the second one converted; with `now` it does not wait
        for others."""
        step = Step(None, 0, self._kernel_call(given, None), given)
        if now:
            self._take_now(step, given.arrays[1])
        else:
            self._take(step)

    def kernel(self, given: KernelCall, parameters: ParameterBlock | None = None) -> None:
        """Runs one of our own kernels over the memories given.

        With `parameters` the numbers there count, at each run those that it holds then.
        """
        step = Step(None, 0, self._kernel_call(given, parameters), given, parameters)
        self.counters.kernels += 1
        self.impls.append(kernel_name(given.kernel))
        self._take(step)

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
        self.sink.note(function)

    def callback(self, function: Callable[[], None]) -> None:
        """Runs a Python function as a step, at once."""
        self.read_in_python()
        self.counters.callbacks += 1
        self.flush()
        function()
        self.note(function)

    def _check(self, mem: Mem) -> None:
        if mem.epoch != self.epoch:
            raise StaleMemory("memory handed out in an earlier operator call was used: take it "
                              "again with an access method of this call")

    def _scratchpad(self, prim: Primitive) -> Any:
        return self.tmp.alloc(prim.scratchpad)[0] if prim.scratchpad else None

    def _pack(self, prim: Primitive, args: Args, scratchpad: Any) -> Step:
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
        return Step(prim, n, packed, args)
