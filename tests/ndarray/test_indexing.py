"""a[...] and a[...] = v against numpy: every key, views and copies, whatever the layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ndarray_rt as mx
from ndarray_rt._array.indexing import Key, parse_items, parse_key

nd = mx.nd
SHAPES = hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4)


def filled(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)


def made(data: np.ndarray[Any, Any], special: bool) -> mx.nd.NDArray:
    x = nd.array(data)
    return x.to_mkldnn() if special and data.ndim >= 3 else x


@st.composite
def basic(draw: st.DrawFn) -> tuple[tuple[int, ...], Any]:
    shape = draw(SHAPES)
    return shape, draw(hnp.basic_indices(shape, max_dims=6, allow_newaxis=True))


@st.composite
def advanced(draw: st.DrawFn) -> tuple[tuple[int, ...], Any]:
    """Ints, slices, None, index arrays and at most one mask, in any order."""
    shape = draw(SHAPES)
    index_shape = draw(hnp.array_shapes(min_dims=1, max_dims=2, max_side=3))
    key: list[Any] = []
    axis, mask = 0, False
    while axis < len(shape):
        kind = draw(st.sampled_from(["int", "slice", "array", "list", "mask", "none", "stop"]))
        n = shape[axis]
        if kind == "stop":
            break
        if kind == "none":
            key.append(None)
            continue
        if kind == "int":
            key.append(draw(st.integers(-n, n - 1)))
        elif kind == "slice":
            key.append(draw(st.slices(n)))
        elif kind == "mask" and not mask and index_shape[-1:] == (1,):
            key.append(draw(hnp.arrays(bool, n)))
            mask = True
        else:
            index = draw(hnp.arrays(np.int64, index_shape, elements=st.integers(-n, n - 1)))
            key.append(index.tolist() if kind == "list" else index)
        axis += 1
    return shape, tuple(key)


def fits(data: np.ndarray[Any, Any], key: Any) -> bool:
    try:
        data[key]
    except IndexError:
        return False
    return True


@given(case=basic(), special=st.booleans())
def test_basic_keys_read_as_numpy(case: Any, special: bool) -> None:
    shape, key = case
    data = filled(shape)
    expected = np.asarray(data[key])
    got = made(data, special)[key]
    assert got.shape == (expected.shape or (1,))
    np.testing.assert_array_equal(got.asnumpy(), expected.reshape(got.shape))


@given(case=basic(), special=st.booleans())
def test_contiguous_basic_keys_are_views_and_others_are_copies(case: Any, special: bool) -> None:
    shape, key = case
    data = filled(shape)
    x = made(data, special)
    part = x[key]
    expected = data[(key if isinstance(key, tuple) else (key,))]
    is_view = np.asarray(expected).flags.c_contiguous
    part[:] = -1
    if is_view:
        data[key] = -1
    np.testing.assert_array_equal(x.asnumpy(), data)
    x[:] = 7
    assert (part.asnumpy() == (7 if is_view else -1)).all()


@given(case=basic(), special=st.booleans(), as_array=st.booleans(), data=st.data())
def test_basic_keys_write_as_numpy(case: Any, special: bool, as_array: bool,
                                   data: st.DataObject) -> None:
    shape, key = case
    array = filled(shape)
    target = np.asarray(array[key]).shape
    value = -1 - filled(data.draw(broadcastable(target)))
    x = made(array, special)
    x[key] = nd.array(value) if as_array else value
    array[key] = value
    np.testing.assert_array_equal(x.asnumpy(), array)


def broadcastable(target: tuple[int, ...]) -> st.SearchStrategy[tuple[int, ...]]:
    return st.tuples(*(st.sampled_from([1, dim]) for dim in target)).flatmap(
        lambda dims: st.integers(0, len(dims)).map(lambda skip: dims[skip:]))


@given(case=advanced(), special=st.booleans())
def test_index_arrays_and_masks_read_as_numpy(case: Any, special: bool) -> None:
    shape, key = case
    data = filled(shape)
    x = made(data, special)
    numpy_key = tuple(np.asarray(k) if isinstance(k, list) else k for k in key)
    if not fits(data, numpy_key):
        with pytest.raises(IndexError):
            x[key]
        return
    expected = np.asarray(data[numpy_key])
    got = x[key]
    assert got.shape == (expected.shape or (1,))
    np.testing.assert_array_equal(got.asnumpy(), expected.reshape(got.shape))


@given(case=advanced(), special=st.booleans(), value=st.integers(-9, -1))
def test_index_arrays_and_masks_write_as_numpy(case: Any, special: bool, value: int) -> None:
    shape, key = case
    data = filled(shape)
    x = made(data, special)
    numpy_key = tuple(np.asarray(k) if isinstance(k, list) else k for k in key)
    if not fits(data, numpy_key):
        with pytest.raises(IndexError):
            x[key] = value
    else:
        x[key] = value
        data[numpy_key] = value
    np.testing.assert_array_equal(x.asnumpy(), data)


@given(case=advanced())
def test_gradients_of_keys_scatter(case: Any) -> None:
    shape, key = case
    data = filled(shape)
    numpy_key = tuple(np.asarray(k) if isinstance(k, list) else k for k in key)
    if not fits(data, numpy_key):
        return
    x = nd.array(data)
    x.attach_grad()
    with mx.autograd.record():
        y = x[key]
    dy = 1 + filled(y.shape)
    y.backward(nd.array(dy))
    expected = np.zeros(shape, np.float32)
    np.add.at(expected, numpy_key, dy.reshape(np.asarray(data[numpy_key]).shape))
    np.testing.assert_array_equal(x.grad.asnumpy(), expected)


@given(case=basic())
def test_gradients_of_basic_keys_scatter(case: Any) -> None:
    shape, key = case
    x = nd.array(filled(shape))
    x.attach_grad()
    with mx.autograd.record():
        y = x[key]
    y.backward()
    expected = np.zeros(shape, np.float32)
    expected[key] = 1
    np.testing.assert_array_equal(x.grad.asnumpy(), expected)


@given(case=advanced())
def test_keys_survive_as_text(case: Any) -> None:
    _, key = case
    parsed = parse_key(key)
    assert Key(parse_items(parsed.text()), parsed.arrays).text() == parsed.text()
    assert parse_items(parsed.text()) == parsed.items


@pytest.mark.parametrize("key", [
    2, -3, (0, 3), (0, 0, 0, 0), [5], [-3], (0, [0, 7]), (..., ...), slice(0, 2, 0), "a", 0.0,
    [0.5, "x"], slice("a"), np.array([True, False, True]), 1j, np.zeros(2, complex)])
def test_bad_keys_are_index_errors_and_change_nothing(key: Any) -> None:
    x = nd.array(filled((2, 3, 4)))
    with pytest.raises(IndexError, match=r"ind|slice|elements"):
        x[key]
    with pytest.raises(IndexError, match=r"ind|slice|elements"):
        x[key] = 1
    np.testing.assert_array_equal(x.asnumpy(), filled((2, 3, 4)))


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize(("key", "value"), [
    (slice(None), np.ones((2, 3))), (0, np.ones((2, 4))), ((0, 1), np.ones(3)),
    ([0, 1], np.ones((3, 3, 4))), (slice(None), "a"), (slice(None), None),
    (slice(None), [[1], [1, 2]])])
def test_values_that_do_not_fit_change_nothing(key: Any, value: Any, special: bool) -> None:
    x = made(filled((2, 3, 4)), special)
    with pytest.raises((ValueError, TypeError)):
        x[key] = value
    np.testing.assert_array_equal(x.asnumpy(), filled((2, 3, 4)))


def test_a_single_element_has_shape_one() -> None:
    x = nd.array(filled((2, 3)))
    assert x[1, 2].shape == (1,)
    assert nd.arange(5)[2].shape == (1,)
    x[1, 2] = nd.array([9])
    assert x[1, 2].asscalar() == 9


def test_float_arrays_index_truncated_as_in_mxnet() -> None:
    x = nd.array(filled((3, 2)))
    np.testing.assert_array_equal(x[nd.array([2, 0])].asnumpy(), filled((3, 2))[[2, 0]])
    np.testing.assert_array_equal(x[np.array([1.9])].asnumpy(), filled((3, 2))[[1]])
    np.testing.assert_array_equal((x > 3)[0].asnumpy(), [0, 0])
    with pytest.raises(IndexError):
        x[nd.array([float("nan")])]


def test_bool_arrays_are_masks() -> None:
    data = filled((2, 3))
    x = nd.array(data)
    np.testing.assert_array_equal(x[(x > 2).astype("bool")].asnumpy(), data[data > 2])
    x[data > 2] = 0
    np.testing.assert_array_equal(x.asnumpy(), np.where(data > 2, 0, data))


def test_ints_of_all_kinds() -> None:
    x = nd.array(filled((3, 2)))
    for key in (1, np.int64(1), np.uint8(1), True, nd.array(1), nd.array([1], dtype="int32")):
        assert x[key].asnumpy().reshape(-1).tolist() == [2, 3]


def test_the_value_may_be_a_view_of_the_target() -> None:
    x = nd.array(filled((4, 2)))
    x[1:] = x[:-1]
    np.testing.assert_array_equal(x.asnumpy(), [[0, 1], [0, 1], [2, 3], [4, 5]])
    y = nd.array(filled((3,)))
    y[:] = y[::-1]
    assert y.asnumpy().tolist() == [2, 1, 0]
    z = nd.array(filled((2, 3, 4))).to_mkldnn()
    z[0] = z[1]
    np.testing.assert_array_equal(z.asnumpy(), np.stack([filled((2, 3, 4))[1]] * 2))


def test_values_are_cast() -> None:
    x = nd.zeros((3,), dtype="int32")
    x[:] = 2.7
    assert x.asnumpy().tolist() == [2, 2, 2]
    x[0] = nd.array([5.5])
    x[1:] = [7, 8]
    assert x.asnumpy().tolist() == [5, 7, 8]
    b = nd.zeros((2,), dtype="uint8")
    b[:] = 300
    assert b.dtype == np.uint8


def test_iteration_gives_views_of_rows() -> None:
    x = nd.array(filled((3, 2)))
    for row in x:
        row[:] = 5
    assert (x.asnumpy() == 5).all()
    assert [len(x), len(list(x))] == [3, 3]


def test_zero_sized_results() -> None:
    x = nd.array(filled((3, 2)))
    key: Any
    for key in (slice(1, 1), slice(2, 1), slice(9, 12), [], np.zeros(3, bool), nd.ones((0,))):
        assert x[key].shape == (0, 2)
        x[key] = 1
    np.testing.assert_array_equal(x.asnumpy(), filled((3, 2)))
    assert nd.zeros((0, 3))[:, 1].shape == (0,)
