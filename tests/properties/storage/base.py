"""What all rules share: storages, choosing arrays, and changes that may meet a failing allocation.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeVar

import numpy as np
from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize

from ndarray_rt._array.ndarray import NDArray, new_array
from ndarray_rt.errors import OutOfMemory
from ndarray_rt.native import ffi
from ndarray_rt.op.context import OpContext, thread_context
from ndarray_rt.op.packing import PackedStore
from ndarray_rt.storage.desc import default_desc
from ndarray_rt.storage.handle import memory_stats
from ndarray_rt.storage.reorder import reorder_mem
from ndarray_rt.storage.stream import Mem

from .faults import NO_FAULT, failing_buffer
from .model import DTYPES, F16, I32, REACHED, SHAPES, Array, Held, Shape, Storage, same_bits

T = TypeVar("T")
MAX_STORAGES = 3
MAX_HELD = 5
# values stay where float16 and sums of float32 are exact
LARGEST = 1 << 20
TOLERANCE = 2e-5
# (array, contents, which of them are known; None: all)
Change = tuple[Held, Array, "Array | None"]
FAULTS = st.sampled_from([NO_FAULT] * 9 + [0, 1, 2, 3])


class Base(RuleBasedStateMachine):
    """Storages and their model; no rules but the first."""

    def __init__(self) -> None:
        super().__init__()
        release_thread()
        self.live_before = memory_stats()["live"]
        self.ctx = OpContext()
        self.ctx.packed = PackedStore()
        self.stream = self.ctx.stream
        self.storages: list[Storage] = []
        self.leaving: list[Storage] = []
        self.names = 0
        self.next_value = 1

    @initialize(shapes=st.lists(st.sampled_from(SHAPES), min_size=2, max_size=2))
    def begin(self, shapes: list[Shape]) -> None:
        for shape in shapes:
            storage = self.add_storage(new_array(shape, DTYPES[0]))
            held = storage.held[0]
            held.array[...] = held_value = self.fresh(shape, held.array.dtype)
            held.wrote(held_value)

    # ---- storages and arrays ------------------------------------------------------------------

    def add_storage(self, array: NDArray, known: bool = False) -> Storage:
        """Takes a new array's Chunk under test; the oldest free one makes room."""
        if len(self.storages) >= MAX_STORAGES:
            free = [s for s in self.storages if not (s.readers or s.exports or s.packers)]
            if free:
                self.storages.remove(free[0])
                # the rule under way may hold arrays of it still
                self.leaving.append(free[0])
        self.names += 1
        storage = Storage(array, self.names, known)
        self.storages.append(storage)
        return storage

    def hold(self, made: Held) -> None:
        """Takes a view under test; the oldest makes room, the owner stays."""
        held = made.home.held
        held.append(made)
        if made.array.is_view:
            REACHED["view"] += 1
            REACHED["view of special"] += made.array.is_special
        if len(held) > MAX_HELD:
            held.pop(1)

    def pick(self, data: st.DataObject, what: str = "array", write: bool = False,
             where: Callable[[Held], bool] = lambda held: True) -> Held | None:
        """An array under test, or None; to write only where nobody reads."""
        found = [held for storage in self.storages if not (write and storage.readers)
                 for held in storage.held if where(held)]
        return choose(data, found, what) if found else None

    def pick_shaped(self, data: st.DataObject, shape: Shape, dtype: np.dtype[Any], what: str,
                    write: bool = False, where: Callable[[Held], bool] = lambda held: True,
                    ) -> Held | None:
        """An array of a shape: one that has it, or another's first elements as a view."""
        held = self.pick(data, what, write, lambda held: (
            held.array.dtype == dtype and held.array.size >= prod(shape) and where(held)))
        if held is None or held.array.shape == shape:
            return held
        return Held(held.array._view_as(shape), held.home, held.start)

    def fresh(self, shape: Shape, dtype: np.dtype[Any]) -> Array:
        """Values that are nowhere else, so that a wrong place shows."""
        size = prod(shape)
        steps = np.arange(self.next_value, self.next_value + size)
        self.next_value = (self.next_value + size) % 100_000
        if dtype == I32:
            steps = steps * 20011  # more bits than float32 holds
        elif dtype == F16:
            steps = steps % 2000
        return steps.astype(dtype).reshape(shape)

    def fill(self, mem: Mem, value: Array) -> None:
        """What a primitive would do: writes `value` to memory in its layout."""
        plain = Mem(default_desc(value.dtype, mem.desc.dims), ffi.from_buffer(value), value,
                    mem.epoch)
        reorder_mem(self.stream, plain, mem)

    # ---- changes ------------------------------------------------------------------------------

    def attempt(self, data: st.DataObject, action: Callable[[], object], *changes: Change,
                close: bool = False) -> bool:
        """Runs `action`, which shall make `changes`, perhaps with an allocation that fails.

        When one does, each array must have its old or its new contents (I10). With `close` the
        contents need only be near those given, and the model takes them as they are. Says whether
        all went well.
        """
        nth = data.draw(FAULTS, "failing allocation")
        try:
            with failing_buffer(nth):
                action()
        except OutOfMemory:
            if nth == NO_FAULT:
                raise
            REACHED["no memory"] += 1
            for change in changes:
                _old_or_new(*change, close)
            return False
        for held, value, known in changes:
            if close:
                got = held.seen()
                assert got is not None
                assert is_close(got, value), f"{held!r}: {got.ravel()} is not {value.ravel()}"
                value = got
            held.wrote(value, known)
        return True

    # ---- the end --------------------------------------------------------------------------------

    def teardown(self) -> None:
        for storages in (self.storages, self.leaving):
            while storages:
                _release(storages.pop())
        self.ctx.cache.clear(self.ctx.session)
        # what is left in its scratch, its packed weights and the group of its last call
        del self.ctx, self.stream
        release_thread()
        if sys.exc_info()[0] is None:  # a failure's traceback holds arrays
            if memory_stats()["live"] > self.live_before:
                gc.collect()
            assert memory_stats()["live"] <= self.live_before, "bytes are still live"


def release_thread() -> None:
    """Gives back what this thread keeps between imperative calls."""
    context = thread_context()
    context.cache.clear(context.session)
    context.stream.tmp.release()


def _release(storage: Storage) -> None:
    """Gives back what rules have taken."""
    for reader in storage.readers:
        reader.leases.give_back()
    storage.give_back_packers()
    # arrays go now, and not when the collector finds the circle
    storage.held.clear()
    storage.exports.clear()


def choose(data: st.DataObject, found: Sequence[T], what: str) -> T:
    """One of them. Strategies are part of circles, and so would keep the arrays that they hold."""
    made = found[data.draw(st.integers(0, len(found) - 1), what)]
    note(made)
    return made


def must_raise(kind: type[Exception], action: Callable[[], object]) -> None:
    """As pytest.raises, but keeps no traceback, whose frames would keep arrays."""
    try:
        action()
    except kind:
        return
    raise AssertionError(f"{kind.__name__} was not raised")


def is_close(got: Array, wanted: Array) -> bool:
    """As near as two ways of computing it come."""
    return bool(np.allclose(got, wanted, rtol=TOLERANCE, atol=TOLERANCE))


def _old_or_new(held: Held, value: Array, known: Array | None, close: bool) -> None:
    """After an exception: all of the one, or all of the other."""
    got = held.seen()
    if got is None:
        assert not held.known().any(), "contents were lost to an exception"
        return
    mask, old = held.known(), held.value()
    if same_bits(got[mask], old[mask]):
        return
    new = np.ones(held.array.shape, bool) if known is None else known
    is_new = is_close(got[new], value[new]) if close else same_bits(got[new], value[new])
    assert is_new, (f"after an exception {held!r} has {got.ravel()}, neither the old "
                    f"{old.ravel()} nor the new {value.ravel()}")
    held.wrote(got, known)
