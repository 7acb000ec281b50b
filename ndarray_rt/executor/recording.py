"""Recording a run: its steps run once more, and what they do is noted."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..op.context import OpContext
from ..storage.chunk import Chunk
from ..storage.stream import RecordingStream
from .captured import Capture


def record(run: Callable[[], object], ctx: OpContext, chunks: Iterable[Chunk],
           capture: Capture) -> RecordingStream | None:
    """Runs `run` and records what it issues to the context's stream.

    `chunks` are all that it touches. None where the recording can not be replayed; `capture` is
    told why.
    """
    chunks = list(chunks)
    before = sum(chunk.moves for chunk in chunks)
    fallbacks, plain = ctx.fallbacks, ctx.stream
    stream = RecordingStream(plain.tmp.estimate)
    ctx.stream = stream
    try:
        run()
    finally:
        ctx.stream = plain
        stream.count_for(plain)
    if stream.recording.failed is not None:
        capture.ran_plainly()  # the run is done; the next one is recorded
    elif ctx.fallbacks != fallbacks or stream.recording.native_plan() is None:
        capture.refuse("a step runs in Python")
    elif sum(chunk.moves for chunk in chunks) != before:
        capture.postpone("a step moves memory")
    else:
        return stream
    return None
