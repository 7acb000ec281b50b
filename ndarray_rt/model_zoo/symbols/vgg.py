"""VGG of 11 to 19 layers, with and without batch normalisation (Simonyan and Zisserman 2014)."""

from __future__ import annotations

from functools import partial

from ...symbol.symbol import Symbol
from .layers import Layers, data_of

# layers -> convolutions of each stage
DEPTHS = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
CHANNELS = (64, 128, 256, 512, 512)


def vgg(depth: int, classes: int = 1000, data: Symbol | str = "data",
        batch_norm: bool = False) -> Symbol:
    """VGG: class scores without softmax; `data` is (N, 3, 224, 224). `depth`: 11, 13, 16 or 19."""
    net = Layers("vgg0_")
    x = data_of(data)
    for count, channels in zip(DEPTHS[depth], CHANNELS, strict=True):
        for _ in range(count):
            x = net.conv(x, channels, 3, 1, 1, bias=True)
            if batch_norm:
                x = net.batch_norm(x)
            x = net.relu(x)
        x = net.max_pool(x, 2, 2)
    for _ in range(2):
        x = net.dropout(net.dense(x, 4096, relu=True))
    return net.dense(x, classes)


MODELS = {f"vgg{depth}{'_bn' if norm else ''}": partial(vgg, depth, batch_norm=norm)
          for depth in DEPTHS for norm in (False, True)}
