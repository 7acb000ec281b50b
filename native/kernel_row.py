"""A row of the table of native kernels."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kernel:
    """A row: arrays, counts and numbers as kernel_table.py describes them."""

    name: str
    family: str
    arrays: str = ""
    counts: str = ""
    numbers: str = ""
    doc: str = ""
