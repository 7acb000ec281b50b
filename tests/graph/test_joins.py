"""Concat of parts that lie in the memory of the result: right however they lie there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt._array.layout import write_mem
from ndarray_rt._array.ndarray import NDArray
from ndarray_rt.context import cpu
from ndarray_rt.dtypes import FLOAT32, UINT8, DType
from ndarray_rt.op.dispatch import observe
from ndarray_rt.storage.chunk import Chunk
from ndarray_rt.storage.desc import MemDesc, blocked_desc, channels_last_desc, default_desc
from ndarray_rt.storage.handle import Handle
from ndarray_rt.storage.stream import Mem, Stream
from ndarray_rt.storage.tmp_mem import TmpMemMgr

LAST = channels_last_desc
Layout = Callable[[DType, tuple[int, ...]], MemDesc]


def blocks(dtype: DType, dims: tuple[int, ...]) -> MemDesc:
    return blocked_desc(dtype, dims, 16)


def placed(arena: Handle, offset: int, shape: tuple[int, ...], layout: Layout) -> NDArray:
    """An array over a span of an arena, to be put into a layout."""
    desc = layout(FLOAT32, shape)
    chunk = Chunk((desc.nbytes,), UINT8, handle=Handle.span(arena, offset, desc.nbytes))
    chunk.set_layout(desc)
    return NDArray(chunk, chunk.storage_shape, UINT8, ctx=cpu())._as_array(shape, FLOAT32)


def fill(array: NDArray, value: np.ndarray[Any, Any]) -> None:
    stream = Stream(TmpMemMgr())
    stream.begin_operator()
    source = mx.nd.array(value)
    handle = source._chunk.handle
    write_mem(array, Mem(default_desc(FLOAT32, value.shape), handle.ptr, handle, stream.epoch),
              stream)


def joined(shapes: Sequence[tuple[int, ...]], layouts: Sequence[Layout], offsets: Sequence[int],
           axis: int, spare: int = 0) -> tuple[list[str], NDArray]:
    """What Concat makes of arrays that lie so in the memory of its output, the truth, and by which
    library it was made."""
    whole_shape = list(shapes[0])
    whole_shape[axis] = sum(shape[axis] for shape in shapes)
    arena = Handle(1 << 16)
    whole = placed(arena, 0, tuple(whole_shape), layouts[0])
    random = np.random.default_rng(0)
    values = [random.normal(size=shape).astype(np.float32) for shape in shapes]
    parts = [placed(arena, at, shape, layout)
             for at, shape, layout in zip(offsets, shapes, layouts, strict=True)]
    for part, value in zip(parts, values, strict=True):
        fill(part, value)
    heard: list[str] = []
    stop = observe(lambda told: heard.append(told.key.library))
    try:
        mx.nd.Concat(*parts, dim=axis, out=whole)
    finally:
        stop()
    np.testing.assert_array_equal(whole.asnumpy(), np.concatenate(values, axis=axis))
    return heard, whole


IMAGE = (1, 16, 4, 4)
NBYTES = 16 * 16 * 4


@pytest.mark.parametrize("layout", [default_desc, LAST, blocks])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_samples_one_behind_the_other_stay_where_they_are(layout: Layout, count: int) -> None:
    heard, whole = joined([IMAGE] * count, [layout] * count,
                          [i * NBYTES for i in range(count)], 0)
    assert heard == ["native"]
    if layout is not default_desc and count > 1:
        assert whole._chunk.mkl_mem is layout(FLOAT32, whole.shape)


@pytest.mark.parametrize("layout", [default_desc, blocks])
def test_channels_of_one_sample(layout: Layout) -> None:
    joined([IMAGE, (1, 32, 4, 4)], [layout] * 2, [0, NBYTES], 1)


@pytest.mark.parametrize(("shapes", "layouts", "offsets", "axis"), [
    ([IMAGE] * 2, [LAST, default_desc], [0, NBYTES], 0),
    ([IMAGE] * 2, [blocks, LAST], [0, NBYTES], 0),
    ([IMAGE] * 2, [LAST, LAST], [NBYTES, 0], 0),
    ([IMAGE] * 2, [default_desc] * 2, [NBYTES, 0], 0),
    ([IMAGE] * 2, [LAST, LAST], [0, NBYTES], 1),
    ([(2, 16, 4, 4)] * 2, [blocks] * 2, [0, 2 * NBYTES], 1),
    ([(2, 16, 4, 4)] * 2, [default_desc] * 2, [0, 2 * NBYTES], 1),
    ([(1, 20, 4, 4), (1, 12, 4, 4)], [blocks] * 2, [0, 2 * NBYTES], 1),
    ([(1, 12, 4, 4), (1, 20, 4, 4)], [blocks] * 2, [0, NBYTES], 1),
    ([IMAGE] * 2, [LAST, LAST], [0, 2 * NBYTES], 0),
    ([IMAGE, IMAGE], [LAST, LAST], [NBYTES, 2 * NBYTES], 0),
])
def test_all_others_are_copied(shapes: Sequence[tuple[int, ...]], layouts: Sequence[Layout],
                               offsets: Sequence[int], axis: int) -> None:
    joined(shapes, layouts, offsets, axis)
