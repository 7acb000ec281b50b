"""PrimCache: session, shape group, signature; and that dispatching does not grow memory."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Hashable

import numpy as np
import pytest

from ndarray_rt import config
from ndarray_rt._array.copy import write_numpy
from ndarray_rt._array.ndarray import new_array
from ndarray_rt._array.req import Req
from ndarray_rt.native import lib
from ndarray_rt.op.context import OpContext
from ndarray_rt.op.dispatch import dispatch
from ndarray_rt.op.prim_cache import PrimCache
from ndarray_rt.op.registry import find
from ndarray_rt.ops import nn  # noqa: F401 - registers the operators
from ndarray_rt.storage.handle import memory_stats

F32 = np.dtype(np.float32)


class Build:
    """Counts how often something was built."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> object:
        self.count += 1
        return object()


def get(cache: PrimCache, session: str, shapes: Hashable, sign: Hashable,
        build: Callable[[], object]) -> object:
    """What a context does at each call."""
    return cache.find(cache.group(session, shapes), sign, build)


def test_built_once_a_key() -> None:
    cache, build = PrimCache(), Build()
    first = get(cache, "s", (2, 3), "sign", build)
    assert get(cache, "s", (2, 3), "sign", build) is first
    assert get(cache, "s", (2, 3), "other", build) is not first
    assert get(cache, "s", (4, 3), "sign", build) is not first
    assert get(cache, "t", (2, 3), "sign", build) is not first
    assert build.count == 4
    assert cache.stats() == {"hits": 1, "misses": 4, "evictions": 0, "sessions": 2, "groups": 3,
                             "entries": 4}
    cache.reset_counters()
    assert cache.stats()["hits"] == 0


def test_the_oldest_group_leaves_as_a_whole() -> None:
    cache, build = PrimCache(), Build()
    with config.override(NDRT_CACHE_SHAPES=3):
        for shape in range(3):
            for sign in "abcd":
                get(cache, "s", shape, sign, build)
        get(cache, "s", 0, "a", build)  # used again: no longer the oldest
        get(cache, "s", 3, "a", build)
        stats = cache.stats()
        assert stats["evictions"] == 1
        assert stats["groups"] == 3
        assert stats["entries"] == 4 + 4 + 1
        built = build.count
        for sign in "abcd":
            get(cache, "s", 0, sign, build)
            get(cache, "s", 2, sign, build)
        assert build.count == built, "a group lost entries"
        get(cache, "s", 1, "a", build)
        assert build.count == built + 1, "the oldest group was not the one that left"


def test_clear() -> None:
    cache, build = PrimCache(), Build()
    get(cache, "s", 1, "a", build)
    get(cache, "t", 1, "a", build)
    cache.clear("s")
    assert cache.stats()["sessions"] == 1
    cache.clear()
    assert cache.stats()["entries"] == 0


def test_release_takes_no_lock_and_acts_at_the_next_use() -> None:
    cache, build = PrimCache(), Build()
    get(cache, "s", 1, "a", build)
    with cache._lock:
        cache.release("s")
    assert len(cache._groups) == 1
    get(cache, "t", 1, "a", build)
    assert [session for session, _ in cache._groups] == ["t"]
    assert build.count == 2
    cache.release("t")
    assert cache.stats()["sessions"] == 0
    assert cache.stats()["misses"] == 2, "what ended sessions counted stays in the totals"


def test_many_threads_keep_one() -> None:
    cache = PrimCache()
    got: list[object] = []

    def work() -> None:
        got.extend(get(cache, "s", n % 7, n % 3, object) for n in range(500))
    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = {id(get(cache, "s", n % 7, n % 3, object)) for n in range(21)}
    assert len(kept) == 21
    assert cache.stats()["entries"] == 21


def test_a_failing_build_leaves_nothing() -> None:
    cache = PrimCache()

    def fail() -> object:
        raise ValueError("no")
    with pytest.raises(ValueError, match="no"):
        get(cache, "s", 1, "a", fail)
    assert cache.stats()["entries"] == 0
    assert get(cache, "s", 1, "a", lambda: 5) == 5


def run_conv(ctx: OpContext, size: int) -> None:
    op = find("Convolution")
    params = op.params.parse({"kernel": (3, 3), "num_filter": 4, "no_bias": True}, op.name)
    rng = np.random.default_rng(0)
    x, w = new_array((1, 3, size, size), F32), new_array((4, 3, 3, 3), F32)
    for array in (x, w):
        write_numpy(array, rng.random(array.shape, np.float32), ctx.stream)
    y = new_array((1, 4, size - 2, size - 2), F32)
    dispatch(op, params, ctx, [x, w], [y], [Req.kWriteTo])


def test_evicted_primitives_are_given_back() -> None:
    cache = PrimCache()
    ctx = OpContext(cache=cache)
    gc.collect()
    with config.override(NDRT_CACHE_SHAPES=4):
        for size in range(5, 11):
            run_conv(ctx, size)
        gc.collect()
        held = lib.ndrt_prim_count()
        for size in range(11, 31):
            run_conv(ctx, size)
        gc.collect()
        # reorders have a bounded store of their own
        from ndarray_rt.storage.reorder import REORDERS
        assert lib.ndrt_prim_count() <= held + 20 + len(REORDERS)
        assert cache.stats()["groups"] == 4
        assert cache.stats()["entries"] <= 4
    cache.clear()


def test_ten_thousand_dispatches_do_not_grow_live_bytes() -> None:
    op = find("Activation")
    params = op.params.parse({"act_type": "relu"}, op.name)
    ctx = OpContext()
    x, y = new_array((2, 20, 3, 3), F32), new_array((2, 20, 3, 3), F32)
    write_numpy(x, np.ones(x.shape, np.float32), ctx.stream)
    for n in range(10):
        dispatch(op, params, ctx, [x], [y], [Req.kAddTo if n % 3 else Req.kWriteTo])
    gc.collect()
    before, descs, prims = memory_stats()["live"], lib.ndrt_desc_count(), lib.ndrt_prim_count()
    for n in range(10_000):
        dispatch(op, params, ctx, [x], [y], [Req.kAddTo if n % 3 else Req.kWriteTo])
    gc.collect()
    assert memory_stats()["live"] == before
    assert lib.ndrt_desc_count() <= descs + 2
    assert lib.ndrt_prim_count() <= prims + 2
