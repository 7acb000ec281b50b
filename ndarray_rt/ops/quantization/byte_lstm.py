"""Layers of LSTM cells over numbers of 8 bits, by native kernels: products of the inputs of all
steps, then the steps. For inference weights are rounded once, and anew when one has changed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import NamedTuple

from ..._array.layout import get_default
from ..._array.ndarray import NDArray
from ..._array.output import Output
from ...dtypes import FLOAT32, INT8, INT32, UINT8
from ...native import lib
from ...op.context import OpContext
from ...storage.desc import default_desc
from ...storage.kernels import rnn as kernels
from ...storage.kernels.elementwise import zero
from ...storage.stream import Mem, Stream
from ..rnn import weights
from ..rnn.params import Place, RNNParams, places
from ..tensor.pointwise import shifted
from . import whole_sums

ALIGNED = 64  # bytes


def refuses(p: RNNParams, ins: list[NDArray]) -> str | None:
    if any(0 in array.shape for array in ins):
        return "an array without elements"
    most = max(p.state_size, *(p.layer_input(layer, ins[0].shape[2])
                               for layer in range(p.num_layers)))
    return f"sums of {most} products" if most > lib.NDRT_BYTE_LSTM_MOST else None


class Cell(NamedTuple):
    """A layer and direction: where its parameters stand in the vector of them all, and at which
    bytes its packed weights begin."""

    place: Place
    inputs: int
    i2h: int
    h2h: int


def cells_of(p: RNNParams, features: int) -> tuple[list[Cell], int]:
    """In the order of their states, and the bytes of all packed weights."""
    made, at = [], 0
    for layer, row in enumerate(places(p, features)):
        inputs = p.layer_input(layer, features)
        nbytes = whole_sums.packed_desc((p.rows, inputs)).nbytes
        for place in row:
            h2h = at + _aligned(nbytes)
            made.append(Cell(place, inputs, at, h2h))
            at = h2h + _aligned(lib.ndrt_byte_lstm_packed(p.state_size))
    return made, at


def _aligned(nbytes: int) -> int:
    return -(-nbytes // ALIGNED) * ALIGNED


def _part(mem: Mem, at: int) -> Mem:
    return shifted(mem, at, mem.desc)


def compute_ex(ctx: OpContext, p: RNNParams, ins: list[NDArray], outs: list[Output]) -> None:
    """All layers, one after the other."""
    stream, (steps, batch, features) = ctx.stream, ins[0].shape
    cells, nbytes = cells_of(p, features)
    packed = weights.kept(ctx, ins[1], ("cells on bytes", p, features),
                          default_desc(INT8, (nbytes,)), _filling(p, cells))
    one = default_desc(FLOAT32, (batch, p.state_size))
    x, state, cell, scale, shift = (get_default(ins[i], stream) for i in (0, 2, 3, 4, 5))
    sums = stream.scratch(default_desc(INT32, (steps * batch, p.rows)))
    scratch = stream.scratch(default_desc(
        INT8, (lib.ndrt_byte_lstm_scratch(p.state_size, batch),)))
    with ExitStack() as opened:
        made = [opened.enter_context(out.open(default_desc(FLOAT32, out.shape), stream))
                for out in outs]
        y = x
        for at, own in enumerate(cells):
            layer, direction = divmod(at, p.directions)
            if direction == 0:
                x, y = y, made[0]
                if layer + 1 < p.num_layers:
                    y = stream.scratch(default_desc(UINT8, (steps, batch, p.out_size)))
            whole_sums.write_products(ctx, sums, x, _part(packed, own.i2h), steps * batch,
                                      own.inputs, p.rows)
            hidden, last = ([weights.at(mem, at * one.nelems, one) for mem in made[1:]]
                            if p.state_outputs else (None, stream.scratch(one)))
            ctx.kernel(kernels.byte_lstm(
                out=y, sums=sums, weights=_part(packed, own.h2h), scale=scale, shift=shift,
                state=weights.at(state, at * one.nelems, one),
                cell=weights.at(cell, at * one.nelems, one), cells=last, scratch=scratch,
                hidden=hidden, steps=steps, batch=batch, size=p.state_size, columns=p.out_size,
                first=direction * p.state_size, backwards=direction == 1,
                kind=y.desc.dtype_code))


def _filling(p: RNNParams, cells: Sequence[Cell]) -> weights.Fill:
    """Fills the memory of all packed weights from the vector of parameters."""
    row = default_desc(FLOAT32, (p.rows,))

    def fill(stream: Stream, vector: Mem, to: Mem) -> None:
        most = stream.scratch(row)
        stream.kernel(zero(out=most, nbytes=row.nbytes))
        # a row of a gate has one scale in all layers and directions
        for own in cells:
            for start, width in ((own.place.i2h, own.inputs), (own.place.h2h, p.state_size)):
                matrix = weights.at(vector, start, default_desc(FLOAT32, (p.rows, width)))
                stream.kernel(kernels.row_most(most=most, data=matrix, rows=p.rows, width=width))
        for own in cells:
            i2h = _rounded(stream, vector, most, own.place.i2h, (p.rows, own.inputs))
            h2h = _rounded(stream, vector, most, own.place.h2h, (p.rows, p.state_size))
            whole_sums.pack(stream, _part(to, own.i2h), i2h, i2h.desc.dims)
            i2h_bias, h2h_bias = (weights.at(vector, start, row)
                                  for start in (own.place.i2h_bias, own.place.h2h_bias))
            stream.kernel(kernels.pack_byte_lstm(
                out=_part(to, own.h2h), h2h=h2h, i2h=i2h, most=most, i2h_bias=i2h_bias,
                h2h_bias=h2h_bias, size=p.state_size, features=own.inputs))
    return fill


def _rounded(stream: Stream, vector: Mem, most: Mem, start: int, shape: tuple[int, int]) -> Mem:
    """A matrix that begins at an element of the vector, as int8."""
    made = stream.scratch(default_desc(INT8, shape))
    matrix = weights.at(vector, start, default_desc(FLOAT32, shape))
    stream.kernel(kernels.round_rows(out=made, data=matrix, most=most, rows=shape[0],
                                     width=shape[1]))
    return made
