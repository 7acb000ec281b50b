"""The kernel for products of rows: any shape, what is added, bounds, NaN, threads, what it refuses.
"""

from __future__ import annotations

from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndarray_rt.errors import ParameterError
from ndarray_rt.native import lib
from ndarray_rt.storage.kernels.gemm import packed_gemm
from tests.native.helpers import kernel, over_arrays, packed_columns, run_kernel

RNG = np.random.default_rng(5)
FREE = (-inf, inf)


def product(x: Any, w: Any, width: int, bias: Any = None, added: Any = None,
            bounds: tuple[float, float] = FREE, nthreads: int = 0, in_place: bool = False) -> Any:
    packed = packed_columns(w, width)
    out = np.full((len(x), len(w)), nan, "f4")
    if in_place:
        out[:] = added
        added = out
    run_kernel(over_arrays(packed_gemm)(
        out=out, data=x, weights=packed, bias=bias, added=added, rows=len(x), features=x.shape[1],
        columns=len(w), width=width, groups=1, shuffled=1, low=bounds[0], high=bounds[1]), nthreads)
    return out


def draw(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype("f4")


def check(rows: int, features: int, columns: int, width: int, nthreads: int) -> None:
    x, w, bias, added = (draw(rows, features), draw(columns, features), draw(columns),
                         draw(rows, columns))
    want = x.astype("f8") @ w.T.astype("f8")
    # roundings add up like a random walk, each of them of a sum that is one itself
    close: dict[str, Any] = {"rtol": 0, "atol": 5e-7 * (features + 8)}
    np.testing.assert_allclose(product(x, w, width, nthreads=nthreads), want, **close)
    np.testing.assert_allclose(product(x, w, width, bias, nthreads=nthreads), want + bias, **close)
    for bounds in (FREE, (-0.5, 2.0)):
        for in_place in (False, True):
            made = product(x, w, width, bias, added, bounds, nthreads, in_place)
            np.testing.assert_allclose(made, np.clip(want + bias + added, *bounds), **close)
    np.testing.assert_allclose(product(x, w, width, added=added), want + added, **close)


@given(st.integers(1, 60), st.integers(1, 80), st.integers(1, 150), st.sampled_from([16, 32, 64]),
       st.integers(0, 5))
@settings(max_examples=150, deadline=None)
def test_equals_numpy(rows: int, features: int, columns: int, width: int, nthreads: int) -> None:
    check(rows, features, columns, width, nthreads)


@pytest.mark.parametrize(("rows", "features", "columns"), [
    (700, 300, 70), (49, 2048, 100), (3000, 17, 33), (1, 5000, 200), (200, 800, 300)])
def test_panels(rows: int, features: int, columns: int) -> None:
    check(rows, features, columns, 32, 2)


@pytest.mark.parametrize("columns", [1, 7, 8, 9, 12, 15, 16, 17, 20, 24, 25, 31, 33, 48, 70])
def test_every_number_of_rows(columns: int) -> None:
    for rows in range(1, 31):
        features = 7 * rows % 71 + 1
        x, w, bias, added = (draw(rows, features), draw(columns, features), draw(columns),
                             draw(rows, columns))
        want = np.clip(x.astype("f8") @ w.T.astype("f8") + bias + added, -1, 1)
        for width in (16, 32, 48, 64):
            made = product(x, w, width, bias, added, (-1, 1))
            np.testing.assert_allclose(made, want, rtol=0, atol=3e-5)


def test_rows_that_alias() -> None:
    check(23, 1024, 40, 16, 1)


def test_infinities_and_denormals() -> None:
    x, w = np.ones((9, 40), "f4"), np.zeros((20, 40), "f4")
    w[:, 3] = 2
    x[1, 3], x[2, 3] = inf, 1e-42  # which may count as 0
    made = product(x, w, 16)
    assert (made[1] == inf).all()
    assert np.isin(made[2], (0, 2 * np.float32(1e-42))).all()
    assert (np.delete(made, (1, 2), 0) == 2).all()


def test_one_result_for_any_number_of_rows_and_threads() -> None:
    x, w, bias = draw(70, 300), draw(200, 300), draw(200)
    one, *others = [product(x, w, 32, bias, nthreads=n) for n in (1, 2, 3, 4, 6, 12)]
    for other in others:
        np.testing.assert_array_equal(one, other)
    for rows in (1, 13, 15, 40):
        np.testing.assert_array_equal(product(x[:rows], w, 64, bias), one[:rows])


@pytest.mark.parametrize("bounds", [FREE, (0, inf), (0, 6)])
def test_nan_stays(bounds: tuple[float, float]) -> None:
    x, w, added = draw(20, 40), draw(20, 40), draw(20, 20)
    x[1, 3] = added[2, 4] = nan
    made = np.isnan(product(x, w, 16, None, added, bounds))
    want = np.zeros((20, 20), bool)
    want[1] = want[2, 4] = True
    np.testing.assert_array_equal(made, want)


@given(st.integers(1, 40), st.integers(1, 50), st.integers(1, 70), st.sampled_from([16, 32]),
       st.integers(1, 6), st.integers(1, 7), st.integers(0, 3))
@settings(max_examples=150, deadline=None)
def test_groups_and_shuffled_channels(rows: int, features: int, columns: int, width: int,
                                      groups: int, shuffled: int, nthreads: int) -> None:
    features *= shuffled if groups % shuffled else 1
    x, w = draw(rows, groups * features), draw(groups, columns, features)
    bias, added = draw(groups * columns), draw(rows, groups * columns)
    out = np.full((rows, groups * columns), nan, "f4")
    run_kernel(over_arrays(packed_gemm)(
        out=out, data=x, weights=packed_groups(w, width), bias=bias, added=added, rows=rows,
        features=features, columns=columns, width=width, groups=groups, shuffled=shuffled, low=-0.5,
        high=2), nthreads)
    read = x.reshape(rows, shuffled, -1).swapaxes(1, 2).reshape(rows, groups, features)
    want = np.einsum("rgf,gcf->rgc", read.astype("f8"), w.astype("f8")).reshape(rows, -1)
    np.testing.assert_allclose(out, np.clip(want + bias + added, -0.5, 2), rtol=0,
                               atol=5e-7 * (features + 8))


def packed_groups(weights: Any, width: int) -> Any:
    """Weights (groups, columns, features) in blocks of columns, features as they are."""
    if len(weights) == 1:
        return packed_columns(weights[0], width)
    groups, columns, features = weights.shape
    padded = np.zeros((groups, -(-columns // width) * width, features), "f4")
    padded[:, :columns] = weights
    return np.ascontiguousarray(padded.reshape(groups, -1, width, features).swapaxes(2, 3))


@pytest.mark.parametrize("dims", [
    (0, 3, 4, 16, 1, 1), (1, 0, 4, 16, 1, 1), (1, 3, 0, 16, 1, 1), (1, 3, 4, 20, 1, 1),
    (1, 3, 4, 0, 1, 1), (-1, 3, 4, 64, 1, 1), (1, 3, 4, 16, 0, 1), (1, 3, 4, 16, 1, 0),
    (1, 3, 4, 16, 2, 4), (1, 65, 4, 16, 1, 65)])
def test_refuses(dims: tuple[int, ...]) -> None:
    data, right = [np.zeros(4096, "f4")] * 3, (5, 3, 4, 16, 1, 1)
    with pytest.raises(ParameterError, match="packed GEMM"):
        kernel(lib.NDRT_KERNEL_PACKED_GEMM, dims, data, (0, 1))
    with pytest.raises(ParameterError, match="packed GEMM: -1 threads"):
        kernel(lib.NDRT_KERNEL_PACKED_GEMM, right, data, (0, 1), nthreads=-1)
    with pytest.raises(ParameterError, match="packed GEMM: array 2 has no bytes"):
        kernel(lib.NDRT_KERNEL_PACKED_GEMM, right, data[:2], (0, 1))
