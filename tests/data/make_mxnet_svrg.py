"""Writes mxnet_svrg.json. Run with the real MXNet 1.9.1: python make_mxnet_svrg.py

Parameters of a linear model before and after training by SVRGModule, and the metric's values.
"""

import json
import pathlib

import mxnet as mx
import numpy as np
from mxnet.contrib.svrg_optimization.svrg_module import SVRGModule


def network() -> mx.sym.Symbol:
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc1")
    x = mx.sym.FullyConnected(mx.sym.Activation(x, act_type="tanh"), num_hidden=1, name="fc2")
    return mx.sym.LinearRegressionOutput(x, mx.sym.Variable("label"), name="out")


def main() -> None:
    drawn = np.random.RandomState(0)
    data = drawn.rand(22, 3).astype("float32")
    label = data.sum(1)
    before = {name: drawn.uniform(-0.5, 0.5, shape).astype("float32") for name, shape in (
        ("fc1_weight", (2, 3)), ("fc1_bias", (2,)), ("fc2_weight", (1, 2)), ("fc2_bias", (1,)))}
    found = {"data": data.tolist(), "label": label.tolist(),
             "before": {name: value.tolist() for name, value in before.items()}}
    for optimizer in ("sgd", "adam"):
        said: list[float] = []
        module = SVRGModule(network(), label_names=["label"], update_freq=3)
        module.fit(mx.io.NDArrayIter(data, label, 5, label_name="label"), eval_metric="mse",
                   optimizer=optimizer, optimizer_params={"learning_rate": 0.1}, num_epoch=3,
                   arg_params={name: mx.nd.array(value) for name, value in before.items()},
                   batch_end_callback=lambda p, said=said: said.append(
                       float(p.eval_metric.get()[1])))
        found[optimizer] = {name: value.asnumpy().tolist()
                            for name, value in module.get_params()[0].items()}
        found[optimizer]["said"] = said
    path = pathlib.Path(__file__).parent / "mxnet_svrg.json"
    path.write_text(json.dumps(found) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
