"""Recording a run: its steps run once more, and what they do is noted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum

from ..op.context import OpContext
from ..storage.chunk import Chunk
from .deferred import Deferred, StepFailed
from .recipe import Recipe
from .recorder import Recorder, stream_into


class Obstacle(Enum):
    """Why what a run did can not be replayed."""

    FAILED = "the recording failed"
    PYTHON = "a step runs in Python"
    MOVED = "a step moves memory"


def record(run: Callable[[int], object], ctx: OpContext, chunks: Iterable[Chunk],
           sink: Recorder | Deferred) -> Recipe | Obstacle:
    """Runs `run` with a stream into `sink` as the context's, and gives what it did.

    `run(position)` calls the operators from that position of the stream on, and sets it. Where a
    step fails that had to wait, the operator that it was of is called once more, at once, to raise
    what it raises. `chunks` are all that it touches.
    """
    chunks = list(chunks)
    moves, fallbacks, plain = sum([chunk.moves for chunk in chunks]), ctx.fallbacks, ctx.stream
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
    recording = sink.recording
    if recording.failed is not None:
        return Obstacle.FAILED
    if ctx.fallbacks != fallbacks or (recording.stops and not sink.takes_python):
        return Obstacle.PYTHON
    if sum([chunk.moves for chunk in chunks]) != moves:
        return Obstacle.MOVED
    return Recipe(recording, stream.counters.as_dict())
