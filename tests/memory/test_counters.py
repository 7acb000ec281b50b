"""Counters: of the store of primitives and of reorders, for the process and for each executor."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.native import lib
from ndarray_rt.op.fallback import MAX_REASONS, OTHER_REASONS, Reasons
from ndarray_rt.op.prim_cache import CACHE, PrimCache


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    gc.collect()
    mx.clear_cache()
    mx.reset_counters()


def conv(size: int) -> Any:
    symbol = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=16,
                                name="conv")
    return symbol.simple_bind(data=(1, 16, size, size), grad_req="null")


def test_hits_misses_and_what_is_held() -> None:
    x = mx.nd.ones((2, 3))
    for _ in range(5):
        mx.nd.relu(x)
    stats = mx.cache_stats()
    assert (stats["hits"], stats["misses"], stats["groups"], stats["entries"]) == (4, 1, 1, 1)
    assert stats["primitives"] == lib.ndrt_prim_count()
    assert stats["layouts"] == lib.ndrt_desc_count()
    mx.clear_cache()
    stats = mx.cache_stats()
    assert (stats["groups"], stats["entries"], stats["reorders"]) == (0, 0, 0)
    assert (stats["hits"], stats["misses"]) == (4, 1)
    mx.reset_counters()
    assert mx.cache_stats()["hits"] == mx.cache_stats()["misses"] == 0
    assert (mx.nd.relu(x).asnumpy() == 1).all()


def test_calls_in_numpy_take_no_group() -> None:
    for n in range(1, 20):
        mx.nd.arange(n)
        mx.nd.relu(mx.nd.zeros((0, n)))
    assert mx.cache_stats()["groups"] == 0


def test_evictions_belong_to_the_session_that_lost() -> None:
    with config.override(NDRT_CACHE_SHAPES=2):
        first = conv(6)
        first.forward()
        for n in range(1, 4):
            mx.nd.relu(mx.nd.ones((n,)))
    assert first.cache_stats["evictions"] == 1
    assert first.cache_stats["groups"] == 0
    assert mx.cache_stats()["evictions"] == 2
    assert (first.forward()[0].asnumpy() == 0).all()
    assert first.cache_stats["groups"] == 1


def test_each_executor_counts_its_own() -> None:
    first, second = conv(6), conv(7)
    with config.override(NDRT_CAPTURE=False):
        for _ in range(3):
            first.forward()
        second.forward()
    assert first.cache_stats["misses"] == second.cache_stats["misses"] > 0
    assert first.cache_stats["hits"] == 2 * first.cache_stats["misses"]
    assert second.cache_stats["hits"] == 0
    total = mx.cache_stats()
    assert total["misses"] == 2 * first.cache_stats["misses"]
    assert total["sessions"] == 2
    del first
    gc.collect()
    assert mx.cache_stats()["sessions"] == 1
    assert mx.cache_stats()["hits"] == total["hits"], "what ended sessions counted stays"


def test_reshaped_executors_share_a_session_until_the_last() -> None:
    whole = conv(12)
    part = whole.reshape(data=(1, 16, 6, 6))
    whole.forward()
    part.forward()
    assert part.cache_stats["groups"] == whole.cache_stats["groups"] == 2
    del whole
    gc.collect()
    assert part.cache_stats["groups"] == 2, "dropped under a living executor"
    part.forward()
    del part
    gc.collect()
    assert mx.cache_stats()["sessions"] == 0


def test_clearing_lets_go_of_what_the_last_run_holds() -> None:
    executor = conv(6)
    with config.override(NDRT_CAPTURE=False):
        before = executor.forward()[0].asnumpy()
        mx.nd.relu(mx.nd.ones((3,)))
        mx.clear_cache()
        gc.collect()
        assert mx.cache_stats()["primitives"] == 0
        assert (executor.forward()[0].asnumpy() == before).all()


def test_reorders_of_everybody_are_counted() -> None:
    executor = conv(6)
    for _ in range(4):
        executor.forward()
    assert executor.capture_state == "captured"
    mine = executor.counters
    assert mine["reorders"] >= 4
    everybody = mx.reorder_stats()
    assert everybody == {"reorders": mine["reorders"], "reorder_bytes": mine["reorder_bytes"]}
    x = mx.nd.array(np.ones((1, 16, 4, 4), np.float32))
    x.to_mkldnn()
    x.to_dense()
    assert mx.reorder_stats()["reorders"] >= everybody["reorders"] + 1
    mx.reset_counters()
    assert mx.reorder_stats() == {"reorders": 0, "reorder_bytes": 0}


def test_counters_of_many_threads_are_exact() -> None:
    mx.nd.relu(mx.nd.ones((5,)))
    executors = [conv(6) for _ in range(4)]
    for executor in executors:
        executor.forward()
    mx.reset_counters()
    before = [executor.counters["reorders"] for executor in executors]

    def work(executor: Any) -> None:
        x = mx.nd.ones((5,))
        for _ in range(500):
            mx.nd.relu(x)
            executor.forward()
    threads = [threading.Thread(target=work, args=(e,)) for e in executors]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    looked_up = CACHE.stats("imperative")
    assert looked_up["hits"] + looked_up["misses"] + lib.ndrt_call_hits() == 4 * 500
    run = sum(e.counters["reorders"] - b for e, b in zip(executors, before, strict=True))
    assert mx.reorder_stats()["reorders"] == run


def test_what_other_threads_ask_for_does_not_count_for_a_call(monkeypatch: pytest.MonkeyPatch,
                                                              ) -> None:
    """A call that is noted tells how often it asks for a primitive, of which its replays count."""
    find = PrimCache.find

    def meanwhile() -> None:
        for size in range(7, 17):
            mx.nd.relu(mx.nd.ones((size,)))

    def found(cache: PrimCache, group: Any, sign: Any, build: Any) -> Any:
        if threading.current_thread() is threading.main_thread():
            other = threading.Thread(target=meanwhile)
            other.start()
            other.join()
        return find(cache, group, sign, build)
    x = mx.nd.ones((5,))
    with monkeypatch.context() as patched:
        patched.setattr(PrimCache, "find", found)
        for _ in range(3):
            mx.nd.relu(x)
    before = lib.ndrt_call_hits()
    for _ in range(50):
        mx.nd.relu(x)
    assert lib.ndrt_call_hits() - before == 50


def test_an_entry_counts_once_for_the_session_that_asked() -> None:
    cache = PrimCache()
    for session, times in (("a", 3), ("b", 5)):
        for _ in range(times):
            cache.find(cache.group(session, 1), "sign", object)
    assert (cache.stats("a")["hits"], cache.stats("a")["misses"]) == (2, 1)
    assert (cache.stats("b")["hits"], cache.stats("b")["misses"]) == (4, 1)
    assert (cache.stats()["hits"], cache.stats()["misses"]) == (6, 2)
    assert cache.stats("c")["misses"] == 0


def test_reasons_are_bounded() -> None:
    reasons = Reasons()
    for n in range(MAX_REASONS + 100):
        reasons.add("op", f"a shape of {n}")
    reasons.add("op", "a shape of 0")
    counts = reasons.as_dict()
    assert len(counts) == MAX_REASONS + 1
    assert counts["op", OTHER_REASONS] == 100
    assert counts["op", "a shape of 0"] == 2
