"""Leases: readers together, a writer alone, nobody waits inside."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import FrameType

import numpy as np
import pytest

from ndarray_rt.storage.chunk import Chunk
from ndarray_rt.storage.lease import Exclusive, Leases

F32 = np.dtype(np.float32)


@pytest.fixture
def chunk() -> Chunk:
    return Chunk((4,), F32)


class Worker:
    """A thread that enters leases and stays until it is let go."""

    def __init__(self, read: list[Chunk], written: list[Chunk]) -> None:
        self.inside, self._leave = threading.Event(), threading.Event()
        self._leases = Leases(read, written)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with self._leases:
            self.inside.set()
            self._leave.wait(20)

    def leave(self) -> None:
        self._leave.set()
        self._thread.join(20)
        assert not self._thread.is_alive()


def soon(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + 10
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.001)
    return True


def test_counts(chunk: Chunk) -> None:
    assert chunk.native.lease == 0
    with Leases([chunk], []):
        assert chunk.native.lease == 1
        with Leases([chunk], []):
            assert chunk.native.lease == 2
        assert chunk.native.lease == 1
    with Leases([], [chunk]):
        assert chunk.native.lease == -1
    assert chunk.native.lease == 0


def test_one_chunk_on_both_sides_counts_as_written(chunk: Chunk) -> None:
    with Leases([chunk, chunk], [chunk]):
        assert chunk.native.lease == -1
    assert chunk.native.lease == 0


def test_no_chunks() -> None:
    with Leases([], []):
        pass


def test_a_reader_blocks_a_writer_in_a_thread(chunk: Chunk) -> None:
    with Leases([chunk], []):
        writer = Worker([], [chunk])
        assert not writer.inside.wait(0.1)
    assert writer.inside.wait(10), "the writer was not let in"
    assert chunk.native.lease == -1
    writer.leave()
    assert chunk.native.lease == 0


def test_a_writer_blocks_readers_and_readers_share(chunk: Chunk) -> None:
    with Leases([], [chunk]):
        readers = [Worker([chunk], []) for _ in range(3)]
        assert not any(reader.inside.wait(0.05) for reader in readers)
    for reader in readers:
        assert reader.inside.wait(10)
    assert chunk.native.lease == 3
    for reader in readers:
        reader.leave()
    assert chunk.native.lease == 0


def test_leases_come_back_after_an_exception(chunk: Chunk) -> None:
    with pytest.raises(KeyError), Leases([], [chunk]):
        raise KeyError
    assert chunk.native.lease == 0


def test_exclusive_never_waits(chunk: Chunk) -> None:
    with Leases([chunk], []):
        with Exclusive(chunk, held=1) as got:
            assert got
            assert chunk.native.lease == -1
        assert chunk.native.lease == 1
        other = Worker([chunk], [])
        assert other.inside.wait(10)
        with Exclusive(chunk, held=1) as got:
            assert not got
            assert chunk.native.lease == 2
        assert chunk.native.lease == 2
        other.leave()
    with Exclusive(chunk, held=0) as got:
        assert got
    assert chunk.native.lease == 0


def test_leaving_runs_no_python(chunk: Chunk) -> None:
    """A signal is served when a Python function begins: `__exit__` must not be one."""
    leases = Leases([chunk], [])
    seen: list[str] = []

    def note(frame: FrameType, event: str, arg: object) -> None:
        seen.append(f"{event} {frame.f_code.co_name}")
    with leases:
        sys.setprofile(note)
    sys.setprofile(None)
    assert not [event for event in seen if event.startswith("call")], seen
    assert chunk.native.lease == 0


def test_crossed_orders_do_not_lock_up() -> None:
    """Each thread names the chunks in its own order: all are taken at once."""
    a, b, c = (Chunk((1,), F32) for _ in range(3))
    orders = [([a], [b, c]), ([c], [a, b]), ([b], [c, a]), ([a, b], [c])]
    total, done = [0], []

    def work(read: list[Chunk], written: list[Chunk]) -> None:
        for _ in range(300):
            with Leases(read, written):
                total[0] += 1
        done.append(True)
    threads = [threading.Thread(target=work, args=order, daemon=True) for order in orders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(done) == len(threads), "leases locked up"
    assert [x.native.lease for x in (a, b, c)] == [0, 0, 0]
    assert total[0] == 1200


def test_waiting_gives_the_interpreter_free(chunk: Chunk) -> None:
    with Leases([], [chunk]):
        waiting = Worker([chunk], [])
        start = time.monotonic()
        assert sum(range(100_000)) > 0
        assert time.monotonic() - start < 5
    assert waiting.inside.wait(10)
    waiting.leave()
    assert soon(lambda: chunk.native.lease == 0)
