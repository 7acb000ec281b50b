"""What bind, simple_bind, optimize_for and the zoo of networks say of arguments of a wrong kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import ndarray_rt as mx
from ndarray_rt.errors import MXNetError, NameMismatch, TypeMismatch

NET = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc")


def bind(**given: Any) -> Any:
    arrays = {"data": mx.nd.ones((2, 3)), "fc_weight": mx.nd.ones((4, 3)),
              "fc_bias": mx.nd.ones((4,))}
    return NET.bind(mx.cpu(), arrays, **given)


def simple_bind(**given: Any) -> Any:
    return NET.simple_bind(mx.cpu(), data=(2, 3), **given)


def optimize_for(**given: Any) -> Any:
    return NET.optimize_for("ONEDNN", {}, {}, **given)


@pytest.mark.parametrize(("function", "given", "text"), [
    (bind, {"group2ctx": {"a": 3}}, r"bind: group2ctx\['a'\]: ctx got 3, expected a Context"),
    (bind, {"group2ctx": 3}, "bind: group2ctx got a int, expected a dict by name"),
    (simple_bind, {"group2ctx": 3}, "simple_bind: group2ctx got a int, expected a dict by name"),
    (simple_bind, {"type_dict": 3}, "simple_bind: type_dict got a int, expected a dict by name"),
    (simple_bind, {"stype_dict": 4}, "simple_bind: stype_dict got a int, expected a dict by name"),
    (simple_bind, {"shared_arg_names": 3}, "simple_bind: shared_arg_names got 3, expected a list"),
    (simple_bind, {"shared_arg_names": "fc"}, "simple_bind: shared_arg_names got 'fc', expected"),
    (simple_bind, {"shared_buffer": 3}, "simple_bind: shared_buffer got a int, expected a dict of"),
    (simple_bind, {"shared_buffer": {"x": 3}}, r"simple_bind: shared_buffer\['x'\] is a int, exp"),
    (optimize_for, {"shape_dict": 3}, "optimize_for: shape_dict got a int, expected a dict"),
    (optimize_for, {"type_dict": 3}, "optimize_for: type_dict got a int, expected a dict"),
])
def test_wrong_types(function: Callable[..., Any], given: dict[str, Any], text: str) -> None:
    with pytest.raises(TypeMismatch, match=f"^{text}"):
        function(**given)


def test_what_is_right_binds() -> None:
    buffer: dict[str, Any] = {}
    made = simple_bind(shared_buffer=buffer, shared_arg_names=("fc_weight",), type_dict={},
                       stype_dict={"data": "default"}, group2ctx={"a": mx.cpu()})
    assert buffer["data"] is made.arg_dict["data"]
    assert "fc_weight" not in buffer  # a parameter is no place for other batches
    assert bind(group2ctx={"a": mx.cpu()}).forward()[0].shape == (2, 4)


def test_a_gradient_by_a_name_that_is_no_outputs() -> None:
    executor = simple_bind()
    executor.forward(is_train=True)
    ones = mx.nd.ones((2, 4))
    for given in ({"nope": ones}, {"fc_output": ones, "nope": ones}):
        with pytest.raises(NameMismatch, match=r"backward: out_grads has 'nope', which is no outp"):
            executor.backward(given)
    executor.backward({"fc_output": ones})
    assert executor.grad_dict["fc_bias"].asnumpy().tolist() == [2, 2, 2, 2]


def test_an_update_where_there_are_no_gradients() -> None:
    with pytest.raises(MXNetError, match=r"^bind_update needs gradients"):
        simple_bind(grad_req="null").bind_update("sgd_update", lr=0.1)


@pytest.mark.parametrize(("name", "given", "text"), [
    (3, {}, "there is no model 3; there are "),
    ("resnet18_v3", {}, "there is no model 'resnet18_v3'; there are "),
    ("lenet", {"zz": 1}, "the model 'lenet' has no argument 'zz'; it has: classes, data"),
    ("resnet18_v1", {"depth_": 1}, "the model 'resnet18_v1' has no argument 'depth_'; it has: "),
])
def test_networks_that_are_not_there(name: Any, given: dict[str, Any], text: str) -> None:
    with pytest.raises(NameMismatch, match=f"^{text}"):
        mx.model_zoo.symbols.get_symbol(name, **given)
