"""Calls of the native kernels in native/kernels/rnn/.

Written by `make docs` from native/kernel_table.py.
"""

from __future__ import annotations

from ...native import lib
from ..kernel_call import KernelCall
from ..stream import Mem


def lstm_steps(*, out: Mem, gates: Mem, weights: Mem, hidden: Mem, cell: Mem, cells: Mem,
               counts: Mem | None = None, states: Mem | None = None, steps: int, batch: int,
               size: int, holds: bool) -> KernelCall:
    """`gates` (steps, batch, 4 size) is what inputs add to the gates i f g o; weights between the
    states, for each 16 elements, or 8 without AVX-512, (size, 4 gates, 16 or 8). With `counts` (u8,
    steps batch) a step of 0 gives 0 and leaves the cells, or with `holds` the states, as they were;
    `states` is then two more of them."""
    return KernelCall(lib.NDRT_KERNEL_LSTM_STEPS, (out, gates, weights, hidden, cell, cells, counts,
                      states), (steps, batch, size, holds), ())
