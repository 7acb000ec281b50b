"""MemDesc: one object a layout, and what it says of itself."""

from __future__ import annotations

import gc
import pickle

import numpy as np
import pytest

from ndarray_rt.errors import NdrtError, Unsupported
from ndarray_rt.native import lib
from ndarray_rt.storage.desc import (
    any_desc,
    channels_last_desc,
    clear_desc_caches,
    default_desc,
    strided_desc,
    tagged_desc,
)
from ndarray_rt.testing.layout_model import offsets

F32 = np.dtype(np.float32)


def test_equal_layouts_are_one_object() -> None:
    shape = (2, 16, 5, 5)
    default = default_desc(F32, shape)
    assert tagged_desc(F32, shape, "abcd") is default
    assert strided_desc(F32, shape, (400, 25, 5, 1)) is default
    assert channels_last_desc(F32, shape) is tagged_desc(F32, shape, "acdb")
    assert default.permuted((0, 2, 3, 1)).permuted((0, 3, 1, 2)) is default
    assert default.reshaped((32, 25)).reshaped(shape) is default
    clear_desc_caches()
    assert default_desc(F32, shape) is default


@pytest.mark.parametrize(("shape", "tag", "name", "padded"), [
    ((2, 3, 4, 5), "abcd", "nchw", False),
    ((2, 3, 4, 5), "acdb", "nhwc", False),
    ((2, 3, 4, 5), "aBcd16b", "nChw16c", True),
    ((2, 16, 4, 5), "aBcd16b", "nChw16c", False),
    ((2, 20, 4, 5), "aBcd8b", "nChw8c", True),
    ((2, 3, 4), "acb", "nwc", False),
    ((2, 3, 4, 5, 6), "acdeb", "ndhwc", False),
    ((2, 3), "ba", "cn", False),
])
def test_layout_names_and_padding(shape: tuple[int, ...], tag: str, name: str,
                                  padded: bool) -> None:
    desc = tagged_desc(F32, shape, tag)
    assert desc.layout() == name
    assert desc.is_padded == padded
    assert desc.is_default == (tag == "abcd"[:len(shape)])
    assert desc.dims == shape
    assert desc.nelems == int(np.prod(shape))
    assert desc.nbytes == 4 * int(np.prod(desc.padded_dims))
    assert (desc.nbytes > 4 * desc.nelems) == padded


@pytest.mark.parametrize(("shape", "tag", "options", "name"), [
    ((32, 16, 3, 3), "ABcd16b16a", {"weights": True}, "OIhw16i16o"),
    ((2, 16, 8, 3, 3), "aBCde8c8b", {"groups": True}, "gOIhw8i8o"),
    ((8, 4), "ba", {"weights": True}, "io"),
])
def test_weight_names(shape: tuple[int, ...], tag: str, options: dict[str, bool],
                      name: str) -> None:
    assert tagged_desc(F32, shape, tag).layout(**options) == name


def test_dims_of_one_do_not_make_a_layout_special() -> None:
    assert tagged_desc(F32, (2, 1, 4, 5), "acdb").is_default
    assert tagged_desc(F32, (1, 7, 1, 1), "acdb").is_default
    assert not tagged_desc(F32, (1, 2, 2, 1), "acdb").is_default
    a, b = tagged_desc(F32, (2, 1, 4, 5), "acdb"), default_desc(F32, (2, 1, 4, 5))
    assert a.same_as == b.same_as


@pytest.mark.parametrize("tag", ["abcd", "acdb", "aBcd16b", "aBcd8b", "bacd", "ABcd16b16a",
                                 "ABcd4b16a4b"])
def test_offsets_are_distinct_and_inside(tag: str) -> None:
    desc = tagged_desc(F32, (3, 20, 4, 2), tag)
    found = offsets(desc).ravel()
    assert len(np.unique(found)) == desc.nelems
    assert found.min() >= 0
    assert found.max() < desc.nbytes // 4


def test_permuted_is_numpys_transpose() -> None:
    desc = tagged_desc(F32, (2, 20, 3, 4), "aBcd16b")
    for axes in ((0, 2, 3, 1), (3, 1, 0, 2), (1, 0, 2, 3)):
        moved = desc.permuted(axes)
        assert moved.dims == tuple(desc.dims[a] for a in axes)
        assert (offsets(moved) == offsets(desc).transpose(axes)).all()


def test_reshaped_refuses_to_move_bytes() -> None:
    assert default_desc(F32, (2, 3, 4)).reshaped((6, 4)) is default_desc(F32, (6, 4))
    with pytest.raises(NdrtError):
        tagged_desc(F32, (2, 3, 4, 5), "acdb").reshaped((2, 60))


def test_any_is_a_request() -> None:
    desc = any_desc(F32, (2, 3))
    assert desc.is_any
    assert desc.layout() == "any"
    assert not desc.is_default


def test_rank_zero_and_no_elements() -> None:
    assert default_desc(F32, ()).dims == (1,)
    empty = default_desc(F32, (0, 3))
    assert empty.nbytes == 0
    assert empty.nelems == 0


@pytest.mark.parametrize("dtype", ["int64", "bool"])
def test_a_dtype_without_layouts(dtype: str) -> None:
    with pytest.raises(Unsupported, match=dtype):
        default_desc(np.dtype(dtype), (2,))


def test_a_wrong_tag_is_refused() -> None:
    for tag in ("abc", "xyz", ""):
        with pytest.raises(NdrtError):
            tagged_desc(F32, (2, 3), tag)


def test_a_descriptor_stays_in_its_process() -> None:
    with pytest.raises(TypeError, match="can not be pickled"):
        pickle.dumps(default_desc(F32, (2, 3)))


def test_descriptors_are_given_back() -> None:
    clear_desc_caches()
    gc.collect()
    before = lib.ndrt_desc_count()
    for n in range(1, 300):
        strided_desc(F32, (n, 3), (5, 1))
    clear_desc_caches()
    gc.collect()
    assert lib.ndrt_desc_count() <= before + 2


@pytest.mark.parametrize("tag", ["abcd", "acdb", "bacd", "aBcd16b", "aBcd8b", "ABcd16b16a"])
@pytest.mark.parametrize("dims", [(2, 20, 3, 4), (1, 3, 1, 5), (2, 16, 1, 1)])
def test_the_same_layout_of_another_dtype(tag: str, dims: tuple[int, ...]) -> None:
    desc = tagged_desc(np.dtype(np.int32), dims, tag)
    other = desc.of_dtype(F32)
    assert other.dtype_name == "float32"
    assert (offsets(other) == offsets(desc)).all()
    assert other.nbytes == desc.nbytes
    assert other.of_dtype(np.dtype(np.int32)).same_as == desc.same_as
