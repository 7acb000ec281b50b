"""From the vector of parameters to oneDNN's arrays, and back for gradients.

oneDNN has one array a layer, (1, directions, inputs, gates, state_size), in which the vector's
matrices are rows (gates, state_size, inputs); one bias where MXNet has two; and, for GRU, the
update gate before the reset gate and a bias of its own for the product under the reset gate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..._array.layout import get_default
from ..._array.ndarray import NDArray
from ...dtypes import FLOAT32
from ...native import ffi
from ...op.context import OpContext
from ...storage.desc import MemDesc, strided_desc
from ...storage.kernels import elementwise
from ...storage.reorder import reorder_mem
from ...storage.stream import Mem, Stream
from .params import Place, RNNParams

# place of each of MXNet's gates r z n among oneDNN's
GRU_ORDER = (1, 0, 2)
# fills oneDNN's array from the vector: (stream, the vector's memory, what is filled)
Fill = Callable[[Stream, Mem, Mem], None]


def at(mem: Mem, elements: int, desc: MemDesc) -> Mem:
    """A part of float32 memory, from an element on."""
    return Mem(desc, ffi.cast("char *", mem.ptr) + 4 * elements, mem.keep, mem.epoch)


def bias_rows(p: RNNParams) -> int:
    """Rows of oneDNN's bias."""
    return p.gates + (p.mode == "gru")


def kept(ctx: OpContext, vector: NDArray, what: tuple[object, ...], desc: MemDesc,
         fill: Fill) -> Mem:
    """Memory in the layout `desc` that `fill` makes from the vector: made once for inference."""
    def make(stream: Stream, to: Mem) -> None:
        fill(stream, get_default(vector, stream), to)
    if ctx.is_constant(vector) and ctx.packed is not None:
        return ctx.packed.made(vector, what, desc, ctx.stream, make)
    mem = ctx.stream.scratch(desc)
    make(ctx.stream, mem)
    return mem


def copy(stream: Stream, to: Mem, source: Mem) -> None:
    """Copies all of an array in the default layout."""
    _copy(stream, to, source, source.desc.nelems)


def _copy(stream: Stream, to: Mem, source: Mem, count: int) -> None:
    stream.kernel(elementwise.copy(out=to, data=source, nbytes=4 * count))


def _add(stream: Stream, to: Mem, source: Mem, count: int) -> None:
    stream.kernel(elementwise.add_to(out=to, data=source, n=count))


def _row_desc(p: RNNParams, inputs: int, directions: int) -> MemDesc:
    """oneDNN's dims over matrices that stand as rows (gates, state_size, inputs)."""
    size, matrix = p.state_size, p.rows * inputs
    return strided_desc(FLOAT32, (1, directions, inputs, p.gates, size),
                        (directions * matrix, matrix, 1, size * inputs, inputs))


def _row_parts(p: RNNParams, inputs: int, starts: list[int]) -> Iterator[tuple[int, int, int]]:
    """(place in oneDNN's order, place in the vector, elements) of runs that keep their order."""
    block = p.state_size * inputs
    for direction, start in enumerate(starts):
        first = direction * p.gates * block
        if p.mode == "gru":
            for gate, place in enumerate(GRU_ORDER):
                yield first + place * block, start + gate * block, block
        else:
            yield first, start, p.gates * block


def fill_matrix(p: RNNParams, inputs: int, starts: list[int]) -> Fill:
    """Fills a layer's weights from the matrices of its directions, which begin at `starts`."""
    def fill(stream: Stream, vector: Mem, to: Mem) -> None:
        parts = list(_row_parts(p, inputs, starts))
        desc = _row_desc(p, inputs, len(starts))
        if len(parts) == 1:
            reorder_mem(stream, at(vector, starts[0], desc), to)
            return
        rows = stream.scratch(desc)
        for place, start, count in parts:
            _copy(stream, at(rows, place, desc), at(vector, start, desc), count)
        reorder_mem(stream, rows, to)
    return fill


def scatter_matrix(ctx: OpContext, p: RNNParams, grad: Mem, inputs: int, starts: list[int],
                   vector: Mem) -> None:
    """The way back: the gradient of a layer's weights to its places in the vector."""
    parts = list(_row_parts(p, inputs, starts))
    desc = _row_desc(p, inputs, len(starts))
    if len(parts) == 1:
        reorder_mem(ctx.stream, grad, at(vector, starts[0], desc))
        return
    rows = ctx.stream.scratch(desc)
    reorder_mem(ctx.stream, grad, rows)
    for place, start, count in parts:
        _copy(ctx.stream, at(vector, start, desc), at(rows, place, desc), count)


def _projection_desc(p: RNNParams, directions: int) -> MemDesc:
    """oneDNN's dims over projections that stand as rows (projection_size, state_size)."""
    size, matrix = p.state_size, p.hidden * p.state_size
    return strided_desc(FLOAT32, (1, directions, size, p.hidden),
                        (directions * matrix, matrix, 1, size))


def fill_projection(p: RNNParams, starts: list[int]) -> Fill:
    """Fills a layer's projections from those of its directions, which begin at `starts`."""
    matrix = p.hidden * p.state_size

    def fill(stream: Stream, vector: Mem, to: Mem) -> None:
        desc = _projection_desc(p, len(starts))
        if len(starts) == 1:
            reorder_mem(stream, at(vector, starts[0], desc), to)
            return
        rows = stream.scratch(desc)
        for direction, start in enumerate(starts):
            _copy(stream, at(rows, direction * matrix, desc), at(vector, start, desc), matrix)
        reorder_mem(stream, rows, to)
    return fill


def scatter_projection(ctx: OpContext, p: RNNParams, grad: Mem, starts: list[int],
                       vector: Mem) -> None:
    """The way back: the gradient of a layer's projections to its places in the vector."""
    matrix = p.hidden * p.state_size
    desc = _projection_desc(p, len(starts))
    if len(starts) == 1:
        reorder_mem(ctx.stream, grad, at(vector, starts[0], desc))
        return
    rows = ctx.stream.scratch(desc)
    reorder_mem(ctx.stream, grad, rows)
    for direction, start in enumerate(starts):
        _copy(ctx.stream, at(vector, start, desc), at(rows, direction * matrix, desc), matrix)


def _bias_parts(p: RNNParams, row: list[Place],
                ) -> Iterator[tuple[int, int | None, int | None, int]]:
    """(place in oneDNN's bias, i2h's part, h2h's part, elements); None: it has no share."""
    size = p.state_size
    for direction, place in enumerate(row):
        first = direction * bias_rows(p) * size
        if p.mode != "gru":
            yield first, place.i2h_bias, place.h2h_bias, p.rows
            continue
        for gate, to in enumerate(GRU_ORDER[:2]):
            yield (first + to * size, place.i2h_bias + gate * size, place.h2h_bias + gate * size,
                   size)
        yield first + 2 * size, place.i2h_bias + 2 * size, None, size
        yield first + 3 * size, None, place.h2h_bias + 2 * size, size


def fill_bias(p: RNNParams, row: list[Place]) -> Fill:
    """Fills a layer's bias with the sum of both biases, where oneDNN has one for them."""
    def fill(stream: Stream, vector: Mem, to: Mem) -> None:
        for place, i2h, h2h, count in _bias_parts(p, row):
            part = at(to, place, to.desc)
            first, *more = [at(vector, start, to.desc) for start in (i2h, h2h)
                            if start is not None]
            _copy(stream, part, first, count)
            for other in more:
                _add(stream, part, other, count)
    return fill


def scatter_bias(ctx: OpContext, p: RNNParams, grad: Mem, row: list[Place], vector: Mem) -> None:
    """The way back: both biases of a sum have its gradient."""
    for place, i2h, h2h, count in _bias_parts(p, row):
        for start in (i2h, h2h):
            if start is not None:
                _copy(ctx.stream, at(vector, start, grad.desc), at(grad, place, grad.desc), count)
