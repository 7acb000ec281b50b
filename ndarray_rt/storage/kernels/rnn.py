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


def byte_lstm(*, out: Mem, sums: Mem, weights: Mem, scale: Mem, shift: Mem, state: Mem, cell: Mem,
              cells: Mem, scratch: Mem, hidden: Mem | None = None, steps: int, batch: int,
              size: int, columns: int, first: int, backwards: bool, kind: int) -> KernelCall:
    """A layer of an LSTM on numbers of 8 bits, which stand for (number - shift) / scale: out
    (steps, batch, columns), from the column `first` on, of kind U8, or F32, which is what these
    stand for; cells and hidden states of the last step. `sums` (steps, batch, 4 size) are those of
    the inputs' products; weights as of `pack_byte_lstm`; scratch has ndrt_byte_lstm_scratch
    bytes."""
    return KernelCall(lib.NDRT_KERNEL_BYTE_LSTM, (out, sums, weights, scale, shift, state, cell,
                      cells, scratch, hidden), (steps, batch, size, columns, first, backwards,
                      kind), ())


def pack_byte_lstm(*, out: Mem, h2h: Mem, i2h: Mem, most: Mem, i2h_bias: Mem, h2h_bias: Mem,
                   size: int, features: int) -> KernelCall:
    """int8 weights between the states, the sums of them and those of the inputs, the biases, and
    the scales that follow from the greatest weights, as in ndrt_byte_lstm.h."""
    return KernelCall(lib.NDRT_KERNEL_PACK_BYTE_LSTM, (out, h2h, i2h, most, i2h_bias, h2h_bias),
                      (size, features), ())


def round_rows(*, out: Mem, data: Mem, most: Mem, rows: int, width: int) -> KernelCall:
    """Rows as int8, as in `to_bytes`: 127 is `most` of each, or 1 where that is 0."""
    return KernelCall(lib.NDRT_KERNEL_ROUND_ROWS, (out, data, most), (rows, width), ())


def row_most(*, most: Mem, data: Mem, rows: int, width: int) -> KernelCall:
    """The greatest absolute value of each row, or what is there, if that is greater; NaN wins."""
    return KernelCall(lib.NDRT_KERNEL_ROW_MOST, (most, data), (rows, width), ())
