"""autograd.Function: computations whose gradient is Python code."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx

from .recorded import grads, leaf, recorded

nd, autograd = mx.nd, mx.autograd


class Sigmoid(autograd.Function):
    def forward(self, x: Any) -> Any:
        assert not autograd.is_recording()
        y = 1 / (1 + nd.exp(-x))
        self.save_for_backward(y)
        return y

    def backward(self, dy: Any) -> Any:
        (y,) = self.saved_tensors
        return dy * y * (1 - y)


class Swap(autograd.Function):
    def forward(self, a: Any, b: Any) -> Any:
        return [b, a * 2]

    def backward(self, db: Any, da: Any) -> Any:
        return [da * 2, None if self.drop else db]

    drop = False


@pytest.mark.parametrize("req", ["write", "add"])
def test_functions_of_ones_own(req: str) -> None:
    data = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
    x = leaf(data, req)
    for _ in range(2):
        y = recorded(lambda: Sigmoid()(x * 2) * 3)
        y.backward()
    s = 1 / (1 + np.exp(-2 * data))
    np.testing.assert_allclose(y.asnumpy(), s * 3, rtol=1e-5)
    times = 2 if req == "add" else 1
    np.testing.assert_allclose(x.grad.asnumpy(), s * (1 - s) * 6 * times, rtol=1e-4)
    assert Sigmoid()(x)._entry is None


def test_functions_with_several_inputs_and_outputs() -> None:
    a, b = leaf([1, 2]), leaf([3, 4])
    with autograd.record():
        first, second = Swap()(a, b)
    assert [first.asnumpy().tolist(), second.asnumpy().tolist()] == [[3, 4], [2, 4]]
    autograd.backward([first, second], [nd.array([5, 6]), nd.array([7, 8])])
    assert (grads(a), grads(b)) == ([14, 16], [5, 6])
    dropping = Swap()
    dropping.drop = True
    with autograd.record():
        first, second = dropping(a, b)
        total = first + second
    total.backward()
    assert (grads(a), grads(b)) == ([2, 2], [0, 0])
    b.backward()  # still a leaf, although forward gave it back
    assert grads(b) == [1, 1]


def test_gradients_of_functions_can_be_differentiated() -> None:
    x = leaf([0.5])
    with autograd.record():
        first = autograd.grad(Sigmoid()(x), x, create_graph=True, head_grads=x * 1)[0]
    first.backward()
    s = 1 / (1 + np.exp(-0.5))
    # backward is x * y * (1 - y) with the saved y as a constant
    np.testing.assert_allclose(x.grad.asnumpy(), [s * (1 - s)], rtol=1e-5)


def test_functions_are_checked() -> None:
    x = leaf([1, 2])
    wrong: Any = 3
    function = Sigmoid()
    function(x)
    with pytest.raises(mx.MXNetError, match="only be called once"):
        function(x)
    with pytest.raises(TypeError, match="must be NDArrays"):
        Sigmoid()(wrong)

    class Wrong(Sigmoid):
        def backward(self, dy: Any) -> Any:
            return [dy, dy]

    class Misshaped(Sigmoid):
        def backward(self, dy: Any) -> Any:
            return dy[:1]
    with pytest.raises(mx.MXNetError, match="gave 2 gradients, expected 1"):
        recorded(lambda: Wrong()(x)).backward()
    with pytest.raises(ValueError, match=r"shape \(1,\), expected \(2,\)"):
        recorded(lambda: Misshaped()(x)).backward()


def test_functions_let_go_of_what_they_saved() -> None:
    x = leaf(np.ones(1 << 18))
    x.grad[:] = 0  # its memory comes with the first use
    gc.collect()
    before = mx.memory_stats()["live"]
    y = recorded(lambda: Sigmoid()(x))
    y.backward()
    assert mx.memory_stats()["live"] - before <= y.nbytes
    del y
    assert mx.memory_stats()["live"] <= before


@pytest.mark.parametrize("train_mode", [True, False])
@pytest.mark.parametrize("is_traced_before", [True, False])
def test_a_function_in_a_hybridized_block_is_part_of_its_graph(is_traced_before: bool,
                                                               train_mode: bool) -> None:
    class Halves(mx.autograd.Function):
        def forward(self, x: Any, y: Any) -> Any:
            return 0.5 * (x + y)

        def backward(self, dy: Any) -> Any:
            return dy, dy

    class Net(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
            return Halves()(x, F.sqrt(x))
    net = Net()
    net.hybridize()
    x = mx.nd.array([4.0, 16.0])
    if is_traced_before:
        assert net(x).asnumpy().tolist() == [3, 10]
    x.attach_grad()
    with mx.autograd.record(train_mode):
        y = net(x)
    y.backward()
    assert y.asnumpy().tolist() == [3, 10]
    assert x.grad.asnumpy().tolist() == [0.625, 0.5625]  # of the operators, not of `backward`
    wrong: Any = 1.0
    with mx.autograd.record(), pytest.raises(TypeError, match="inputs must be NDArrays"):
        Halves()(x, wrong)
