"""Captured: a forward run recorded as native steps, and the guards under which it may be replayed.

Captures inference runs that are native from end to end. Holds no operator and plans nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..native import lib
from ..storage.chunk import Chunk
from ..storage.lease import Packed
from ..storage.stream import RecordingStream

# guards that break this often stop capture: recording costs more than it brings
MAX_BREAKS = 3


class Captured:
    """One recorded run and what must still be true for its pointers and layouts to be right.

    Every chunk the run touched has the version it had at the end of the recording: the bytes are
    where they were, in the layout they were. Sources of private packed copies have their write
    counter too, and no writable export. The thread count is the recorded one. While this lives, the
    special layouts it relies on are not converted by readers.
    """

    def __init__(self, stream: RecordingStream, chunks: Sequence[Chunk],
                 written: Sequence[Chunk], packed_from: Iterable[tuple[Any, int]]) -> None:
        self._recording = stream.recording
        self.counters = stream.counters.as_dict()
        self._natives = [chunk.native for chunk in chunks]
        self._versions = [native.version for native in self._natives]
        self._written = [chunk.native for chunk in written]
        self._packed_from = list(packed_from)
        self._threads = lib.ndrt_threads_get()
        self._packed = Packed(chunk for chunk in chunks if chunk.is_special)

    def broken_guard(self) -> str | None:
        """Which guard does not hold, or None when the run may be replayed."""
        if [native.version for native in self._natives] != self._versions:
            return "the memory or layout of a bound array changed"
        if self._threads != lib.ndrt_threads_get():
            return "the number of threads changed"
        for native, changes in self._packed_from:
            if native.writes + native.exports != changes or native.writable_pins:
                return "a weight with a packed copy was written to"
        return None

    def replay(self) -> None:
        """Runs all recorded steps again; what they write to counts as written before."""
        for native in self._written:
            lib.ndrt_chunk_add_writes(native)
        self._recording.replay()

    def drop(self) -> None:
        """Gives the layouts free; this is not to be replayed any more."""
        self._packed.give_back()


class Capture:
    """When an executor records, replays, or leaves it be."""

    def __init__(self) -> None:
        self.captured: Captured | None = None
        self.breaks = 0
        self.reason = "the first run settles layouts and scratch"
        self._settled = False
        self._possible = True

    @property
    def should_record(self) -> bool:
        """The next run is to be recorded."""
        return self._possible and self._settled and self.captured is None

    def ran_plainly(self) -> None:
        """A run took the ordinary path: the next one finds everything settled."""
        self._settled = True

    def ready(self) -> Captured | None:
        """The recorded run, if its guards hold; a broken one is dropped."""
        captured = self.captured
        if captured is None:
            return None
        broken = captured.broken_guard()
        if broken is None:
            return captured
        captured.drop()
        self.captured = None
        self._settled = False
        self.breaks += 1
        self.reason = broken
        if self.breaks >= MAX_BREAKS:
            self._possible = False
            self.reason = f"capture stopped after {self.breaks} breaks: {broken}"
        return None

    def keep(self, captured: Captured) -> None:
        """From now on runs are replayed."""
        self.captured = captured
        self.reason = "captured"

    def restart(self, reason: str) -> None:
        """Drops the recorded run: the next runs settle and record anew."""
        if self.captured is not None:
            self.captured.drop()
            self.captured = None
        self._settled = False
        if self._possible:
            self.reason = reason

    def refuse(self, reason: str) -> None:
        """This graph can not be captured."""
        self._possible = False
        self.reason = reason
