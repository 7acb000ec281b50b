"""ResNet v1 and v2 of 18 to 152 layers (He et al. 2015, 2016), as in gluon's model zoo."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ...symbol.symbol import Symbol
from .layers import Layers, data_of

# layers -> (bottlenecks?, blocks of each stage, channels after the stem and after each stage)
DEPTHS = {
    18: (False, (2, 2, 2, 2), (64, 64, 128, 256, 512)),
    34: (False, (3, 4, 6, 3), (64, 64, 128, 256, 512)),
    50: (True, (3, 4, 6, 3), (64, 256, 512, 1024, 2048)),
    101: (True, (3, 4, 23, 3), (64, 256, 512, 1024, 2048)),
    152: (True, (3, 8, 36, 3), (64, 256, 512, 1024, 2048)),
}
Block = Callable[[Layers, Symbol, int, int, bool], Symbol]


def _basic_v1(net: Layers, x: Symbol, channels: int, stride: int, project: bool) -> Symbol:
    y = net.conv_bn(x, channels, 3, stride, 1)
    y = net.batch_norm(net.conv(y, channels, 3, 1, 1))
    if project:
        x = net.batch_norm(net.conv(x, channels, 1, stride))
    return net.activation(net.add(x, y))


def _bottleneck_v1(net: Layers, x: Symbol, channels: int, stride: int, project: bool) -> Symbol:
    # the stride is in the first convolution, and the two of 1x1 have a bias, as gluon has it
    y = net.relu(net.batch_norm(net.conv(x, channels // 4, 1, stride, bias=True)))
    y = net.conv_bn(y, channels // 4, 3, 1, 1)
    y = net.batch_norm(net.conv(y, channels, 1, bias=True))
    if project:
        x = net.batch_norm(net.conv(x, channels, 1, stride))
    return net.activation(net.add(y, x))


def _basic_v2(net: Layers, x: Symbol, channels: int, stride: int, project: bool) -> Symbol:
    y = net.activation(net.batch_norm(x))
    start = y
    y = net.conv(y, channels, 3, stride, 1)
    y = net.conv(net.activation(net.batch_norm(y)), channels, 3, 1, 1)
    return net.add(y, net.conv(start, channels, 1, stride) if project else x)


def _bottleneck_v2(net: Layers, x: Symbol, channels: int, stride: int, project: bool) -> Symbol:
    y = net.activation(net.batch_norm(x))
    start = y
    y = net.conv(y, channels // 4, 1)
    y = net.conv(net.activation(net.batch_norm(y)), channels // 4, 3, stride, 1)
    y = net.conv(net.activation(net.batch_norm(y)), channels, 1)
    return net.add(y, net.conv(start, channels, 1, stride) if project else x)


def _stages(net: Layers, x: Symbol, depth: int, blocks: tuple[Block, Block]) -> Symbol:
    bottlenecks, counts, channels = DEPTHS[depth]
    block = blocks[bottlenecks]
    for stage, count in enumerate(counts):
        scope = net.inner(f"stage{stage + 1}_")
        for i in range(count):
            stride = 2 if stage and not i else 1
            project = not i and channels[stage + 1] != channels[stage]
            x = block(scope, x, channels[stage + 1], stride, project or stride != 1)
    return x


def resnet_v1(depth: int, classes: int = 1000, data: Symbol | str = "data") -> Symbol:
    """ResNet v1: class scores without softmax; `data` is (N, 3, H, W).

    `depth` is 18, 34, 50, 101 or 152.
    """
    net = Layers("resnetv10_")
    x = net.conv_bn(data_of(data), 64, 7, 2, 3)
    x = net.max_pool(x, 3, 2, 1)
    x = _stages(net, x, depth, (_basic_v1, _bottleneck_v1))
    return net.dense(net.global_pool(x), classes)


def resnet_v2(depth: int, classes: int = 1000, data: Symbol | str = "data") -> Symbol:
    """ResNet v2: normalisation before each convolution; else as `resnet_v1`."""
    net = Layers("resnetv20_")
    x = net.batch_norm(data_of(data), scale=False)
    x = net.max_pool(net.conv_bn(x, 64, 7, 2, 3), 3, 2, 1)
    x = _stages(net, x, depth, (_basic_v2, _bottleneck_v2))
    x = net.global_pool(net.relu(net.batch_norm(x)))
    return net.dense(net.flatten(x), classes)


MODELS = {f"resnet{depth}_v{version}": partial(make, depth)
          for depth in DEPTHS for version, make in ((1, resnet_v1), (2, resnet_v2))}
