"""Calls of the native kernels in native/kernels/index/.

Written by `make docs` from native/kernel_table.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...native import lib
from ..kernel_call import KernelCall
from ..stream import Mem


def gather(*, out: Mem, table: Mem, places: Mem, outer: int, count: int, rows: int, width: int,
           kind: int, wrap: bool) -> KernelCall:
    """out[o][i] = table[o][places[i]], rows of `width` bytes."""
    return KernelCall(lib.NDRT_KERNEL_GATHER, (out, table, places), (outer, count, rows, width,
                      kind, wrap), ())


def gather_grad(*, dx: Mem, dy: Mem, places: Mem, outer: int, count: int, rows: int, width: int,
                kind: int, wrap: bool) -> KernelCall:
    """The gradient of the table: rows of `width` elements that belong there, added up."""
    return KernelCall(lib.NDRT_KERNEL_GATHER_GRAD, (dx, dy, places), (outer, count, rows, width,
                      kind, wrap), ())


def pick(*, out: Mem, data: Mem, places: Mem, outer: int, length: int, inner: int, size: int,
         kind: int, wrap: bool) -> KernelCall:
    """out[o][i] = data[o][places[o][i]][i], elements of `size` bytes."""
    return KernelCall(lib.NDRT_KERNEL_PICK, (out, data, places), (outer, length, inner, size, kind,
                      wrap), ())


def pick_grad(*, dx: Mem, dy: Mem, places: Mem, outer: int, length: int, inner: int, kind: int,
              wrap: bool) -> KernelCall:
    """The gradient of the data."""
    return KernelCall(lib.NDRT_KERNEL_PICK_GRAD, (dx, dy, places), (outer, length, inner, kind,
                      wrap), ())


def one_hot(*, out: Mem, places: Mem, count: int, depth: int, kind: int, dtype: int, on: float,
            off: float) -> KernelCall:
    """Rows of `off` with `on` at each place; dtype F32 or S32."""
    return KernelCall(lib.NDRT_KERNEL_ONE_HOT, (out, places), (count, depth, kind, dtype), (on,
                      off))


def where(*, out: Mem, condition: Mem, x: Mem, y: Mem, count: int, width: int,
          kind: int) -> KernelCall:
    """x where the condition of that kind is not 0, else y; `width` elements each."""
    return KernelCall(lib.NDRT_KERNEL_WHERE, (out, condition, x, y), (count, width, kind), ())


def sequence_mask(*, out: Mem, data: Mem, lengths: Mem, rows: int, columns: int, width: int,
                  steps_axis: int, kind: int, value: float) -> KernelCall:
    """`value` behind the lengths; which of the first two counts are the steps is `steps_axis`."""
    return KernelCall(lib.NDRT_KERNEL_SEQUENCE_MASK, (out, data, lengths), (rows, columns, width,
                      steps_axis, kind), (value,))


def arange(*, out: Mem, n: int, repeat: int, start: float, step: float) -> KernelCall:
    """Each value of start + i step `repeat` times."""
    return KernelCall(lib.NDRT_KERNEL_ARANGE, (out,), (n, repeat), (start, step))


def flat_places(*, out: Mem, coordinates: Mem, rank: int, n: int, kind: int,
                lengths: Sequence[int]) -> KernelCall:
    """The number of the element with the coordinates of each column, which below 0 count from the
    end; NDRT_RANGE for one beyond its axis."""
    return KernelCall(lib.NDRT_KERNEL_FLAT_PLACES, (out, coordinates), (rank, n, kind, *lengths),
                      ())


def put_rows(*, out: Mem, data: Mem, places: Mem, n: int, rows: int, width: int) -> KernelCall:
    """out[places[i]] = data[i], rows of `width` bytes; the last one stays."""
    return KernelCall(lib.NDRT_KERNEL_PUT_ROWS, (out, data, places), (n, rows, width), ())


def axis_move(*, out: Mem, data: Mem, outer: int, length: int, width: int, count: int, kind: int,
              begin: int, step: int) -> KernelCall:
    """out[o][i] = data[o][f(i)], f as ndrt_axis_kind says of begin + i step; `length` of data's
    axis, `count` of out's, `width` bytes of a part."""
    return KernelCall(lib.NDRT_KERNEL_AXIS_MOVE, (out, data), (outer, length, width, count, kind,
                      begin, step), ())


def axis_move_grad(*, dx: Mem, dy: Mem, outer: int, length: int, width: int, count: int, kind: int,
                   begin: int, step: int) -> KernelCall:
    """The gradient of the data; `width` in elements."""
    return KernelCall(lib.NDRT_KERNEL_AXIS_MOVE_GRAD, (dx, dy), (outer, length, width, count, kind,
                      begin, step), ())


def sequence_reverse(*, out: Mem, data: Mem, lengths: Mem, steps: int, batch: int, width: int,
                     kind: int) -> KernelCall:
    """The first lengths[b] steps of b turned round; parts of `width` bytes."""
    return KernelCall(lib.NDRT_KERNEL_SEQUENCE_REVERSE, (out, data, lengths), (steps, batch, width,
                      kind), ())


def sequence_last(*, out: Mem, data: Mem, lengths: Mem, rows: int, columns: int, width: int,
                  steps_axis: int, kind: int) -> KernelCall:
    """The part that is a sequence's last; which of the first two counts are the steps is
    `steps_axis`."""
    return KernelCall(lib.NDRT_KERNEL_SEQUENCE_LAST, (out, data, lengths), (rows, columns, width,
                      steps_axis, kind), ())


def sequence_last_grad(*, dx: Mem, dy: Mem, lengths: Mem, rows: int, columns: int, width: int,
                       steps_axis: int, kind: int) -> KernelCall:
    """The gradient of the data."""
    return KernelCall(lib.NDRT_KERNEL_SEQUENCE_LAST_GRAD, (dx, dy, lengths), (rows, columns, width,
                      steps_axis, kind), ())


def concat_channels(*, out: Mem, parts: Sequence[Mem], rows: int, columns: int,
                    widths: Sequence[int]) -> KernelCall:
    """Concatenates the rows of up to NDRT_JOINED_MOST arrays."""
    return KernelCall(lib.NDRT_KERNEL_CONCAT_CHANNELS, (out, *parts), (rows, columns, len(parts),
                      *widths), ())


def concat_scaled(*, out: Mem, factors: Mem, shifts: Mem, parts: Sequence[Mem], rows: int,
                  columns: int, rectify: bool, widths: Sequence[int]) -> KernelCall:
    """The same of up to NDRT_SCALED_MOST arrays, each column times its factor plus its shift, and 0
    where `rectify` and that is not above it; columns behind those of the last array stay."""
    return KernelCall(lib.NDRT_KERNEL_CONCAT_SCALED, (out, factors, shifts, *parts), (rows, columns,
                      len(parts), rectify, *widths), ())
