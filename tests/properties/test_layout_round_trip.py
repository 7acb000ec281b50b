"""A reorder there and back is the identity, bit for bit, and leaves padding zero.

Only layouts that oneDNN names or strides describe: on x86-64 no primitive of oneDNN 3.2 that this
package makes asks for an opaque one.
"""

from __future__ import annotations

from collections import Counter
from importlib.util import find_spec

import numpy as np
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from ndarray_rt._array.copy import read_numpy, write_numpy
from ndarray_rt._array.ndarray import new_array
from ndarray_rt.dtypes import find_dtype
from ndarray_rt.errors import NdrtError
from ndarray_rt.storage.desc import (
    FORMAT_BLOCKED,
    MemDesc,
    default_desc,
    strided_desc,
    tagged_desc,
)
from ndarray_rt.storage.stream import Stream
from ndarray_rt.testing.layout_model import assert_padding_zero, offsets, peek

# what oneDNN reorders everywhere: the first three move bits, the last two go through float32
MOVED = ("float32", "int32", "int8", "uint8")
DTYPES = (*MOVED, "float16", *(["bfloat16"] if find_spec("ml_dtypes") else []))
BLOCKS = (4, 8, 16)
LETTERS = "abcdef"
F32 = np.dtype(np.float32)

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
def any_layouts(draw: st.DrawFn) -> MemDesc:
    """Of any rank up to 5, any order of axes, with and without blocks."""
    rank = draw(st.integers(1, 5))
    dtype = find_dtype(draw(st.sampled_from(DTYPES)))
    sizes = [1, 2, 3, 4, 5, 7, 8, 16, 17, 20][: 10 if rank < 4 else 6]
    dims = tuple(draw(st.lists(st.sampled_from(sizes), min_size=rank, max_size=rank)))
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


@st.composite
def padded_channels(draw: st.DrawFn) -> MemDesc:
    """3 or 20 channels in blocks of 16, of data and of weights."""
    dtype = find_dtype(draw(st.sampled_from(DTYPES)))
    channels = draw(st.sampled_from([3, 20]))
    other, h, w = (draw(st.integers(1, 4)) for _ in range(3))
    if draw(st.booleans()):
        return tagged_desc(dtype, (other, channels, h, w), "aBcd16b")
    return tagged_desc(dtype, (channels, 16 + other, h, w), "ABcd16b16a")


@st.composite
def grouped_weights(draw: st.DrawFn) -> MemDesc:
    """5-D layouts of weights that are 4-D to the user; mostly padded."""
    dtype = find_dtype(draw(st.sampled_from(DTYPES)))
    dims = tuple(draw(st.sampled_from(sizes)) for sizes in (
        (2, 3), (1, 3, 8, 10, 20), (1, 3, 4, 8, 20), (1, 3), (1, 2, 3)))
    return tagged_desc(dtype, dims, draw(st.sampled_from(
        ["aBCde8c8b", "aBCde16c16b", "abdec", "Abcde8a", "Abcde16a"])))


layouts = st.one_of(any_layouts(), padded_channels(), grouped_weights())


def users_shape(desc: MemDesc) -> tuple[int, ...]:
    """The shape of an array that can be in a layout: grouped weights are 4-D to the user."""
    dims = desc.dims
    return (dims[0] * dims[1], *dims[2:]) if len(dims) == 5 else dims


def contents(desc: MemDesc, seed: int) -> np.ndarray:
    """Random bits, so that a value that is only nearly the same shows.

    float16 and bfloat16 go through float32, which keeps values, but neither the sign of zero, nor
    what kind of NaN it was, nor, for bfloat16, subnormals: none of these in them.
    """
    rng = np.random.default_rng(seed)
    dtype = find_dtype(desc.dtype_name)
    raw = rng.integers(0, 256, desc.nelems * dtype.itemsize, np.uint8)
    made = raw.view(dtype).reshape(desc.dims)
    if desc.dtype_name not in MOVED:
        wide = np.abs(made.astype(np.float32))
        made = np.where(np.isfinite(wide) & (wide > 1e-30), made, dtype.type(1.5))
    return made.reshape(users_shape(desc))


def count(desc: MemDesc) -> None:
    SEEN["examples"] += 1
    SEEN["padded" if desc.is_padded else "default" if desc.is_default else "special"] += 1
    sixteens = {desc.dims[d] for b, d in zip(desc.inner_blks, desc.inner_idxs, strict=True)
                if b == 16}
    for channels in (3, 20):
        SEEN[f"{channels} channels in blocks of 16"] += channels in sixteens and desc.ndims == 4
    SEEN["grouped"] += desc.ndims == 5 and bool(desc.inner_blks)
    SEEN["grouped and padded"] += desc.ndims == 5 and desc.is_padded
    SEEN[desc.dtype_name] += 1


SEEN: Counter[str] = Counter()


@given(desc=layouts, seed=st.integers(0, 2**32 - 1))
@example(tagged_desc(F32, (2, 3, 4, 5), "aBcd16b"), 0)
@example(tagged_desc(F32, (2, 20, 4, 5), "aBcd16b"), 0)
@example(tagged_desc(F32, (20, 3, 3, 3), "ABcd16b16a"), 0)
@example(tagged_desc(F32, (2, 10, 3, 3, 3), "aBCde8c8b"), 0)
@example(tagged_desc(F32, (2, 3, 20, 3, 3), "aBCde16c16b"), 0)
@example(tagged_desc(F32, (3, 1, 1, 3, 3), "Abcde16a"), 0)
def test_there_and_back_is_the_identity(desc: MemDesc, seed: int) -> None:
    count(desc)
    assert desc.format == FORMAT_BLOCKED
    stream = Stream()
    value = contents(desc, seed)
    array = new_array(value.shape, value.dtype)
    write_numpy(array, value, stream)
    array._chunk.reorder(desc, stream)
    if not desc.is_default:
        assert array._chunk.mkl_mem is desc
        assert peek(array).tobytes() == value.tobytes()
        assert_padding_zero(array._chunk, "after a reorder")
    assert read_numpy(array, stream).tobytes() == value.tobytes()
    array._chunk.reorder_to_default(stream)
    assert not array.is_special
    assert read_numpy(array, stream).tobytes() == value.tobytes()


@given(first=layouts, seed=st.integers(0, 2**32 - 1), data=st.data())
def test_between_two_special_layouts(first: MemDesc, seed: int, data: st.DataObject) -> None:
    tag = data.draw(tags(first.ndims))
    dtype = find_dtype(first.dtype_name)
    try:
        second = tagged_desc(dtype, first.dims, tag)
    except NdrtError:
        second = default_desc(dtype, first.dims)
    stream = Stream()
    value = contents(first, seed)
    array = new_array(value.shape, dtype)
    write_numpy(array, value, stream)
    array._chunk.reorder(first, stream)
    array._chunk.reorder(second, stream)
    if array.is_special:
        assert peek(array).tobytes() == value.tobytes()
        assert_padding_zero(array._chunk, "after two reorders")
    assert read_numpy(array, stream).tobytes() == value.tobytes()


@given(desc=layouts)
def test_a_layout_describes_itself(desc: MemDesc) -> None:
    places = offsets(desc).ravel()
    assert len(np.unique(places)) == desc.nelems
    assert 0 <= places.min() <= places.max() < desc.nbytes // find_dtype(desc.dtype_name).itemsize
    plain = np.arange(desc.nelems).reshape(desc.dims)
    is_plain = bool((offsets(desc) == plain).all()) and not desc.is_padded
    assert is_plain or not desc.is_default
    # blocks that put every byte where row-major does may count as special: no harm is done
    assert desc.is_default or desc.inner_blks or not is_plain


def test_the_strategy_reaches_what_it_is_about() -> None:
    SEEN.clear()
    settings(max_examples=150, derandomize=True, database=None, phases=(Phase.generate,))(
        test_there_and_back_is_the_identity)()
    for what in ("special", "padded", "3 channels in blocks of 16", "20 channels in blocks of 16",
                 "grouped", "grouped and padded", *DTYPES):
        assert SEEN[what] >= 5, f"{what}: {dict(SEEN)}"
