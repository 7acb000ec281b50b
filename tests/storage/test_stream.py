"""Streams: what is recorded and replayed is what ran at once."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from ndarray_rt._array.copy import read_numpy, write_numpy
from ndarray_rt._array.layout import create_data, get_data, get_data_reorder
from ndarray_rt._array.ndarray import NDArray, new_array
from ndarray_rt.capture.recorder import Recorder, stream_into
from ndarray_rt.native import lib
from ndarray_rt.storage.desc import tagged_desc
from ndarray_rt.storage.handle import memory_stats
from ndarray_rt.storage.kernels.elementwise import add_to
from ndarray_rt.storage.primitive import Arg, Direction, Kind, make_primitive
from ndarray_rt.storage.reorder import REORDERS, ReorderCache, reorder_mem
from ndarray_rt.storage.stream import Stream

F32 = np.dtype(np.float32)
SHAPE = (2, 20, 3, 3)


def filled(value: np.ndarray, stream: Stream) -> NDArray:
    array = new_array(value.shape, value.dtype)
    write_numpy(array, value, stream)
    return array


def work(stream: Stream, x: NDArray, y: NDArray) -> None:
    """y = relu(x) + x through a blocked layout: two reorders, a primitive and a kernel."""
    stream.begin_operator()
    issue(stream, x, y)


def issue(stream: Stream, x: NDArray, y: NDArray) -> None:
    """What `work` does in its operator."""
    blocked = tagged_desc(F32, SHAPE, "aBcd16b")
    src = get_data_reorder(x, blocked, stream)
    relu = make_primitive(Kind.ELTWISE, Direction.FORWARD_INFERENCE, alg=lib.NDRT_ELTWISE_RELU,
                          src=blocked, dst=blocked)
    dst = stream.scratch(blocked)
    stream.run(relu, ((Arg.SRC, src), (Arg.DST, dst)))
    plain = create_data(y, get_data(x, stream).desc, stream)
    assert plain is not None
    reorder_mem(stream, dst, plain)
    stream.kernel(add_to(out=plain, data=get_data(x, stream), n=x.size))


def wanted(value: np.ndarray) -> np.ndarray:
    return np.maximum(value, 0) + value


def test_replay_equals_immediate() -> None:
    rng = np.random.default_rng(0)
    first, second = (rng.standard_normal(SHAPE).astype(np.float32) for _ in range(2))
    immediate = Stream()
    x, y = filled(first, immediate), new_array(SHAPE, F32)
    work(immediate, x, y)
    assert (read_numpy(y, immediate) == wanted(first)).all()
    counted = immediate.counters.as_dict()
    assert counted["primitives"] == 1
    assert counted["kernels"] == 1
    assert counted["reorders"] >= 2

    recorder = Recorder(immediate.tmp.estimate)
    recording = stream_into(recorder)
    work(recording, x, y)
    assert (read_numpy(y, immediate) == wanted(first)).all(), "recording runs each step too"
    assert recorder.recording.segments == 1
    write_numpy(x, second, immediate)
    for _ in range(3):
        recorder.recording.replay()
        assert (read_numpy(y, immediate) == wanted(second)).all()


def test_callbacks_split_a_recording() -> None:
    calls: list[str] = []
    recorder = Recorder(0)
    stream = stream_into(recorder)
    x = filled(np.ones(SHAPE, np.float32), stream)
    y = new_array(SHAPE, F32)
    work(stream, x, y)
    stream.callback(lambda: calls.append("between"))
    work(stream, y, x)
    assert calls == ["between"]
    assert recorder.recording.segments == 3
    recorder.recording.replay()
    assert calls == ["between"] * 2
    # x = 1 -> y = 2 -> x = 4; replayed: y = 8, x = 16
    assert (read_numpy(x, Stream()) == 16).all()


def test_recorded_scratch_outlives_the_recording_run() -> None:
    value = np.arange(np.prod(SHAPE), dtype=np.float32).reshape(SHAPE) - 100
    recorder = Recorder(0)  # no estimate: each piece is a buffer of its own
    stream = stream_into(recorder)
    x, y = filled(value, stream), new_array(SHAPE, F32)
    work(stream, x, y)
    recording = recorder.recording
    del stream, recorder
    gc.collect()
    others = [filled(np.full(SHAPE, np.nan, np.float32), Stream()) for _ in range(50)]
    recording.replay()
    assert (read_numpy(y, Stream()) == wanted(value)).all()
    del others


def test_a_recording_gives_everything_back() -> None:
    gc.collect()
    before = memory_stats()["live"]
    recorder = Recorder(1 << 12)
    stream = stream_into(recorder)
    x = filled(np.ones(SHAPE, np.float32), stream)
    y = new_array(SHAPE, F32)
    work(stream, x, y)
    assert memory_stats()["live"] > before
    del stream, recorder, x, y
    gc.collect()
    assert memory_stats()["live"] == before


def test_reorder_cache_is_bounded_and_hits() -> None:
    cache = ReorderCache(capacity=4)
    pairs = [(tagged_desc(F32, (1, n, 2, 2), "abcd"), tagged_desc(F32, (1, n, 2, 2), "acdb"))
             for n in range(2, 10)]
    for src, dst in pairs:
        assert cache.get(src, dst) is cache.get(src, dst)
    assert len(cache) == 4
    assert cache.get(*pairs[-1]) is cache.get(*pairs[-1])
    assert cache.get(*pairs[-1], add=True) is not cache.get(*pairs[-1])
    cache.clear()
    assert len(cache) == 0


def test_reorders_can_add() -> None:
    stream = Stream()
    value = np.random.default_rng(2).random(SHAPE, np.float32)
    x, y = filled(value, stream), filled(value, stream)
    y._chunk.reorder(tagged_desc(F32, SHAPE, "aBcd16b"), stream)
    reorder_mem(stream, get_data(x, stream), get_data(y, stream), add=True)
    assert read_numpy(y, stream) == pytest.approx(2 * value)
    assert len(REORDERS) <= REORDERS.capacity
