"""The kernel for products of a few rows: any shape, bounds, NaN, threads, what it refuses."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import numpy as np
import pytest

from ndarray_rt.cpu_level import has_avx512
from ndarray_rt.errors import ParameterError
from ndarray_rt.native import lib
from ndarray_rt.storage.kernels.gemm import skinny_gemm
from tests.native.helpers import kernel, over_arrays, packed_columns, run_kernel

RNG = np.random.default_rng(5)
NARROW = lib.NDRT_SKINNY_GEMM_NARROW
WIDE = lib.NDRT_SKINNY_GEMM_WIDE if has_avx512() else lib.NDRT_SKINNY_GEMM_WIDE_AVX2


def product(x: Any, w: Any, bias: Any, width: int, bounds: tuple[float, float] = (-inf, inf),
            nthreads: int = 0) -> Any:
    packed = packed_columns(w, width)
    out = np.full((len(x), len(w)), nan, "f4")
    run_kernel(over_arrays(skinny_gemm)(
        out=out, data=x, weights=packed, bias=bias, rows=len(x), features=x.shape[1],
        columns=len(w), width=width, low=bounds[0], high=bounds[1]), nthreads)
    return out


def draw(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype("f4")


@pytest.mark.parametrize("width", [NARROW, WIDE])
@pytest.mark.parametrize("rows", [1, 2, 3, 4])
@pytest.mark.parametrize("features", [1, 7, 16, 33, 1024, 1025, 2063])
@pytest.mark.parametrize("columns", [1, 15, 64, 100, 193])
def test_equals_numpy(columns: int, features: int, rows: int, width: int) -> None:
    x, w, bias = draw(rows, features), draw(columns, features), draw(columns)
    want = x.astype("f8") @ w.T.astype("f8")
    tolerance = {"rtol": 0, "atol": 2e-6 * features ** 0.5}
    np.testing.assert_allclose(product(x, w, None, width), want, **tolerance)
    made = product(x, w, bias, width, (-0.5, 2.0))
    np.testing.assert_allclose(made, np.clip(want + bias, -0.5, 2), **tolerance)


def test_one_result_for_any_number_of_threads() -> None:
    x, w, bias = draw(3, 700), draw(1000, 700), draw(1000)
    one, *others = [product(x, w, bias, WIDE, nthreads=n) for n in (1, 2, 3)]
    for other in others:
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("bounds", [(-inf, inf), (0, inf), (0, 6)])
def test_nan_stays(bounds: tuple[float, float]) -> None:
    x, w = draw(2, 40), draw(20, 40)
    x[1, 3] = nan
    made = product(x, w, None, NARROW, bounds)
    assert np.isfinite(made[0]).all()
    assert np.isnan(made[1]).all()


@pytest.mark.parametrize("rows", [1, 2, 3, 4])
@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_every_number_of_columns(width: int, rows: int) -> None:
    for columns in range(1, 71):
        features = 3 * columns % 71 + 1
        x, w, bias = draw(rows, features), draw(columns, features), draw(columns)
        want = x.astype("f8") @ w.T.astype("f8") + bias
        np.testing.assert_allclose(product(x, w, bias, width), want, rtol=0, atol=3e-5)


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_infinities_and_denormals(width: int) -> None:
    x, w = np.ones((3, 300), "f4"), np.zeros((70, 300), "f4")
    w[:, 7] = 2
    x[:, 7] = 3, inf, 1e-42  # which may count as 0
    made = product(x, w, None, width)
    assert (made[0] == 6).all()
    assert (made[1] == inf).all()
    assert np.isin(made[2], (0, 2 * np.float32(1e-42))).all()


@pytest.mark.parametrize("dims", [
    (0, 3, 4, 16), (5, 3, 4, 16), (1, 0, 4, 16), (1, 3, 0, 16), (1, 3, 4, 32), (-1, 3, 4, 64)])
def test_refuses(dims: tuple[int, ...]) -> None:
    data = [np.zeros(4096, "f4")] * 3
    with pytest.raises(ParameterError, match="skinny GEMM"):
        kernel(lib.NDRT_KERNEL_SKINNY_GEMM, dims, data, (0, 1))
    with pytest.raises(ParameterError, match="-1 threads"):
        kernel(lib.NDRT_KERNEL_SKINNY_GEMM, (1, 3, 4, 16), data, (0, 1), nthreads=-1)
