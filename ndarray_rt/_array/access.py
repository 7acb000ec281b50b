"""Access: leases and a stream for reading and writing arrays outside of operators.

Used for what users do to arrays without an operator (asnumpy, x[...] = v, nd.array).
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Any

from ..storage.lease import Leases
from ..storage.stream import Stream
from .ndarray import NDArray


class Access:
    """Context manager: a stream, and leases on the arrays read, and on those written or converted.

    Each block has its own stream, so that one inside an operator (a custom operator that calls
    asnumpy) does not reuse that operator's scratch. Code that writes contents inside the block must
    count the write itself, before it writes.
    """

    __slots__ = ("_given_back", "_leases")

    def __init__(self, read: Iterable[NDArray] = (), written: Iterable[NDArray] = ()) -> None:
        self._leases = Leases([array._chunk for array in read],
                              [array._chunk for array in written])
        self._given_back = self._leases.__exit__

    def __enter__(self) -> Stream:
        stream = Stream()
        try:
            self._leases.__enter__()
        except BaseException:
            self._leases.give_back()
            raise
        return stream

    # a bound method of a C object, as in LockSet: no interrupt can come before it
    __exit__: Any = property(attrgetter("_given_back"))
