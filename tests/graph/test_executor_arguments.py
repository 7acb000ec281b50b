"""What an executor's methods are given: refused with the library's own errors, nothing done."""

from __future__ import annotations

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.errors import NameMismatch, ParameterError, TypeMismatch


@pytest.fixture
def executor():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    made = net.simple_bind(mx.cpu(), data=(2, 4))
    made.forward(is_train=True)
    return made


@pytest.mark.parametrize("repeat", ["x", None, 2.5, 0, -1, True])
@pytest.mark.parametrize("method", ["explain", "tune"])
def test_repeats(executor, method, repeat):
    with pytest.raises(ParameterError, match=f"{method}: repeat is"):
        getattr(executor, method)(repeat=repeat)


@pytest.mark.parametrize("wrong", [
    lambda e: e.backward(3),
    lambda e: e.train_step(out_grads="x"),
    lambda e: e.bind_update("sgd_update", lr=0.1, lr_mult=3),
    lambda e: e.bind_update("sgd_update", lr=0.1, wd_mult=["fc_weight"]),
    lambda e: e.copy_params_from(3),
    lambda e: e.copy_params_from({}, [1]),
    lambda e: e.set_monitor_callback("x"),
    lambda e: e.symbol.bind(mx.cpu(), e.arg_dict, shared_exec=3),
    lambda e: e.symbol.simple_bind(mx.cpu(), shared_exec="x", data=(2, 4)),
    lambda e: e.symbol.bind(3, e.arg_dict),
    lambda e: e.symbol.simple_bind("cpu", data=(2, 4)),
])
def test_wrong_types(executor, wrong):
    with pytest.raises(TypeMismatch, match=r"expected an? "):
        wrong(executor)
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((2, 3)))


def test_parameters_are_copied_when_all_names_are_right(executor):
    with pytest.raises(NameMismatch, match=r"'other' is no argument"):
        executor.copy_params_from({"fc_bias": mx.nd.ones((3,)), "other": mx.nd.ones((3,))})
    assert not executor.arg_dict["fc_bias"].asnumpy().any()
    executor.copy_params_from({"fc_bias": mx.nd.ones((3,)), "other": mx.nd.ones((3,))},
                              allow_extra_params=True)
    np.testing.assert_array_equal(executor.arg_dict["fc_bias"].asnumpy(), np.ones(3))
