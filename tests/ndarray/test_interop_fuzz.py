"""Random interleavings of exports, imports, layout changes, writes and drops, also in threads."""

from __future__ import annotations

import gc
import pickle
import random
import threading
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt._array.interop import export
from ndarray_rt.errors import NdrtError
from ndarray_rt.storage.chunk import PinnedError

nd = mx.nd
SHAPE = (2, 5, 3, 3)


class Player:
    """One array, all that shares its memory, and what its elements must be."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.value = np.random.default_rng(seed).random(SHAPE, np.float32)
        self.x = nd.array(self.value)
        self.shared: list[tuple[Any, int]] = []  # (on the same memory, from row)
        self.copies: list[tuple[Any, Any]] = []  # (apart from it, what it must stay)


    def step(self) -> None:
        self.random.choice((self.lend, self.lend, self.take_back, self.drop, self.drop, self.layout,
                            self.write, self.write_through, self.clone, self.collect))()

    def lend(self) -> None:
        row = self.random.randrange(2)
        source = self.x[row:] if row else self.x
        kind = self.random.choice(("numpy", "read only", "array", "versioned", "legacy", "unused"))
        made: Any
        if kind in ("numpy", "read only"):
            made = export(source, writable=kind == "numpy")
        elif kind == "unused":
            made = source.to_dlpack_for_read()
        elif kind == "array":
            made = nd.from_dlpack(source)
        else:
            capsule = source.__dlpack__(max_version=(1, 0) if kind == "versioned" else None)
            made = nd.from_dlpack(capsule)
        self.shared.append((made, row))


    def take_back(self) -> None:
        arrays = [(y, row) for y, row in self.shared if isinstance(y, nd.NDArray)]
        if arrays:
            y, row = self.random.choice(arrays)
            self.shared.append((y[:], row))

    def drop(self) -> None:
        if self.shared:
            self.shared.pop(self.random.randrange(len(self.shared)))

    def layout(self) -> None:
        try:
            self.x.reorder(self.random.choice((None, "aBcd16b", "aBcd8b")))
        except NdrtError:
            assert self.x._chunk.pins, "refused without need"
        else:
            assert not self.x._chunk.pins

    def write(self) -> None:
        row, number = self.random.randrange(2), self.random.random()
        self.x[row:] += number
        self.value[row:] += np.float32(number)

    def write_through(self) -> None:
        writable = [(y, row) for y, row in self.shared if isinstance(y, nd.NDArray)
                    or (isinstance(y, np.ndarray) and y.flags.writeable)]
        if writable:
            y, row = self.random.choice(writable)
            y[0] = number = self.random.random()
            self.value[row] = number

    def clone(self) -> None:
        made = self.random.choice((
            lambda: pickle.loads(pickle.dumps(self.x, 5)),
            lambda: nd.from_dlpack(self.x, copy=True), self.x.asnumpy,
            lambda: nd.from_dlpack(self.x.__dlpack__(max_version=(1, 0), copy=True))))()
        self.copies = [*self.copies[-3:], (made, self.value.copy())]

    def collect(self) -> None:
        if self.random.random() < 0.1:
            gc.collect()

    def check(self) -> None:
        np.testing.assert_array_equal(np.array(self.x), self.value)
        for y, row in self.shared:
            if isinstance(y, (nd.NDArray, np.ndarray)):
                np.testing.assert_array_equal(np.array(y), self.value[row:])
        for y, value in self.copies:
            np.testing.assert_array_equal(np.array(y), value)

    def end(self) -> None:
        self.shared.clear()
        gc.collect()
        assert self.x._chunk.pins == self.x._chunk.native.writable_pins == 0
        self.x.reorder()
        np.testing.assert_array_equal(self.x.asnumpy(), self.value)


def _play(seed: int, steps: int, failures: list[BaseException]) -> None:
    try:
        player = Player(seed)
        for i in range(steps):
            player.step()
            if i % 10 == 0:
                player.check()
        player.end()
    except BaseException as error:
        failures.append(error)
        raise


def _live() -> int:
    gc.collect()
    return mx.memory_stats()["live"]


@pytest.mark.parametrize("seed", range(6))
def test_one_thread(seed: int) -> None:
    _play(100 + seed, 20, [])  # scratch memory of this thread
    before = _live()
    _play(seed, 400, [])
    assert _live() <= before


def test_threads() -> None:
    before = _live()
    failures: list[BaseException] = []
    threads = [threading.Thread(target=_play, args=(seed, 200, failures)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    failures.clear()
    assert _live() <= before + (1 << 16), "scratch memory may stay"


def test_one_array_in_many_threads() -> None:
    """Exports, imports and layout changes of one storage: nothing is lost, nobody sees a change."""
    value = np.random.default_rng(1).random(SHAPE, np.float32)
    x = nd.array(value)
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        chance = random.Random(seed)
        try:
            for _ in range(150):
                what = chance.randrange(4)
                if what == 0:
                    np.testing.assert_array_equal(nd.from_dlpack(x).asnumpy(), value)
                elif what == 1:
                    np.testing.assert_array_equal(export(x[1], writable=False), value[1])
                elif what == 2:
                    with suppress(PinnedError):
                        x.reorder(chance.choice((None, "aBcd16b")))
                else:
                    np.testing.assert_array_equal(x[1].asnumpy(), value[1])
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    gc.collect()
    assert x._chunk.pins == 0
    np.testing.assert_array_equal(x.asnumpy(), value)
