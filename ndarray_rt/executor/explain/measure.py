"""Measures a program: first step by step, to see what each step does, then as it really runs.

If runs are replayed, times are those of the native steps, taken by native code. Otherwise they are
those of the operator calls, including each call's overhead in Python.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from ...capture.capture import Capture, hindrance
from ...capture.deferred import Deferred
from ...capture.record import record
from ...capture.recorder import Recorder
from ...capture.recording import Recording
from ...capture.replay import DONE, Replay
from ...op.context import OpContext
from ...op.dispatch import Dispatched, observe
from ...storage.primitive import Primitive
from ..program.plan import Step
from ..program.step import BoundStep

# runs whose times differ by at most this share agree
AGREES = 0.02
# runs are repeated at most this many times as often as wanted, until some agree
PATIENCE = 4

Issued = Sequence[Primitive | int]


@dataclass
class Part:
    """Forward or backward of a program: its steps, its recording, and how it is run."""

    planned: Sequence[Step]
    steps: Sequence[BoundStep]
    capture: Capture
    run: Callable[[], None]


@dataclass
class Call:
    """One step: what it did, and its time."""

    planned: Step
    step: BoundStep
    told: Dispatched
    first: int  # its first step in a recording
    end: int
    issued: Issued
    milliseconds: float = 0.0


@dataclass
class Measured:
    """The calls of one part; in milliseconds its total time, and the time between its calls.

    `state` is "captured" if these are times of replays, else the reason why not.
    """

    calls: list[Call]
    milliseconds: float
    overhead: float
    state: str


@dataclass
class _Heard:
    told: Dispatched
    recording: Recording | None
    end: int


class _Listener:
    """Records the dispatches of one context, and how many steps each had added to a recording."""

    def __init__(self, ctx: OpContext) -> None:
        self._ctx = ctx
        self._thread = threading.get_ident()
        self.heard: list[_Heard] = []

    def __call__(self, told: Dispatched) -> None:
        if threading.get_ident() == self._thread:
            sink = self._ctx.stream.sink
            recording = sink.recording if isinstance(sink, (Recorder, Deferred)) else None
            self.heard.append(_Heard(told, recording,
                                     0 if recording is None else len(recording.issued)))

    def run(self, part: Part) -> list[_Heard]:
        """Runs a part; returns the dispatches."""
        self.heard = []
        part.run()
        return self.heard


def median(values: Sequence[float]) -> float:
    return float(np.median(values))


def measure(parts: Sequence[Part], ctx: OpContext, repeat: int,
            apart: bool = False,
            of_runs: Callable[[Sequence[float]], float] = median) -> list[Measured]:
    """Runs all parts in turn, a few times to see what they do and `repeat` times for the times.

    With `apart` no part continues another one: each is timed after a run of its own, so that it
    finds its own data in caches, and more often as long as the shortest runs differ. `of_runs`
    makes one time of those of several runs.
    """
    listener = _Listener(ctx)
    times: list[_Times] | None = None
    with _observed(listener, replays=True):
        calls = _look(parts, ctx, listener)
        if all(part.capture.captured for part in parts):
            times = (_time_apart if apart else _time_replays)(parts, calls, repeat)
    states = [hindrance() or part.capture.reason for part in parts]
    if times is None:
        states = ["a recorded run moves memory of another" if state == "captured" else state
                  for state in states]
        with _observed(listener, replays=False):
            times = _time_calls(parts, calls, listener, repeat)
        for part in parts:
            # running step by step may have invalidated the recording of a part
            part.capture.restart("explain ran step by step")
    for of_part, time in zip(calls, times, strict=True):
        for call, found in zip(of_part, zip(*time.calls, strict=True), strict=True):
            call.milliseconds = of_runs(found)
    return [Measured(of_part, of_runs(time.runs), of_runs(time.between), state)
            for of_part, time, state in zip(calls, times, states, strict=True)]


@contextmanager
def _observed(listener: _Listener, replays: bool) -> Iterator[None]:
    stop = observe(listener, replays)
    try:
        yield
    finally:
        stop()


def _look(parts: Sequence[Part], ctx: OpContext, listener: _Listener) -> list[list[Call]]:
    """What the steps of each part do once layouts and scratch have settled."""
    for part in parts:
        part.capture.restart("explain records it anew")
    for part in parts:
        part.run()
    heard = [listener.run(part) for part in parts]
    if any(h.recording is None for of_part in heard for h in of_part):
        # recorded only to be inspected, not to be replayed
        heard = [_recorded(part, ctx, listener) if part.capture.captured is None else of_part
                 for part, of_part in zip(parts, heard, strict=True)]
    return [_matched(part, of_part) for part, of_part in zip(parts, heard, strict=True)]


def _recorded(part: Part, ctx: OpContext, listener: _Listener) -> list[_Heard]:
    record(lambda _: listener.run(part), ctx, (), Recorder(ctx.stream.tmp.estimate))
    return listener.heard


def _matched(part: Part, heard: Sequence[_Heard]) -> list[Call]:
    """The dispatches of each step; a step without work has none."""
    calls: list[Call] = []
    at = 0
    for planned, step in zip(part.planned, part.steps, strict=True):
        found = next((i for i in range(at, len(heard)) if _is_of(heard[i].told, step)), None)
        if found is None:
            continue
        hit = heard[found]
        # positions are comparable only within one recording
        same = found > 0 and heard[found - 1].recording is hit.recording
        first = heard[found - 1].end if same else 0
        issued: Issued = () if hit.recording is None else hit.recording.issued[first:hit.end]
        calls.append(Call(planned, step, hit.told, first, hit.end, issued))
        at = found + 1
    return calls


def _is_of(told: Dispatched, step: BoundStep) -> bool:
    return told.node == step.name and told.op is step.op


# ---- times --------------------------------------------------------------------------------------


@dataclass
class _Times:
    """Milliseconds of a part's runs, of the calls in each, and of the gaps between calls."""

    runs: list[float] = field(default_factory=list)
    calls: list[list[float]] = field(default_factory=list)
    between: list[float] = field(default_factory=list)

    def add(self, more: _Times) -> None:
        self.runs += more.runs
        self.calls += more.calls
        self.between += more.between


def _time_replays(parts: Sequence[Part], calls: Sequence[list[Call]], repeat: int,
                  ) -> list[_Times] | None:
    """Times of replays; None if replaying becomes impossible."""
    times = [_Times() for _ in parts]
    for _ in range(repeat):
        for part, time in zip(parts, times, strict=True):
            found = _replay(part.capture.captured)
            if found is None:
                return None
            time.runs.append(found)
        for part, of_part, time in zip(parts, calls, times, strict=True):
            captured = part.capture.captured
            if captured is None:
                return None
            with captured.profiled() as steps:
                found = _replay(captured)
                if found is None:
                    return None
                time.calls.append([sum(steps[call.first:call.end]) for call in of_part])
                time.between.append(found - sum(steps))
    return times


def _time_apart(parts: Sequence[Part], calls: Sequence[list[Call]], repeat: int,
                ) -> list[_Times] | None:
    """Like `_time_replays`, for parts that do not continue one another.

    Repeats if the shortest runs differ so much that all may have been disturbed.
    """
    times = [_Times() for _ in parts]
    for rounds in range(repeat * PATIENCE):
        if rounds >= repeat and all(_is_settled(time.runs) for time in times):
            break
        for part, of_part, time in zip(parts, calls, times, strict=True):
            if _replay(part.capture.captured) is None:
                return None
            found = _time_replays([part], [of_part], 1)
            if found is None:
                return None
            time.add(found[0])
    return times


def _is_settled(runs: Sequence[float]) -> bool:
    """The two shortest runs agree."""
    first, second = sorted(runs)[:2] if len(runs) > 1 else (runs[0], runs[0])
    return second <= first * (1 + AGREES)


def _replay(captured: Replay | None) -> float | None:
    """Milliseconds of one replay, called as forward does; None if it is not possible."""
    if captured is None:
        return None
    start = perf_counter()
    result = captured.run()
    return (perf_counter() - start) * 1e3 if result == DONE else None


def _time_calls(parts: Sequence[Part], calls: Sequence[list[Call]], listener: _Listener,
                repeat: int) -> list[_Times]:
    """Times of operator calls, as observers are told."""
    times = [_Times() for _ in parts]
    for _ in range(repeat):
        for part, of_part, time in zip(parts, calls, times, strict=True):
            start = perf_counter()
            heard = listener.run(part)
            time.runs.append((perf_counter() - start) * 1e3)
            found = [call.told.seconds * 1e3 for call in _matched(part, heard)]
            assert len(found) == len(of_part), "each run does the same"
            time.calls.append(found)
            time.between.append(time.runs[-1] - sum(found))
    return times
