"""What case tables can not say of all_finite and histogram: outputs that count, defaults."""

from __future__ import annotations

import numpy as np
import pytest

import ndarray_rt as mx

GOOD, BAD = [1.0, 2.0], [1.0, float("nan")]


@pytest.mark.parametrize(("values", "held", "want"), [
    (GOOD, 5.0, 5.0), (GOOD, 0.0, 0.0), (BAD, 5.0, 0.0), (BAD, 0.0, 0.0)])
def test_all_finite_goes_on_from_its_output(values: list[float], held: float, want: float) -> None:
    for function in (mx.nd.all_finite, mx.nd.multi_all_finite):
        out = mx.nd.array([held])
        function(mx.nd.array(values), init_output=False, out=out)
        assert out.asscalar() == want


def test_a_histogram_without_range_is_that_of_numpy_in_float32() -> None:
    x = np.array([1, 2, 3, 3], np.float32)
    counts, edges = mx.nd.histogram(mx.nd.array(x), bins=4)
    want, ends = np.histogram(x, 4)
    assert counts.dtype == edges.dtype == np.float32
    np.testing.assert_array_equal(counts.asnumpy(), want)
    np.testing.assert_allclose(edges.asnumpy(), ends)


def test_moments_need_axes() -> None:
    with pytest.raises(mx.MXNetError, match="axes"):
        mx.nd.moments(mx.nd.ones((2, 3)))


def test_norm_knows_two_orders() -> None:
    with pytest.raises(mx.MXNetError, match="expected 1 or 2"):
        mx.nd.norm(mx.nd.ones((2, 3)), ord=3)
