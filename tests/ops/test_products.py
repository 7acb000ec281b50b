"""Products of integers by BLAS: NumPy's own to the last bit, beyond the range too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.ops.products import bilinear, product

RNG = np.random.default_rng(2)
DTYPES = ("int8", "uint8", "int32", "int64")


def drawn(dtype: str, shape: tuple[int, ...], share: int) -> Any:
    """Numbers of the whole range of a dtype, or of a part of it, with both ends."""
    info = np.iinfo(dtype)
    low, high = int(info.min) // share, int(info.max) // share
    x = RNG.integers(low, high, shape, dtype=dtype, endpoint=True)
    x.flat[0], x.flat[-1] = low, high
    return x


@pytest.mark.parametrize("share", [1, 7, 1 << 6, 1 << 20])
@pytest.mark.parametrize("dtype", DTYPES)
def test_equals_numpy(dtype: str, share: int) -> None:
    a, b = drawn(dtype, (40, 65), share), drawn(dtype, (65, 33), share)
    got = product(a, b)
    assert got.dtype == a.dtype
    np.testing.assert_array_equal(got, np.matmul(a, b))
    np.testing.assert_array_equal(product(a, b[:, ::2]), np.matmul(a, b[:, ::2]))
    stacked = np.stack([a, a[::-1]]), np.stack([b, b])
    np.testing.assert_array_equal(product(*stacked), np.matmul(*stacked))


@pytest.mark.parametrize("dtype", DTYPES)
def test_extremes(dtype: str) -> None:
    info = np.iinfo(dtype)
    for x in (info.min, info.max):
        for y in (info.min, info.max):
            a, b = np.full((32, 64), x, dtype), np.full((64, 32), y, dtype)
            np.testing.assert_array_equal(product(a, b), np.matmul(a, b))


def test_too_many_terms_for_halves_are_left_to_numpy() -> None:
    a = np.full((1024, 2), 1 << 31, np.int64).astype(np.int32)
    seen = []

    def function(x: Any, y: Any) -> Any:
        seen.append(x.dtype)
        return x.T @ y
    bilinear(function, a, a, 1 << 21)
    bilinear(function, a, a, 1 << 20)
    assert seen == [np.int32, *[np.float64] * 3]


@pytest.mark.parametrize("share", [1, 1 << 24])
def test_operators(share: int) -> None:
    a, b = drawn("int32", (40, 65), share), drawn("int32", (65, 33), share)
    x, y = mx.nd.array(a, dtype="int32"), mx.nd.array(b, dtype="int32")
    with np.errstate(all="ignore"):
        want = np.matmul(a, b)
    np.testing.assert_array_equal(mx.nd.dot(x, y).asnumpy(), want)
    dense = mx.nd.FullyConnected(x, mx.nd.array(b.T.copy(), dtype="int32"), num_hidden=33,
                                 no_bias=True)
    np.testing.assert_array_equal(dense.asnumpy(), want)
    image = drawn("int32", (1, 8, 12, 12), share)
    kernel = drawn("int32", (16, 8, 1, 1), share)
    made = mx.nd.Convolution(mx.nd.array(image, dtype="int32"),
                             mx.nd.array(kernel, dtype="int32"), kernel=(1, 1), num_filter=16,
                             no_bias=True)
    want = np.matmul(kernel.reshape(16, 8), image.reshape(8, 144)).reshape(1, 16, 12, 12)
    np.testing.assert_array_equal(made.asnumpy(), want)
