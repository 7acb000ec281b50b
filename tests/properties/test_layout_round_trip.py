"""A reorder there and back is the identity, bit for bit, and leaves padding zero."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ndarray_rt.errors import NdrtError
from ndarray_rt.ndarray.copy import read_numpy, write_numpy
from ndarray_rt.ndarray.ndarray import new_array
from ndarray_rt.storage.desc import MemDesc, default_desc, strided_desc, tagged_desc
from ndarray_rt.storage.stream import ImmediateStream
from ndarray_rt.testing.layout_model import assert_padding_zero, offsets, peek

DTYPES = ("float32", "int32", "int8", "uint8")
BLOCKS = (4, 8, 16)
LETTERS = "abcdef"


@st.composite
def tags(draw: st.DrawFn, rank: int) -> str:
    """oneDNN's letters: any order of the axes, and perhaps channels (and inputs) in blocks."""
    order = list(draw(st.permutations(LETTERS[:rank])))
    kind = draw(st.sampled_from(["plain", "data", "weights"]))
    if kind == "data" and rank >= 3:
        # of these oneDNN has names
        block = draw(st.sampled_from(BLOCKS))
        return f"aB{LETTERS[2:rank]}{block}b"
    if kind == "weights" and rank >= 3:
        return draw(st.sampled_from([f"AB{LETTERS[2:rank]}16b16a", f"AB{LETTERS[2:rank]}8b8a",
                                     f"A{LETTERS[1:rank]}16a", f"A{LETTERS[1:rank]}8a"]))
    return "".join(order)


@st.composite
def layouts(draw: st.DrawFn) -> MemDesc:
    rank = draw(st.integers(1, 5))
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    sizes = [1, 2, 3, 4, 5, 7, 8, 16, 17, 20][: 10 if rank < 4 else 6]
    dims = tuple(draw(st.lists(st.sampled_from(sizes), min_size=rank,
                               max_size=rank)))
    tag = draw(tags(rank))
    try:
        return tagged_desc(dtype, dims, tag)
    except NdrtError:
        # an order without a name in oneDNN: by strides
        axes = [LETTERS.index(letter) for letter in tag.lower() if letter.isalpha()][:rank]
        strides, step = [0] * rank, 1
        for axis in reversed(axes):
            strides[axis] = step
            step *= dims[axis]
        return strided_desc(dtype, dims, tuple(strides))


def contents(desc: MemDesc, seed: int) -> np.ndarray:
    """Random bits, so that a value that is only nearly the same shows; no signalling NaN."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(desc.dtype_name)
    raw = rng.integers(0, 256, desc.nelems * dtype.itemsize, np.uint8)
    made = raw.view(dtype).reshape(desc.dims)
    if dtype.kind == "f":
        made = np.where(np.isfinite(made) & (np.abs(made) > 1e-30), made, dtype.type(1.5))
    return made


SEEN: Counter[str] = Counter()


@given(desc=layouts(), seed=st.integers(0, 2**32 - 1))
def test_there_and_back_is_the_identity(desc: MemDesc, seed: int) -> None:
    stream = ImmediateStream()
    value = contents(desc, seed)
    array = new_array(desc.dims, value.dtype)
    write_numpy(array, value, stream)
    array.chunk.reorder(desc, stream)
    if not desc.is_default:
        assert array.chunk.mkl_mem is desc
        assert peek(array).tobytes() == value.tobytes()
        assert_padding_zero(array.chunk, "after a reorder")
        SEEN["padded" if desc.is_padded else "special"] += 1
    assert read_numpy(array, stream).tobytes() == value.tobytes()
    array.chunk.reorder_to_default(stream)
    assert not array.is_special
    assert read_numpy(array, stream).tobytes() == value.tobytes()


@given(first=layouts(), seed=st.integers(0, 2**32 - 1), data=st.data())
def test_between_two_special_layouts(first: MemDesc, seed: int, data: st.DataObject) -> None:
    tag = data.draw(tags(first.ndims))
    dtype = np.dtype(first.dtype_name)
    try:
        second = tagged_desc(dtype, first.dims, tag)
    except NdrtError:
        second = default_desc(dtype, first.dims)
    stream = ImmediateStream()
    value = contents(first, seed)
    array = new_array(first.dims, dtype)
    write_numpy(array, value, stream)
    array.chunk.reorder(first, stream)
    array.chunk.reorder(second, stream)
    if array.is_special:
        assert peek(array).tobytes() == value.tobytes()
        assert_padding_zero(array.chunk, "after two reorders")
    assert read_numpy(array, stream).tobytes() == value.tobytes()


@given(desc=layouts())
def test_a_layout_describes_itself(desc: MemDesc) -> None:
    places = offsets(desc).ravel()
    assert len(np.unique(places)) == desc.nelems
    assert 0 <= places.min() <= places.max() < desc.nbytes // np.dtype(desc.dtype_name).itemsize
    plain = np.arange(desc.nelems).reshape(desc.dims)
    is_plain = bool((offsets(desc) == plain).all()) and not desc.is_padded
    assert is_plain or not desc.is_default
    # blocks that put every byte where row-major does may count as special: no harm is done
    assert desc.is_default or desc.inner_blks or not is_plain


def test_the_strategy_reaches_padded_layouts() -> None:
    SEEN.clear()
    run = settings(max_examples=150, derandomize=True, database=None)(
        test_there_and_back_is_the_identity)
    run()
    assert SEEN["padded"] > 5
    assert SEEN["special"] > 5
