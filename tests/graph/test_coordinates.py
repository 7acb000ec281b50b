"""A replayed graph looks at coordinates in each run."""

from __future__ import annotations

import numpy as np
import pytest

import ndarray_rt as mx


def test_a_replay_refuses_what_names_no_element() -> None:
    data, at = mx.sym.Variable("data"), mx.sym.Variable("at")
    net = mx.sym.gather_nd(data, at)
    bound = net.simple_bind(mx.cpu(), data=(2, 3), at=(2, 2), grad_req="null")
    bound.arg_dict["data"][:] = np.arange(6).reshape(2, 3)
    for _ in range(4):
        bound.arg_dict["at"][:] = np.array([[0, 1], [2, -1]])
        np.testing.assert_array_equal(bound.forward()[0].asnumpy(), [2, 5])
        bound.arg_dict["at"][:] = np.array([[0, 2], [2, 1]])
        with pytest.raises(IndexError, match="index 2 is out of bounds for axis 0 with size 2"):
            bound.forward()[0].asnumpy()


def test_an_output_stays_as_it_was() -> None:
    out = mx.nd.full((1,), 7)
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 2"):
        mx.nd.gather_nd(mx.nd.ones((2, 3)), mx.nd.array([[5], [0]]), out=out)
    assert out.asscalar() == 7
