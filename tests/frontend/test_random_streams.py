"""The streams of random numbers: one a context, each draw its own part, seeded, forked."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.op.random_state import RandomState, random_state

nd = mx.nd
CONTEXTS = [mx.cpu(0), mx.cpu(1), mx.cpu_pinned(0), mx.cpu_pinned(1), mx.Context("cpu_shared", 0)]


def drawn(ctx: mx.Context, n: int = 8) -> list[float]:
    made = nd.random.uniform(shape=n, ctx=ctx)
    assert made.ctx == ctx
    return list(made.asnumpy())


def test_each_context_has_numbers_of_its_own() -> None:
    mx.random.seed(3)
    first = {str(ctx): drawn(ctx) for ctx in CONTEXTS}
    assert len({x for numbers in first.values() for x in numbers}) == 8 * len(CONTEXTS)
    mx.random.seed(3)
    assert {str(ctx): drawn(ctx) for ctx in reversed(CONTEXTS)} == first


def test_a_seed_for_one_context_leaves_the_others() -> None:
    mx.random.seed(3)
    want = drawn(mx.cpu(0), 16)
    mx.random.seed(3)
    assert drawn(mx.cpu(0)) == want[:8]
    for ctx in (mx.cpu(1), "cpu_pinned"):
        mx.random.seed(3, ctx=ctx)
    assert drawn(mx.cpu(0)) == want[8:]
    assert drawn(mx.cpu(1), 16) == want
    assert drawn(mx.cpu_pinned(), 16) == want


def test_a_context_that_first_draws_after_the_seed() -> None:
    made = []
    for number in (4711, 4712):
        mx.random.seed(11)
        made.append(drawn(mx.cpu(number)))
        mx.random.seed(11)
        assert drawn(mx.cpu(number)) == made[-1]
    assert made[0] != made[1]


def test_states_of_contexts() -> None:
    mx.random.seed(8)
    with mx.cpu(1):
        state = mx.random.get_state()
        want = drawn(mx.cpu(1))
    assert mx.random.get_state() == (8, 0)
    assert mx.random.get_state(mx.cpu(1)) != state
    mx.random.set_state(state, mx.cpu(1))
    assert drawn(mx.cpu(1)) == want


@pytest.mark.parametrize("ctx", ["cpu(1)", None, "tpu", mx.gpu(0)])
def test_contexts_that_have_no_stream(ctx: Any) -> None:
    with pytest.raises(mx.MXNetError):
        mx.random.seed(1, ctx=ctx)


def test_where_an_operator_draws() -> None:
    """Where its input lies, where its output goes, and where an executor is bound."""
    x = nd.ones((4,), ctx=mx.cpu(1))
    symbol = mx.sym.random.normal(shape=(4,))
    calls: list[Callable[[], object]] = [
        lambda: nd.random.normal_like(x), lambda: nd.random.normal(out=x),
        lambda: nd.Dropout(x, mode="always"), lambda: nd.random.shuffle(x),
        lambda: symbol.bind(mx.cpu(1), {}).forward(),
        lambda: nd.CachedOp(mx.sym.random.normal_like(mx.sym.var("x")))(x)]
    for call in calls:
        mx.random.seed(2)
        here, there = mx.random.get_state(), mx.random.get_state(mx.cpu(1))
        call()
        assert mx.random.get_state() == here
        assert mx.random.get_state(mx.cpu(1)) != there


def test_threads_share_a_stream_without_overlap() -> None:
    """Each draw of 4 blocks is a part of the stream; all together are a beginning of it."""
    mx.random.seed(5)
    want = nd.random.uniform(shape=16 * 200).asnumpy().reshape(200, 16)
    mx.random.seed(5)
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda _: tuple(nd.random.uniform(shape=16).asnumpy()), range(200)))
    assert set(parts) == {tuple(row) for row in want}


def test_a_seed_among_draws_is_never_half_seen() -> None:
    """Seed and position change at once: nobody draws from one seed behind another's position."""
    stream, done, seen = RandomState(1), threading.Event(), set()

    def draw() -> None:
        while not done.is_set():
            seen.add(stream.reserve(1))
    threads = [threading.Thread(target=draw) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(2000):
        stream.set_state((2, 1 << 40))
        stream.set_state((1, 0))
    done.set()
    for thread in threads:
        thread.join()
    assert all((position >= 1 << 40) == (key == 2) for key, position in seen)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_goes_on_where_the_parent_was() -> None:
    mx.random.seed(6)
    drawn(mx.cpu(0))
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            mine = np.array([drawn(mx.cpu(0)), drawn(mx.cpu(99))], np.float32)
            os.write(write, mine.tobytes())
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        got = np.frombuffer(file.read(), np.float32).reshape(2, 8)
    assert os.waitpid(child, 0)[1] == 0
    np.testing.assert_array_equal(got, [drawn(mx.cpu(0)), drawn(mx.cpu(99))])


def test_streams_stay_where_they_are() -> None:
    """Recorded runs hold their addresses."""
    before = random_state(mx.cpu(1)).ptr
    mx.random.seed(1)
    assert random_state(mx.cpu(1)).ptr == before


def test_candidates() -> None:
    mx.random.seed(4)
    true = nd.array([3, 0])
    made = nd.contrib.rand_zipfian(true, 50000, 5)
    classes, of_true, of_classes = (x.asnumpy() for x in made)
    assert [x.dtype for x in (classes, of_true, of_classes)] == [np.int64, *[np.float64] * 2]
    chances = np.array([math.log((c + 2) / (c + 1), 6) for c in range(5)])
    np.testing.assert_allclose(of_true, 50000 * chances[[3, 0]])
    np.testing.assert_allclose(of_classes, 50000 * chances[classes])
    counts = np.bincount(classes, minlength=5)
    assert (((counts - 50000 * chances) ** 2) / (50000 * chances)).sum() < 18.5
    mx.random.seed(4)
    graph = mx.sym.Group(mx.sym.contrib.rand_zipfian(mx.sym.var("true"), 50000, 5))
    for got, want in zip(graph.bind(mx.cpu(), {"true": true}).forward(), made, strict=True):
        np.testing.assert_array_equal(got.asnumpy(), want.asnumpy())
