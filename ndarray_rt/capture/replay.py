"""Replay: a recipe bound to the memory that it was recorded with, and its guards.

Holds no operator and plans nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import IntEnum
from time import perf_counter
from types import MappingProxyType
from typing import Any, NamedTuple

from .. import config
from .._array.ndarray import NDArray
from ..errors import NdrtError, name_call
from ..native import check, ffi, lib, make
from ..op.kept_runs import KeptRuns
from ..storage.chunk import Chunk, Placement
from ..storage.lease import Leases, Packed
from ..storage.stream import BUDGET
from .recipe import Recipe


class Result(IntEnum):
    """How a replay ended. Results other than DONE, UNFINISHED and FAILED ran nothing."""

    DONE = lib.NDRT_REPLAY_DONE
    UNFINISHED = lib.NDRT_REPLAY_UNFINISHED
    BUSY = lib.NDRT_REPLAY_BUSY
    MOVED = lib.NDRT_REPLAY_MOVED
    CHANGED = lib.NDRT_REPLAY_CHANGED
    THREADS = lib.NDRT_REPLAY_THREADS
    FAILED = lib.NDRT_REPLAY_FAILED
    # results of guards that only Python checks
    GIVEN_UP = FAILED + 1
    CUT = FAILED + 2


# the results that each run compares with, as ints, which compare faster
DONE, UNFINISHED, FAILED = map(int, (Result.DONE, Result.UNFINISHED, Result.FAILED))
# guards that drop a recording, and what to report
BROKEN = {Result.MOVED: "the memory or layout of a bound array changed",
          Result.CHANGED: "a weight with a packed copy was written to",
          Result.THREADS: "the number of threads changed",
          Result.GIVEN_UP: "memory that forward leaves something in was given up",
          Result.CUT: "a run step by step came between"}

_run, _go_on, _fed = lib.ndrt_replay_run, lib.ndrt_replay_go_on, lib.ndrt_replay_fed


class Feed:
    """Copies into bound arrays, made before a replay in the same native call.

    Source and target are in the default layout; targets must outlive this object.
    """

    __slots__ = ("copies", "count", "sources")

    def __init__(self, targets: Sequence[NDArray]) -> None:
        self.count = len(targets)
        self.copies: Any = ffi.new("ndrt_replay_copy[]", [
            {"target": x._chunk.address, "target_offset": x._byte_offset, "nbytes": x.nbytes}
            for x in targets])
        self.sources: list[Any] = [self.copies[i] for i in range(self.count)]

    def give(self, i: int, source: NDArray) -> None:
        """The next replay copies `source`, of equal shape and dtype, to target number i."""
        copy = self.sources[i]
        copy.source = source._chunk.address
        copy.source_offset = source._byte_offset


class Guards(NamedTuple):
    """The conditions under which the pointers and layouts of a recipe are valid.

    `reachable` chunks must have the version that they had at the end of the recording: the same
    memory in the same layout. `own` chunks can be reached by nobody else, so that only runs of the
    same program move them, and its parts use them in turn: `start` is their placement when the
    recording began, if this part reads what another part has left there. `renewed` are those of
    `reachable` that a run overwrites without reading. `sources` are the chunks from which packed
    copies and folded weights were computed: their write counters must be unchanged too, and no
    writable export may exist. Memory in `kept`, where forward leaves results, must not have moved.
    """

    leases: Leases
    reachable: Sequence[Chunk]
    written: Sequence[Chunk]
    own: Sequence[Chunk] = ()
    start: Sequence[Placement] | None = None
    sources: Mapping[Chunk, int] = MappingProxyType({})
    renewed: Collection[Chunk] = ()
    kept: KeptRuns | None = None


class Replay:
    """One recorded run, bound to memory, for the recorded number of threads.

    While it lives, readers do not convert the special layouts that it relies on. `epoch` is that of
    the switches under which `replay` may be called.
    """

    def __init__(self, recipe: Recipe, guards: Guards) -> None:
        self._recipe = recipe
        self._recording = recording = recipe.recording
        self._stops = recording.stops
        self._times: Any = None
        self.counters = recipe.counters
        self.epoch = -1
        self.leases = leases = guards.leases
        self._own = own = guards.own
        self._start = guards.start
        self._end = [chunk.placement for chunk in own]
        self._reachable = [(chunk, chunk.placement) for chunk in guards.reachable]
        self._renewed = frozenset(guards.renewed)
        self._sources = list(guards.sources)
        self._kept = guards.kept
        self._kept_epoch = 0 if guards.kept is None else guards.kept.epoch
        self._counted = 0
        # native arrays that the call below reads
        kept = [ffi.new("ndrt_chunk *[]", [chunk.native for chunk in chunks])
                for chunks in (guards.reachable, self._sources, guards.written)]
        changes = ffi.new("uint64_t[]", list(guards.sources.values()))
        spec = ffi.new("ndrt_replay_spec *", {
            "plan": recording.native_plan(), "leases": leases.native,
            "nguards": len(guards.reachable), "guards": kept[0], "nsources": len(self._sources),
            "sources": kept[1], "changes": changes, "nwritten": len(guards.written),
            "written": kept[2]})
        self.native: Any = make(lib.ndrt_replay_new, spec, out="ndrt_replay **",
                                free=lib.ndrt_replay_free, what="watching a recorded run")
        self._packed = Packed(chunk for chunk in (*own, *guards.reachable) if chunk.is_special)

    def is_in_place(self) -> bool:
        """The program's own memory has not moved; what is read of it has the recorded layout."""
        if self._start is not None:
            return all(chunk.placement == was
                       for chunk, was in zip(self._own, self._start, strict=True))
        return all(chunk.placement[0] is handle
                   for chunk, (handle, _) in zip(self._own, self._end, strict=True))

    def run(self) -> int:
        """Replays once, waiting for the leases; returns a `Result`.

        Interrupts are served at consistent points.
        """
        with self.leases:
            return self.run_leased()

    def run_leased(self) -> int:
        """Like `run`, for a caller that holds the leases."""
        if self._kept is not None and self._kept.epoch != self._kept_epoch:
            return Result.GIVEN_UP
        if not self.is_in_place():
            return Result.CUT
        result: int = _run(self.native, BUDGET, 1)
        if result == Result.MOVED and (moved := self._moved_outputs()) is not None:
            result = self._run_over(moved)
        while result == UNFINISHED:
            result = self._go_on()
        if result == FAILED:
            self._raise()
        if result == DONE:
            self.leave()
        return result

    def _go_on(self) -> int:
        """Continues a run: calls the Python functions if it is at a stop, then native steps."""
        if self._stops:
            at = lib.ndrt_replay_cursor(self.native)
            functions = self._stops.get(at)
            if functions is not None:
                begun = perf_counter()
                try:
                    for function in functions:
                        function()
                except NdrtError as error:
                    self._name(error)
                    raise
                if self._times is not None:
                    self._times[at] = (perf_counter() - begun) * 1e3
        result: int = _go_on(self.native, BUDGET)
        return result

    def _raise(self) -> None:
        """Raises the error of the failed step, with the names of its operator and node."""
        try:
            check(lib.ndrt_replay_status(self.native), "running a plan")
        except NdrtError as error:
            self._name(error)
            raise

    def _name(self, error: NdrtError) -> None:
        position = self._recording.position_of(lib.ndrt_replay_cursor(self.native))
        if position is not None and position < len(self._recipe.names):
            name_call(error, *self._recipe.names[position])

    @property
    def has_stops(self) -> bool:
        """Each replay calls Python functions."""
        return bool(self._stops)

    def moved(self) -> list[int]:
        """Numbers of the chunks whose placement differs from the recorded one."""
        return [chunk.native.id for chunk, was in self._reachable if chunk.placement != was]

    def _moved_outputs(self) -> list[tuple[Chunk, Placement]] | None:
        """Chunks whose placement differs, with the recorded one, if all of them are outputs:
        inference and training write one output in turn, each in a layout of its own. None if
        anything else moved, or if Python is called, which may raise before the outputs are written.
        """
        if self._stops:
            return None
        moved = [(chunk, was) for chunk, was in self._reachable if chunk.placement != was]
        for chunk, (handle, _) in moved:
            if chunk not in self._renewed or chunk.pins or chunk.placement[0] is not handle:
                return None
        return moved

    def _run_over(self, moved: list[tuple[Chunk, Placement]]) -> int:
        """Restores outputs to their recorded layout and replays. If the replay fails, outputs not
        yet written get their previous layout back. The caller holds the leases.
        """
        before = [(chunk, chunk.placement) for chunk, _ in moved]
        # an interrupt is served after `extend`, and by then the native result is in the list
        results: list[int] = [Result.MOVED]
        try:
            for chunk, was in moved:
                chunk.restore(was)
            lib.ndrt_replay_rewatch(self.native)
            results.extend(map(_run, (self.native,), (BUDGET,), (1,)))
            while results[-1] == UNFINISHED:
                results.extend(map(_go_on, (self.native,), (BUDGET,)))
        finally:
            if results[-1] != DONE:
                # position reached; 0 if a guard refused the run
                ran = results[-1] in (UNFINISHED, FAILED)
                at = self._recording.position_of(lib.ndrt_replay_cursor(self.native)) if ran else 0
                for chunk, placement in before:
                    if at is not None and self._recipe.written_at.get(chunk, -1) >= at:
                        chunk.restore(placement)
        return results[-1]

    def replay(self, feed: Feed | None = None) -> bool:
        """Replays at full speed: layouts of outputs are not updated (`leave` does that). Returns
        False and does nothing if a guard does not hold, or if a lease is not free. The copies of
        `feed` are made first.
        """
        if self.epoch != config.epoch:
            return False
        try:
            result: int = (_run(self.native, BUDGET, 0) if feed is None else
                           _fed(self.native, feed.count, feed.copies, BUDGET))
            if result == UNFINISHED:
                self.finish()
                return True
            if result == FAILED:
                self._raise()
        except BaseException:
            self.leases.give_back()
            raise
        return bool(result == DONE)

    def leave(self) -> None:
        """Sets the chunks' layouts to those that native steps left, which do not set them."""
        for chunk, placement in zip(self._own, self._end, strict=True):
            chunk.restore(placement)

    def finish(self) -> None:
        """Ends a run that native code began with leases of its own."""
        self.leases.adopt()
        try:
            result: int = UNFINISHED
            while result == UNFINISHED:
                result = self._go_on()
        finally:
            self.leases.give_back()
        if result == FAILED:
            self._raise()

    def renew(self, sources: Mapping[Chunk, int]) -> None:
        """Accepts the present contents of the sources, after results were computed from them anew.
        """
        lib.ndrt_replay_renew(self.native, ffi.new("uint64_t[]", [
            sources[chunk] for chunk in self._sources]))

    @contextmanager
    def profiled(self) -> Iterator[Sequence[float]]:
        """Replays inside it record the milliseconds of each native step; the last replay's remain.
        """
        self._times = times = ffi.new("double[]", self._recording.size)
        lib.ndrt_replay_profile(self.native, times)
        try:
            yield times
        finally:
            lib.ndrt_replay_profile(self.native, ffi.NULL)
            self._times = None

    @property
    def runs(self) -> int:
        """Finished replays."""
        return int(lib.ndrt_replay_runs(self.native))

    def uncounted(self) -> int:
        """Finished replays since the last call of this."""
        runs = self.runs
        new, self._counted = runs - self._counted, runs
        return new

    def drop(self) -> None:
        """Releases the layouts; this must not be replayed any more."""
        self._packed.give_back()
