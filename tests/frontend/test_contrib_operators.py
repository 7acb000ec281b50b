"""Numbers of MXNet 1.9.1 where its operators take other arrays than ours; what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import nd
from ndarray_rt.errors import OutOfBounds, ParameterError, ShapeError, TypeMismatch

DATA = [[1, -2.5, 0], [3, 0.5, -1.5]]


def test_group_adagrad_update_is_that_of_row_sparse_gradients() -> None:
    for rows in ((2, 1), (2,)):
        weight, grad = nd.array([[1, 2, 3], [4, 5, 6]]), nd.array([[.1, .2, -.3], [1, 0, 2]])
        history = nd.ones(rows)
        nd.contrib.group_adagrad_update(weight, grad, history, lr=0.1, rescale_grad=2,
                                        clip_gradient=0.5, epsilon=0.3, out=weight)
        np.testing.assert_allclose(weight.asnumpy(), [[0.9833909, 1.9667819, 3.0415227],
                                                      [3.9587138, 5, 5.958714]], rtol=1e-6)
        np.testing.assert_allclose(history.asnumpy().ravel(), [1.15, 1.1666666], rtol=1e-6)


def test_sums_and_counts_are_those_of_sparse_arrays() -> None:
    x = nd.array(DATA)
    squares = nd._internal._square_sum(x, axis=1, keepdims=True)
    assert squares.asnumpy().tolist() == [[7.25], [11.5]]
    assert nd._internal._square_sum(x, axis=0).asnumpy().tolist() == [10, 6.5, 2.25]
    count = nd.contrib.getnnz(x)
    assert count.dtype == np.int64
    assert count.asnumpy().tolist() == [5]
    assert nd.contrib.getnnz(x, axis=1).asnumpy().tolist() == [2, 3]
    edges = nd.contrib.edge_id(x, nd.array([0, 0, 1]), nd.array([1, 2, 2]))
    assert edges.asnumpy().tolist() == [-2.5, -1, -1.5]


def test_functions_from_before_there_were_operators() -> None:
    x, whole = nd.array(DATA), nd.zeros((2, 3), dtype="int32")
    assert nd._internal._set_value(3.7, out=whole) is whole
    assert whole.asnumpy().tolist() == [[3] * 3] * 2
    assert nd._internal._copyto(x, out=whole) is whole
    assert whole.asnumpy().tolist() == [[1, -2, 0], [3, 0, -1]]
    rows = nd.zeros((2, 4))
    assert nd._internal._onehot_encode(nd.array([1, 7]), rows, out=rows) is rows
    assert rows.asnumpy().tolist() == [[0, 1, 0, 0], [0, 0, 0, 0]]


def test_likelihood_of_a_hawkes_process_and_its_slopes() -> None:
    """The numbers that MXNet gives: 2 samples of 9 points with 3 marks."""
    mu, alpha, beta = nd.array([1.5, 2, 3]), nd.array([0.2, 0.3, 0.4]), nd.array([2, 2, 2])
    lags = nd.array([[6, 7, 8, 9, 3, 2, 5, 1, 7], [1, 2, 3, 4, 2, 1, 2, 1, 4]])
    marks = nd.array([[0, 0, 0, 1, 0, 0, 1, 2, 0], [1, 2, 0, 0, 0, 2, 2, 1, 0]]).astype("int32")
    parameters = (mu, alpha, beta)
    for parameter in parameters:
        parameter.attach_grad()
    with mx.autograd.record():
        likelihood, state = nd.contrib.hawkesll(
            mu.tile((2, 1)), alpha, beta, nd.zeros((2, 3)), lags, marks, nd.array([9, 9]),
            nd.ones(2) * 100)
    likelihood.backward()
    assert state.shape == (2, 3)
    for parameter, want in zip(parameters, (
            [-193.33987481, -198, -198.66828681], [-9.95093892, -4, -3.98784892],
            [-1.49052169e-02, -5.87469511e-09, -7.29065224e-03]), strict=True):
        np.testing.assert_allclose(parameter.grad.asnumpy(), want, rtol=1e-5)


def test_transforms_and_their_inverse() -> None:
    x = np.random.default_rng(0).standard_normal((2, 6)).astype("f4")
    there = nd.contrib.fft(nd.array(x))
    want = np.fft.fft(x)
    np.testing.assert_allclose(there.asnumpy()[:, ::2], want.real, atol=1e-5)
    np.testing.assert_allclose(there.asnumpy()[:, 1::2], want.imag, atol=1e-5)
    np.testing.assert_allclose(nd.contrib.ifft(there).asnumpy() / 6, x, atol=1e-6)


X = nd.ones((2, 3))
HAWKES: Any = [nd.ones((1, 2)), nd.ones(2), nd.ones(2), nd.ones((1, 2)), nd.ones((1, 3)),
          nd.array([[0, 5, 1]], dtype="int32"), nd.array([3]), nd.array([9])]


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda: nd.contrib.fft(nd.ones(3)), ShapeError, "_contrib_fft: data has shape"),
    (lambda: nd.contrib.ifft(X), ShapeError, "expected an even last axis"),
    (lambda: nd.contrib.count_sketch(X, nd.array([[0, 4, 1]]), nd.ones((1, 3)), out_dim=4),
     OutOfBounds, "h has numbers from 0 to 4"),
    (lambda: nd.contrib.count_sketch(X, nd.ones((1, 2)), nd.ones((1, 2)), out_dim=4), ShapeError,
     "count_sketch"),
    (lambda: nd.contrib.hawkesll(*HAWKES), OutOfBounds, "marks has numbers from 0 to 5"),
    (lambda: nd.contrib.edge_id(X, nd.array([2]), nd.array([0])), OutOfBounds, "u has numbers"),
    (lambda: nd.cast_storage(X, stype="csr"), ParameterError, "no sparse arrays"),
    (lambda: nd.contrib.group_adagrad_update(X, X, nd.ones(3), lr=1), ShapeError, "history"),
    (lambda: nd.contrib.DeformablePSROIPooling(
        nd.ones((1, 3, 4, 4)), nd.ones((1, 5)), spatial_scale=1, output_dim=1, group_size=2,
        pooled_size=2, no_trans=True), ShapeError, "data has 3 channels, expected 4"),
    (lambda: nd.contrib.DeformablePSROIPooling(
        nd.ones((1, 3, 4, 4)), nd.ones((1, 5)), nd.ones((1, 4, 2, 2)), spatial_scale=1,
        output_dim=3, group_size=1, pooled_size=2), ShapeError, "trans has 4 channels"),
    (lambda: nd._internal._set_value(1, out=3), TypeMismatch, "_set_value: out got 3"),
    (lambda: nd._internal._onehot_encode(nd.ones(3), X), ShapeError, "_onehot_encode: lhs has"),
])
def test_what_is_refused(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()
