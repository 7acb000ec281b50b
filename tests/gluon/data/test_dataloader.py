"""DataLoader: batches from here, from threads and from processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.gluon import data
from ndarray_rt.gluon.data import DataLoader

WORKERS = {"here": {}, "threads": {"num_workers": 2, "thread_pool": True},
           "processes": {"num_workers": 2}}


@pytest.fixture(params=list(WORKERS))
def workers(request: pytest.FixtureRequest) -> dict[str, Any]:
    return WORKERS[request.param]


def test_batches_are_all_samples_in_order(workers: dict[str, Any]) -> None:
    pixels = np.random.rand(23, 3, 2).astype("float32")
    loader = DataLoader(data.ArrayDataset(mx.nd.array(pixels), np.arange(23)), 5, **workers)
    assert len(loader) == 5
    for _ in range(2):
        batches = list(loader)
        assert [len(x) for x, _ in batches] == [5, 5, 5, 5, 3]
        np.testing.assert_array_equal(np.concatenate([x.asnumpy() for x, _ in batches]), pixels)
        labels = np.concatenate([y.asnumpy() for _, y in batches])
        assert labels.dtype == np.int64
        np.testing.assert_array_equal(labels, np.arange(23))
        assert batches[0][0].context == mx.cpu()


def test_batches_are_writable_and_independent(workers: dict[str, Any]) -> None:
    loader = DataLoader(np.ones((4, 3), "float32"), 2, **workers)
    first, second = loader
    first += 1
    assert second.asnumpy().tolist() == [[1, 1, 1]] * 2


@pytest.mark.parametrize("sample", [np.zeros((0, 2)), "word", {"a": np.arange(3)}, None])
def test_own_batchify_gives_what_it_likes(workers: dict[str, Any], sample: Any) -> None:
    loader = DataLoader([sample] * 3, 3, batchify_fn=lambda samples: samples, **workers)
    (batch,) = loader
    assert len(batch) == 3
    np.testing.assert_equal(batch[0], sample)


def test_odd_lengths_of_several_arrays(workers: dict[str, Any]) -> None:
    rows = [(np.full(3, i, "uint8"), np.float64(i), mx.nd.full((5,), i)) for i in range(6)]
    batches = list(DataLoader(rows, 3, **workers))
    assert [x.dtype for x in batches[1]] == [np.uint8, np.float64, np.float32]
    assert batches[1][2][2].asnumpy().tolist() == [5.0] * 5


def test_pin_memory_is_another_name(workers: dict[str, Any]) -> None:
    (batch,) = DataLoader([(1.0, 2.0)], 1, pin_memory=True, **workers)
    assert [part.context for part in batch] == [mx.cpu_pinned(0)] * 2


def _fails(index: int) -> int:
    if index == 3:
        raise KeyError("sample three")
    return index


def test_exception_reaches_the_caller(workers: dict[str, Any]) -> None:
    loader = DataLoader(data.SimpleDataset(list(range(6))).transform(_fails), 2, **workers)
    for _ in range(2):
        batches = iter(loader)
        next(batches)
        with pytest.raises(KeyError, match="sample three") as caught:
            next(batches)
        if workers.get("num_workers") and not workers.get("thread_pool"):
            assert "in _fails" in str(caught.value.__cause__)


class NeedsTwo(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__(one)


def _raises_what_pickle_can_not(index: int) -> int:
    raise NeedsTwo(1, 2)


def test_exception_that_can_not_be_pickled() -> None:
    rows = data.SimpleDataset([0]).transform(_raises_what_pickle_can_not)
    with pytest.raises(mx.MXNetError, match="NeedsTwo"):
        list(DataLoader(rows, 1, num_workers=1))


@pytest.mark.parametrize("thread_pool", [True, False])
def test_timeout(thread_pool: bool) -> None:
    loader = DataLoader(data.SimpleDataset([0.5]).transform(lambda x: time.sleep(x)), 1,
                        num_workers=1, timeout=0.05, thread_pool=thread_pool)
    with pytest.raises(multiprocessing.TimeoutError, match=r"after 0\.05 seconds"):
        list(loader)


def test_worker_that_is_killed_is_told_and_replaced() -> None:
    flag = multiprocessing.Value("i", 1)

    def dies_once(index: int) -> int:
        if flag.value:
            flag.value = 0
            os.kill(os.getpid(), signal.SIGKILL)
        return index
    loader = DataLoader(data.SimpleDataset([4]).transform(dies_once), 1, num_workers=1)
    with pytest.raises(mx.MXNetError, match="was ended by signal 9"):
        list(loader)
    assert [batch.asscalar() for batch in loader] == [4]


def test_abandoned_batches_leave_no_descriptor() -> None:
    def count() -> int:
        return len(os.listdir("/proc/self/fd"))
    loader = DataLoader(np.zeros((40, 1000)), 2, num_workers=2)
    list(loader)
    before = count()
    for _ in range(5):
        batches = iter(loader)
        next(batches)
        del batches
    list(loader)
    assert count() == before
    processes = list(loader._workers._processes)
    del loader
    assert count() < before
    assert all(not process.is_alive() for process in processes)


def test_iterators_at_once() -> None:
    loader = DataLoader(list(range(8)), 2, num_workers=2)
    pairs = [(a.asnumpy().tolist(), b.asnumpy().tolist())
             for a, b in zip(loader, loader, strict=True)]
    assert pairs == [([i, i + 1],) * 2 for i in range(0, 8, 2)]


def test_workers_have_other_seeds_and_leave_ours_alone() -> None:
    def draw(_: int) -> tuple[float, float]:
        return np.random.rand(), float(mx.nd.random.uniform(shape=(1,)).asscalar())
    rows = data.SimpleDataset(list(range(4))).transform(draw)
    np.random.seed(5)
    made = []
    for _ in range(2):
        made.append([[part.asscalar() for part in batch]
                     for batch in DataLoader(rows, 1, num_workers=2)])
    assert made[0] == made[1]
    assert len({number for batch in made[0] for number in batch}) == 8
    np_next = np.random.rand()
    np.random.seed(5)
    assert np_next == np.random.rand()


def test_auto_reload_begins_the_next_epoch() -> None:
    made = multiprocessing.Value("i", 0)

    def counted(index: int) -> int:
        with made.get_lock():
            made.value += 1
        return index
    loader = DataLoader(data.SimpleDataset([1, 2]).transform(counted), 1, num_workers=1,
                        auto_reload=True)
    list(loader)
    end = time.monotonic() + 10
    while made.value < 4 and time.monotonic() < end:
        time.sleep(0.01)
    assert made.value == 4
    loader.clean()
    assert len(list(loader)) == 2


def test_forked_child_leaves_the_workers_alone() -> None:
    loader = DataLoader(list(range(4)), 2, num_workers=1)
    child = os.fork()
    if not child:
        try:
            list(loader)
        except mx.MXNetError as error:
            loader._end_workers()
            os._exit(0 if "forked child" in str(error) else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert len(list(loader)) == 2


SLOW = """
import sys, time
from ndarray_rt.gluon.data import DataLoader, SimpleDataset
def slow(index):
    print(__import__("os").getpid(), flush=True)
    time.sleep(60)
list(DataLoader(SimpleDataset([0, 1, 2, 3]).transform(slow), 1, num_workers=2))
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_end_of_the_program_ends_the_workers(how: int) -> None:
    program = subprocess.Popen([sys.executable, "-c", SLOW], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    assert program.stdout is not None
    workers = [int(program.stdout.readline()) for _ in range(2)]
    begin = time.monotonic()
    program.send_signal(how)
    _, errors = program.communicate()  # also waits until the workers have closed it
    assert time.monotonic() - begin < 2
    assert ("KeyboardInterrupt" in errors) == (how == signal.SIGINT)
    assert not any(Path(f"/proc/{pid}/cwd").exists() for pid in workers)


def test_arguments_that_contradict_each_other() -> None:
    sampler = data.SequentialSampler(2)
    with pytest.raises(ValueError, match="batch_size must be specified"):
        DataLoader([1, 2])
    with pytest.raises(ValueError, match="shuffle must not"):
        DataLoader([1, 2], 1, shuffle=True, sampler=sampler)
    with pytest.raises(ValueError, match="must not be specified if batch_sampler"):
        DataLoader([1, 2], 1, batch_sampler=data.BatchSampler(sampler, 1))
    with pytest.raises(AssertionError, match="timeout must be positive"):
        DataLoader([1, 2], 1, timeout=0)
    with pytest.raises(TypeError, match="an object with"):
        DataLoader(5, 1)
