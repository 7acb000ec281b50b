"""Access: leases and a stream for reading and writing arrays outside of operators.

What users do to arrays without an operator (asnumpy, x[...] = v, nd.array) goes through here.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Any

from ..storage.lease import Leases
from ..storage.stream import ImmediateStream
from .ndarray import NDArray


class Access:
    """In a `with`: a stream, and the leases on what is read and written.

    Each block has a stream of its own, so that one inside an operator (a custom operator that
    calls asnumpy) leaves that operator's scratch alone. Arrays written count as changed from the
    start of the block on, also when it raises; those converted change their layout and keep their
    contents.
    """

    __slots__ = ("_given_back", "_leases", "_written")

    def __init__(self, read: Iterable[NDArray] = (), written: Iterable[NDArray] = (),
                 converted: Iterable[NDArray] = ()) -> None:
        self._written = [array.chunk for array in written]
        self._leases = Leases([array.chunk for array in read],
                              [*self._written, *(array.chunk for array in converted)])
        self._given_back = self._leases.__exit__

    def __enter__(self) -> ImmediateStream:
        try:
            self._leases.take()
            for chunk in self._written:
                chunk.wrote()
            return ImmediateStream()
        except BaseException:
            self._leases.give_back()
            raise

    # as in Hold: an interrupt can not come before it
    __exit__: Any = property(attrgetter("_given_back"))
