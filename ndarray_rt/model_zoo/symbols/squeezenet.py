"""SqueezeNet 1.0 and 1.1 (Iandola et al. 2016), as in gluon's model zoo."""

from __future__ import annotations

from functools import partial

from ...symbol.symbol import Symbol
from .layers import Layers, data_of


def _fire(net: Layers, x: Symbol, squeeze: int) -> Symbol:
    x = net.conv_relu(x, squeeze, 1)
    return net.concat([net.conv_relu(x, 4 * squeeze, 1), net.conv_relu(x, 4 * squeeze, 3, 1, 1)])


def squeezenet(version: str, classes: int = 1000, data: Symbol | str = "data") -> Symbol:
    """SqueezeNet: class scores without softmax; `data` is (N, 3, 224, 224)."""
    net = Layers("squeezenet0_")
    # a number: the squeezed channels of a fire module; None: a pooling
    if version == "1.0":
        x = net.conv_relu(data_of(data), 96, 7, 2)
        plan: tuple[int | None, ...] = (None, 16, 16, 32, None, 32, 48, 48, 64, None, 64)
    else:
        x = net.conv_relu(data_of(data), 64, 3, 2)
        plan = (None, 16, 16, None, 32, 32, None, 48, 48, 64, 64)
    for squeeze in plan:
        x = net.max_pool(x, 3, 2, ceil=True) if squeeze is None else _fire(net, x, squeeze)
    x = net.conv_relu(net.dropout(x), classes, 1)
    return net.flatten(net.avg_pool(x, 13, 13))


MODELS = {f"squeezenet{version}": partial(squeezenet, version) for version in ("1.0", "1.1")}
