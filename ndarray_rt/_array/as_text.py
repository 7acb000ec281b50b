"""Arrays as text and HTML, in NumPy's format, reading only the elements that are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import markup
from ..dtypes import is_bare
from ..errors import ParameterError
from ..storage.desc import FORMAT_BLOCKED, MemDesc
from .access import Access
from .copy import read_numbers
from .interop import asnumpy
from .layout import AnyArray, numbers, plain_numpy
from .ndarray import NDArray


def text(x: NDArray) -> str:
    """NumPy's `str` of the contents, and a line with shape and device."""
    return f"\n{_written(x)}\n<{title(x)}>"


def title(x: NDArray) -> str:
    """Shape and device, as MXNet writes them."""
    return f"NDArray {'x'.join(str(dim) for dim in x.shape)} @{x.ctx}"


def formatted(x: NDArray, spec: str) -> str:
    """`format(x, spec)`: each element formatted by `spec`; without one like `str`.

    Raises ParameterError for a format that does not suit the dtype.
    """
    if not spec:
        return str(x)
    try:
        if x.size == 1 and x.ndim < 2:
            return format(asnumpy(x).reshape(-1)[0].item(), spec)
        return _written(x, {"all": lambda value: format(value.item(), spec)})
    except (ValueError, TypeError) as error:
        raise ParameterError(f"format: {spec!r} does not go with {x.dtype}: {error}") from None


def html(x: NDArray) -> str:
    """A table of the elements for notebooks, with the middle left out."""
    caption = markup.paragraph(f"{title(x)}, {x.dtype}, layout {x.layout}")
    if x.ndim not in (1, 2) or not x.size:
        return markup.preformatted(_written(x)) + caption
    edge = _edge(x)
    plain = _corners(x, edge)
    if x.ndim == 1:
        plain = plain[None]
    cells = [[np.array2string(value[()]) for value in row] for row in plain]
    if edge is not None:
        skipped = [-1 if dim > 2 * edge else None for dim in x.shape]
        if x.ndim == 2 and skipped[0]:
            cells[edge] = ["…"] * len(cells[edge])
        if skipped[-1]:
            for row in cells:
                row[edge] = "…"
    return markup.table(cells) + caption


def _written(x: NDArray, formatter: Any = None) -> str:
    edge = _edge(x)
    plain = _corners(x, edge)
    if edge is not None:
        return np.array2string(plain, threshold=0, formatter=formatter)
    return str(plain) if formatter is None else np.array2string(plain, formatter=formatter)


def _edge(x: NDArray) -> int | None:
    """How many elements NumPy shows at each end of an axis; None if it shows all."""
    options = np.get_printoptions()
    edge = int(options["edgeitems"])
    return edge if x.ndim and x.size > options["threshold"] and edge > 0 else None


def _corners(x: NDArray, edge: int | None) -> AnyArray:
    """The contents with each long axis cut to its ends and one element in between.

    NumPy replaces that one by dots.
    """
    if edge is None:
        with Access(read=(x,)) as stream:
            return read_numbers(x, stream)
    places = [np.r_[0:edge + 1, dim - edge:dim] if dim > 2 * edge else np.arange(dim)
              for dim in x.shape]
    made: AnyArray
    with Access(read=(x,)) as stream:
        if is_bare(x.dtype):
            made = numbers(x, stream)[np.ix_(*places)]
            return made
        desc = x._chunk.mkl_mem
        if desc is None:
            made = plain_numpy(x)[np.ix_(*places)]
            return made
        if desc.dims == x.shape and not x.is_view and desc.format == FORMAT_BLOCKED:
            handle = x._chunk.handle
            made = np.frombuffer(handle.buffer(), x.dtype, desc.nbytes // x.dtype.itemsize)
            return made[_offsets(desc, places)]
    return np.array(asnumpy(x)[np.ix_(*places)])


def _offsets(desc: MemDesc, places: Sequence[AnyArray]) -> AnyArray:
    """Offsets of elements from the first one: those along each axis, added up."""
    found: AnyArray = np.full((1,) * desc.ndims, desc.offset0)
    left = [np.array(along) for along in places]
    inner = [np.zeros(len(along), np.int64) for along in places]
    stride = 1
    for block, axis in zip(reversed(desc.inner_blks), reversed(desc.inner_idxs), strict=True):
        inner[axis] += left[axis] % block * stride
        left[axis] //= block
        stride *= block
    for axis, along in enumerate(left):
        shape = [1] * desc.ndims
        shape[axis] = -1
        found = found + (along * desc.strides[axis] + inner[axis]).reshape(shape)
    return found
