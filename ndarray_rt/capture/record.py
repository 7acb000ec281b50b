"""Recording a run: its steps run once more, and what they do is noted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ..op.context import OpContext
from ..storage.chunk import Chunk
from .deferred import Deferred, StepFailed
from .recorder import Recorder, stream_into
from .recording import Recording
from .replay import Capture


class Recorded(NamedTuple):
    """What was recorded, and what a replay of it does, as `Counters` tell."""

    recording: Recording
    counters: dict[str, int]


def record(run: Callable[[int], object], ctx: OpContext, chunks: Iterable[Chunk],
           capture: Capture, sink: Recorder | Deferred) -> Recorded | None:
    """Runs `run` with a stream into `sink` as the context's, and gives what it recorded.

    `run(position)` calls the operators from that position of the stream on, and sets it. Where a
    step fails that had to wait, the operator that it was of is called once more, at once, to raise
    what it raises. `chunks` are all that it touches. None where the recording can not be replayed;
    `capture` is told why.
    """
    before, plain = _Before(ctx, chunks), ctx.stream
    stream, failed_at = stream_into(sink), None
    try:
        ctx.stream = stream
        try:
            run(0)
            sink.finish()
        except StepFailed:
            raise
        except BaseException:
            sink.abandon()
            raise
    except StepFailed as failure:
        failed_at = failure.position
    finally:
        # before any call: an interrupt is served where a function begins
        ctx.stream = plain
        # where another interrupt kept the first one's handling from its end
        sink.put_back()
        stream.count_for(plain)
    if failed_at is not None:
        run(failed_at)
    if not before.allows(sink, capture):
        return None
    return Recorded(sink.recording, stream.counters.as_dict())


class _Before:
    """How things were before a run, to see whether its recording can be replayed."""

    def __init__(self, ctx: OpContext, chunks: Iterable[Chunk]) -> None:
        self._ctx = ctx
        self._chunks = list(chunks)
        self._moves = sum(chunk.moves for chunk in self._chunks)
        self._fallbacks = ctx.fallbacks

    def allows(self, sink: Recorder | Deferred, capture: Capture) -> bool:
        """Now that the run is done; `capture` is told why not."""
        recording = sink.recording
        if recording.failed is not None:
            capture.ran_plainly()  # the run is done; the next one is recorded
        elif self._ctx.fallbacks != self._fallbacks or (
                recording.stops and not sink.takes_python):
            capture.refuse("a step runs in Python")
        elif sum(chunk.moves for chunk in self._chunks) != self._moves:
            capture.postpone("a step moves memory")
        else:
            return True
        return False
