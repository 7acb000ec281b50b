"""Stream: where every step of work is issued. Its sink decides what happens to it.

A step is an oneDNN primitive, a native kernel or a Python callback. Reorders, copies back and
additions to outputs are steps like any other. A sink runs them at once (`Immediate`, here), or also
records them (capture/). Knows nothing of operators.
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


# milliseconds after which a native run returns for a moment so that Python can serve signals
BUDGET = 20.0


class Mem:
    """A pointer with a layout; valid only in the operator call that it was handed out in."""

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
        """The memory `nbytes` further on, in the same layout."""
        if not nbytes:
            return self
        return Mem(self.desc, ffi.cast("char *", self.ptr) + nbytes, self.keep, self.epoch)


class StaleMemory(NdrtError):
    """Memory handed out in one operator call was used in a later one."""


class Counters:
    """What a stream did: primitives and kernels run, reorders among them, bytes that those wrote.
    """

    __slots__ = ("callbacks", "kernels", "primitives", "reorder_bytes", "reorders")

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.primitives = self.kernels = self.callbacks = 0
        self.reorders = self.reorder_bytes = 0

    def add(self, more: Mapping[str, int]) -> None:
        """Adds counters that another `as_dict` returned."""
        for name, value in more.items():
            setattr(self, name, getattr(self, name) + value)

    def as_dict(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in sorted(self.__slots__)}


Args = Sequence[tuple[int, Mem]]


class Sink(Protocol):
    """Receives the packed steps of a stream, in the order in which they are issued."""

    @property
    def defers(self) -> bool:
        """Steps may run later than they are issued, so that Python has to wait for them."""

    @property
    def takes_python(self) -> bool:
        """Python functions can be steps: a replay calls them again."""

    def begin(self, position: int) -> None:
        """An operator begins, at this position of the stream."""

    def hold(self, written: Sequence[Chunk]) -> None:
        """The operator begins a transaction that writes these chunks."""

    def run(self, step: Step) -> None:
        """Takes one step, which runs after all earlier ones."""

    def commit(self, transaction: Transaction) -> None:
        """Runs the steps of a transaction, all or none."""

    def is_accepted(self, transaction: Transaction) -> bool:
        """The steps of the transaction run even if its operator raises later."""

    def end(self, position: int) -> None:
        """The operator at this position has ended: a consistent point."""

    def catch_up(self) -> None:
        """Python needs memory: returns after all steps issued so far have run."""

    def stop(self) -> None:
        """Like `catch_up`, and from here on no step is deferred."""

    def note(self, function: Callable[[], None]) -> None:
        """Registers a Python function that replays call here; does not call it now."""

    def lane(self, team: int, lane: int) -> TmpMemMgr | None:
        """Following steps belong to this lane of a team; -1: to none. Returns the lane's scratch if
        it has its own."""


class Immediate:
    """Runs each step when it is issued, and records nothing."""

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
        """Nothing waits."""

    def stop(self) -> None:
        """Nothing waits."""

    def note(self, function: Callable[[], None]) -> None:
        """Nothing is replayed."""

    def lane(self, team: int, lane: int) -> TmpMemMgr | None:
        return None


_IMMEDIATE = Immediate()


class Stream:
    """Packs steps, and passes them to its sink; without one each runs when it is issued.

    Between `hold` and `settle`, steps wait from the moment that an array is opened for writing, and
    run together at the end: an error before that has written nothing, and `drop` restores the
    arrays' memory and layouts.
    """

    __slots__ = ("_transaction", "counters", "epoch", "impls", "once", "position", "sink", "tmp")

    def __init__(self, tmp: TmpMemMgr | None = None, sink: Sink = _IMMEDIATE) -> None:
        self.tmp = tmp or TmpMemMgr()
        self.sink = sink
        self.epoch = 0
        # position in the run, as the caller of operators counts
        self.position = 0
        self.counters = Counters()
        # counters of work on streams from `aside`, which replays do not repeat
        self.once = self.counters if sink is _IMMEDIATE else Counters()
        # primitives and kernels that ran since the operator began, by name
        self.impls: list[str] = []
        self._transaction: Transaction | None = None

    # ---- transactions ---------------------------------------------------------------------

    def hold(self, written: Sequence[Chunk], early: bool) -> None:
        """Begins a transaction: what follows runs as a whole or not at all.

        The writes to `written` are counted right before the first step that may write to them;
        with `early` that is now.
        """
        self._transaction = transaction = Transaction(written)
        self.sink.hold(written)
        if early:
            transaction.count_writes()

    def touch(self, chunk: Chunk) -> None:
        """The memory or layout of `chunk` is about to change, before new contents are written."""
        if self._transaction is not None:
            self._transaction.undo.append((chunk, chunk.placement))

    def open(self, chunk: Chunk) -> None:
        """Like `touch`; steps issued from now on may write to the chunk."""
        transaction = self._transaction
        if transaction is not None:
            transaction.undo.append((chunk, chunk.placement))
            transaction.waits = True

    def settle(self) -> None:
        """Commits: runs the steps that wait."""
        transaction = self._transaction
        if transaction is not None:
            transaction.count_writes()
            if transaction.steps:
                self.sink.commit(transaction)
            self._transaction = None
        self.sink.end(self.position)

    def drop(self) -> None:
        """Rolls back: discards the steps that wait, restores placements of chunks not yet written.
        """
        transaction, self._transaction = self._transaction, None
        if (transaction is not None and not transaction.has_run
                and not self.sink.is_accepted(transaction)):
            for chunk, placement in reversed(transaction.undo):
                chunk.restore(placement)

    def flush(self) -> None:
        """Runs what waits because its memory is needed now; that part can not be rolled back."""
        transaction = self._transaction
        if transaction is not None and transaction.waits:
            transaction.count_writes()
            if transaction.steps:
                self.sink.commit(transaction)
            self._transaction = Transaction(())
        self.sink.catch_up()

    @property
    def notes_python(self) -> bool:
        """Python functions can be steps: a replay calls them again."""
        return self.sink.takes_python

    def read_in_python(self) -> None:
        """From here on Python itself reads and writes memory: after this operator no step is
        deferred."""
        if self.sink.defers:
            self.flush()
            self.sink.stop()

    def enter_lane(self, team: int, lane: int) -> None:
        """Following operators belong to this lane of a team; -1: to none."""
        self.tmp = self.sink.lane(team, lane) or self.tmp

    def aside(self) -> Stream:
        """A stream for work that is done once and not recorded: its steps run at once, after all
        that waits here, with scratch of their own."""
        self.flush()
        made = Stream()
        made.counters = made.once = self.once
        return made

    def count_for(self, plain: Stream) -> None:
        """Adds the counters of work done aside to the stream that this one replaces."""
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
        """Runs a primitive for several sets of arguments in turn, with one scratchpad."""
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
        """Runs the step before returning, and before it all steps that write what it reads."""
        transaction = self._transaction
        if transaction is not None and read is not None and transaction.uses(read.keep):
            self.flush()
        self.sink.run(step)
        self.sink.catch_up()

    def reorder(self, prim: Primitive, src: Mem, dst: Mem, now: bool = False) -> None:
        """Runs a reorder, and counts it as one; with `now` it is not deferred."""
        self.counters.reorders += 1
        self.counters.reorder_bytes += dst.desc.nbytes
        args = ((Arg.SRC, src), (Arg.DST, dst))
        step = self._pack(prim, args, self._scratchpad(prim))
        if now:
            self._take_now(step, src)
        else:
            self._take(step)

    def convert(self, given: KernelCall, now: bool) -> None:
        """Runs a kernel that converts its second array into its first; with `now` it is not
        deferred."""
        step = Step(None, 0, self._kernel_call(given, None), given)
        if now:
            self._take_now(step, given.arrays[1])
        else:
            self._take(step)

    def kernel(self, given: KernelCall, parameters: ParameterBlock | None = None) -> None:
        """Runs a native kernel.

        With `parameters` it takes its numbers from there, at each run those that it holds then.
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
        """Registers a Python function that replays call here; does not call it now."""
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
