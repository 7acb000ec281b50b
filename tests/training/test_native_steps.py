"""Training steps of the known networks are native from end to end: nothing of them is Python."""

from __future__ import annotations

import re

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.model_zoo import symbols
from tests.observed import Call, observe_run

# name -> shape of data; as small as the topology allows
MODELS: dict[str, tuple[int, ...]] = {
    "lenet": (4, 1, 28, 28), "mlp": (4, 784), "resnet18_v1": (2, 3, 32, 32),
    "resnet50_v1": (2, 3, 32, 32), "resnet18_v2": (2, 3, 32, 32), "mobilenet0.25": (2, 3, 32, 32),
    "mobilenetv2_0.25": (2, 3, 32, 32), "vgg11": (1, 3, 32, 32), "vgg11_bn": (2, 3, 32, 32),
    "squeezenet1.1": (1, 3, 224, 224), "googlenet": (1, 3, 224, 224), "alexnet": (1, 3, 224, 224),
    "densenet121": (1, 3, 224, 224),
}
UPDATES = {"sgd_mom_update": 1, "adam_update": 2, "sgd_update": 0}


class Step:
    """One network, bound, with an optimizer: a call is one step of training."""

    def __init__(self, scores: mx.sym.Symbol, shape: tuple[int, ...],
                 update: str = "sgd_mom_update") -> None:
        net = mx.sym.SoftmaxOutput(scores, name="softmax")
        inputs = ("data", "softmax_label")
        self.executor = net.simple_bind(mx.cpu(), data=shape, grad_req={
            n: "null" if n in inputs else "write" for n in net.list_arguments()})
        rng = np.random.default_rng(0)
        for argument, array in self.executor.arg_dict.items():
            if argument == "data":
                array[:] = rng.uniform(-1, 1, array.shape)
            elif argument == "softmax_label":
                array[:] = rng.integers(0, 10, array.shape)
            elif array.ndim == 1:
                array[:] = float(argument.endswith("gamma"))
            else:
                fan = int(np.prod(array.shape[1:]))
                array[:] = rng.standard_normal(array.shape) * np.sqrt(2.0 / fan)
        for state, array in self.executor.aux_dict.items():
            array[:] = float(state.endswith("var"))
        self.update = getattr(mx.nd, update)
        self.weights = [
            (weight, self.executor.grad_dict[n], [mx.nd.zeros(weight.shape)
                                                  for _ in range(UPDATES[update])])
            for n, weight in self.executor.arg_dict.items() if n not in inputs]

    def __call__(self) -> None:
        self.executor.forward(is_train=True)
        self.executor.backward()
        for weight, grad, states in self.weights:
            self.update(weight, grad, *states, lr=0.01, wd=1e-4, out=weight)


def describe(rows: list[Call]) -> list[str]:
    return [f"{row.op} {row.node}: {row.kernel}" for row in rows]


@pytest.mark.parametrize("name", MODELS)
def test_no_step_runs_in_python(name: str) -> None:
    """No numpy, no callback, no reference code, no memory moved once two steps were done."""
    step = Step(symbols.get_symbol(name, classes=10), MODELS[name])
    for _ in range(2):
        step()
    counters = step.executor.counters
    moved = mx.memory_stats()["allocations"]
    step()
    assert mx.memory_stats()["allocations"] == moved
    assert step.executor.counters["callbacks"] == counters["callbacks"] == 0
    rows = observe_run(step)
    assert describe([row for row in rows if row.is_numpy]) == []
    assert describe([row for row in rows if re.search(r"\bref\b|\bref_", row.kernel)]) == []


@pytest.mark.parametrize("update", UPDATES)
def test_optimizers_are_native(update: str) -> None:
    step = Step(symbols.get_symbol("mlp"), (4, 784), update)
    rows = [row for row in observe_run(step) if row.op == update]
    assert len(rows) == 6
    assert describe([row for row in rows if row.is_numpy]) == []


def losses() -> dict[str, mx.sym.Symbol]:
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc")
    label = mx.sym.Variable("label")
    return {
        "linear": mx.sym.LinearRegressionOutput(x, label),
        "mae": mx.sym.MAERegressionOutput(x, label),
        "logistic": mx.sym.LogisticRegressionOutput(x, label),
        "make_loss": mx.sym.make_loss(mx.sym.sum(mx.sym.square(x - label))),
        "MakeLoss": mx.sym.MakeLoss(mx.sym.broadcast_sub(x, label), normalization="batch"),
        "probabilities": mx.sym.SoftmaxOutput(x, label),
        "out_grad": mx.sym.SoftmaxOutput(x, label, out_grad=True),
    }


@pytest.mark.parametrize("loss", losses())
def test_losses_are_native(loss: str) -> None:
    executor = losses()[loss].simple_bind(mx.cpu(), data=(6, 5), label=(6, 4))

    def run() -> None:
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones((6, 4)) if loss == "out_grad" else None)
    run()
    assert describe([row for row in observe_run(run) if row.is_numpy]) == []


def convolutions() -> mx.sym.Symbol:
    """Dropout of data that oneDNN has in other layouts than row-major, with and without axes."""
    x = mx.sym.Variable("data")
    for i, axes in enumerate(((), (1,), (2, 3))):
        x = mx.sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=20, name=f"conv{i}")
        x = mx.sym.Dropout(mx.sym.Activation(x, act_type="relu"), p=0.4, axes=axes)
    return mx.sym.FullyConnected(mx.sym.Dropout(mx.sym.Flatten(x)), num_hidden=10, name="fc")


def test_dropout_in_a_network_equals_numpys() -> None:
    """The same seed gives the same masks with oneDNN, whatever the layouts, and without.

    So after some steps the weights are the same, but for rounding.
    """
    def weights(native: bool) -> list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
        mx.random.seed(3)
        step = Step(convolutions(), (2, 3, 8, 8))
        with config.override(NDRT_ONEDNN=native):
            for _ in range(3):
                step()
        return [weight.asnumpy() for weight, *_ in step.weights]
    for got, want in zip(weights(True), weights(False), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5 * np.abs(want).max())
