"""Making arrays: what counts as data, dtypes, ranges, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ndarray_rt as mx

nd = mx.nd


@pytest.mark.parametrize(("source", "expected"), [
    ([1, 2], [1, 2]), ([[1.5, 2], [3, 4]], [[1.5, 2], [3, 4]]), (3, 3), (2.5, 2.5),
    ((1, 2), [1, 2]), (np.array([1, 2], np.int64), [1, 2]), (np.float64(2), 2),
    ([True, False], [1, 0]), ([], []), (range(3), [0, 1, 2]), (np.zeros((0, 3)), np.zeros((0, 3))),
    (memoryview(b"ab"), [97, 98])])
def test_everything_but_arrays_becomes_float32(source: Any, expected: Any) -> None:
    x = nd.array(source)
    assert x.dtype == np.float32
    np.testing.assert_array_equal(x.asnumpy(), np.asarray(expected, np.float32))


def test_an_array_keeps_its_dtype_and_is_copied() -> None:
    x = nd.array([1, 2], dtype="int32")
    y = nd.array(x)
    assert y.dtype == np.int32
    y[:] = 0
    assert x.asnumpy().tolist() == [1, 2]
    assert nd.array(x, dtype="float64").dtype == np.float64
    assert nd.array([nd.ones(2), nd.zeros(2)]).asnumpy().tolist() == [[1, 1], [0, 0]]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint8", "int32",
                                   "int64", "bool", np.float16, np.dtype("int8"), int, float])
def test_dtypes(dtype: Any) -> None:
    x = nd.array([[0, 1], [1, 0]], dtype=dtype)
    assert x.dtype == np.dtype(dtype)
    assert x.asnumpy().tolist() == np.array([[0, 1], [1, 0]], dtype).tolist()


@pytest.mark.parametrize("source", [
    [[1, 2], [3]], "abc", ["abc"], [b"x"], None, [None], {"a": 1}, [1j], object(), [2**80],
    np.array(["a"]), np.array([1, None]), np.array(["2020-01-01"], "datetime64[D]")])
def test_what_is_no_data_is_refused(source: Any) -> None:
    with pytest.raises(TypeError, match="array like") as caught:
        nd.array(source)
    assert isinstance(caught.value, mx.MXNetError)


@pytest.mark.parametrize("dtype", ["float128", "complex64", "str", "nothing", object])
def test_unknown_dtypes_are_refused(dtype: Any) -> None:
    with pytest.raises(TypeError, match="none of"):
        nd.array([1], dtype=dtype)


@pytest.mark.parametrize("shape", [(2, -1), (2.5,), "ab", None, (1 << 40, 1 << 40), (1,) * 13])
def test_impossible_shapes_are_refused(shape: Any) -> None:
    for make in (nd.zeros, nd.ones, nd.empty, lambda s: nd.full(s, 1)):
        with pytest.raises(ValueError, match="shape"):
            make(shape)


@pytest.mark.parametrize("shape", [3, (), (0,), (2, 3), [2, 3], (0, 3), (np.int64(2), 1)])
def test_constants(shape: Any) -> None:
    for make, value in ((nd.zeros, 0), (nd.ones, 1)):
        expected = np.full(shape, value, np.float32)
        x = make(shape)
        assert x.shape == expected.shape
        assert x.dtype == np.float32
        np.testing.assert_array_equal(x.asnumpy(), expected)
    np.testing.assert_array_equal(nd.full(shape, 2.5).asnumpy(), np.full(shape, 2.5, np.float32))
    assert nd.empty(shape).shape == np.zeros(shape).shape
    assert nd.zeros(shape, dtype="int8").dtype == np.int8


def test_full_into_out() -> None:
    x = nd.array([[1, 2, 3], [4, 5, 6]])
    assert nd.full((3,), 7, out=x[1]).shape == (3,)
    assert nd.zeros((2,), out=x[0, :2]).shape == (2,)
    assert x.asnumpy().tolist() == [[0, 0, 3], [7, 7, 7]]
    with pytest.raises(ValueError, match="out has shape"):
        nd.ones((4,), out=x)


@given(start=st.integers(-20, 20), length=st.integers(0, 20),
       step=st.sampled_from([1, 2, 3, 0.5, 0.25, -1, -2]), repeat=st.integers(1, 3))
def test_ranges(start: int, length: int, step: float, repeat: int) -> None:
    stop = start + length * (1 if step > 0 else -1)
    got = nd.arange(start, stop, step, repeat).asnumpy()
    np.testing.assert_array_equal(got, np.repeat(np.arange(start, stop, step), repeat))
    assert got.dtype == np.float32


def test_ranges_that_mxnet_gives() -> None:
    assert nd.arange(3).asnumpy().tolist() == [0, 1, 2]
    assert nd.arange(3, dtype="int32").dtype == np.int32
    for bad in ((5, 1), (0, 5, -1), (0, 5, 0)):
        with pytest.raises(mx.MXNetError, match="no range"):
            nd.arange(*bad)
    assert nd.linspace(0, 1, 5).asnumpy().tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert nd.linspace(0, 1, 4, endpoint=False).asnumpy().tolist() == [0, 0.25, 0.5, 0.75]
    np.testing.assert_array_equal(nd.eye(3, 2, 1).asnumpy(), np.eye(3, 2, 1))
    np.testing.assert_array_equal(nd.eye(2).asnumpy(), np.eye(2))


def test_concatenate() -> None:
    a, b = nd.ones((2, 1)), nd.zeros((2, 2))
    expected = [[1, 0, 0], [1, 0, 0]]
    assert nd.concatenate([a, b], axis=1).asnumpy().tolist() == expected
    assert nd.concatenate([a, b], axis=-1).asnumpy().tolist() == expected
    assert nd.concatenate([a], always_copy=False) is a
    assert nd.concatenate([a]) is not a
    with pytest.raises(ValueError, match="differ"):
        nd.concatenate([a, b], axis=0)
    with pytest.raises(TypeError, match="dtypes"):
        nd.concatenate([a, a.astype("int32")])
    with pytest.raises(TypeError, match="at least one"):
        nd.concatenate([])


def test_contexts() -> None:
    assert nd.zeros(2, ctx=mx.cpu(1)).context == mx.cpu(1)
    with mx.Context("cpu", 2):
        assert nd.array([1]).ctx == mx.cpu(2)
    assert nd.ones(1).ctx == mx.cpu()
    with pytest.raises(mx.MXNetError, match="CPUs only"):
        nd.zeros(2, ctx=mx.gpu())


def test_moveaxis_is_numpys() -> None:
    data = np.arange(24).reshape(2, 3, 4)
    x = nd.array(data)
    for source, target in ((0, 2), (-1, 0), ([0, 1], [1, 2]), ([2, 0], [0, 1])):
        np.testing.assert_array_equal(nd.moveaxis(x, source, target).asnumpy(),
                                      np.moveaxis(data, source, target))
    with pytest.raises(ValueError, match="axis 3"):
        nd.moveaxis(x, 3, 0)


@pytest.mark.parametrize("make", [
    lambda ctx: nd.array([1], ctx=ctx), lambda ctx: nd.zeros((2,), ctx=ctx),
    lambda ctx: nd.ones((2,), ctx=ctx), lambda ctx: nd.full((2,), 1, ctx=ctx),
    lambda ctx: nd.empty((2,), ctx=ctx), lambda ctx: nd.arange(3, ctx=ctx)])
@pytest.mark.parametrize("ctx", ["cpu", 0, object])
def test_what_is_no_context_is_refused(make: Any, ctx: Any) -> None:
    with pytest.raises(mx.MXNetError, match="ctx"):
        make(ctx)


def test_what_is_no_output_of_full_is_refused() -> None:
    wrong: Any = np.zeros(2)
    with pytest.raises(mx.MXNetError, match="full: out must be an NDArray"):
        nd.full((2,), 1, out=wrong)
    with pytest.raises(mx.MXNetError, match="full: out has shape"):
        nd.full((2,), 1, out=nd.zeros((3,)))


@pytest.mark.parametrize("make", [
    lambda: nd.zeros((2,)), lambda: nd.array([1, 2]), lambda: nd.arange(3),
    lambda: nd.random.uniform(shape=(2,))], ids=["zeros", "array", "arange", "uniform"])
def test_there_is_no_gpu_to_be_the_default(make: Any) -> None:
    with mx.gpu(0):
        assert mx.current_context() == mx.gpu(0)
        with pytest.raises(mx.MXNetError, match="CPUs only"):
            make()
