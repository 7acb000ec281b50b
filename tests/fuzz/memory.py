"""What a reader takes while it reads: at most twice the file and 64 MiB."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

MORE_BYTES = 64 << 20
_PEAK_CAN_BE_RESET = os.path.exists("/proc/self/clear_refs")


def _field(name: bytes) -> int:
    with open("/proc/self/status", "rb") as file:
        return int(file.read().partition(name)[2].split(None, 1)[0]) << 10


@contextmanager
def bounded(most: int) -> Iterator[None]:
    """AssertionError where the process needs, at any time in the block, this many bytes more than
    before. Looks nowhere but on Linux."""
    if not _PEAK_CAN_BE_RESET:
        yield
        return
    with open("/proc/self/clear_refs", "wb") as file:
        file.write(b"5")
    before = _field(b"VmRSS:")
    yield
    taken = _field(b"VmHWM:") - before
    assert taken <= most, f"took {taken >> 20} MiB, allowed are {most >> 20}"

