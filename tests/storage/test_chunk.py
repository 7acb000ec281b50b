"""Chunk: growth, layouts, versions, pins."""

from __future__ import annotations

import gc
import os

import numpy as np
import pytest

from ndarray_rt._array.copy import read_numpy, write_numpy
from ndarray_rt._array.ndarray import NDArray, new_array
from ndarray_rt.errors import Unsupported
from ndarray_rt.storage.chunk import Chunk, PinnedError
from ndarray_rt.storage.desc import default_desc, tagged_desc
from ndarray_rt.storage.handle import Handle, memory_stats, trim
from ndarray_rt.storage.stream import Stream
from ndarray_rt.testing.layout_model import assert_padding_zero, peek

F32 = np.dtype(np.float32)
SHAPE = (2, 20, 3, 3)


@pytest.fixture
def stream() -> Stream:
    return Stream()


def filled(shape: tuple[int, ...], stream: Stream) -> tuple[NDArray, np.ndarray]:
    value = np.random.default_rng(1).random(shape, np.float32)
    array = new_array(shape, F32)
    write_numpy(array, value, stream)
    return array, value


def test_memory_comes_with_the_first_use() -> None:
    gc.collect()
    before = memory_stats()["live"]
    chunk = Chunk((4, 4), F32)
    assert not chunk.is_allocated
    assert chunk.nbytes == 64
    assert memory_stats()["live"] == before
    assert chunk.handle.nbytes == 64
    assert chunk.is_allocated
    del chunk
    gc.collect()
    assert memory_stats()["live"] == before


def test_zero_asks_for_zeros() -> None:
    for _ in range(3):  # the pool hands out used buffers too
        chunk = Chunk((1000,), F32, zero=True)
        buffer = np.frombuffer(chunk.handle.buffer(), np.uint8)
        assert not buffer.any()
        np.frombuffer(chunk.handle.buffer(), np.uint8)[:] = 255
        del buffer, chunk


@pytest.mark.parametrize(("nbytes", "alignment"), [(8, 64), (5000, 4096), (3 << 20, 2 << 20)])
def test_alignment(nbytes: int, alignment: int) -> None:
    assert Handle(nbytes).address % alignment == 0


def test_growth_bumps_version_and_all_views_see_it(stream: Stream) -> None:
    array, value = filled((6, 4), stream)
    view, version = array._rows(2, 5), array._chunk.version
    array._check_and_alloc(10)
    assert array._chunk.version == version, "enough room: nothing may move"
    assert read_numpy(array, stream).tobytes() == value.tobytes()
    old = array._chunk.handle.address
    array._check_and_alloc(1 << 16)
    assert array._chunk.version > version
    assert array._chunk.nbytes >= 1 << 16
    assert array._chunk.handle.address != old
    write_numpy(array, value, stream)
    assert (read_numpy(view, stream) == value[2:5]).all()
    write_numpy(view, np.zeros((3, 4), np.float32), stream)
    assert (read_numpy(array, stream)[2:5] == 0).all()


def test_growth_drops_the_layout(stream: Stream) -> None:
    array, _ = filled(SHAPE, stream)
    array._chunk.reorder(tagged_desc(F32, SHAPE, "aBcd16b"), stream)
    array._check_and_alloc(array._chunk.nbytes + 1)
    assert not array.is_special


def test_a_span_that_grows_leaves_the_arena() -> None:
    arena = Handle(4096)
    first = Chunk((16,), F32, Handle.span(arena, 0, 64))
    second = Chunk((16,), F32, Handle.span(arena, 64, 64))
    other = np.frombuffer(second.handle.buffer(), np.uint8)
    other[:] = 7
    assert first.handle.address == arena.address
    assert not first.handle.is_own
    version = first.version
    first.check_and_alloc(65)
    assert first.version > version
    assert first.handle.is_own
    assert not arena.address <= first.handle.address < arena.address + arena.nbytes
    np.frombuffer(first.handle.buffer(), np.uint8)[:] = 0
    assert (other == 7).all(), "the neighbour's span was touched"
    assert second.handle.address == arena.address + 64


def test_a_layout_that_needs_more_than_a_span_leaves_the_arena(stream: Stream) -> None:
    arena = Handle(1 << 16)
    np.frombuffer(arena.buffer(), np.uint8)[:] = 9
    chunk = Chunk((1, 3, 4, 4), F32, Handle.span(arena, 256, 192))
    chunk.set_layout(tagged_desc(F32, (1, 3, 4, 4), "aBcd16b"))
    assert chunk.nbytes >= 16 * 16 * 4
    assert chunk.handle.is_own
    assert (np.frombuffer(arena.buffer(), np.uint8) == 9).all()


def test_span_stays_inside_its_parent() -> None:
    arena = Handle(128)
    for offset, nbytes in ((64, 65), (-1, 8), (129, 0), (0, -1)):
        with pytest.raises(ValueError, match="leaves its parent"):
            Handle.span(arena, offset, nbytes)


def test_span_keeps_its_parent() -> None:
    before = memory_stats()["live"]
    span = Handle.span(Handle(1 << 16), 0, 64)
    gc.collect()
    assert memory_stats()["live"] > before
    np.frombuffer(span.buffer(), np.uint8)[:] = 1
    del span
    gc.collect()
    assert memory_stats()["live"] == before


@pytest.mark.parametrize("tag", ["acdb", "aBcd16b", "aBcd8b"])
def test_reorder_and_back(tag: str, stream: Stream) -> None:
    array, value = filled(SHAPE, stream)
    version = array._chunk.version
    array._chunk.reorder(tagged_desc(F32, SHAPE, tag), stream)
    assert array._chunk.version > version
    assert array.is_special
    assert array._chunk.mkl_mem is not None
    assert array._chunk.nbytes >= array._chunk.mkl_mem.nbytes
    assert peek(array).tobytes() == value.tobytes()
    assert_padding_zero(array._chunk, tag)
    assert read_numpy(array, stream).tobytes() == value.tobytes()
    assert array.is_special, "reading converted the array"
    array._chunk.reorder_to_default(stream)
    assert not array.is_special
    assert read_numpy(array, stream).tobytes() == value.tobytes()
    version = array._chunk.version
    array._chunk.reorder_to_default(stream)
    assert array._chunk.version == version


def test_weights_become_grouped(stream: Stream) -> None:
    array, value = filled((8, 4, 3, 3), stream)
    grouped = tagged_desc(F32, (2, 4, 4, 3, 3), "aBCde8c8b")
    array._chunk.reorder(grouped, stream)
    assert array._chunk.mkl_mem is not None
    assert array._chunk.mkl_mem.ndims == 5
    assert grouped.is_padded
    assert read_numpy(array, stream).tobytes() == value.tobytes()
    assert_padding_zero(array._chunk, "grouped")
    array._chunk.reorder_to_default(stream)
    assert read_numpy(array, stream).tobytes() == value.tobytes()


def test_a_failing_reorder_changes_nothing(stream: Stream) -> None:
    array, value = filled(SHAPE, stream)
    array._chunk.reorder(tagged_desc(F32, SHAPE, "aBcd16b"), stream)
    state = array._chunk.version, array._chunk.mkl_mem, array._chunk.handle.address
    with pytest.raises(Unsupported):
        array._chunk.reorder(tagged_desc(F32, (2, 10, 6, 3), "acdb"), stream)
    assert state == (array._chunk.version, array._chunk.mkl_mem, array._chunk.handle.address)
    assert read_numpy(array, stream).tobytes() == value.tobytes()


def test_invalidate_moves_nothing(stream: Stream) -> None:
    array, _ = filled(SHAPE, stream)
    array._chunk.reorder(tagged_desc(F32, SHAPE, "aBcd16b"), stream)
    raw, address = bytes(array._chunk.handle.buffer()), array._chunk.handle.address
    version = array._chunk.version
    array._invalidate_data()
    assert array._chunk.mkl_mem is None
    assert array._chunk.version > version
    assert array._chunk.handle.address == address
    assert bytes(array._chunk.handle.buffer()) == raw
    version = array._chunk.version
    array._invalidate_data()
    assert array._chunk.version == version


def test_set_layout_of_a_default_layout_drops_the_special_one(stream: Stream) -> None:
    array, _ = filled(SHAPE, stream)
    array._chunk.set_layout(tagged_desc(F32, SHAPE, "aBcd16b"))
    array._chunk.set_layout(default_desc(F32, SHAPE))
    assert array._chunk.mkl_mem is None


def test_pinned_memory_stays(stream: Stream) -> None:
    array, value = filled(SHAPE, stream)
    chunk = array._chunk
    chunk.pin(False)
    address = chunk.handle.address
    blocked = tagged_desc(F32, SHAPE, "aBcd16b")
    for refused in (lambda: chunk.reorder(blocked, stream), lambda: chunk.set_layout(blocked),
                    lambda: chunk.check_and_alloc(1 << 20)):
        with pytest.raises(PinnedError, match="exported"):
            refused()
    assert issubclass(PinnedError, BufferError)
    assert chunk.handle.address == address
    assert read_numpy(array, stream).tobytes() == value.tobytes()
    chunk.unpin(False)
    assert chunk.pins == 0
    chunk.reorder(blocked, stream)


def test_pins_count_each_export() -> None:
    chunk = Chunk((4,), F32)
    chunk.pin(True)
    chunk.pin(False)
    assert (chunk.pins, chunk.native.writable_pins) == (2, 1)
    chunk.unpin(True)
    assert (chunk.pins, chunk.native.writable_pins) == (1, 0)


def test_ids_are_never_used_twice() -> None:
    seen = set()
    for _ in range(100):
        seen.add(Chunk((1,), F32).native.id)
    assert len(seen) == 100


def test_pool_counts() -> None:
    trim()
    start = memory_stats()
    handle = Handle(100_000)
    assert memory_stats()["live"] >= start["live"] + 100_000
    assert memory_stats()["peak"] >= memory_stats()["live"]
    del handle
    gc.collect()
    assert memory_stats()["live"] == start["live"]
    if "ASAN_OPTIONS" not in os.environ:  # a build for finding errors keeps no freed memory
        assert memory_stats()["cached"] >= 100_000
    trim()
    assert memory_stats()["cached"] == 0


@pytest.mark.skipif("ASAN_OPTIONS" in os.environ, reason="keeps no freed memory")
def test_a_free_buffer_serves_what_is_little_smaller() -> None:
    """But nothing much smaller, and nothing larger; what it has counts."""
    trim()
    start = memory_stats()["live"]
    big = Handle(1 << 20)
    del big
    assert memory_stats()["cached"] == 1 << 20
    much_smaller, larger = Handle(900_000), Handle((1 << 20) + 1)
    assert memory_stats()["cached"] == 1 << 20
    del much_smaller, larger
    trim()
    again = Handle(1 << 20)
    address = again.address
    del again
    smaller = Handle(950_000, zero=True)
    assert smaller.address == address
    assert memory_stats()["live"] == start + (1 << 20)
    assert bytes(smaller.buffer()) == bytes(950_000)
    del smaller
    assert memory_stats()["live"] == start
    trim()


@pytest.mark.parametrize(("shape", "tag"), [((1, 8, 8), "acb"), ((2, 20, 5), "aBc16b"),
                                            ((4, 16, 8, 8), "acdb"), ((64, 64), "ba"),
                                            ((3, 20, 4, 4), "aBcd8b")])
def test_int32_keeps_all_its_bits(shape: tuple[int, ...], tag: str,
                                  stream: Stream) -> None:
    """oneDNN's own reorder of int32 goes through float32 for some layouts and rounds."""
    limits = np.iinfo(np.int32)
    value = np.random.default_rng(4).integers(limits.min, limits.max, shape, np.int32)
    array = new_array(shape, value.dtype)
    write_numpy(array, value, stream)
    array._chunk.reorder(tagged_desc(value.dtype, shape, tag), stream)
    assert array.is_special
    assert_padding_zero(array._chunk, tag)
    assert (peek(array) == value).all()
    assert (read_numpy(array, stream) == value).all()
    array._chunk.reorder_to_default(stream)
    assert (read_numpy(array, stream) == value).all()


def test_a_part_of_reused_memory_is_a_view(stream: Stream) -> None:
    """Also where its shape happens to be the one that the Chunk was made for."""
    base = new_array((2, 3, 2, 3), F32)
    base._check_and_alloc(4 * 64)
    reused = base._as_array((1, 16, 2, 2), F32)
    value = np.arange(64, dtype=np.float32).reshape(reused.shape)
    write_numpy(reused, value, stream)
    part = reused._view_as((64,))._view_as((2, 3, 2, 3))
    for again in (part, part.detach(), part._rows(0, 2), part._view_as((36,))._view_as(part.shape)):
        assert again.is_view
    reused._chunk.reorder(tagged_desc(F32, reused.shape, "acdb"), stream)
    write_numpy(part, np.zeros(part.shape, np.float32), stream)
    assert (read_numpy(reused, stream).ravel()[36:] == np.arange(36, 64)).all()
    assert (read_numpy(part, stream) == 0).all()


def test_conversions_leave_room_for_larger_arrays(stream: Stream) -> None:
    """Reused memory: what is converted may be the smaller of two arrays on it."""
    base = new_array((4,), F32)
    base._check_and_alloc(4096)
    large, small = base._as_array((1024,), F32), base._as_array((1, 2, 3, 3), F32)
    write_numpy(small, np.ones(small.shape, np.float32), stream)
    small._chunk.reorder(tagged_desc(F32, small.shape, "acdb"), stream)
    small._chunk.reorder_to_default(stream)
    assert base._chunk.nbytes == 4096
    assert read_numpy(large, stream).shape == (1024,)
    assert (read_numpy(small, stream) == 1).all()


def test_a_new_life_on_the_memory_of_padding_keeps_its_memory(stream: Stream) -> None:
    # the conversion for a write to a part gave the earlier life's bytes, too few for the new one
    earlier = new_array((2, 3, 2, 3), F32)
    write_numpy(earlier, np.zeros(earlier.shape, np.float32), stream)
    earlier._chunk.reorder(tagged_desc(F32, earlier.shape, "aBcd16b"), stream)
    life = earlier._as_array((192,), F32)
    assert life.nbytes == earlier._chunk.nbytes
    write_numpy(life._rows(0, 2), np.array([1, 2], np.float32), stream)
    assert life._chunk.nbytes >= life.nbytes
    np.testing.assert_array_equal(read_numpy(life, stream)[:2], [1, 2])
