"""Which combinations of the cross product are run: a covering that grows with the longest side.

The whole product (kinds of inputs x kinds of outputs x requests) of one call has thousands of
members, most of which meet nothing that others do not. Run is, for each call and each runtime:

- each kind of the inputs with each request, and each kind of the outputs with each request, where
  each request goes once around both, the outputs shifted against the inputs by another step;
- each kind of memory that input and output share with each request (role "both"), on NumPy with
  one request, in turns;
- each kind of partial overlap with each request that writes.

So each pair (kind, request), (kind, runtime), (kind, role) of a call is met. Executors run each
kind captured and, in turns, in one of the other modes. The shift depends on the call's name,
parameters and shapes, and on nothing else: the same call always meets the same combinations, and
over the calls of the table each kind of input meets each kind of output.
"""

from __future__ import annotations

from collections.abc import Iterator
from zlib import crc32


def turn_of(*facts: object) -> int:
    """The shift of a call, from what distinguishes it; the same in each process."""
    return crc32(repr(facts).encode())


def rows(ins: int, outs: int, requests: int, turn: int) -> Iterator[tuple[int, int, int]]:
    """(kind of input, kind of output, request) as positions: the covering of one call."""
    for request in range(requests):
        shift = turn + request * (1 + turn % 5)
        for step in range(max(ins, outs)):
            yield step % ins, (step + shift) % outs, request
