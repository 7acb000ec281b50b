"""ResNet v1 (He et al. 2015) and v2 (He et al. 2016) of 18 to 152 layers."""

# ruff: noqa: N803 - F is what all blocks call the module of operators
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....context import cpu
from ....model_zoo.symbols.resnet import DEPTHS
from ....public import shows
from ... import nn
from ...block import HybridBlock
from ...errors import Mismatch
from ..model_store import DEFAULT_ROOT, load_pretrained
from .network import Network, conv3x3, stem, unnamed

__all__ = ["BasicBlockV1", "BasicBlockV2", "BottleneckV1", "BottleneckV2", "ResNetV1", "ResNetV2",
           "get_resnet", "resnet18_v1", "resnet18_v2", "resnet34_v1", "resnet34_v2", "resnet50_v1",
           "resnet50_v2", "resnet101_v1", "resnet101_v2", "resnet152_v1", "resnet152_v2"]
__dir__ = shows(globals())

_conv3x3 = conv3x3  # other packages' networks import it from here


def _relu(F: Any, x: Any) -> Any:
    return F.Activation(x, act_type="relu")


def _projection(channels: int, stride: int, in_channels: int) -> nn.Conv2D:
    """A convolution of 1 by 1 that brings a shortcut to the shape of what it is added to."""
    return nn.Conv2D(channels, kernel_size=1, strides=stride, use_bias=False,
                     in_channels=in_channels)


class _BlockV1(HybridBlock):
    """A body, to whose output the input, or a projection of it, is added before the last relu."""

    def __init__(self, body: Any, channels: int, stride: int, downsample: bool,
                 in_channels: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.body = unnamed(*body())
        self.downsample = (unnamed(_projection(channels, stride, in_channels), nn.BatchNorm())
                           if downsample else None)

    def _shortcut(self, x: Any) -> Any:
        return x if self.downsample is None else self.downsample(x)


class BasicBlockV1(_BlockV1):
    """Two convolutions of 3 by 3, the first with `stride`.

    With `downsample` the shortcut is projected to the new shape.
    """

    def __init__(self, channels: int, stride: int, downsample: bool = False,
                 in_channels: int = 0, **kwargs: Any) -> None:
        super().__init__(lambda: [conv3x3(channels, stride, in_channels), nn.BatchNorm(),
                                  nn.Activation("relu"), conv3x3(channels, 1, channels),
                                  nn.BatchNorm()],
                         channels, stride, downsample, in_channels, **kwargs)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        body = self.body(x)
        return _relu(F, self._shortcut(x) + body)


class BottleneckV1(_BlockV1):
    """A convolution of 3 by 3 on a quarter of the channels, between two of 1 by 1.

    The first has the `stride`; those of 1 by 1 have a bias, as in MXNet's zoo.
    """

    def __init__(self, channels: int, stride: int, downsample: bool = False,
                 in_channels: int = 0, **kwargs: Any) -> None:
        inside = channels // 4
        super().__init__(lambda: [nn.Conv2D(inside, kernel_size=1, strides=stride),
                                  nn.BatchNorm(), nn.Activation("relu"),
                                  conv3x3(inside, 1, inside), nn.BatchNorm(),
                                  nn.Activation("relu"),
                                  nn.Conv2D(channels, kernel_size=1, strides=1), nn.BatchNorm()],
                         channels, stride, downsample, in_channels, **kwargs)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        body = self.body(x)
        return _relu(F, body + self._shortcut(x))


class BasicBlockV2(HybridBlock):
    """BasicBlockV1 with normalisation and relu before each convolution."""

    def __init__(self, channels: int, stride: int, downsample: bool = False,
                 in_channels: int = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.bn1 = nn.BatchNorm()
        self.conv1 = conv3x3(channels, stride, in_channels)
        self.bn2 = nn.BatchNorm()
        self.conv2 = conv3x3(channels, 1, channels)
        self.downsample = _projection(channels, stride, in_channels) if downsample else None

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        y = _relu(F, self.bn1(x))
        shortcut = x if self.downsample is None else self.downsample(y)
        y = self.conv1(y)
        y = self.conv2(_relu(F, self.bn2(y)))
        return y + shortcut


class BottleneckV2(HybridBlock):
    """BottleneckV1 with normalisation and relu before each convolution, none with a bias."""

    def __init__(self, channels: int, stride: int, downsample: bool = False,
                 in_channels: int = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        inside = channels // 4
        self.bn1 = nn.BatchNorm()
        self.conv1 = nn.Conv2D(inside, kernel_size=1, strides=1, use_bias=False)
        self.bn2 = nn.BatchNorm()
        self.conv2 = conv3x3(inside, stride, inside)
        self.bn3 = nn.BatchNorm()
        self.conv3 = nn.Conv2D(channels, kernel_size=1, strides=1, use_bias=False)
        self.downsample = _projection(channels, stride, in_channels) if downsample else None

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        y = _relu(F, self.bn1(x))
        shortcut = x if self.downsample is None else self.downsample(y)
        y = self.conv1(y)
        y = self.conv2(_relu(F, self.bn2(y)))
        y = self.conv3(_relu(F, self.bn3(y)))
        return y + shortcut


class _ResNet(Network):
    """Stages of blocks; all but the first halve height and width."""

    def _add_stages(self, block: Any, layers: Sequence[int], channels: Sequence[int]) -> None:
        for i, count in enumerate(layers):
            self.features.add(self._make_layer(block, count, channels[i + 1], 2 if i else 1,
                                               i + 1, in_channels=channels[i]))

    def _make_layer(self, block: Any, layers: int, channels: int, stride: int, stage_index: int,
                    in_channels: int = 0) -> nn.HybridSequential:
        made = nn.HybridSequential(prefix=f"stage{stage_index}_")
        with made.name_scope():
            made.add(block(channels, stride, channels != in_channels, in_channels=in_channels,
                           prefix=""))
            for _ in range(layers - 1):
                made.add(block(channels, 1, False, in_channels=channels, prefix=""))
        return made


def _check_stages(layers: Sequence[int], channels: Sequence[int]) -> None:
    if len(layers) != len(channels) - 1:
        raise Mismatch(f"ResNet: got {len(layers)} layers and {len(channels)} channels, expected "
                       "channels before the first stage and after each")


class ResNetV1(_ResNet):
    """ResNet v1.

    Parameters
    ----------
    block : class of HybridBlock
        BasicBlockV1 or BottleneckV1.
    layers : list of int
        Blocks of each stage.
    channels : list of int
        Channels before the first stage and after each.
    classes : int
    thumbnail : bool
        For small pictures: one convolution of 3 by 3 instead of the stem.
    """

    def __init__(self, block: Any, layers: Sequence[int], channels: Sequence[int],
                 classes: int = 1000, thumbnail: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        _check_stages(layers, channels)
        with self.name_scope():
            self.features = unnamed(*([conv3x3(channels[0], 1, 0)] if thumbnail
                                      else stem(channels[0])))
            self._add_stages(block, layers, channels)
            self.features.add(nn.GlobalAvgPool2D())
            self.output = nn.Dense(classes, in_units=channels[-1])


class ResNetV2(_ResNet):
    """ResNet v2; parameters as ResNetV1's."""

    def __init__(self, block: Any, layers: Sequence[int], channels: Sequence[int],
                 classes: int = 1000, thumbnail: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        _check_stages(layers, channels)
        with self.name_scope():
            self.features = unnamed(nn.BatchNorm(scale=False, center=False))
            self.features.add(*([conv3x3(channels[0], 1, 0)] if thumbnail else stem(channels[0])))
            self._add_stages(block, layers, channels)
            self.features.add(nn.BatchNorm(), nn.Activation("relu"), nn.GlobalAvgPool2D(),
                              nn.Flatten())
            self.output = nn.Dense(classes, in_units=channels[-1])


# version -> network, and its blocks: basic, bottleneck
_VERSIONS: dict[int, tuple[Any, tuple[Any, Any]]] = {
    1: (ResNetV1, (BasicBlockV1, BottleneckV1)), 2: (ResNetV2, (BasicBlockV2, BottleneckV2))}


def get_resnet(version: int, num_layers: int, pretrained: bool = False,
               ctx: Any = cpu(), root: str = DEFAULT_ROOT, **kwargs: Any) -> Any:  # noqa: B008
    """ResNet v1 or v2 of 18, 34, 50, 101 or 152 layers, with trained parameters if asked for."""
    if num_layers not in DEPTHS:
        raise Mismatch(f"Invalid number of layers: {num_layers}. Options are {list(DEPTHS)}")
    if version not in _VERSIONS:
        raise Mismatch(f"Invalid resnet version: {version}. Options are 1 and 2.")
    network, blocks = _VERSIONS[version]
    is_bottleneck, layers, channels = DEPTHS[num_layers]
    net = network(blocks[is_bottleneck], layers, channels, **kwargs)
    return load_pretrained(net, f"resnet{num_layers}_v{version}", pretrained, root, ctx)


def resnet18_v1(**kwargs: Any) -> Any:
    """ResNet v1 of 18 layers; see `get_resnet`."""
    return get_resnet(1, 18, **kwargs)


def resnet34_v1(**kwargs: Any) -> Any:
    """ResNet v1 of 34 layers; see `get_resnet`."""
    return get_resnet(1, 34, **kwargs)


def resnet50_v1(**kwargs: Any) -> Any:
    """ResNet v1 of 50 layers; see `get_resnet`."""
    return get_resnet(1, 50, **kwargs)


def resnet101_v1(**kwargs: Any) -> Any:
    """ResNet v1 of 101 layers; see `get_resnet`."""
    return get_resnet(1, 101, **kwargs)


def resnet152_v1(**kwargs: Any) -> Any:
    """ResNet v1 of 152 layers; see `get_resnet`."""
    return get_resnet(1, 152, **kwargs)


def resnet18_v2(**kwargs: Any) -> Any:
    """ResNet v2 of 18 layers; see `get_resnet`."""
    return get_resnet(2, 18, **kwargs)


def resnet34_v2(**kwargs: Any) -> Any:
    """ResNet v2 of 34 layers; see `get_resnet`."""
    return get_resnet(2, 34, **kwargs)


def resnet50_v2(**kwargs: Any) -> Any:
    """ResNet v2 of 50 layers; see `get_resnet`."""
    return get_resnet(2, 50, **kwargs)


def resnet101_v2(**kwargs: Any) -> Any:
    """ResNet v2 of 101 layers; see `get_resnet`."""
    return get_resnet(2, 101, **kwargs)


def resnet152_v2(**kwargs: Any) -> Any:
    """ResNet v2 of 152 layers; see `get_resnet`."""
    return get_resnet(2, 152, **kwargs)
