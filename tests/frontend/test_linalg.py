"""Linear algebra: the ways to solve triangles, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.ops.linalg import lapack

nd = mx.nd


@pytest.fixture(params=["with scipy", "without"])
def _ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "without":
        monkeypatch.setattr(lapack, "_blas", lambda: None)
    else:
        pytest.importorskip("scipy")


@pytest.mark.usefixtures("_ways")
@pytest.mark.parametrize("n", [1, 5, 32, 33, 100])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_triangles_are_solved(n: int, dtype: str) -> None:
    rng = np.random.default_rng(n)
    a = (rng.uniform(-1, 1, (2, n, n)) / n + np.eye(n)).astype(dtype)
    for rightside in (False, True):
        b = rng.uniform(-1, 1, (2, 3, n) if rightside else (2, n, 3)).astype(dtype)
        for lower in (False, True):
            for transpose in (False, True):
                flags: dict[str, Any] = {"lower": lower, "transpose": transpose,
                                         "rightside": rightside}
                x = nd.linalg.trsm(nd.array(a, dtype=dtype), nd.array(b, dtype=dtype), **flags)
                back = nd.linalg.trmm(nd.array(a, dtype=dtype), x, **flags)
                np.testing.assert_allclose(back.asnumpy(), b, atol=1e-4)


@pytest.mark.usefixtures("_ways")
def test_a_diagonal_with_a_zero() -> None:
    x = nd.linalg.trsm(nd.array([[2, 9], [0, 0]]), nd.array([[1, 2], [4, 5]]))
    assert x.asnumpy().tolist() == [[0.5, 1.0], [np.inf, np.inf]]


@pytest.mark.parametrize(("call", "says"), [
    (lambda: nd.linalg.potrf(nd.array([[-4, 1], [1, 3]])), "positive definite"),
    (lambda: nd.linalg.potrf(nd.ones((2, 3))), "square"),
    (lambda: nd.linalg.potri(nd.array([[0, 1], [1, 3]])), "diagonal"),
    (lambda: nd.linalg.inverse(nd.ones((2, 2))), "singular"),
    (lambda: nd.linalg.gelqf(nd.ones((3, 2))), "columns"),
    (lambda: nd.linalg.trsm(nd.ones((2, 2, 2)), nd.ones((2, 3))), "fits|disagree"),
    (lambda: nd.linalg.extractdiag(nd.ones((3, 3)), offset=3), "no such diagonal"),
    (lambda: nd.linalg.maketrian(nd.ones(4)), "1, 3, 6"),
    (lambda: nd.linalg.gemm(nd.ones((2, 2)), nd.ones((2, 2)), nd.ones((1, 2))), "C has shape"),
    (lambda: nd.linalg.det(nd.ones((2, 2), dtype="float16")), "float32 nor float64")])
def test_errors(call: Any, says: str) -> None:
    with pytest.raises(mx.MXNetError, match=says):
        call()
