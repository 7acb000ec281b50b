"""Names that scripts written for MXNet use beside operators: contexts, engine, zipfian, slices."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import nd, sym
from ndarray_rt.errors import ParameterError, TypeMismatch
from ndarray_rt.test_utils import chi_square_check


def test_default_context_is_a_threads() -> None:
    assert mx.Context.default_ctx == mx.cpu()
    seen: list[mx.Context] = []

    def work() -> None:
        mx.Context.default_ctx = mx.cpu(3)
        seen.append(nd.ones(1).context)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [mx.cpu(3)]
    with mx.cpu(2):
        assert mx.Context.default_ctx == mx.cpu(2)
    assert mx.Context.default_ctx == mx.cpu()
    with pytest.raises(TypeMismatch):
        mx.Context.default_ctx = "cpu"  # type: ignore[assignment]


def test_bulk_is_kept() -> None:
    before = mx.engine.set_bulk_size(3)
    with mx.engine.bulk(7):
        assert mx.engine.set_bulk_size(8) == 7
        assert (nd.ones(2) + 1).asnumpy().tolist() == [2, 2]
    assert mx.engine.set_bulk_size(before) == 3
    with pytest.raises(TypeMismatch):
        mx.engine.set_bulk_size("many")  # type: ignore[arg-type]


def test_zipfian_candidates() -> None:
    classes, true, drawn = nd.contrib.rand_zipfian(nd.array([3, 0, 99]), 500, 100)
    assert (classes.dtype, true.dtype, drawn.dtype) == (np.int64, np.float64, np.float64)
    # how often they are expected is what MXNet 1.9.1 gives, for 4 draws
    assert np.allclose(true.asnumpy() * (4 / 500), [0.19340214, 0.60076193, 0.00862411])
    numbers = classes.asnumpy()
    assert 0 <= numbers.min() <= numbers.max() < 100
    probability = np.log((numbers + 2) / (numbers + 1)) / np.log(101)
    assert np.allclose(drawn.asnumpy(), 500 * probability)
    assert abs((numbers == 0).mean() - np.log(2) / np.log(101)) < 0.07
    made = mx.sym.Group(sym.contrib.rand_zipfian(sym.var("t"), 4, 100))
    assert made.infer_shape(t=(3,))[1] == [(4,), (3,), (4,)]
    assert np.allclose(made.eval(t=nd.array([3, 0, 99]))[1].asnumpy(), true.asnumpy() / 125)
    with pytest.raises(TypeMismatch, match="true_classes got"):
        nd.contrib.rand_zipfian([3, 0, 99], 4, 100)
    with pytest.raises(TypeMismatch, match="true_classes got"):
        sym.contrib.rand_zipfian(nd.array([3]), 4, 100)
    for counts in ((0, 100), (4, -1), (4, 2.5)):
        with pytest.raises(ParameterError, match="expected an int above 0"):
            nd.contrib.rand_zipfian(nd.array([3]), *counts)


def test_parts_of_an_array_are_assigned() -> None:
    x = nd.zeros((3, 3))
    assert x.slice_assign_scalar(5, begin=(0, 0), end=(3, None), step=(2, 2)) is x
    assert x.slice_assign(nd.ones((1, 2)), (0, 0), (1, 2), (1, 1)) is x
    assert x.asnumpy().tolist() == [[1, 1, 5], [0, 0, 0], [5, 0, 5]]


def test_counts_of_discrete_values() -> None:
    pytest.importorskip("scipy")
    samples = np.array([0, 1, 1, 7, 3, 3, 3])
    found = chi_square_check(lambda n: samples, [0, 1, 2, 3, 9], [0.2] * 5, 7)[1]
    assert found.tolist() == [1, 2, 0, 3, 0]


def test_modules_by_their_names() -> None:
    assert mx.nd.ndarray.NDArray is nd.NDArray
    assert mx.sym.symbol.Symbol is sym.Symbol
    assert mx.base.NotImplementedForSymbol is sym.NotImplementedForSymbol
