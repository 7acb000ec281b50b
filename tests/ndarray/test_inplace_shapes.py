"""flatten, squeeze and expand_dims as methods: copies, or views of the same memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx

CALLS: list[tuple[Callable[..., Any], tuple[int, ...]]] = [
    (lambda x, **more: x.flatten(**more), (2, 12)),
    (lambda x, **more: x.squeeze(**more), (2, 3, 4)),
    (lambda x, **more: x.squeeze(axis=1, **more), (2, 3, 4)),
    (lambda x, **more: x.expand_dims(-1, **more), (2, 1, 3, 4, 1)),
    (lambda x, **more: x.expand_dims(axis=0, **more), (1, 2, 1, 3, 4)),
]


@pytest.mark.parametrize(("call", "shape"), CALLS)
def test_copies_and_views(call: Callable[..., Any], shape: tuple[int, ...]) -> None:
    x = mx.nd.arange(24).reshape((2, 1, 3, 4))
    copy, view = call(x), call(x, inplace=True)
    assert copy.shape == view.shape == shape
    x[0, 0, 0, 0] = -1
    assert copy.asnumpy().ravel()[0] == 0
    assert view.asnumpy().ravel()[0] == -1


@pytest.mark.parametrize(("call", "shape"), CALLS)
@pytest.mark.parametrize("inplace", [False, True])
def test_gradients(call: Callable[..., Any], shape: tuple[int, ...], inplace: bool) -> None:
    x = mx.nd.ones((2, 1, 3, 4))
    x.attach_grad()
    with mx.autograd.record():
        y = call(x * 2, inplace=inplace)
    y.backward(mx.nd.arange(24).reshape(shape))
    np.testing.assert_array_equal(x.grad.asnumpy().ravel(), 2 * np.arange(24))


def test_from_numpy_twice_shares_twice() -> None:
    source = np.ones((2, 3), np.float32)
    one, two = mx.nd.from_numpy(source), mx.nd.from_numpy(source)
    one[1, 2] = 7
    assert two.asnumpy()[1, 2] == source[1, 2] == 7
    with pytest.raises(ValueError, match="read-only"):
        source[0, 0] = 1


def test_numpy_shapes() -> None:
    assert mx.nd.ones((1, 3)).broadcast_to(np.array([2, 3])).shape == (2, 3)
