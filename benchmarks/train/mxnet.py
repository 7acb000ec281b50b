"""ndarray_rt's front ends, and MXNet's, which are the same: gluon, module, a bound executor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .tasks import DECAY, LEARNING_RATE, MOMENTUM, TASKS, make_weights

Step = Callable[[], Any]
SGD = {"learning_rate": LEARNING_RATE, "momentum": MOMENTUM, "wd": DECAY}


def make_net(mx: Any, name: str) -> Any:
    """The network as a gluon block, without weights."""
    nn = mx.gluon.nn
    if name == "resnet50":
        return mx.gluon.model_zoo.vision.resnet50_v1()
    net = nn.HybridSequential()
    if name == "lenet":
        for filters in (20, 50):
            net.add(nn.Conv2D(filters, kernel_size=5, activation="relu"),
                    nn.MaxPool2D(pool_size=2, strides=2))
        net.add(nn.Flatten(), nn.Dense(500, activation="relu"), nn.Dense(10))
    elif name == "mlp":
        net.add(nn.Dense(512, activation="relu"), nn.Dense(256, activation="relu"), nn.Dense(10))
    else:
        net.add(mx.gluon.rnn.LSTM(512, num_layers=2),
                nn.HybridLambda(lambda f, x: f.squeeze(
                    f.slice_axis(x, axis=0, begin=-1, end=None), axis=0)),
                nn.Dense(10))
    return net


def start_net(mx: Any, name: str, batch: int) -> Any:
    """The network with its first weights."""
    net = make_net(mx, name)
    net.initialize(mx.init.Zero())
    net(mx.nd.zeros(TASKS[name].make_data(batch).shape))
    params = [p for p in net.collect_params().values() if p.grad_req != "null"]
    for param, value in zip(params, make_weights([p.shape for p in params]), strict=True):
        if value is not None:
            param.set_data(mx.nd.array(value))
    return net


def load_gluon(mx: Any, name: str, batch: int, is_hybrid: bool) -> tuple[Step, Step]:
    """(a step, the loss of the last one); the loss is computed as the network is."""
    net, loss = start_net(mx, name, batch), mx.gluon.loss.SoftmaxCrossEntropyLoss()
    if is_hybrid:
        net.hybridize(static_alloc=True, static_shape=True)
        loss.hybridize(static_alloc=True, static_shape=True)
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", dict(SGD))
    x = mx.nd.array(TASKS[name].make_data(batch))
    y = mx.nd.array(TASKS[name].make_labels(batch))
    last: list[Any] = [None]

    def step() -> None:
        with mx.autograd.record():
            last[0] = loss(net(x), y)
        last[0].backward()
        trainer.step(batch)
        mx.nd.waitall()

    return step, lambda: float(last[0].asnumpy().mean())


def make_symbol(mx: Any, net: Any) -> Any:
    """The network with its loss as a symbol."""
    return mx.sym.SoftmaxOutput(net(mx.sym.var("data")), name="softmax")


def values_of(net: Any, symbol: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments and auxiliary states by name."""
    found = {name: p.data() for name, p in net.collect_params().items()}
    states = set(symbol.list_auxiliary_states())
    return ({n: v for n, v in found.items() if n not in states},
            {n: v for n, v in found.items() if n in states})


def cross_entropy(outputs: Any, labels: Any) -> float:
    """The loss that SoftmaxOutput does not tell."""
    probabilities = outputs[np.arange(len(labels)), labels.astype(int)]
    return float(-np.log(np.maximum(probabilities, 1e-30)).mean())


def load_module(mx: Any, name: str, batch: int) -> tuple[Step, Step]:
    """The same through Module."""
    net = start_net(mx, name, batch)
    symbol = make_symbol(mx, net)
    task = TASKS[name]
    data, labels = task.make_data(batch), task.make_labels(batch)
    module = mx.mod.Module(symbol, context=mx.cpu())
    module.bind([mx.io.DataDesc("data", data.shape, layout="TNC" if task.axis else "NCHW")],
                [("softmax_label", labels.shape)])
    module.init_params(None, *values_of(net, symbol))
    module.init_optimizer(optimizer="sgd", optimizer_params={**SGD, "rescale_grad": 1 / batch})
    one = mx.io.DataBatch([mx.nd.array(data)], [mx.nd.array(labels)])

    def step() -> None:
        module.forward_backward(one)
        module.update()
        mx.nd.waitall()

    return step, lambda: cross_entropy(module.get_outputs()[0].asnumpy(), labels)


def load_executor(mx: Any, name: str, batch: int) -> tuple[Step, Step]:
    """The same through `train_step` of a bound executor."""
    net = start_net(mx, name, batch)
    symbol = make_symbol(mx, net)
    task = TASKS[name]
    data, labels = task.make_data(batch), task.make_labels(batch)
    arguments, states = values_of(net, symbol)
    executor = symbol.simple_bind(
        mx.cpu(), data=data.shape, softmax_label=labels.shape,
        grad_req={n: "write" if n in arguments else "null" for n in symbol.list_arguments()})
    executor.copy_params_from(arguments, states)
    update = executor.bind_update(
        "sgd_mom_update", lr=LEARNING_RATE, momentum=MOMENTUM, wd=DECAY, rescale_grad=1 / batch)
    x, y = mx.nd.array(data), mx.nd.array(labels)

    def step() -> None:
        executor.train_step(update, data=x, softmax_label=y)

    return step, lambda: cross_entropy(executor.outputs[0].asnumpy(), labels)


def load(mx: Any, how: str, name: str, batch: int) -> tuple[Step, Step]:
    """(a step, the loss of the last one) of a network, front end and batch."""
    if how == "module":
        return load_module(mx, name, batch)
    if how == "train_step":
        return load_executor(mx, name, batch)
    return load_gluon(mx, name, batch, how == "gluon")
