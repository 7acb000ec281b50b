"""The kernel that folds batch normalisation into the layer before it: to the bit as NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndarray_rt.errors import ParameterError
from ndarray_rt.storage.kernels.norm import fold_norm
from tests.native.helpers import over_arrays, run_kernel

EPSILON = 1e-3
WIDTH = st.one_of(st.integers(0, 70), st.sampled_from((9, 16, 64, 576)))


def run(dims: tuple[int, ...], arrays: list[Any], nthreads: int = 0) -> None:
    """`arrays` in their order: results, weight, beta, mean, var, and gamma and bias or None."""
    names = ("weight_out", "bias_out", "weight", "beta", "mean", "var", "gamma", "bias")
    sizes: dict[str, Any] = dict(zip(("groups", "inputs", "channels", "width"), dims, strict=True))
    run_kernel(over_arrays(fold_norm)(
        **dict(zip(names, arrays, strict=False)), **sizes, epsilon=EPSILON), nthreads)


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 3), st.integers(0, 5), st.integers(0, 40), WIDTH, st.booleans(),
       st.booleans(), st.integers(0, 9))
def test_equals_numpy(groups: int, inputs: int, channels: int, width: int, has_gamma: bool,
                      has_bias: bool, nthreads: int) -> None:
    rng = np.random.default_rng(width)
    dims = (groups, inputs, channels, width)
    weight = rng.standard_normal(dims).astype("f4")
    beta, mean, var, gamma, bias = rng.standard_normal((5, groups, channels)).astype("f4")
    var = np.abs(var)
    if weight.size:
        weight[0, 0, 0, 0], var[-1, -1] = np.inf, np.nan
    folded, shift = np.full(weight.size + 1, 7, "f4"), np.full(beta.size + 1, 7, "f4")
    run(dims, [folded, shift, weight, beta, mean, var, gamma if has_gamma else None,
               bias if has_bias else None], nthreads)
    with np.errstate(all="ignore"):
        scale = 1 / np.sqrt(var.astype("f8") + EPSILON)
        if has_gamma:
            scale = scale * gamma
        wanted = (weight * scale[:, None, :, None]).astype("f4")
        moved = (((bias if has_bias else 0) - mean.astype("f8")) * scale + beta).astype("f4")
    np.testing.assert_array_equal(folded[:-1], wanted.reshape(-1))
    np.testing.assert_array_equal(shift[:-1], moved.reshape(-1))
    assert folded[-1] == shift[-1] == 7


@pytest.mark.parametrize(("dims", "error"), [
    ((-1, 1, 2, 3), "a count below 0"), ((1, 1, 2, -3), "a count below 0"),
    ((1 << 30, 1 << 30, 2, 1 << 30), "more elements than can be"),
    ((1 << 40, 0, 1 << 40, 1), "more elements than can be")])
def test_refuses_what_does_not_fit(dims: tuple[int, ...], error: str) -> None:
    with pytest.raises(ParameterError, match=error):
        run(dims, [np.zeros(8, "f4")] * 8)


def test_refuses_no_bytes_and_threads_below_0() -> None:
    arrays = [np.zeros(6, "f4")] * 6
    for missing in range(6):
        given = [None if i == missing else array for i, array in enumerate(arrays)]
        with pytest.raises(ParameterError, match="an array has no bytes"):
            run((1, 1, 2, 3), given)
    with pytest.raises(ParameterError, match="-1 threads"):
        run((1, 1, 2, 3), arrays, -1)
