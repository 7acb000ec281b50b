"""Symbols that are built alike with MXNet and with ndarray_rt, to be compared.

Each function takes the package (`mx`) and gives a symbol and the known shapes of its inputs.
"""

from typing import Any

import numpy as np

Built = tuple[Any, dict[str, tuple[int, ...]]]


class Constant:
    """Stands for an initializer: only its text is written into a symbol."""

    def dumps(self) -> str:
        return '["constant", {"value": 0.5}]'


def lenet(mx: Any) -> Built:
    sym = mx.sym
    data = sym.Variable("data")
    net = sym.Convolution(data, kernel=(5, 5), num_filter=20, name="conv1")
    net = sym.Activation(net, act_type="tanh", name="tanh1")
    net = sym.Pooling(net, pool_type="max", kernel=(2, 2), stride=(2, 2), name="pool1")
    net = sym.Convolution(net, kernel=(5, 5), num_filter=50, name="conv2")
    net = sym.Activation(net, act_type="tanh", name="tanh2")
    net = sym.Pooling(net, pool_type="max", kernel=(2, 2), stride=(2, 2), name="pool2")
    net = sym.Flatten(net, name="flatten")
    net = sym.FullyConnected(net, num_hidden=500, name="fc1")
    net = sym.Activation(net, act_type="tanh", name="tanh3")
    net = sym.FullyConnected(net, num_hidden=10, name="fc2")
    return sym.SoftmaxOutput(net, name="softmax"), {"data": (8, 1, 28, 28)}


def residual_block(mx: Any) -> Built:
    sym = mx.sym
    data = sym.Variable("data")
    with mx.name.Prefix("stage1_"):
        bn1 = sym.BatchNorm(data, fix_gamma=False, eps=2e-5, momentum=0.9)
        act1 = sym.Activation(bn1, act_type="relu")
        conv1 = sym.Convolution(act1, num_filter=16, kernel=(3, 3), stride=(2, 2), pad=(1, 1),
                              no_bias=True)
        bn2 = sym.BatchNorm(conv1, name="bn2")
        act2 = sym.Activation(bn2, act_type="relu")
        conv2 = sym.Convolution(act2, num_filter=16, kernel=(3, 3), pad=(1, 1), no_bias=True)
        shortcut = sym.Convolution(act1, num_filter=16, kernel=(1, 1), stride=(2, 2), no_bias=True,
                                 name="sc")
        net = conv2 + shortcut
    net = sym.Pooling(net, global_pool=True, pool_type="avg", kernel=(7, 7))
    net = sym.flatten(net)
    return sym.softmax(sym.FullyConnected(net, num_hidden=4)), {"data": (2, 3, 16, 16)}


def arithmetic(mx: Any) -> Built:
    sym = mx.sym
    x, y = sym.var("x"), sym.var("y")
    z = (x + y) * 2 - y / (3 + x) ** 2
    z = -z + 1.5 * abs(x - 1) % 7 + (1 - x) + 2 / y + (2 ** x) + (5 % y) + x ** y + x % y
    z = z + (x > y) + (x >= 1) + (x < y) + (x <= 2) + (x == y) + (x != 3) + (x == 1) + (x != y)
    z = z + (x > 0) + (x < 1) + (x >= y) + (x <= y)
    z = z + sym.maximum(x, y) + sym.maximum(x, 1) + sym.minimum(2, y) + sym.minimum(x, y)
    return z + sym.hypot(x, 3) + sym.hypot(x, y) + sym.pow(x, 2) + sym.pow(3, y), {"x": (2, 3)}


def attributes(mx: Any) -> Built:
    sym = mx.sym
    with mx.AttrScope(ctx_group="dev1", __color__="red"):
        x = sym.Variable("x", shape=(0, 6), lr_mult=2.0, wd_mult=0.5, dtype="float32",
                       init=Constant(), attr={"mood": "angry \"quoted\"\n\ttab\\"})
        with mx.AttrScope(ctx_group="dev2"):
            fc = sym.FullyConnected(x, num_hidden=np.int64(4), name="fc", lr_mult=3)
    weight = sym.Variable("w", __wd_mult__=0.0, stype="default")
    out = sym.FullyConnected(fc, weight=weight, num_hidden=2, no_bias=True, attr={"__note__": "é"})
    return sym.LeakyReLU(out, act_type="prelu", name="prelu"), {"x": (5, 6)}


def outputs(mx: Any) -> Built:
    sym = mx.sym
    x = sym.var("x")
    parts = sym.SliceChannel(x, num_outputs=3, axis=1, name="parts")
    both = sym.topk(parts[0], k=2, ret_typ="both", name="top")
    joined = sym.Concat(parts[1], parts[2], dim=1, name="joined")
    bn = sym.BatchNorm(joined, output_mean_var=True, name="bn")
    return sym.Group([both[1], both[0], bn, x, joined]), {"x": (4, 6, 5)}


def shared_statistics(mx: Any) -> Built:
    sym = mx.sym
    data, gamma, beta = sym.var("data"), sym.var("gamma"), sym.var("beta")
    mean, var = sym.var("mean"), sym.var("var")
    a = sym.BatchNorm(data, gamma, beta, mean, var, name="first")
    b = sym.BatchNorm(a, gamma, beta, mean, var, name="second")
    return b, {"data": (2, 3, 4, 4)}


def constants(mx: Any) -> Built:
    sym = mx.sym
    x = sym.var("x")
    total = x + sym.zeros((2, 3)) + sym.ones(shape=(2, 3)) + sym.full((2, 3), 2)
    total = total + sym.reshape(sym.arange(0, 6, repeat=1), shape=(2, 3)) + sym.eye(2, 3)
    return sym.add_n(total, x, sym.BlockGrad(x), name="total"), {"x": (2, 3)}


def mixed_precision(mx: Any) -> Built:
    sym = mx.sym
    x = sym.var("x")
    half = sym.amp_cast(x, dtype="float16")
    fc = sym.FullyConnected(half, num_hidden=3, name="fc")
    return sym.Activation(sym.amp_cast(fc, dtype="float32"), act_type="relu", name="act"), {
        "x": (2, 4)}


SYMBOLS = (lenet, residual_block, arithmetic, attributes, outputs, shared_statistics, constants,
           mixed_precision)
