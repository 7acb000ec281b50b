"""What shares memory: slices, reshape with its codes, detach, views of views, special layouts."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ndarray_rt as mx
from ndarray_rt._array.new_shape import reshaped

nd = mx.nd


def filled(*shape: int) -> mx.nd.NDArray:
    return nd.array(np.arange(np.prod(shape)).reshape(shape))


@pytest.mark.parametrize(("shape", "codes", "reverse", "expected"), [
    ((2, 3), (3, -1), False, (3, 2)), ((2, 3), (0, -1), False, (2, 3)),
    ((2, 3, 4), (-2,), False, (2, 3, 4)), ((2, 3, 4), (-3, 4), False, (6, 4)),
    ((2, 3, 4), (-4, 1, 2, -2), False, (1, 2, 3, 4)),
    ((2, 3, 4), (-4, -1, 2, -2), False, (1, 2, 3, 4)), ((6, 3), (-4, 2, -1, 0), False, (2, 3, 3)),
    ((2, 3, 4), (0, -3), False, (2, 12)), ((2, 3, 4, 5), (-3, -3), False, (6, 20)),
    ((2, 3, 4, 5), (-1, -2), False, (2, 3, 4, 5)), ((2, 3, 4, 5), (6, -1, -2), False, (6, 1, 4, 5)),
    ((2, 3), (0, 0, 1), False, (2, 3, 1)), ((1,), (), False, ()), ((), (1, 1), False, (1, 1)),
    ((8, 3, 3, 3, 4, 4), (-1, 0), True, (864, 4)), ((2, 3, 4, 5), (0, 0, -3), True, (2, 3, 20)),
    ((2, 3, 4, 5), (-3, 0, 0), True, (6, 4, 5)), ((2, 3, 4, 5), (-1, 2, 0), True, (12, 2, 5)),
    ((0, 3), (-1, 3), False, (0, 3)), ((0, 3), (0, 3), False, (0, 3)),
    ((0, 3), (-1,), False, (0,))])
def test_reshape_codes_as_in_mxnet(shape: Any, codes: Any, reverse: bool, expected: Any) -> None:
    assert reshaped(shape, codes, reverse) == expected
    x = nd.zeros(shape)
    assert x.reshape(codes, reverse=reverse).shape == expected
    assert x.reshape(shape=codes, reverse=reverse).shape == expected


@pytest.mark.parametrize(("shape", "codes"), [
    ((2, 3), (5,)), ((2, 3), (2, 2)), ((2, 3), (4, -1)), ((2, 3), (-1, -1)), ((2, 3), (-5,)),
    ((2, 3), ()), ((2, 3), (0, 0, 0)), ((2, 3), (-4, 2)), ((2, 3), (-4, -1, -1, 3)),
    ((2, 3, 4), (-3, -3)), ((5, 2), (-4, 2, -1, 2)), ((0, 3), (1, 3))])
def test_reshape_refuses_what_does_not_fit(shape: Any, codes: Any) -> None:
    with pytest.raises(ValueError, match="reshape") as caught:
        nd.zeros(shape).reshape(codes)
    assert isinstance(caught.value, mx.MXNetError)


def test_reshape_forms() -> None:
    x = filled(2, 3)
    assert x.reshape(3, 2).shape == x.reshape([3, 2]).shape == x.reshape((3, 2)).shape == (3, 2)
    assert x.reshape(6).shape == (6,)
    with pytest.raises(TypeError, match="unknown keywords"):
        x.reshape(6, foo=1)
    with pytest.raises(TypeError, match="twice"):
        x.reshape(6, shape=6)


@pytest.mark.parametrize("take", [
    lambda x: x[0], lambda x: x[1:2], lambda x: x[0, 1:3], lambda x: x[None], lambda x: x[...],
    lambda x: x.reshape(6, 4), lambda x: x.reshape(x.shape), lambda x: x.detach(),
    lambda x: x.astype("float32", copy=False), lambda x: x.as_in_context(mx.cpu()),
    lambda x: x[1].reshape(12)[3:7], lambda x: x.reshape(4, 6)[1][2:4]])
@pytest.mark.parametrize("special", [False, True])
def test_views_share_memory_both_ways(take: Any, special: bool) -> None:
    x = filled(2, 3, 4)
    if special:
        x.reorder()
        assert x.is_mkldnn
    view = take(x)
    view[:] = -3
    changed = x.asnumpy()
    assert (changed == -3).sum() == view.size
    x[:] = 8
    assert (view.asnumpy() == 8).all()


@pytest.mark.parametrize("take", [
    lambda x: x[::-1], lambda x: x[:, 0], lambda x: x[[0, 1]], lambda x: x.T, lambda x: x.copy(),
    lambda x: x.astype("float32"), lambda x: x.expand_dims(0), lambda x: x.flatten(),
    lambda x: x.copyto(mx.cpu(1)), lambda x: x.as_in_context(mx.cpu(1)), lambda x: nd.array(x),
    lambda x: x.tostype("default"), lambda x: nd.reshape(x, shape=(6, 4))])
def test_copies_do_not(take: Any) -> None:
    x = filled(2, 3, 4)
    other = take(x)
    other[:] = -3
    assert (x.asnumpy() >= 0).all()


def test_is_view() -> None:
    x = filled(4, 3)
    assert not x.is_view
    assert x[1].is_view
    assert x[1:].is_view
    assert x.reshape(12).is_view
    assert not x.detach().is_view


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3)), max_size=4), st.booleans())
def test_views_of_views_see_what_the_base_wrote(cuts: list[tuple[int, int]], special: bool) -> None:
    data = np.arange(4 * 4 * 4 * 2, dtype=np.float32).reshape(4, 4, 4, 2)
    x = nd.array(data)
    if special:
        x.reorder("aBcd8b")
    views, arrays = [x], [data]
    for begin, length in cuts:
        begin = min(begin, len(arrays[-1]) - 1)
        arrays.append(arrays[-1][begin:begin + length])
        views.append(views[-1][begin:begin + length])
    views[-1][0] = -1
    arrays[-1][0] = -1
    for view, array in zip(views, arrays, strict=True):
        np.testing.assert_array_equal(view.asnumpy(), array)


def test_layout_calls() -> None:
    data = np.arange(2 * 5 * 3 * 3, dtype=np.float32).reshape(2, 5, 3, 3)
    x = nd.array(data)
    y = x.to_mkldnn()
    assert (x.layout, y.layout, y.is_mkldnn) == ("default", "nhwc", True)
    assert y.to_mkldnn() is y
    z = y.to_dense()
    assert (z.layout, z.to_dense() is z) == ("default", True)
    blocked = x.to_mkldnn("aBcd16b")  # 5 channels in a block of 16: padded
    assert blocked.layout == "nChw16c"
    for array in (x, y, z, blocked, blocked.copy(), blocked[1:].reshape(-1).reshape(1, 5, 3, 3)):
        np.testing.assert_array_equal(array.asnumpy()[-1], data[-1])
    blocked.reorder()
    assert blocked.layout == "nhwc"
    blocked.reorder_to_default()
    np.testing.assert_array_equal(blocked.asnumpy(), data)
    with pytest.raises(mx.MXNetError, match="rank 2"):
        nd.ones((2, 2)).to_mkldnn()
    with pytest.raises(mx.MXNetError, match="view"):
        x[0].reorder()


def test_layout_calls_do_not_touch_the_source() -> None:
    x = filled(1, 3, 2, 2)
    y = x.to_mkldnn()
    y[:] = 0
    assert x.asnumpy().sum() > 0
    assert x.layout == "default"


def test_which_slices_make_views() -> None:
    x = nd.zeros((3, 1, 4))
    some = [slice(None), slice(1), slice(1, 3), slice(0, 0), slice(None, None, 2),
            slice(None, None, -1)]
    asks = mx.nd.NDArray._basic_indexing_slice_is_contiguous  # type: ignore[attr-defined]
    seen = set()
    for key in itertools.product(some, repeat=3):
        part = x[key]
        assert asks(key, x.shape) == (part.size == 0 or part._chunk is x._chunk), key
        seen.add(asks(key, x.shape))
    assert seen == {True, False}
