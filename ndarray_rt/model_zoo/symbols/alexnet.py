"""AlexNet in one tower (Krizhevsky 2014)."""

from __future__ import annotations

from ... import sym
from ...symbol.symbol import Symbol
from .layers import Layers, data_of


def alexnet(classes: int = 1000, data: Symbol | str = "data") -> Symbol:
    """AlexNet: class scores without softmax; `data` is (N, 3, 224, 224)."""
    net = Layers("alexnet0_")

    def conv(x: Symbol, filters: int, kernel: int, stride: int, pad: int) -> Symbol:
        y = net.conv(x, filters, kernel, stride, pad, bias=True)
        made: Symbol = sym.Activation(y, act_type="relu",
                                      name=str(y.name).replace("_fwd", "_relu_fwd"))
        return made

    x = net.max_pool(conv(data_of(data), 64, 11, 4, 2), 3, 2)
    x = net.max_pool(conv(x, 192, 5, 1, 2), 3, 2)
    x = conv(conv(conv(x, 384, 3, 1, 1), 256, 3, 1, 1), 256, 3, 1, 1)
    x = net.flatten(net.max_pool(x, 3, 2))
    for _ in range(2):
        x = net.dropout(net.dense(x, 4096, relu=True))
    return net.dense(x, classes)


MODELS = {"alexnet": alexnet}
