"""ParameterBlock: a kernel's numbers in memory that can be changed between two replays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..native import ffi, lib

ROOM: int = lib.NDRT_KERNEL_NUMBERS


class ParameterBlock:
    """Up to 8 numbers that a recorded kernel reads each time it runs.

    The owner of the recording keeps the block alive as long, and changes it between runs only.
    """

    __slots__ = ("ptr",)

    def __init__(self, values: Sequence[float] = ()) -> None:
        self.ptr: Any = ffi.new("double[]", ROOM)
        self.set(values)

    def set(self, values: Sequence[float]) -> None:
        """The numbers of the next run; those not given are 0. ValueError for more than 8."""
        if len(values) > ROOM:
            raise ValueError(f"{len(values)} numbers, expected at most {ROOM}")
        self.ptr[0:ROOM] = [*values, *[0.0] * (ROOM - len(values))]

    def values(self) -> list[float]:
        """All 8 numbers."""
        return list(self.ptr)
