"""Training in gluon, with a module and with an executor, for MXNet and this package alike.

This module is read by MXNet's Python too (data/make_mxnet_training.py), so it imports neither. It
gives sketches of arrays, which are small: of two arrays the norm of the difference is about that of
the difference of their sketches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

Values = dict[str, Any]
LENGTH = 128  # of sketches: norms of differences are off by about an eighth
STEPS, MOMENTUM = 20, 0.9


def sketch(values: Any) -> Any:
    """A projection to LENGTH numbers, each element with a random sign; small arrays as they are.

    After Charikar, Chen and Farach-Colton (2002).
    """
    flat = np.asarray(values, np.float64).ravel()
    if flat.size <= LENGTH:
        return flat.astype(np.float32)
    draw = np.random.RandomState(flat.size % (1 << 31))
    places, signs = draw.randint(0, LENGTH, flat.size), draw.randint(0, 2, flat.size) * 2 - 1
    return np.bincount(places, flat * signs, LENGTH).astype(np.float32)


class Problem(NamedTuple):
    """A network without its loss, made of a symbol or block by `build(mx)`, and its one batch."""

    name: str
    build: Callable[[Any], Any]  # a HybridBlock
    shape: tuple[int, ...]
    rate: float
    decay: float  # of weights
    seed: int = 1

    def batch(self) -> tuple[Any, Any]:
        draw = np.random.RandomState(self.seed)
        label = draw.randint(0, 10, self.shape[0])
        data = draw.uniform(-1, 1, self.shape)
        # a row of each image tells its class, so that there is something to learn
        data[np.arange(len(label)), :, label] += 1
        return data.astype(np.float32), label.astype(np.float32)


def _lenet(mx: Any) -> Any:
    nn = mx.gluon.nn
    net = nn.HybridSequential(prefix="lenet_")
    with net.name_scope():
        for filters in (20, 50):
            net.add(nn.Conv2D(filters, 5, activation="relu"), nn.MaxPool2D(2, 2))
        net.add(nn.Flatten(), nn.Dense(500, activation="relu"), nn.Dense(10))
    return net


def _resnet(mx: Any) -> Any:
    return mx.gluon.model_zoo.vision.get_resnet(1, 18, thumbnail=True, classes=10, prefix="net_")


LENET = Problem("lenet", _lenet, (16, 1, 28, 28), 0.02, 1e-3)
# with this seed no element is so near to a kink of relu that rounding decides its gradient
RESNET = Problem("resnet18", _resnet, (4, 3, 16, 16), 0.02, 0.0, 1)


def values_of(shapes: Mapping[str, tuple[int, ...]]) -> Values:
    """Values that follow from the order of names and from shapes: He et al. (2015) for weights."""
    made = {}
    for i, (name, shape) in enumerate(shapes.items()):
        if name.endswith("weight"):
            draw = np.random.RandomState(i).standard_normal(shape)
            made[name] = (draw * np.sqrt(2 / np.prod(shape[1:]))).astype(np.float32)
        else:
            made[name] = np.full(shape, name.endswith(("gamma", "var")), np.float32)
    return made


def _block(mx: Any, problem: Problem) -> tuple[Any, Any]:
    """The network with its values, and its input."""
    with mx.name.NameManager():
        net = problem.build(mx)
    net.initialize()
    data = mx.nd.array(problem.batch()[0])
    net(data)
    parameters = net.collect_params()
    for name, value in values_of({n: p.shape for n, p in parameters.items()}).items():
        parameters[name].set_data(mx.nd.array(value))
    return net, data


def gluon(mx: Any, problem: Problem, is_hybrid: bool = True) -> Values:
    """A block and a Trainer."""
    net, data = _block(mx, problem)
    parameters = net.collect_params()
    label = mx.nd.array(problem.batch()[1])
    loss_of = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    if is_hybrid:
        net.hybridize()
        loss_of.hybridize()
    for name, parameter in parameters.items():
        parameter.wd_mult = float(name.endswith("weight"))
    trainer = mx.gluon.Trainer(parameters, "sgd", {
        "learning_rate": problem.rate, "momentum": MOMENTUM, "wd": problem.decay})
    found: Values = {}
    for step in range(STEPS):
        with mx.autograd.record():
            out = net(data)
            loss = loss_of(out, label)
        loss.backward()
        if not step:
            # a module's outputs are probabilities
            found["output"] = out.softmax().asnumpy()
            found.update({f"grad {name}": sketch(parameter.grad().asnumpy())
                          for name, parameter in parameters.items()
                          if parameter.grad_req != "null"})
        trainer.step(len(data))
    found["last output"] = net(data).softmax().asnumpy()
    found.update({f"last {name}": sketch(p.data().asnumpy()) for name, p in parameters.items()})
    return found


def _symbol(mx: Any, problem: Problem) -> tuple[Any, Values]:
    """The network with its loss as a symbol, and its values."""
    net, _ = _block(mx, problem)
    values = {}
    for name, parameter in net.collect_params().items():
        values[name] = parameter.data()
        # a module takes the factor from the symbol
        parameter.wd_mult = float(name.endswith("weight"))
    return mx.sym.SoftmaxOutput(net(mx.sym.var("data")), name="softmax"), values


def _take(found: Values, when: str, arrays: Mapping[str, Any]) -> None:
    found.update({f"{when} {name}": sketch(array.asnumpy()) for name, array in arrays.items()
                  if array is not None and name not in ("data", "softmax_label")})


def module(mx: Any, problem: Problem) -> Values:
    """A Module with its optimizer."""
    symbol, values = _symbol(mx, problem)
    data, label = problem.batch()
    made = mx.mod.Module(symbol)
    made.bind([("data", data.shape)], [("softmax_label", label.shape)])
    made.set_params({n: values[n] for n in symbol.list_arguments() if n in values},
                    {n: values[n] for n in symbol.list_auxiliary_states()})
    made.init_optimizer(optimizer="sgd", optimizer_params={
        "learning_rate": problem.rate, "momentum": MOMENTUM, "wd": problem.decay,
        "rescale_grad": 1 / len(data)})
    batch = mx.io.DataBatch([mx.nd.array(data)], [mx.nd.array(label)])
    found: Values = {}
    for step in range(STEPS):
        made.forward_backward(batch)
        if not step:
            found["output"] = made.get_outputs()[0].asnumpy()
            _take(found, "grad", {name: arrays[0] for name, arrays in zip(
                made._param_names, made._exec_group.grad_arrays, strict=True)})
        made.update()
    made.forward(batch, is_train=False)
    found["last output"] = made.get_outputs()[0].asnumpy()
    for arrays in made.get_params():
        _take(found, "last", arrays)
    return found


def executor(mx: Any, problem: Problem) -> Values:
    """A bound symbol, and an operator that updates each weight."""
    symbol, values = _symbol(mx, problem)
    data, label = problem.batch()
    names = [n for n in symbol.list_arguments() if n not in ("data", "softmax_label")]
    made = symbol.simple_bind(mx.cpu(), data=data.shape, softmax_label=label.shape,
                              grad_req={n: "write" if n in names else "null"
                                        for n in symbol.list_arguments()})
    made.copy_params_from({n: values[n] for n in names},
                          {n: values[n] for n in symbol.list_auxiliary_states()})
    momenta = {n: mx.nd.zeros(values[n].shape) for n in names}
    found: Values = {}
    for step in range(STEPS):
        made.forward(is_train=True, data=mx.nd.array(data), softmax_label=mx.nd.array(label))
        made.backward()
        if not step:
            found["output"] = made.outputs[0].asnumpy()
            _take(found, "grad", made.grad_dict)
        for name in names:
            mx.nd.sgd_mom_update(
                made.arg_dict[name], made.grad_dict[name], momenta[name], lr=problem.rate,
                momentum=MOMENTUM, wd=problem.decay if name.endswith("weight") else 0,
                rescale_grad=1 / len(data), out=made.arg_dict[name])
    made.forward(is_train=False)
    found["last output"] = made.outputs[0].asnumpy()
    _take(found, "last", made.arg_dict)
    _take(found, "last", made.aux_dict)
    return found


DOORS = {"gluon": gluon, "module": module, "executor": executor}
