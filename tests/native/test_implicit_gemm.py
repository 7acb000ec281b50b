"""The kernel for windows as products: any window, padding and number of channels and filters, what
is added, bounds, NaN, threads, what it refuses."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndarray_rt.errors import ParameterError
from ndarray_rt.native import lib
from ndarray_rt.ops.nn.conv_geometry import Geometry, conv_forward, geometry, output_dims
from ndarray_rt.storage.kernels.conv import implicit_gemm
from tests.native.helpers import kernel, over_arrays, run_kernel

RNG = np.random.default_rng(5)
Pair = tuple[int, int]
Bounds = tuple[float, float]
FREE = (-inf, inf)
BLOCK = lib.NDRT_PACKED_FILTERS


def draw(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype("f4")


def packed(w: Any) -> Any:
    """Filters of more than there are weigh NaN: nothing comes of them."""
    filters = len(w)
    padded = np.full((-(-filters // BLOCK) * BLOCK, *w.shape[1:]), nan, "f4")
    padded[:filters] = w
    return np.ascontiguousarray(
        padded.reshape(-1, BLOCK, *w.shape[1:]).transpose(0, 3, 4, 2, 1))


def convolved(x: Any, w: Any, geo: Geometry, bias: Any = None, added: Any = None,
              bounds: Bounds = FREE, nthreads: int = 0, in_place: bool = False) -> Any:
    """By the kernel."""
    images, channels, height, width = x.shape
    rows, columns = output_dims((height, width), geo)
    out = np.full((images, rows, columns, len(w)), nan, "f4")
    if in_place:
        out[:] = added
        added = out
    run_kernel(over_arrays(implicit_gemm)(
        out=out, data=np.ascontiguousarray(x.transpose(0, 2, 3, 1)), weights=packed(w), bias=bias,
        added=added, images=images, channels=channels, height=height, width=width, filters=len(w),
        window=geo.kernel, stride=geo.stride, pad=geo.pad, rows=rows, columns=columns,
        low=bounds[0], high=bounds[1]), nthreads)
    return out


def check(x: Any, w: Any, stride: Pair, pad: Pair, nthreads: int = 0) -> None:
    geo = geometry(w.shape[2:], stride, (), pad, 1)
    places = output_dims(x.shape[2:], geo)
    want = conv_forward(x.astype("f8"), w.astype("f8"), geo, places).transpose(0, 2, 3, 1)
    bias, added = draw(len(w)), draw(*want.shape)
    close = {"rtol": 0, "atol": 5e-7 * (w[0].size + 8)}
    np.testing.assert_allclose(convolved(x, w, geo, nthreads=nthreads), want, **close)
    for in_place in (False, True):
        made = convolved(x, w, geo, bias, added, (-0.5, 2.0), nthreads, in_place)
        np.testing.assert_allclose(made, np.clip(want + bias + added, -0.5, 2), **close)


@given(st.integers(1, 3), st.integers(1, 40), st.integers(1, 70),
       st.tuples(st.integers(1, 20), st.integers(1, 20)),
       st.tuples(st.integers(1, 7), st.integers(1, 7)),
       st.tuples(st.integers(1, 4), st.integers(1, 4)),
       st.tuples(st.integers(0, 9), st.integers(0, 9)), st.integers(0, 5))
@settings(max_examples=200, deadline=None)
def test_equals_numpy(images: int, channels: int, filters: int, size: Pair, window: Pair,
                      stride: Pair, pad: Pair, nthreads: int) -> None:
    if any(n + 2 * p < k for n, p, k in zip(size, pad, window, strict=True)):
        return
    check(draw(images, channels, *size), draw(filters, channels, *window), stride, pad, nthreads)


@pytest.mark.parametrize(("data", "filters", "window", "stride"), [
    ((1, 600, 7, 7), 24, 3, 1),  # more weights than stay in a cache
    ((3, 300, 9, 8), 40, 3, 2),
    ((1, 8, 3, 700), 16, 3, 1),  # a row is more pixels than are worked on at a time
    ((1, 8, 60, 60), 17, 3, 1),
    ((1, 900, 20, 20), 16, 1, 2)])  # data of several parts
def test_parts(data: tuple[int, ...], filters: int, window: int, stride: int) -> None:
    check(draw(*data), draw(filters, data[1], window, window), (stride,) * 2, (window // 2,) * 2, 2)


def test_one_result_for_any_batch_and_number_of_threads() -> None:
    x, w, bias = draw(5, 70, 7, 9), draw(50, 70, 3, 3), draw(50)
    geo = geometry((3, 3), (), (), (1, 1), 1)
    one, *others = [convolved(x, w, geo, bias, nthreads=n) for n in (1, 2, 3, 4, 6, 12)]
    for other in others:
        np.testing.assert_array_equal(one, other)
    for image, want in zip(x, one, strict=True):
        np.testing.assert_array_equal(convolved(image[None], w, geo, bias)[0], want)


@pytest.mark.parametrize("bounds", [FREE, (0, inf), (0, 6)])
def test_nan_stays_where_it_is_read(bounds: Bounds) -> None:
    x, w = draw(2, 20, 9, 11), draw(24, 20, 3, 3)
    x[1, 2, 4, 5] = nan
    made = convolved(x, w, geometry((3, 3), (), (), (1, 1), 1), bounds=bounds)
    seen = np.zeros(made.shape, bool)
    seen[1, 3:6, 4:7] = True
    np.testing.assert_array_equal(np.isnan(made), seen)


# images, channels, height, width, filters, window, stride, pad, rows, columns
GOOD = (1, 4, 5, 6, 3, 3, 3, 1, 1, 1, 1, 5, 6)


@pytest.mark.parametrize(("place", "value"), [
    (0, 0), (1, 0), (2, 0), (3, -1), (4, 0), (5, 0), (5, 8), (6, 9), (7, 0), (8, -1), (9, -1),
    (10, 1 << 40), (11, 0), (11, 6), (12, 7)])
def test_refuses(place: int, value: int) -> None:
    data = [np.zeros(4096, "f4")] * 3
    bad = list(GOOD)
    bad[place] = value
    which = lib.NDRT_KERNEL_IMPLICIT_GEMM
    kernel(which, GOOD, data, FREE)
    with pytest.raises(ParameterError, match="implicit GEMM"):
        kernel(which, tuple(bad), data, FREE)
    with pytest.raises(ParameterError, match="-1 threads"):
        kernel(which, GOOD, data, FREE, nthreads=-1)
    with pytest.raises(ParameterError, match="implicit GEMM: array 2 has no bytes"):
        kernel(which, GOOD, data[:2], FREE)


def test_refuses_more_than_can_be() -> None:
    most = (1 << 31) - 2
    with pytest.raises(ParameterError, match="implicit GEMM: more elements than can be"):
        kernel(lib.NDRT_KERNEL_IMPLICIT_GEMM, (1, most, most, most, *GOOD[4:]),
               [np.zeros(4096, "f4")] * 3, FREE)
