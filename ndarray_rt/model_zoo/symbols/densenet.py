"""DenseNet of 121 to 201 layers (Huang et al. 2016), as in gluon's model zoo."""

from __future__ import annotations

from functools import partial

from ...symbol.symbol import Symbol
from .layers import Layers, data_of

# layers -> (channels after the stem, channels a layer adds, layers of each stage)
DEPTHS = {121: (64, 32, (6, 12, 24, 16)), 161: (96, 48, (6, 12, 36, 24)),
          169: (64, 32, (6, 12, 32, 32)), 201: (64, 32, (6, 12, 48, 32))}


def densenet(depth: int, classes: int = 1000, data: Symbol | str = "data") -> Symbol:
    """DenseNet: class scores without softmax; `data` is (N, 3, 224, 224)."""
    channels, growth, stages = DEPTHS[depth]
    net = Layers("densenet0_")
    x = net.max_pool(net.conv_bn(data_of(data), channels, 7, 2, 3), 3, 2, 1)
    for stage, layers in enumerate(stages):
        scope = net.inner(f"stage{stage + 1}_")
        for _ in range(layers):
            y = scope.conv(scope.relu(scope.batch_norm(x)), 4 * growth, 1)
            y = scope.conv(scope.relu(scope.batch_norm(y)), growth, 3, 1, 1)
            x = scope.concat([x, y])
        channels += layers * growth
        if stage + 1 < len(stages):
            channels //= 2
            x = net.conv(net.relu(net.batch_norm(x)), channels, 1)
            x = net.avg_pool(x, 2, 2)
    x = net.avg_pool(net.relu(net.batch_norm(x)), 7, 7)
    return net.dense(net.flatten(x), classes)


MODELS = {f"densenet{depth}": partial(densenet, depth) for depth in DEPTHS}
