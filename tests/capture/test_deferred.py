"""Streams that run steps later: arrays are in the end as if each had run when it was issued."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ndarray_rt._array.copy import read_numpy
from ndarray_rt._array.layout import plain_numpy
from ndarray_rt._array.ndarray import NDArray, new_array
from ndarray_rt.capture import deferred as deferred_steps
from ndarray_rt.capture.deferred import Deferred, StepFailed
from ndarray_rt.capture.recorder import stream_into
from ndarray_rt.capture.recording import Recording
from ndarray_rt.errors import NdrtError
from ndarray_rt.native import lib
from ndarray_rt.storage.desc import tagged_desc
from ndarray_rt.storage.handle import memory_stats
from ndarray_rt.storage.stream import Stream
from tests.storage.test_stream import F32, SHAPE, filled, issue, wanted

BLOCKED = tagged_desc(F32, SHAPE, "aBcd16b")
LENGTH = 5


def chain(first: np.ndarray | None = None) -> list[NDArray]:
    """Arrays for operators one behind the other; the first holds a value, the others -1."""
    value = np.linspace(-1, 1, np.prod(SHAPE), dtype=np.float32).reshape(SHAPE)
    made = [filled(value if first is None else first, Stream())]
    for _ in range(LENGTH):
        made.append(filled(np.full(SHAPE, -1, np.float32), Stream()))
        made[-1]._chunk.reorder(BLOCKED, Stream())
    return made


def deferring(estimate: int = 0) -> tuple[Deferred, Stream]:
    """What runs steps later, and a stream into it."""
    deferred = Deferred(estimate)
    return deferred, stream_into(deferred)


def call_operator(stream: Stream, at: int, arrays: list[NDArray],
                  between: Callable[[], None] | None = None) -> None:
    """Operator `at` of the chain, all or nothing, as dispatch calls operators."""
    y = arrays[at + 1]
    stream.position = at
    stream.begin_operator()
    try:
        stream.hold([y._chunk], False)
        stream.touch(y._chunk)
        y._chunk.invalidate_data()
        issue(stream, arrays[at], y)
        if between is not None:
            between()
        stream.settle()
    except BaseException:
        stream.drop()
        raise


def contents(arrays: list[NDArray]) -> list[np.ndarray]:
    return [read_numpy(array, Stream()).copy() for array in arrays]


def expected(arrays: list[NDArray], done: int) -> list[np.ndarray]:
    """After the first `done` operators."""
    made = contents(arrays[:1])
    for at in range(LENGTH):
        made.append(wanted(made[-1]) if at < done else np.full(SHAPE, -1, np.float32))
    return made


def check(arrays: list[NDArray], done: int) -> None:
    for got, want in zip(contents(arrays), expected(arrays, done), strict=True):
        assert (got == want).all()


def test_nothing_runs_before_the_end_and_replays_are_right() -> None:
    arrays, (deferred, stream) = chain(), deferring()
    for at in range(LENGTH):
        call_operator(stream, at, arrays)
    assert (plain_numpy(arrays[1]) == -1).any(), "a step ran when it was issued"
    deferred.finish()
    check(arrays, LENGTH)
    assert deferred.recording.segments == 1
    plain_numpy(arrays[0])[:] *= -2
    deferred.recording.replay()
    check(arrays, LENGTH)


@pytest.mark.parametrize("ask", ["callback", "read_in_python", "flush", "aside", "convert"])
def test_what_needs_memory_finds_all_that_was_issued(ask: str) -> None:
    arrays, (deferred, stream) = chain(), deferring()
    call_operator(stream, 0, arrays)
    call_operator(stream, 1, arrays)
    seen: list[np.ndarray] = []
    if ask == "callback":
        stream.begin_operator()
        stream.callback(lambda: seen.append(plain_numpy(arrays[2]).copy()))
    elif ask == "convert":
        arrays[2]._chunk.reorder(BLOCKED, stream)
        seen.append(read_numpy(arrays[2], Stream()))
        arrays[2]._chunk.reorder_to_default(stream)
    else:
        getattr(stream, ask)()
        seen.append(plain_numpy(arrays[2]).copy())
    assert (seen[0] == expected(arrays, 2)[2]).all()
    for at in range(2, LENGTH):
        call_operator(stream, at, arrays)
    deferred.finish()
    check(arrays, LENGTH)


def test_a_conversion_of_numbers_of_16_bits_has_run_when_it_is_done() -> None:
    """By way of float32, which is a step of its own."""
    value = np.linspace(-1, 1, np.prod(SHAPE), dtype=np.float16).reshape(SHAPE)
    (deferred, stream), array = deferring(), filled(value, Stream())
    stream.begin_operator()
    array._chunk.reorder(tagged_desc(value.dtype, SHAPE, "aBcd16b"), stream)
    assert (read_numpy(array, Stream()) == value).all()
    deferred.finish()


def test_memory_that_steps_point_into_stays_until_they_ran() -> None:
    arrays, (deferred, stream) = chain(), deferring()
    call_operator(stream, 0, arrays)
    want = expected(arrays, 1)[1]
    taken = new_array(SHAPE, F32)
    arrays[2] = taken
    call_operator(stream, 1, arrays)
    # the memory that a waiting step writes to is let go of
    taken._chunk.check_and_alloc(1 << 20)
    gc.collect()
    others = [filled(np.full(SHAPE, 7, np.float32), Stream()) for _ in range(50)]
    deferred.finish()
    assert (read_numpy(arrays[1], Stream()) == want).all()
    assert all((other == 7).all() for other in contents(others))


def test_all_is_given_back() -> None:
    gc.collect()
    before = memory_stats()["live"]
    arrays, (deferred, stream) = chain(), deferring(1 << 12)
    for at in range(LENGTH):
        call_operator(stream, at, arrays)
    deferred.finish()
    del arrays, deferred, stream
    gc.collect()
    assert memory_stats()["live"] == before


@pytest.mark.parametrize("at", range(LENGTH))
def test_an_operator_that_raises_loses_nothing_of_those_before(at: int) -> None:
    def fail() -> None:
        raise KeyboardInterrupt
    arrays, (deferred, stream) = chain(), deferring()
    for i in range(at):
        call_operator(stream, i, arrays)
    with pytest.raises(KeyboardInterrupt):
        call_operator(stream, at, arrays, fail)
    deferred.abandon()
    check(arrays, at)
    deferred.finish()
    check(arrays, at)


class Interrupt(BaseException):
    """Like Ctrl-C, but where it is not expected it ends one test, not all of them."""


def stops_after(operators: int, error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    """Native runs of plans end with an error when so many operators ran."""
    left = [operators]

    def fake(function: Any, plan: Any, budget: float, cursor: Any, what: str) -> None:
        while left[0]:
            left[0] -= 1
            # comes back behind the next operator
            assert function(plan, 0.0, cursor) == lib.NDRT_OK
        raise error
    monkeypatch.setattr(deferred_steps, "call", fake)


@pytest.mark.parametrize("done", range(LENGTH))
@pytest.mark.parametrize("when", ["at the end", "in an operator"])
def test_an_interrupt_leaves_each_array_as_it_was_or_as_it_is_to_be(
        done: int, when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arrays, (deferred, stream) = chain(), deferring()
    stops_after(done, Interrupt(), monkeypatch)
    for at in range(LENGTH - 1):
        call_operator(stream, at, arrays)
    done = min(done, LENGTH - 1)
    def end() -> None:
        if when == "in an operator":
            call_operator(stream, LENGTH - 1, arrays, stream.flush)
        else:
            deferred.finish()
    with pytest.raises(Interrupt):
        end()
    deferred.abandon()
    check(arrays, done)


@pytest.mark.parametrize("done", range(LENGTH - 1))
def test_a_step_that_fails_is_told_with_its_operator(
        done: int, monkeypatch: pytest.MonkeyPatch) -> None:
    arrays, (_, stream) = chain(), deferring()
    stops_after(done, NdrtError("it failed"), monkeypatch)
    for at in range(LENGTH - 1):
        call_operator(stream, at, arrays)
    with pytest.raises(StepFailed, match="it failed") as caught:
        # in the call of another operator: that one did not fail
        call_operator(stream, LENGTH - 1, arrays, stream.flush)
    assert caught.value.position == done
    check(arrays, done)
    plain = Stream()
    for at in range(done, LENGTH):
        call_operator(plain, at, arrays)
    check(arrays, LENGTH)


@pytest.mark.parametrize("step", range(LENGTH * 4))
def test_steps_that_can_not_be_recorded_run_at_once(
        step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    left = [step]
    add = Recording.add

    def fake(self: Recording, *args: Any) -> None:
        if not left[0]:
            self.failed = "no memory"
        left[0] -= 1
        add(self, *args)
    monkeypatch.setattr(Recording, "add", fake)
    arrays, (deferred, stream) = chain(), deferring()
    for at in range(LENGTH):
        call_operator(stream, at, arrays)
    deferred.finish()
    check(arrays, LENGTH)
