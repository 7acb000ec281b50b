"""Custom: operators in Python, in nd, autograd, symbols and executors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.errors import NameMismatch, ParameterError


class Scale(mx.operator.CustomOp):
    def __init__(self, factor: float) -> None:
        self.factor = factor
        self.calls = 0

    def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        self.calls += 1
        self.assign(out_data[0], req[0], in_data[0] * self.factor)
        aux[0][:] = aux[0] + 1

    def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any,
                 aux: Any) -> None:
        assert self.calls > 0, "forward ran on another object"
        self.assign(in_grad[0], req[0], out_grad[0] * self.factor)


class ScaleProp(mx.operator.CustomOpProp):
    def __init__(self, factor: str = "2") -> None:
        super().__init__()
        self.factor = float(factor)

    def list_auxiliary_states(self) -> list[str]:
        return ["count"]

    def infer_shape(self, in_shape: Any) -> Any:
        return in_shape, [in_shape[0]], [(1,)]

    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Scale:
        return Scale(self.factor)


class Loss(mx.operator.CustomOp):
    def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        self.assign(out_data[0], req[0], mx.nd.softmax(in_data[0]))

    def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any,
                 aux: Any) -> None:
        assert not out_grad[0].asnumpy().any(), "a gradient that it does not depend on"
        hot = mx.nd.one_hot(in_data[1], depth=out_data[0].shape[1])
        self.assign(in_grad[0], req[0], out_data[0] - hot)


class LossProp(mx.operator.CustomOpProp):
    def __init__(self) -> None:
        super().__init__(need_top_grad=False)

    def list_arguments(self) -> list[str]:
        return ["data", "label"]

    def infer_shape(self, in_shape: Any) -> Any:
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]], []

    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Loss:
        return Loss()


class Broken(mx.operator.CustomOp):
    def forward(self, *args: Any, **kwargs: Any) -> None:
        raise KeyError("of the user")


class BrokenProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Broken:
        return Broken()


@pytest.fixture(autouse=True)
def kinds() -> Iterator[None]:
    given = {"test_scale": ScaleProp, "test_loss": LossProp, "test_broken": BrokenProp}
    for name, prop in given.items():
        mx.operator.register(name)(prop)
    yield
    for name in given:
        mx.operator.unregister(name)


def test_imperative() -> None:
    x, count = mx.nd.array([[1, -2], [3, 4]]), mx.nd.zeros((1,))
    x.attach_grad(grad_req="add")
    for _ in range(2):
        with mx.autograd.record():
            y = mx.nd.Custom(x, count, op_type="test_scale", factor=3)
            y = mx.nd.Custom(data=y, count=count, op_type="test_scale")
        y.backward()
    np.testing.assert_array_equal(y.asnumpy(), x.asnumpy() * 6)
    np.testing.assert_array_equal(x.grad.asnumpy(), np.full((2, 2), 12))
    assert count.asscalar() == 4


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_executor(dtype: str) -> None:
    net = mx.sym.Custom(mx.sym.Variable("data"), name="net", op_type="test_scale", factor=4) + 1
    assert net.list_arguments() == ["data"]
    assert net.list_auxiliary_states() == ["net_count"]
    net = mx.sym.load_json(net.tojson())
    exe = net.simple_bind(data=(2, 3), type_dict={"data": dtype})
    for i in range(4):
        out = exe.forward(is_train=True, data=mx.nd.full((2, 3), i, dtype=dtype))[0]
        exe.backward(mx.nd.full((2, 3), 2, dtype=dtype))
        np.testing.assert_array_equal(out.asnumpy(), np.full((2, 3), 4 * i + 1))
        np.testing.assert_array_equal(exe.grad_dict["data"].asnumpy(), np.full((2, 3), 8))
    assert exe.aux_dict["net_count"].asscalar() == 4
    assert exe.outputs[0].dtype == np.dtype(dtype)


def test_loss_needs_no_gradient() -> None:
    net = mx.sym.Custom(mx.sym.Variable("data"), name="loss", op_type="test_loss")
    assert net.list_arguments() == ["data", "loss_label"]
    assert net.infer_shape(data=(4, 3))[0] == [(4, 3), (4,)]
    exe = net.simple_bind(data=(2, 3))
    exe.arg_dict["data"][:] = mx.nd.array([[1, 2, 3], [0, 0, 0]])
    exe.arg_dict["loss_label"][:] = mx.nd.array([1, 2])
    out = exe.forward(is_train=True)[0].asnumpy()
    exe.backward()
    np.testing.assert_allclose(exe.grad_dict["data"].asnumpy(), out - np.eye(3)[[1, 2]], rtol=1e-6)


def test_each_executor_has_an_object_of_its_own() -> None:
    net = mx.sym.Custom(mx.sym.Variable("data"), name="net", op_type="test_scale")
    first, second = (net.simple_bind(data=(2,)) for _ in range(2))
    for exe in (first, second, first):
        exe.forward(is_train=True)
        exe.backward(mx.nd.ones((2,)))
    made = net.entries[0].node.params.__dict__["_operators"].values()
    assert sorted(op.calls for op in made) == [1, 2]


def test_what_the_user_raises_arrives() -> None:
    x = mx.nd.ones((2,))
    with pytest.raises(KeyError, match=r"test_broken.forward raised KeyError: 'of the user'"):
        mx.nd.Custom(x, op_type="test_broken")
    exe = mx.sym.Custom(mx.sym.Variable("x"), op_type="test_broken").simple_bind(x=(2,))
    with pytest.raises(mx.MXNetError, match="of the user") as caught:
        exe.forward()
    assert type(caught.value.__cause__) is KeyError
    np.testing.assert_array_equal(x.asnumpy(), [1, 1])


class OwnError(Exception):
    pass


@pytest.mark.parametrize("error", [
    AssertionError(), OwnError("own"), OSError(2, "gone"), RuntimeError("plain"),
    UnicodeDecodeError("utf-8", b"x", 0, 1, "bad"), StopIteration(3), mx.MXNetError("of ours")])
@pytest.mark.parametrize("method", ["forward", "backward", "create_operator", "infer_shape",
                                    "infer_type", "list_outputs"])
def test_any_error_of_the_users_is_an_mxnet_error(error: Exception, method: str) -> None:
    def fail(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise error
    op = type("Op", (mx.operator.CustomOp,), {method: fail})
    prop = type("Prop", (mx.operator.CustomOpProp,), {
        "create_operator": lambda self, *args: op(), method: fail})
    mx.operator.register("test_broken")(prop)
    x = mx.nd.ones((2,))
    x.attach_grad()
    with pytest.raises(mx.MXNetError) as caught, mx.autograd.record():
        mx.nd.Custom(x, op_type="test_broken").backward()
    if not isinstance(error, mx.MXNetError):
        assert caught.value.__cause__ is error
        assert f"test_broken.{method[:5]}" in str(caught.value)


def test_errors() -> None:
    x = mx.nd.ones((2,))
    with pytest.raises(NameMismatch, match=r"op_type 'no' is not registered; .*test_scale"):
        mx.nd.Custom(x, op_type="no")
    with pytest.raises(ParameterError, match="'op_type' is missing"):
        mx.nd.Custom(x)
    with pytest.raises(NameMismatch, match=r"takes 2 inputs \(data, count\), got 1"):
        mx.nd.Custom(x, op_type="test_scale")
    with pytest.raises(TypeError):
        mx.nd.Custom(x, x, op_type="test_scale", mass=2)
