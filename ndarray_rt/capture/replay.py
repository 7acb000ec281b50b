"""Replay: a recipe over the memory that it was recorded with, and the guards of that.

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
    """How a replay went: what is neither DONE, UNFINISHED nor FAILED did nothing."""

    DONE = lib.NDRT_REPLAY_DONE
    UNFINISHED = lib.NDRT_REPLAY_UNFINISHED
    BUSY = lib.NDRT_REPLAY_BUSY
    MOVED = lib.NDRT_REPLAY_MOVED
    CHANGED = lib.NDRT_REPLAY_CHANGED
    THREADS = lib.NDRT_REPLAY_THREADS
    FAILED = lib.NDRT_REPLAY_FAILED
    # of guards in Python alone
    GIVEN_UP = FAILED + 1
    CUT = FAILED + 2


# plain numbers, which compare faster, for what each run looks at
DONE, UNFINISHED, FAILED = map(int, (Result.DONE, Result.UNFINISHED, Result.FAILED))
# guards that end a recording
BROKEN = {Result.MOVED: "the memory or layout of a bound array changed",
          Result.CHANGED: "a weight with a packed copy was written to",
          Result.THREADS: "the number of threads changed",
          Result.GIVEN_UP: "memory that forward leaves something in was given up",
          Result.CUT: "a run step by step came between"}

_run, _go_on, _fed = lib.ndrt_replay_run, lib.ndrt_replay_go_on, lib.ndrt_replay_fed


class Feed:
    """Copies into bound arrays that come before a replay, in the same native call.

    Copies go between arrays in the default layout; the targets must live as long as this.
    """

    __slots__ = ("copies", "count", "sources")

    def __init__(self, targets: Sequence[NDArray]) -> None:
        self.count = len(targets)
        self.copies: Any = ffi.new("ndrt_replay_copy[]", [
            {"target": x._chunk.address, "target_offset": x._byte_offset, "nbytes": x.nbytes}
            for x in targets])
        self.sources: list[Any] = [self.copies[i] for i in range(self.count)]

    def give(self, i: int, source: NDArray) -> None:
        """The next replay copies `source`, of equal shape and dtype, to the target number i."""
        copy = self.sources[i]
        copy.source = source._chunk.address
        copy.source_offset = source._byte_offset


class Guards(NamedTuple):
    """What must still be true for the pointers and layouts of a recipe to be right.

    Every chunk that the run touched has the version it had at the end of the recording: the bytes
    are where they were, in the layout they were. `own` are those that nobody else can reach: only
    runs of the same program move them. The parts of a program use them in turn: `start` says how
    they were when the recording began, if the part reads there what another one has left.
    `renewed` are those of the `reachable` whose contents a run makes anew without reading them.
    What packed copies and folded weights were computed from, the `sources`, have their write
    counters too, and no writable export. What forward leaves in `kept` is where it was.
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
    """One recorded run, bound to memory. The thread count is the recorded one.

    While this lives, the special layouts it relies on are not converted by readers. `epoch` is that
    of the switches under which `replay` may be called.
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
        # native arrays of what the call below reads
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

    def is_whole(self) -> bool:
        """The program's own memory is where it was, and what is read of it in the same layout."""
        if self._start is not None:
            return all(chunk.placement == was
                       for chunk, was in zip(self._own, self._start, strict=True))
        return all(chunk.placement[0] is handle
                   for chunk, (handle, _) in zip(self._own, self._end, strict=True))

    def run(self) -> int:
        """One replay under leases that are waited for; says how it went (`Result`).

        What stops it does so where no array is half written.
        """
        with self.leases:
            return self.run_leased()

    def run_leased(self) -> int:
        """The same where the caller has the leases."""
        if self._kept is not None and self._kept.epoch != self._kept_epoch:
            return Result.GIVEN_UP
        if not self.is_whole():
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
        """What comes next of a run: where it stopped for that, functions of Python, then native
        steps."""
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
        """What the step that failed says, with the operator and node that it is of."""
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
        """Numbers of the chunks that are not as they were recorded."""
        return [chunk.native.id for chunk, was in self._reachable if chunk.placement != was]

    def _moved_outputs(self) -> list[tuple[Chunk, Placement]] | None:
        """What is not as it was recorded, and how that was: inference and training write one output
        in turn, each in the layout that it has there. None where something else moved, or Python is
        called, which may raise anything on the way.
        """
        if self._stops:
            return None
        moved = [(chunk, was) for chunk, was in self._reachable if chunk.placement != was]
        for chunk, (handle, _) in moved:
            if chunk not in self._renewed or chunk.pins or chunk.placement[0] is not handle:
                return None
        return moved

    def _run_over(self, moved: list[tuple[Chunk, Placement]]) -> int:
        """A whole replay after outputs are put back to what was recorded; where it does not come to
        the steps that write them, they stay what they are. The caller has the leases.
        """
        before = [(chunk, chunk.placement) for chunk, _ in moved]
        # an interrupt is served when `extend` is done, and what native code said is here by then
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
                # how far it came: nowhere where a guard refused it
                ran = results[-1] in (UNFINISHED, FAILED)
                at = self._recording.position_of(lib.ndrt_replay_cursor(self.native)) if ran else 0
                for chunk, placement in before:
                    if at is not None and self._recipe.written_at.get(chunk, -1) >= at:
                        chunk.restore(placement)
        return results[-1]

    def replay(self, feed: Feed | None = None) -> bool:
        """A whole replay of which nothing is noted; False, and nothing is done, where a guard does
        not hold, or where somebody has one of the arrays just now. What `feed` copies comes first.
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
        """Notes where a replay left what it wrote, of which its native steps have said nothing."""
        for chunk, placement in zip(self._own, self._end, strict=True):
            chunk.restore(placement)

    def finish(self) -> None:
        """Ends a run that native code began by itself, with leases of its own."""
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
        """What was computed from the sources was computed anew, from what they are now."""
        lib.ndrt_replay_renew(self.native, ffi.new("uint64_t[]", [
            sources[chunk] for chunk in self._sources]))

    @contextmanager
    def profiled(self) -> Iterator[Sequence[float]]:
        """Replays inside it note the milliseconds of each native step, the last one's remain."""
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
        """Finished replays since this was last asked for."""
        runs = self.runs
        new, self._counted = runs - self._counted, runs
        return new

    def drop(self) -> None:
        """Gives the layouts free; this is not to be replayed any more."""
        self._packed.give_back()
