"""Recording a run: executes its steps once more while a sink records them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum

from ..op.context import OpContext
from ..storage.chunk import Chunk
from .deferred import Deferred, StepFailed
from .recipe import Recipe
from .recorder import Recorder, stream_into


class Obstacle(Enum):
    """Why a run can not be replayed."""

    FAILED = "the recording failed"
    PYTHON = "a step runs in Python"
    MOVED = "a step moves memory"


def record(run: Callable[[int], object], ctx: OpContext, chunks: Iterable[Chunk],
           sink: Recorder | Deferred) -> Recipe | Obstacle:
    """Executes `run` with a stream into `sink` as the context's stream, and returns its recipe.

    `run(position)` calls the operators from that position of the stream on, and advances it. If a
    deferred step fails, its operator is called again, not deferred, to raise its own error.
    `chunks` are all chunks that the run touches.
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
        # first, before any function call: that is where an interrupt can be served
        ctx.stream = plain
        # needed if a second interrupt cut short the handling of the first one
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
