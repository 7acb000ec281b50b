"""LeNet (LeCun et al. 1998, with relu) and a multi-layer perceptron, for digits."""

from __future__ import annotations

from collections.abc import Sequence

from ... import sym
from ...symbol.symbol import Symbol
from .layers import data_of


def lenet(classes: int = 10, data: Symbol | str = "data") -> Symbol:
    """Two convolutions and two fully connected layers; `data` is (N, channels, 28, 28)."""
    x = data_of(data)
    for i, filters in enumerate((20, 50)):
        x = sym.Convolution(x, kernel=(5, 5), num_filter=filters, name=f"conv{i}")
        x = sym.Pooling(sym.Activation(x, act_type="relu"), pool_type="max", kernel=(2, 2),
                        stride=(2, 2))
    x = sym.FullyConnected(sym.Flatten(x), num_hidden=500, name="fc0")
    made: Symbol = sym.FullyConnected(sym.Activation(x, act_type="relu"), num_hidden=classes,
                                      name="fc1")
    return made


def mlp(classes: int = 10, data: Symbol | str = "data",
        hidden: Sequence[int] = (512, 256)) -> Symbol:
    """Fully connected layers with relu between; `data` is (N, features)."""
    x = data_of(data)
    for i, units in enumerate(hidden):
        x = sym.FullyConnected(x, num_hidden=units, name=f"fc{i}")
        x = sym.Activation(x, act_type="relu")
    made: Symbol = sym.FullyConnected(x, num_hidden=classes, name=f"fc{len(hidden)}")
    return made


MODELS = {"lenet": lenet, "mlp": mlp}
