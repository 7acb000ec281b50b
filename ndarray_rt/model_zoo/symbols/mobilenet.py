"""MobileNet v1 (Howard et al. 2017) and v2 (Sandler et al. 2018), as in gluon's model zoo."""

from __future__ import annotations

from functools import partial

from ...symbol.symbol import Symbol
from .layers import Layers, data_of

WIDTHS = (1.0, 0.75, 0.5, 0.25)
# (output channels, stride) of each depthwise separable block
V1 = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2),
      (1024, 1))
# (expansion, output channels, blocks, stride of the first)
V2 = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
      (6, 320, 1, 1))


def mobilenet(width: float = 1.0, classes: int = 1000, data: Symbol | str = "data") -> Symbol:
    """MobileNet v1: class scores without softmax; `data` is (N, 3, H, W)."""
    net = Layers("mobilenet0_")
    channels = int(32 * width)
    x = net.conv_bn(data_of(data), channels, 3, 2, 1)
    for wanted, stride in V1:
        x = net.conv_bn(x, channels, 3, stride, 1, groups=channels)
        channels = int(wanted * width)
        x = net.conv_bn(x, channels, 1)
    return net.dense(net.flatten(net.global_pool(x)), classes)


def _bottleneck(net: Layers, x: Symbol, before: int, expansion: int, after: int,
                stride: int) -> Symbol:
    inside = before * expansion
    y = net.relu6(net.batch_norm(net.conv(x, inside, 1)))
    y = net.relu6(net.batch_norm(net.conv(y, inside, 3, stride, 1, groups=inside)))
    y = net.batch_norm(net.conv(y, after, 1))
    return net.add(y, x, "elemwise_add") if stride == 1 and before == after else y


def mobilenet_v2(width: float = 1.0, classes: int = 1000, data: Symbol | str = "data") -> Symbol:
    """MobileNet v2: class scores without softmax; `data` is (N, 3, H, W)."""
    features = Layers("mobilenetv20_features_")
    channels = int(32 * width)
    x = features.relu6(features.batch_norm(features.conv(data_of(data), channels, 3, 2, 1)))
    number = 0
    for expansion, wanted, blocks, first_stride in V2:
        for block in range(blocks):
            scope = features.inner(f"linearbottleneck{number}_")
            after = int(wanted * width)
            x = _bottleneck(scope, x, channels, expansion, after, 1 if block else first_stride)
            channels = after
            number += 1
    last = int(1280 * width) if width > 1 else 1280
    x = features.relu6(features.batch_norm(features.conv(x, last, 1)))
    output = Layers("mobilenetv20_output_")
    return output.flatten(output.conv(features.global_pool(x), classes, 1, name="pred"))


MODELS = {**{f"mobilenet{width}": partial(mobilenet, width) for width in WIDTHS},
          **{f"mobilenetv2_{width}": partial(mobilenet_v2, width) for width in WIDTHS}}
