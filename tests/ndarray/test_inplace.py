"""Arithmetic in place and `out=`: same memory, right values even when memory overlaps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx

nd = mx.nd

OPERATORS: list[Callable[[Any, Any], Any]] = []


def iadd(x: Any, y: Any) -> Any:
    x += y
    return x


def isub(x: Any, y: Any) -> Any:
    x -= y
    return x


def imul(x: Any, y: Any) -> Any:
    x *= y
    return x


def itruediv(x: Any, y: Any) -> Any:
    x /= y
    return x


def imod(x: Any, y: Any) -> Any:
    x %= y
    return x


def ipow(x: Any, y: Any) -> Any:
    x **= y
    return x


OPERATORS = [iadd, isub, imul, itruediv, imod, ipow]


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("other", [2, 1.5, np.float32(2), (2, 3, 4), (3, 1), (1,), "self", "numpy"])
@pytest.mark.parametrize("operator", OPERATORS)
def test_in_place_is_numpys_and_keeps_the_memory(operator: Any, other: Any, special: bool) -> None:
    data = np.arange(1, 25, dtype=np.float32).reshape(2, 3, 4) / 8
    x = nd.array(data)
    if special:
        x.reorder()
    view = x.detach()
    ours: Any
    theirs: Any
    if isinstance(other, tuple):
        array = np.random.default_rng(0).uniform(0.5, 2, other).astype(np.float32)
        ours, theirs = nd.array(array), array
    elif other == "self":
        ours, theirs = x, data.copy()
    elif other == "numpy":
        ours = theirs = np.full((2, 3, 4), 1.5, np.float32)
    else:
        ours = theirs = other
    result = operator(x, ours)
    assert result is x
    expected = operator(data, theirs)
    np.testing.assert_allclose(x.asnumpy(), expected, rtol=1e-6)
    np.testing.assert_array_equal(view.asnumpy(), x.asnumpy())


def test_in_place_on_a_view_changes_the_base() -> None:
    x = nd.array(np.arange(12).reshape(4, 3))
    x[1:3] += 100
    x[0] *= nd.array([1, 2, 3])
    assert x.asnumpy().tolist() == [[0, 2, 6], [103, 104, 105], [106, 107, 108], [9, 10, 11]]


def test_overlapping_views() -> None:
    data = np.arange(8, dtype=np.float32)
    x = nd.array(data)
    x[1:] += x[:-1]
    expected = data.copy()
    expected[1:] += data[:-1]
    np.testing.assert_array_equal(x.asnumpy(), expected)
    y = nd.array(data)
    nd.elemwise_add(y[:4], y[2:6], out=y[1:5])
    expected = data.copy()
    expected[1:5] = data[:4] + data[2:6]
    np.testing.assert_array_equal(y.asnumpy(), expected)


def test_the_shape_must_stay() -> None:
    x = nd.ones((3,))
    with pytest.raises(ValueError, match=r"out has shape \(3,\), expected \(2, 3\)"):
        x += nd.ones((2, 3))
    assert x.asnumpy().tolist() == [1, 1, 1]


def test_integers_stay_integers() -> None:
    x = nd.array([3, 4, 5], dtype="int32")
    x += 1
    x *= 2
    assert x.dtype == np.int32
    assert x.asnumpy().tolist() == [8, 10, 12]
    with pytest.raises(TypeError, match="dtypes disagree"):
        x += nd.ones((3,))


@pytest.mark.parametrize("bad", ["a", None, [1, 2], object()])
def test_what_is_no_number_is_refused(bad: Any) -> None:
    x = nd.ones((2,))
    with pytest.raises(TypeError):
        x += bad
    with pytest.raises(TypeError):
        x + bad
    with pytest.raises(TypeError):
        bad * x
    with pytest.raises(TypeError):
        x == bad  # noqa: B015


def test_out_must_fit() -> None:
    x = nd.ones((2,))
    with pytest.raises(ValueError, match="out has shape"):
        nd.relu(x, out=nd.ones((3,)))
    with pytest.raises(TypeError, match="out has dtype int32"):
        nd.relu(x, out=nd.ones((2,), dtype="int32"))
    for bad in (3, [3], np.ones(2)):
        with pytest.raises(TypeError, match="out must be an NDArray"):
            nd.relu(x, out=bad)
    with pytest.raises(mx.MXNetError, match="1 output"):
        nd.relu(x, out=[nd.ones((2,)), nd.ones((2,))])
    made = nd.zeros((2,))
    assert nd.relu(x, out=made) is made
    assert made.asnumpy().tolist() == [1, 1]


def test_out_in_a_special_layout_is_overwritten() -> None:
    data = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4) - 5
    out = nd.ones((1, 2, 3, 4)).to_mkldnn()
    nd.relu(nd.array(data), out=out)
    np.testing.assert_array_equal(out.asnumpy(), np.maximum(data, 0))
    nd.relu(nd.array(data).to_mkldnn(), out=out)
    np.testing.assert_array_equal(out.asnumpy(), np.maximum(data, 0))
