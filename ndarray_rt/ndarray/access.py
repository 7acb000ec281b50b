"""Access: leases and a stream for reading and writing arrays outside of operators.

What users do to arrays without an operator (asnumpy, x[...] = v, nd.array) goes through here.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from types import TracebackType

from ..storage.lease import Leases
from ..storage.stream import ImmediateStream
from .ndarray import NDArray


class _Streams(threading.local):
    """Streams of one thread that nobody uses right now."""

    def __init__(self) -> None:
        self.free: list[ImmediateStream] = []


_streams = _Streams()


class Access:
    """In a `with`: a stream, and the leases on what is read and written.

    Each block has a stream of its own, so that one inside an operator (a custom operator that
    calls asnumpy) leaves that operator's scratch alone. Whatever writes contents inside the block
    counts the write itself, before it writes.
    """

    __slots__ = ("_leases", "_stream")

    def __init__(self, read: Iterable[NDArray] = (), written: Iterable[NDArray] = ()) -> None:
        self._leases = Leases([array.chunk for array in read],
                              [array.chunk for array in written])
        self._stream: ImmediateStream | None = None

    def __enter__(self) -> ImmediateStream:
        self._leases.take()
        stream = _streams.free.pop() if _streams.free else ImmediateStream()
        stream.begin_operator()
        self._stream = stream
        return stream

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._leases.give_back()
        stream = self._stream
        if stream is not None:
            stream.tmp.reset()
            _streams.free.append(stream)
            self._stream = None

    def __del__(self) -> None:
        # an interrupt can come between the block and `__exit__`
        leases: Leases | None = getattr(self, "_leases", None)
        if leases is not None and leases.held:
            leases.give_back()
