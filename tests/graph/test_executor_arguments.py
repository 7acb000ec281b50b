"""What an executor's methods are given: refused with the library's own errors, nothing done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.errors import NameMismatch, ParameterError, ShapeError, TypeMismatch


@pytest.fixture
def executor() -> mx.executor.Executor:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    made = net.simple_bind(mx.cpu(), data=(2, 4))
    made.forward(is_train=True)
    return made


@pytest.mark.parametrize("repeat", ["x", None, 2.5, 0, -1, True])
@pytest.mark.parametrize("method", ["explain", "tune"])
def test_repeats(executor: mx.executor.Executor, method: str, repeat: Any) -> None:
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
    lambda e: e.bind_update("sgd_update", lr=0.1, names=3),
    lambda e: e.bind_update("sgd_update", lr=0.1, names="fc_bias"),
    lambda e: e.bind_update("sgd_update", lr=0.1, names=b"fc_bias"),
    lambda e: e.bind_update("sgd_update", lr=0.1, names=[["fc_bias"]]),
    lambda e: e.bind_update("sgd_mom_update", 3, lr=0.1),
    lambda e: e.bind_update("sgd_mom_update", "fc_bias", lr=0.1),
    lambda e: e.bind_update("sgd_mom_update", np.ones(2), lr=0.1),
    lambda e: e.bind_update("sgd_mom_update", {"fc_bias": 3}, lr=0.1),
    lambda e: e.bind_update("sgd_mom_update", {"fc_bias": "ab"}, lr=0.1),
    lambda e: e.bind_update("sgd_mom_update", {"fc_weight": np.zeros((3, 4))}, lr=0.1),
    lambda e: e.bind_update("sgd_update", lr=0.1, lr_mult={"fc_bias": "x"}),
    lambda e: e.bind_update("sgd_update", lr=0.1, lr_mult={"fc_bias": "2"}),
    lambda e: e.bind_update("sgd_update", lr=0.1, wd_mult={"fc_bias": None}),
    lambda e: e.bind_update("sgd_update", lr=0.1, wd_mult={"fc_bias": np.ones(2)}),
    lambda e: e.bind_update("sgd_update", lr=0.1, wd_mult={"fc_bias": 10 ** 400}),
])
def test_wrong_types(executor: mx.executor.Executor,
                     wrong: Callable[[mx.executor.Executor], object]) -> None:
    with pytest.raises(TypeMismatch, match=r"expected an? "):
        wrong(executor)
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((2, 3)))


@pytest.mark.parametrize(("given", "text"), [
    ({"names": "ab"}, "names got 'ab', expected a list of names"),
    ({"names": ["fc_bias", 3]}, "names has 3, expected a string"),
    ({"states": [1]}, "states got a list, expected a dict by name"),
    ({"states": {"fc_bias": 3}}, r"states\['fc_bias'\] got 3, expected a list of arrays"),
    ({"lr_mult": {"fc_bias": None}}, r"lr_mult\['fc_bias'\] got None, expected a float"),
    ({"wd_mult": {"fc_bias": "x"}}, r"wd_mult\['fc_bias'\] got 'x', expected a float"),
])
def test_what_bind_update_says(executor: mx.executor.Executor, given: dict[str, Any],
                               text: str) -> None:
    with pytest.raises(TypeMismatch, match=f"^bind_update: {text}$"):
        executor.bind_update("sgd_update", lr=0.1, **given)


def test_names_and_factors_that_are_right(executor: mx.executor.Executor) -> None:
    update = executor.bind_update("sgd_mom_update", {"fc_bias": (mx.nd.ones((3,)),)}, lr=1,
                                  names=(name for name in ["fc_bias"]),
                                  lr_mult={"fc_bias": np.float32(2)},
                                  wd_mult={"fc_bias": mx.nd.zeros((1,))})
    assert [one.name for one in update.trained] == ["fc_bias"]
    assert update.states["fc_bias"][0].asnumpy().tolist() == [1, 1, 1]


@pytest.mark.parametrize(("shapes", "text"), [
    ({}, "the shape of 'data' can not be inferred"),
    ({"fc_weight": (3, 4)}, "the shape of 'data' can not be inferred"),
    ({"data": ()}, 'FullyConnected "fc": data has shape'),
    ({"data": (2, 5), "fc_weight": (3, 4)}, 'FullyConnected "fc": weight has shape'),
    ({"data": (-1, 4)}, "data: shape got"),
])
def test_shapes_that_do_not_go_together(executor: mx.executor.Executor,
                                        shapes: dict[str, Any], text: str) -> None:
    with pytest.raises(ShapeError, match=f"^reshape: {text}"):
        executor.reshape(**shapes)
    assert executor.reshape(data=(1, 4)).outputs[0].shape == (1, 3)


def test_parameters_are_copied_when_all_names_are_right(executor: mx.executor.Executor) -> None:
    with pytest.raises(NameMismatch, match=r"'other' is no argument"):
        executor.copy_params_from({"fc_bias": mx.nd.ones((3,)), "other": mx.nd.ones((3,))})
    assert not executor.arg_dict["fc_bias"].asnumpy().any()
    executor.copy_params_from({"fc_bias": mx.nd.ones((3,)), "other": mx.nd.ones((3,))},
                              allow_extra_params=True)
    np.testing.assert_array_equal(executor.arg_dict["fc_bias"].asnumpy(), np.ones(3))
