"""Variables of a group live in the context that simple_bind is given for it."""

from __future__ import annotations

import pytest

import ndarray_rt as mx
from ndarray_rt import sym


def test_variables_of_a_group_get_its_context() -> None:
    with mx.AttrScope(ctx_group="one"):
        hidden = sym.FullyConnected(sym.Variable("data"), num_hidden=4, name="fc1")
    with mx.AttrScope(ctx_group="two"):
        net = sym.FullyConnected(hidden, num_hidden=3, name="fc2")
    groups = {"one": mx.cpu(1), "two": mx.cpu(2)}
    bound = net.simple_bind(mx.cpu(), group2ctx=groups, data=(2, 5))
    places = {name: x.ctx for name, x in bound.arg_dict.items()}
    assert places == {"data": mx.cpu(1), "fc1_weight": mx.cpu(1), "fc1_bias": mx.cpu(1),
                      "fc2_weight": mx.cpu(2), "fc2_bias": mx.cpu(2)}
    assert bound.grad_dict["fc2_weight"].ctx == mx.cpu(2)
    for x in bound.arg_dict.values():
        x[:] = 1
    bound.forward(is_train=True)
    assert bound.outputs[0].asnumpy().tolist() == [[25.0] * 3] * 2
    bound.backward(mx.nd.ones((2, 3)))
    assert bound.grad_dict["fc1_bias"].asnumpy().tolist() == [6.0] * 4
    with pytest.raises(mx.MXNetError, match="group2ctx"):
        net.simple_bind(mx.cpu(), group2ctx={"one": "cpu"}, data=(2, 5))
