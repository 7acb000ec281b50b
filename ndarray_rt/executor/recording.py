"""Recording a run: its steps run once more, and what they do is noted."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..op.context import OpContext
from ..storage.chunk import Chunk
from ..storage.deferring import DeferringStream, StepFailed
from ..storage.stream import RecordingStream
from .captured import Capture


def record(run: Callable[[], object], ctx: OpContext, chunks: Iterable[Chunk],
           capture: Capture) -> RecordingStream | None:
    """Runs `run` and records what it issues to the context's stream.

    `chunks` are all that it touches. None where the recording can not be replayed; `capture` is
    told why.
    """
    with Recorded(ctx, RecordingStream(ctx.stream.tmp.estimate), chunks, capture) as recorded:
        run()
    return recorded.usable()


def record_ahead(run: Callable[[int], object], ctx: OpContext, chunks: Iterable[Chunk],
                 capture: Capture, estimate: int) -> RecordingStream | None:
    """`record` for a run whose steps all run at its end, in one native call; `estimate` is how
    much scratch its operators take.

    `run(position)` calls the operators from that position of the stream on, and sets it. Where a
    step fails, the operator that it was of is called once more, at once, to raise what it raises.
    """
    stream = DeferringStream(estimate)
    recorded = Recorded(ctx, stream, chunks, capture)
    try:
        with recorded:
            try:
                run(0)
                stream.finish()
            except StepFailed:
                raise
            except BaseException:
                stream.abandon()
                raise
    except StepFailed as failure:
        run(failure.position)
    return recorded.usable()


class Recorded:
    """Puts a stream that records into the place of a context's own, for one run."""

    def __init__(self, ctx: OpContext, stream: RecordingStream, chunks: Iterable[Chunk],
                 capture: Capture) -> None:
        self._ctx, self._stream, self._capture = ctx, stream, capture
        self._chunks = list(chunks)
        self._plain = ctx.stream
        self._moves = sum(chunk.moves for chunk in self._chunks)
        self._fallbacks = ctx.fallbacks

    def __enter__(self) -> Recorded:
        self._ctx.stream = self._stream
        return self

    def __exit__(self, *error: object) -> None:
        self._ctx.stream = self._plain
        self._stream.count_for(self._plain)

    def usable(self) -> RecordingStream | None:
        """The stream, when the run is done; None where its recording can not be replayed."""
        stream, capture = self._stream, self._capture
        if stream.recording.failed is not None:
            capture.ran_plainly()  # the run is done; the next one is recorded
        elif self._ctx.fallbacks != self._fallbacks or stream.recording.native_plan() is None:
            capture.refuse("a step runs in Python")
        elif sum(chunk.moves for chunk in self._chunks) != self._moves:
            capture.postpone("a step moves memory")
        else:
            return stream
        return None
