"""SVRGModule trains as MXNet 1.9.1's does (data/make_mxnet_svrg.py), and as its paper says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.contrib.svrg_optimization import SVRGModule
from ndarray_rt.contrib.svrg_optimization.svrg_optimizer import _SVRGOptimizer
from ndarray_rt.errors import NameMismatch, ParameterError, TypeMismatch

WANT = json.loads((Path(__file__).parents[1] / "data" / "mxnet_svrg.json").read_text())


def network() -> Any:
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc1")
    x = mx.sym.FullyConnected(mx.sym.Activation(x, act_type="tanh"), num_hidden=1, name="fc2")
    return mx.sym.LinearRegressionOutput(x, mx.sym.Variable("label"), name="out")


def source(size: int = 5, count: int = 22) -> Any:
    return mx.io.NDArrayIter(np.array(WANT["data"], "float32")[:count],
                             np.array(WANT["label"], "float32")[:count], size, label_name="label")


def before() -> dict[str, Any]:
    return {name: mx.nd.array(value) for name, value in WANT["before"].items()}


def module(**options: Any) -> Any:
    return SVRGModule(network(), label_names=["label"], **{"update_freq": 3, **options})


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_training(optimizer: str) -> None:
    said: list[float] = []
    mine = module()
    mine.fit(source(), eval_metric="mse", optimizer=optimizer, num_epoch=3, arg_params=before(),
             optimizer_params={"learning_rate": 0.1},
             batch_end_callback=lambda p: said.append(p.eval_metric.get()[1]))
    np.testing.assert_allclose(said, WANT[optimizer]["said"], rtol=1e-4)
    for name, value in mine.get_params()[0].items():
        np.testing.assert_allclose(value.asnumpy(), WANT[optimizer][name], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kvstore", ["local", "device"])
def test_two_contexts_train_as_one(kvstore: str) -> None:
    found = []
    for context in ([mx.cpu()], [mx.cpu(0), mx.cpu(1)]):
        mine = module(context=context, update_freq=2)
        mine.fit(source(4, 20), eval_metric="mse", num_epoch=4, arg_params=before(),
                 kvstore=kvstore, optimizer_params={"learning_rate": 0.1})
        found.append(mine.get_params()[0])
    for name, value in found[0].items():
        np.testing.assert_allclose(found[1][name].asnumpy(), value.asnumpy(), rtol=1e-4,
                                   atol=1e-6)


def test_the_mean_is_of_the_kept_weights_alone() -> None:
    mine, plain = module(), mx.mod.Module(network(), label_names=["label"])
    for one in (mine, plain):
        one.bind(source().provide_data, source().provide_label)
        one.init_params(arg_params=before())
        one.init_optimizer(optimizer_params={"learning_rate": 0.1})
    for _ in range(2):  # the second time begins anew
        mine.update_full_grads(source(5, 20))
    total = 0
    for batch in source(5, 20):
        plain.forward_backward(batch)
        total = total + plain._exec_group.grad_arrays[0][0].asnumpy() / 4
    np.testing.assert_allclose(mine._param_dict[0]["fc1_weight"].asnumpy(), total, rtol=1e-5,
                               atol=1e-6)
    # at the kept weights themselves the gradient is the mean, whatever the batch
    for batch in source(5, 20):
        mine.forward_backward(batch)
        mine._update_svrg_gradients()
        np.testing.assert_allclose(mine._exec_group.grad_arrays[0][0].asnumpy(), total, rtol=1e-4,
                                   atol=1e-5)


def test_it_comes_nearer_than_sgd() -> None:
    """With a constant rate SGD keeps moving around where SVRG arrives."""
    drawn = np.random.RandomState(1)
    x = drawn.rand(96, 4).astype("float32")
    y = x @ np.array([1, -2, 3, 0.5], "float32") + drawn.randn(96).astype("float32")
    net = mx.sym.LinearRegressionOutput(mx.sym.FullyConnected(
        mx.sym.Variable("data"), num_hidden=1, name="fc"), mx.sym.Variable("label"))
    best = np.linalg.lstsq(np.c_[x, np.ones(96)], y, rcond=None)[0]
    distances = []
    for make in (lambda: SVRGModule(net, label_names=["label"], update_freq=1),
                 lambda: mx.mod.Module(net, label_names=["label"])):
        mx.random.seed(0)
        one = make()
        one.fit(mx.io.NDArrayIter(x, y, 4, label_name="label"), eval_metric="mse", num_epoch=120,
                optimizer_params={"learning_rate": 0.2})
        args = one.get_params()[0]
        found = np.r_[args["fc_weight"].asnumpy()[0], args["fc_bias"].asnumpy()]
        distances.append(abs(found - best).max())
    assert distances[0] < 0.01 < distances[1]


def test_evaluation_and_other_shapes(tmp_path: Path) -> None:
    mine = module()
    mine.fit(source(), eval_data=source(), eval_metric="mse", num_epoch=1)
    assert mine.predict(source()).shape == (22, 1)
    batch = mx.io.DataBatch([mx.nd.ones((3, 3))], [mx.nd.ones((3,))])
    mine.forward_backward(batch)
    mine.update()
    assert mine.get_outputs()[0].shape == (3, 1)
    prefix = str(tmp_path / "net")
    mine.save_checkpoint(prefix, 1, save_optimizer_states=True)
    again = module()
    again.bind(source().provide_data, source().provide_label)
    again.init_params(arg_params=mine.get_params()[0])
    again.init_optimizer()
    again.load_optimizer_states(f"{prefix}-0001.states")
    inference = module()
    inference.bind([("data", (4, 3))], for_training=False)
    inference.init_params()
    inference.forward(mx.io.DataBatch([mx.nd.ones((4, 3))]))
    assert not inference._mod_aux.binded


def test_wrong_use_is_named() -> None:
    with pytest.raises(TypeMismatch, match="must be an integer"):
        module(update_freq=None)
    with pytest.raises(ParameterError, match="positive integer"):
        module(update_freq=0)
    with pytest.raises(NameMismatch, match="no weight 3"):
        _SVRGOptimizer("sgd", param_idx2name={0: "w"}).create_state(3, mx.nd.ones((1,)))
