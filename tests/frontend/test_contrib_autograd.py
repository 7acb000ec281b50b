"""contrib.autograd, MXNet's first interface: sections, gradient functions; and _fresh_grad."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import autograd, nd
from ndarray_rt.contrib import autograd as old


def test_gradients_of_all_arguments() -> None:
    x, y = nd.array([1.0, 2.0, 3.0]), nd.array([4.0, 5.0, 6.0])
    grads, out = old.grad_and_loss(lambda a, b: a * b + a)(x, y)
    np.testing.assert_array_equal(out.asnumpy(), [5, 12, 21])
    np.testing.assert_array_equal(grads[0].asnumpy(), [5, 6, 7])
    np.testing.assert_array_equal(grads[1].asnumpy(), [1, 2, 3])


@pytest.mark.parametrize(("argnum", "wanted"), [(0, [[3.0]]), (1, [[2.0]]),
                                                ([1, 0], [[2.0], [3.0]]),
                                                ((0, 1), [[3.0], [2.0]])])
def test_gradients_of_some(argnum: Any, wanted: list[list[float]]) -> None:
    def product(a: Any, b: Any, turned: bool) -> Any:
        """Documented."""
        return b * a if turned else a * b
    function = old.grad(product, argnum=argnum)
    assert function.__doc__ == "Documented."
    got = function(nd.array([2.0]), nd.array([3.0]), True)
    assert [g.asnumpy().tolist() for g in got] == wanted


def test_wrong_arguments_of_gradient_functions() -> None:
    with pytest.raises(mx.MXNetError, match="argument 1 must be an NDArray, got bool"):
        old.grad(lambda a, b: a)(nd.ones((1,)), True)
    with pytest.raises(mx.MXNetError, match="argnum has 2, got 1 arguments"):
        old.grad(lambda a: a, argnum=2)(nd.ones((1,)))
    with pytest.raises(mx.MXNetError, match="must be a list or tuple of NDArrays, got NDArray"):
        old.backward(nd.ones((1,)))  # type: ignore[arg-type]


def test_sections_switch_both_modes() -> None:
    def modes() -> tuple[bool, bool]:
        return autograd.is_recording(), autograd.is_training()
    with autograd.predict_mode():
        with old.train_section():
            assert modes() == (True, True)
            with old.test_section():
                assert modes() == (False, False)
            assert modes() == (True, True)
            before = old.set_is_training(False)
            assert before
            assert modes() == (False, False)
        assert modes() == (False, False)


def test_a_list_of_outputs_with_head_gradients() -> None:
    x, dx = nd.ones((2, 3)), nd.zeros((2, 3))
    old.mark_variables([x], [dx])
    with old.train_section():
        rows = [x[0] * 2, x[1] * 3]
    old.backward(rows, [None, nd.array([1, 2, 3])], retain_graph=True)
    np.testing.assert_array_equal(dx.asnumpy(), [[2, 2, 2], [3, 6, 9]])
    old.compute_gradient(rows)
    np.testing.assert_array_equal(dx.asnumpy(), [[2, 2, 2], [3, 3, 3]])


def test_a_gradient_is_fresh_after_backward() -> None:
    x, y = nd.ones((2,)), nd.ones((2,))
    assert not x._fresh_grad
    with pytest.raises(mx.MXNetError, match="the array has no gradient"):
        x._fresh_grad = True
    x.attach_grad()
    y.attach_grad()
    assert not x._fresh_grad
    with autograd.record():
        z = (x * 2).detach() * y
    z.backward()
    assert y._fresh_grad
    assert not x._fresh_grad
    y._fresh_grad = False
    assert not y._fresh_grad
    with autograd.record():
        autograd.grad(y * y, y)
    assert not y._fresh_grad


def test_the_operators_of_contrib() -> None:
    assert mx.contrib.nd is mx.contrib.ndarray is mx.nd.contrib
    assert mx.contrib.sym is mx.contrib.symbol is mx.sym.contrib
