"""Instances of a CachedOp: executors, each for one way of binding. Knows no tape."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ref

from .._array.access import Access
from .._array.copy import copy_into, copy_to_place, place_of
from .._array.ndarray import NDArray, new_array
from .._array.req import Req
from ..capture.replay import Feed
from ..collector import resting_collector
from ..context import Context
from ..dtypes import DType
from ..errors import MXNetError
from ..executor.executor import Executor
from ..executor.program.plan import Kind, Plan
from ..executor.session import Session
from ..executor.sharing import Sharing
from ..native import check, ffi, lib
from ..op.random_state import RandomState, random_state
from ..precision import Precision
from ..storage.lease import Leases
from .call_recording import copies

if TYPE_CHECKING:
    from ..symbol.symbol import Symbol

# bytes; for smaller copies, releasing the GIL costs more than the copy
SMALL = 1 << 16

class Target(NamedTuple):
    """A gradient array of the user's, and its request."""

    array: NDArray
    req: Req

    def is_same(self, other: Target | None) -> bool:
        return other is self or (other is not None and same_place(self.array, other.array)
                and self.req == other.req)


class Bound(NamedTuple):
    """How instances are bound at one input.

    `array` is set if it is bound by reference, and `handle` is then the user's; `target` is where
    the gradient goes. `trained`: the user has attached a gradient to this input.
    """

    shape: tuple[int, ...]
    dtype: DType
    array: NDArray | None
    handle: ref[NDArray] | None
    trained: bool
    wanted: bool
    target: Target | None

    def is_of(self, x: NDArray) -> bool:
        """Bound by reference to this very memory."""
        return self.array is not None and same_place(self.array, x)


def same_place(a: NDArray, b: NDArray) -> bool:
    """The same elements of the same memory."""
    return (a._chunk is b._chunk and a._byte_offset == b._byte_offset and a.shape == b.shape
            and a.dtype == b.dtype)


class Draws:
    """An instance's own stream of random numbers, at each call a section of its context's stream,
    so that a call can be repeated with the same numbers."""

    def __init__(self, ctx: Context) -> None:
        self.stream = RandomState()
        self._source = random_state(ctx)
        self._blocks: int | None = None
        self._varies = False

    def begin(self) -> tuple[int, int]:
        """Begins a run; returns the position from which the same run can be repeated."""
        source = self._source
        blocks = None if self._varies else self._blocks
        start = source.get_state() if blocks is None else source.reserve(blocks)
        self.stream.set_state(start)
        return start

    def end(self, start: tuple[int, int]) -> None:
        """Ends a run: advances the context's stream past the numbers that it has drawn."""
        used = self.stream.get_state()[1] - start[1]
        reserved = None if self._varies else self._blocks
        if reserved is not None:
            self._varies = used != reserved
        rest = used - (reserved or 0)
        if rest > 0:
            self._source.reserve(rest)
        self._blocks = used


class Instance:
    """One executor, with its own arrays for inputs and gradients that are not bound by
    reference."""

    def __init__(self, group: Group) -> None:
        self.inputs: list[NDArray] = [
            new_array(b.shape, b.dtype, group.ctx) if b.array is None else b.array
            for b in group.bound]
        self.draws = Draws(group.ctx) if group.is_kept and group.is_random else None
        self.refusal: MXNetError | None = None
        self.grads: dict[int, NDArray] = {}
        # gradients of outputs that are differentiated themselves
        self.ones: dict[int, NDArray] = {}
        if group.is_kept:
            for i, b in enumerate(group.bound):
                if b.wanted and i not in group.aux:
                    self.grads[i] = (new_array(b.shape, b.dtype, group.ctx) if b.target is None
                                     else b.target.array)
                    _unpack(self.inputs[i], self.grads[i])
        try:
            self.executor = self._bind(group)
        except MXNetError as error:
            # errors of other kinds are not about gradients
            if not self.grads or type(error) is not MXNetError:
                raise
            # the symbol has no gradient, and none may be requested
            self.refusal = error.with_traceback(None)
            self.grads = {}
            self.executor = self._bind(group)
        self.outputs = self.executor.outputs
        # the stream of the thread that runs it
        self.notes: Any = None
        reachable = {x._chunk for x in self.inputs}
        # for replayed calls: inputs that are copied in, in this order
        self.feed = Feed([self.inputs[i] for i in group.by_value])
        self._places = {i: place_of(self.inputs[i]) for i in group.by_value}
        self._own = [y._chunk not in reachable for y in self.outputs]
        self.is_apart = all(self._own)
        # outputs that are copied in one native call
        self._facts = tuple((y.shape, y.dtype, None, y.nbytes) for y in self.outputs)
        self._addresses = tuple(y._chunk.address for y in self.outputs)
        self._are_small = self.is_apart and sum(y.nbytes for y in self.outputs) < SMALL

    @resting_collector()
    def _bind(self, group: Group) -> Executor:
        names = group.names
        requests = {}
        for i in self.grads:
            target = group.bound[i].target
            requests[names[i]] = Req.kWriteTo if target is None else target.req
        return Executor(
            group.symbol, group.ctx,
            {n: x for i, (n, x) in enumerate(zip(names, self.inputs, strict=True))
             if i not in group.aux},
            {names[i]: grad for i, grad in self.grads.items()}, requests,
            {names[i]: self.inputs[i] for i in sorted(group.aux)}, Sharing(group.session),
            trained=[names[i] for i, b in enumerate(group.bound)
                     if b.trained and b.array is not None and i not in group.aux],
            random=None if self.draws is None else self.draws.stream,
            precision=group.precision)

    def run_kept(self, is_train: bool) -> tuple[int, int] | None:
        """A forward that backward may follow; returns its start in the random stream, if it
        draws."""
        if self.draws is None:
            self.executor._trainer.forward_kept(is_train)
            return None
        drawn = self.draws.begin()
        try:
            self.executor._trainer.forward_kept(is_train)
        finally:
            self.draws.end(drawn)
        return drawn

    def load(self, inputs: Sequence[NDArray], positions: Sequence[int]) -> None:
        """Copies in the inputs that are bound by value."""
        for i in positions:
            if not copy_to_place(inputs[i], self._places[i]):
                _copy_in(inputs[i], self.inputs[i])

    def results(self, ctx: Context) -> list[NDArray]:
        """The outputs of the last run as new arrays."""
        if self._are_small:
            found: list[NDArray] | int | None = copies(self._facts, self._addresses, ctx)
            if isinstance(found, int):
                check(found, "copying outputs")
            elif found is not None:
                return found
        made = []
        for y, is_own in zip(self.outputs, self._own, strict=True):
            fresh = new_array(y.shape, y.dtype, ctx)
            if not (is_own and _copy_plain(y, fresh)):
                copy_value(y, fresh)
            made.append(fresh)
        return made


class Group:
    """Instances bound in the same way: facts of inputs, arrays by reference, gradients, mode.

    With `is_kept` a backward may follow their forward.
    """

    def __init__(self, symbol: Symbol, session: Session, ctx: Context, bound: Sequence[Bound],
                 aux: frozenset[int], is_train: bool, is_kept: bool, is_random: bool,
                 precision: Precision) -> None:
        self.symbol = symbol
        self.session = session
        self.ctx = ctx
        self.names = symbol.list_inputs()
        self.bound = list(bound)
        self.aux = aux
        self.is_train = is_train
        self.is_kept = is_kept
        self.is_random = is_random
        self.precision = precision
        self.by_value = [i for i, b in enumerate(bound) if b.array is None]
        # inputs by reference whose values a gradient may read
        self.kept = [(i, b.array) for i, b in enumerate(bound)
                     if b.array is not None and i not in aux]
        self.targets = {i: b.target for i, b in enumerate(bound) if b.target is not None}
        # unused instances; returned without a lock, also by finalizers
        self.idle: deque[Instance] = deque()
        self.needed: frozenset[int] = frozenset()
        self.moved: frozenset[int] = frozenset()
        # aux states that forward reads; training does not read those that it only updates
        self.read = tuple(sorted(aux))
        self.repeats = True

    def fits(self, inputs: Sequence[NDArray], wanted: Sequence[Target | bool] | None,
             is_train: bool) -> bool:
        """An instance can run a call with these inputs, wanted gradients and mode.

        `wanted` is None if no backward may follow.
        """
        if self.is_train is not is_train or self.is_kept is (wanted is None):
            return False
        for x, b in zip(inputs, self.bound, strict=True):
            if x.shape != b.shape or x.dtype != b.dtype:
                return False
            array = b.array
            if array is not None and (
                    x._chunk is not array._chunk or x._byte_offset != array._byte_offset
                    or (x._grad_state is not None and not b.trained)):
                return False
        if wanted is None:
            return True
        for want, b in zip(wanted, self.bound, strict=True):
            if bool(want) is not b.wanted:
                return False
            if b.target is not None and not (isinstance(want, Target) and b.target.is_same(want)):
                return False
        return True

    def take(self) -> Instance:
        """An idle instance, or a new one; to be returned to `idle`."""
        try:
            return self.idle.pop()
        except IndexError:
            made = Instance(self)
            self._learn(made.executor.plan)
            return made

    def _learn(self, plan: Plan) -> None:
        """Finds out which inputs backward reads, and which aux states the graph updates."""
        place = {name: i for i, name in enumerate(self.names)}
        needed, moved = set(), set()
        for step in plan.steps:
            op, params = step.node.op, step.node.params
            assert op is not None
            assert params is not None
            ignored, mutated = op.ignored(params), op.mutated(params)
            for position, index in enumerate(step.ins):
                value = plan.values[index]
                if value.kind is not Kind.EXTERNAL or not value.entry.node.is_variable:
                    continue
                i = place.get(value.entry.node.name)
                if i is None:
                    continue  # the gradient of an output
                if position in mutated:
                    moved.add(i)
                elif step.is_backward and position not in ignored:
                    needed.add(i)
        self.needed = frozenset(needed) - self.aux
        self.moved = frozenset(moved)
        self.read = tuple(i for i in sorted(self.aux) if not self.is_train or i not in moved)
        self.repeats = plan.backward_repeats


def _unpack(x: NDArray, grad: NDArray) -> None:
    """Converts a weight that inference packed before it was trained to the default layout; one that
    is trained in its gradient's layout keeps it."""
    chunk = x._chunk
    if (chunk.is_special and chunk.mkl_mem is not grad._chunk.mkl_mem
            and not chunk.native.packers and not chunk.native.pins):
        with Access(written=(x,)) as stream:
            chunk.reorder_to_default(stream)


def _copy_in(x: NDArray, own: NDArray) -> None:
    """Copies the user's array to one that nobody else can reach."""
    chunk = x._chunk
    if chunk.mkl_mem is None and chunk.is_allocated:
        with Leases((chunk,), ()):
            if _copy_plain(x, own):
                return
    copy_value(x, own)


def copy_value(x: NDArray, y: NDArray, add: bool = False) -> None:
    """y = (or +=) x, for any layouts."""
    with Access(read=(x,), written=(y,)) as stream:
        copy_into(x, y, stream, add)


def _copy_plain(x: NDArray, y: NDArray) -> bool:
    """Copies bytes if both are in the default layout; returns whether it did."""
    source, target = x._chunk, y._chunk
    if source.mkl_mem is not None or target.mkl_mem is not None:
        return False
    handle, goal, nbytes = source.handle, target.handle, x.nbytes
    # so that readers of `target` drop what they derived from the old contents
    target.wrote()
    begin = ffi.cast("char *", handle.ptr) + x._byte_offset
    if nbytes < SMALL:
        ffi.memmove(goal.ptr, begin, nbytes)
        return True
    call = ffi.new("ndrt_kernel_call *")
    call.kernel = lib.NDRT_KERNEL_COPY
    call.counts[0] = nbytes
    call.data[0], call.data[1] = goal.ptr, begin
    check(lib.ndrt_kernel_run(call), "copying an array")
    return True
