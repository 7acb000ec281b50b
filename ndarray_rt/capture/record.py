"""Recording a run: its steps run once more, and what they do is noted."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..op.context import OpContext
from ..storage.chunk import Chunk
from ..storage.deferring import DeferringStream, StepFailed
from ..storage.stream import RecordingStream
from .replay import Capture


def record(run: Callable[[], object], ctx: OpContext, chunks: Iterable[Chunk],
           capture: Capture, takes_python: bool = False) -> RecordingStream | None:
    """Runs `run` and records what it issues to the context's stream; with `takes_python` what is
    replayed may call Python functions.

    `chunks` are all that it touches. None where the recording can not be replayed; `capture` is
    told why.
    """
    before, plain = _Before(ctx, chunks), ctx.stream
    stream = RecordingStream(plain.tmp.estimate)
    stream.takes_python = takes_python
    try:
        ctx.stream = stream
        run()
        stream.recording.end_lanes()
    finally:
        # before any call: an interrupt is served where a function begins
        ctx.stream = plain
        stream.count_for(plain)
    return stream if before.allows(stream, capture) else None


def record_ahead(run: Callable[[int], object], ctx: OpContext, chunks: Iterable[Chunk],
                 capture: Capture, estimate: int) -> RecordingStream | None:
    """`record` for inference whose steps all run at its end, in one native call; `estimate` is how
    much scratch its operators take.

    `run(position)` calls the operators from that position of the stream on, and sets it. Where a
    step fails, the operator that it was of is called once more, at once, to raise what it raises.
    """
    before, plain = _Before(ctx, chunks), ctx.stream
    stream = DeferringStream(estimate)
    stream.takes_python = True
    failed_at = None
    try:
        ctx.stream = stream
        try:
            run(0)
            stream.finish()
        except StepFailed:
            raise
        except BaseException:
            stream.abandon()
            raise
    except StepFailed as failure:
        failed_at = failure.position
    finally:
        ctx.stream = plain
        # where another interrupt kept the first one's handling from its end
        stream.put_back()
        stream.count_for(plain)
    if failed_at is not None:
        run(failed_at)
    return stream if before.allows(stream, capture) else None


class _Before:
    """How things were before a run, to see whether its recording can be replayed."""

    def __init__(self, ctx: OpContext, chunks: Iterable[Chunk]) -> None:
        self._ctx = ctx
        self._chunks = list(chunks)
        self._moves = sum(chunk.moves for chunk in self._chunks)
        self._fallbacks = ctx.fallbacks

    def allows(self, stream: RecordingStream, capture: Capture) -> bool:
        """Now that the run is done; `capture` is told why not."""
        if stream.recording.failed is not None:
            capture.ran_plainly()  # the run is done; the next one is recorded
        elif self._ctx.fallbacks != self._fallbacks or (
                stream.recording.stops and not stream.takes_python):
            capture.refuse("a step runs in Python")
        elif sum(chunk.moves for chunk in self._chunks) != self._moves:
            capture.postpone("a step moves memory")
        else:
            return True
        return False
