"""NumpyOp and NDArrayOp; what operators say of themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.errors import NameMismatch

pytestmark = pytest.mark.filterwarnings("ignore:.*CustomOp:DeprecationWarning")


class Softmax(mx.operator.NumpyOp):
    """A loss on numpy arrays."""

    def __init__(self) -> None:
        super().__init__(need_top_grad=False)

    def list_arguments(self) -> list[str]:
        return ["data", "label"]

    def infer_shape(self, in_shape: list[list[int]]) -> Any:
        return [in_shape[0], in_shape[0][:1]], [in_shape[0]]

    def forward(self, in_data: list[Any], out_data: list[Any]) -> None:
        x, y = in_data[0], out_data[0]
        assert type(x) is np.ndarray
        y[:] = np.exp(x - x.max(1, keepdims=True))
        y /= y.sum(1, keepdims=True)

    def backward(self, out_grad: list[Any], in_data: list[Any], out_data: list[Any],
                 in_grad: list[Any]) -> None:
        label = in_data[1].astype(int)
        in_grad[0][:] = out_data[0]
        in_grad[0][np.arange(len(label)), label] -= 1
        in_grad[1][:] = 0


class Square(mx.operator.NDArrayOp):
    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, in_data: list[Any], out_data: list[Any]) -> None:
        assert isinstance(in_data[0], mx.nd.NDArray)
        out_data[0][:] = in_data[0] * in_data[0] * self.factor

    def backward(self, out_grad: list[Any], in_data: list[Any], out_data: list[Any],
                 in_grad: list[Any]) -> None:
        in_grad[0][:] = out_grad[0] * in_data[0] * (2 * self.factor)


def test_an_op_that_overrides_nothing_copies() -> None:
    net = mx.operator.NumpyOp().get_symbol(mx.sym.Variable("x"), name="op")
    assert net.list_outputs() == ["op_output"]
    dx = mx.nd.zeros((10,))
    exe = net.bind(mx.cpu(), args=[mx.nd.ones((10,)) * 10], args_grad={"x": dx})
    np.testing.assert_array_equal(exe.forward(is_train=True)[0].asnumpy(), np.full(10, 10))
    exe.backward(mx.nd.full((10,), 7))
    np.testing.assert_array_equal(dx.asnumpy(), np.ones(10))


def test_numpy_op_as_a_loss() -> None:
    net = Softmax()(data=mx.sym.Variable("data"), name="sm")
    assert net.list_arguments() == ["data", "sm_label"]
    exe = net.simple_bind(mx.cpu(), data=(2, 3))
    exe.arg_dict["data"][:] = mx.nd.array([[1, 2, 3], [3, 1, 1]])
    exe.arg_dict["sm_label"][:] = mx.nd.array([2, 0])
    out = exe.forward(is_train=True)[0].asnumpy()
    np.testing.assert_allclose(out.sum(1), 1, rtol=1e-6)
    exe.backward()
    np.testing.assert_allclose(exe.grad_dict["data"].asnumpy(), out - np.eye(3)[[2, 0]], rtol=1e-6)


@pytest.mark.parametrize("grad_req", ["write", "add"])
def test_each_symbol_keeps_its_own_object(grad_req: str) -> None:
    x = mx.sym.Variable("x")
    net = Square(2)(x, name="a") + Square(3)(x, name="b")
    exe = net.simple_bind(mx.cpu(), grad_req=grad_req, x=(2, 2))
    exe.arg_dict["x"][:] = 3
    for i in range(3):
        np.testing.assert_array_equal(exe.forward(is_train=True)[0].asnumpy(), np.full((2, 2), 45))
        exe.backward([mx.nd.ones((2, 2))])
        np.testing.assert_array_equal(exe.grad_dict["x"].asnumpy(),
                                      np.full((2, 2), 30 * (1 if grad_req == "write" else i + 1)))


def test_arguments_of_operators() -> None:
    got = mx.operator.get_operator_arguments("Activation")
    assert isinstance(got, mx.operator.OperatorArguments)
    assert got.narg == 2
    assert got.names == ["data", "act_type"]
    # MXNet 1.9.1 has no more than these five, log_sigmoid and mish came later
    assert got.types == [
        "NDArray-or-Symbol", "{'relu', 'sigmoid', 'softrelu', 'softsign', 'tanh'}, required"]
    got = mx.operator.get_operator_arguments("sum")
    assert got.names == ["data", "axis", "keepdims", "exclude"]
    assert got.types[1:] == ["Shape or None, optional, default=None",
                             *["boolean, optional, default=0"] * 2]
    got = mx.operator.get_operator_arguments("concat")
    assert (got.names[0], got.types[0]) == ("data", "NDArray-or-Symbol[]")
    with pytest.raises(NameMismatch, match="nothing_of_the_kind"):
        mx.operator.get_operator_arguments("nothing_of_the_kind")


@pytest.mark.parametrize("name", mx.operator.get_all_registered_operators())
def test_all_operators_tell_their_arguments(name: str) -> None:
    narg, names, types = mx.operator.get_operator_arguments(name)
    assert narg == len(names) == len(types) == len(set(names))
