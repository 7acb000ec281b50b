"""backward behind a forward in either mode."""

from __future__ import annotations

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.errors import MXNetError


def bound() -> mx.Executor:
    data = mx.sym.Variable("data")
    net = mx.sym.BatchNorm(mx.sym.Dropout(data * data, p=0.5), fix_gamma=False, name="norm")
    executor = net.simple_bind(mx.cpu(), data=(4, 3))
    executor.arg_dict["data"][:] = np.arange(12).reshape(4, 3) / 4
    executor.arg_dict["norm_gamma"][:] = 2
    executor.aux_dict["norm_moving_var"][:] = 1
    return executor


def test_backward_behind_an_inference_run_is_that_of_inference() -> None:
    executor = bound()
    for _ in range(4):  # replayed ones too
        out = executor.forward()[0].asnumpy()
        executor.backward(mx.nd.ones((4, 3)))
        slope = 2 * executor.arg_dict["data"].asnumpy() * 2 / np.sqrt(1 + 1e-3)
        np.testing.assert_allclose(executor.grad_dict["data"].asnumpy(), slope, rtol=1e-5)
        np.testing.assert_allclose(executor.outputs[0].asnumpy(), out, rtol=1e-6)
        assert (executor.aux_dict["norm_moving_var"].asnumpy() == 1).all()


def test_backward_without_a_forward_runs_one() -> None:
    executor = bound()
    executor.backward(mx.nd.ones((4, 3)))
    slope = 2 * executor.arg_dict["data"].asnumpy() * 2 / np.sqrt(1 + 1e-3)
    np.testing.assert_allclose(executor.grad_dict["data"].asnumpy(), slope, rtol=1e-5)


def test_backward_behind_what_gave_up_its_results_is_refused() -> None:
    executor = bound()
    executor.forward(is_train=True)
    executor.explain(repeat=1)
    with pytest.raises(MXNetError, match="given up"):
        executor.backward(mx.nd.ones((4, 3)))


def test_inference_between_two_steps() -> None:
    executor = bound()
    for _ in range(2):
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones((4, 3)))
        executor.forward()
        executor.backward(mx.nd.ones((4, 3)))
    mean = executor.aux_dict["norm_moving_mean"].asnumpy()
    assert (mean != 0).any()
    executor.forward()
    executor.backward(mx.nd.ones((4, 3)))
    assert (executor.aux_dict["norm_moving_mean"].asnumpy() == mean).all()


def test_the_optimized_symbol_has_the_passes_nodes() -> None:
    data = mx.sym.Variable("data")
    net = mx.sym.Activation(mx.sym.FullyConnected(data, num_hidden=3, name="dense"),
                            act_type="relu", name="out")
    executor = net.simple_bind(mx.cpu(), data=(2, 5), grad_req="null")
    made = executor.get_optimized_symbol()
    assert made.list_arguments() == net.list_arguments()
    assert "_fused_FullyConnected" in made.tojson()


def test_what_names_no_argument_counts_for_nothing() -> None:
    """As scripts of MXNet's do it: numbers for simple_bind, requests, head gradients too many."""
    net = mx.sym.take(mx.sym.var("a"), mx.sym.BlockGrad(mx.sym.var("i")), axis=1)
    executor = net.simple_bind(mx.cpu(), a=(2, 3), i=(2,), axis=1, mode="clip",
                               grad_req={"a": "write", "bias": "add"})
    executor.forward(is_train=True)
    ones = mx.nd.ones((2, 2))
    executor.backward([ones, ones])
    assert executor.grad_dict["a"].asnumpy().tolist() == [[2, 0, 0], [2, 0, 0]]
