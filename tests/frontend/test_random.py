"""random: seeds, states, the choice of operators by kind of parameter."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.errors import ParameterError
from ndarray_rt.op.random_state import RandomState, philox_numpy

nd = mx.nd


@pytest.mark.parametrize("draw", [
    lambda: nd.random.uniform(shape=(50,)), lambda: nd.random.normal(2, 3, shape=(50,)),
    lambda: mx.random.uniform(0, 1, (50,)), lambda: nd.random.randn(5, 10),
    lambda: nd.Dropout(nd.ones((50,)), mode="always")])
def test_the_same_seed_gives_the_same_numbers(draw: Any) -> None:
    mx.random.seed(7)
    first, second = draw().asnumpy(), draw().asnumpy()
    assert not np.array_equal(first, second)
    mx.random.seed(7, ctx="all")
    np.testing.assert_array_equal(draw().asnumpy(), first)
    state = mx.random.get_state()
    np.testing.assert_array_equal(draw().asnumpy(), second)
    mx.random.set_state(state)
    np.testing.assert_array_equal(draw().asnumpy(), second)


def test_uniform() -> None:
    mx.random.seed(0)
    x = nd.random.uniform(-2, 4, shape=(200, 100))
    assert x.dtype == np.float32
    values = x.asnumpy()
    assert -2 <= values.min() < -1.9 < 3.9 < values.max() < 4
    assert abs(values.mean() - 1) < 0.05
    assert nd.random.uniform(shape=3, dtype="float64").dtype == np.float64
    assert nd.random.uniform().shape == (1,)
    assert nd.random.uniform(shape=3, ctx=mx.cpu(1)).ctx == mx.cpu(1)
    out = nd.zeros((3, 2))
    assert nd.random.uniform(5, 6, out=out) is out
    assert (out.asnumpy() >= 5).all()


def test_normal() -> None:
    mx.random.seed(0)
    values = nd.random.normal(1, 2, shape=(300, 100)).asnumpy()
    assert abs(values.mean() - 1) < 0.05
    assert abs(values.std() - 2) < 0.05
    assert nd.random.randn(2, 3, loc=5, scale=0.001).asnumpy().round().tolist() == [[5] * 3] * 2


def test_bad_arguments() -> None:
    with pytest.raises(ParameterError, match="exponential: scale got 0"):
        nd.random.exponential(0)
    bad: Any
    for bad in ("a", 1.5, None, True):
        with pytest.raises(mx.MXNetError, match="seed"):
            mx.random.seed(bad)
    with pytest.raises(TypeError, match="all be numbers or all be NDArrays"):
        nd.random.uniform(0, nd.ones((2,)))


def test_randomness_is_not_differentiated() -> None:
    x = nd.ones((3,))
    x.attach_grad()
    with mx.autograd.record():
        y = x * nd.random.uniform(1, 2, shape=(3,))
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), y.asnumpy())


def test_threads_never_get_the_same_words() -> None:
    state = RandomState(3)
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda _: state.words(401), range(40)))
    assert state.get_state() == (3, 40 * 101)
    begins = {tuple(state_words[:4]) for state_words in parts}
    words = philox_numpy(4 * 101 * 40, 3, 0).reshape(40, 404)
    assert begins == {tuple(row[:4]) for row in words}
    for part in parts:
        assert any(np.array_equal(part, row[:401]) for row in words)


def test_seeds_and_positions_of_64_bits() -> None:
    state = RandomState(-1)
    assert state.get_state() == (2**64 - 1, 0)
    state.set_state((5, 2**64 - 1))
    np.testing.assert_array_equal(state.words(4), philox_numpy(4, 5, 2**64 - 1))
    assert state.get_state() == (5, 0)
