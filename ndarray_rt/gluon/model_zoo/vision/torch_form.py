"""ResNet v1 and MobileNet v2 as PyTorch users know them: its state dicts fit, name by name.

A bottleneck of ResNet v1b has its stride in the convolution of 3 by 3, and no biases; MobileNet v2b
does not widen before its first block, rounds channels to multiples of 8, and ends in a dense layer.
"""

# ruff: noqa: N803 - F is what all blocks call the module of operators
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....context import cpu
from ....model_zoo.symbols.mobilenet import V2
from ....model_zoo.symbols.resnet import DEPTHS
from ....public import shows
from ... import nn
from ...block import HybridBlock
from ...errors import Mismatch
from ..model_store import DEFAULT_ROOT, load_pretrained
from .mobilenet import RELU6
from .network import conv3x3, unnamed

__all__ = ["BasicBlockV1b", "BottleneckV1b", "MobileNetV2b", "ResNetV1b", "get_resnet_v1b",
           "mobilenet_v2b", "resnet18_v1b", "resnet34_v1b", "resnet50_v1b", "resnet101_v1b",
           "resnet152_v1b"]
__dir__ = shows(globals())


def _conv1x1(channels: int, stride: int, in_channels: int) -> nn.Conv2D:
    return nn.Conv2D(channels, kernel_size=1, strides=stride, use_bias=False,
                     in_channels=in_channels)


def _downsample(channels: int, stride: int, in_channels: int) -> Any:
    return unnamed(_conv1x1(channels, stride, in_channels), nn.BatchNorm(in_channels=channels))


def _relu(F: Any, x: Any) -> Any:
    return F.Activation(x, act_type="relu")


class BasicBlockV1b(HybridBlock):
    """Two convolutions of 3 by 3, the first with `stride`; with `downsample` the shortcut is
    projected to the new shape."""

    expansion = 1

    def __init__(self, channels: int, stride: int, downsample: bool = False,
                 in_channels: int = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.conv1 = conv3x3(channels, stride, in_channels)
            self.bn1 = nn.BatchNorm(in_channels=channels)
            self.conv2 = conv3x3(channels, 1, channels)
            self.bn2 = nn.BatchNorm(in_channels=channels)
            self.downsample = _downsample(channels, stride, in_channels) if downsample else None

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        y = _relu(F, self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return _relu(F, y + (x if self.downsample is None else self.downsample(x)))


class BottleneckV1b(HybridBlock):
    """A convolution of 3 by 3, which has the `stride`, on a quarter of the channels, between two
    of 1 by 1."""

    expansion = 4

    def __init__(self, channels: int, stride: int, downsample: bool = False,
                 in_channels: int = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        inside = channels // 4
        with self.name_scope():
            self.conv1 = _conv1x1(inside, 1, in_channels)
            self.bn1 = nn.BatchNorm(in_channels=inside)
            self.conv2 = conv3x3(inside, stride, inside)
            self.bn2 = nn.BatchNorm(in_channels=inside)
            self.conv3 = _conv1x1(channels, 1, inside)
            self.bn3 = nn.BatchNorm(in_channels=channels)
            self.downsample = _downsample(channels, stride, in_channels) if downsample else None

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        y = _relu(F, self.bn1(self.conv1(x)))
        y = _relu(F, self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return _relu(F, y + (x if self.downsample is None else self.downsample(x)))


class ResNetV1b(HybridBlock):
    """ResNet v1b for pictures (N, 3, H, W).

    Parameters
    ----------
    block : class of HybridBlock
        BasicBlockV1b or BottleneckV1b.
    layers : list of int
        Blocks of each stage.
    channels : list of int
        Channels before the first stage and after each.
    classes : int
    """

    def __init__(self, block: Any, layers: Sequence[int], channels: Sequence[int],
                 classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if len(layers) != len(channels) - 1:
            raise Mismatch(f"ResNet: got {len(layers)} layers and {len(channels)} channels, "
                           "expected channels before the first stage and after each")
        self._stages = len(layers)
        with self.name_scope():
            self.conv1 = nn.Conv2D(channels[0], kernel_size=7, strides=2, padding=3,
                                   use_bias=False, in_channels=3)
            self.bn1 = nn.BatchNorm(in_channels=channels[0])
            self.maxpool = nn.MaxPool2D(pool_size=3, strides=2, padding=1)
            for i, count in enumerate(layers):
                stage = nn.HybridSequential(prefix=f"layer{i + 1}_")
                before, after = channels[i], channels[i + 1]
                stride = 2 if i else 1
                with stage.name_scope():
                    stage.add(block(after, stride, stride > 1 or before != after,
                                    in_channels=before))
                    for _ in range(count - 1):
                        stage.add(block(after, 1, in_channels=after))
                setattr(self, f"layer{i + 1}", stage)
            self.avgpool = nn.GlobalAvgPool2D()
            self.fc = nn.Dense(classes, in_units=channels[-1])

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        x = self.maxpool(_relu(F, self.bn1(self.conv1(x))))
        for i in range(self._stages):
            x = getattr(self, f"layer{i + 1}")(x)
        return self.fc(self.avgpool(x))


def _conv_bn(channels: int, kernel: int = 1, stride: int = 1, groups: int = 1) -> list[Any]:
    return [nn.Conv2D(channels, kernel, stride, kernel // 2, groups=groups, use_bias=False),
            nn.BatchNorm()]


class _InvertedResidual(HybridBlock):
    """Widens, unless `t` is 1, convolves each channel for itself, narrows."""

    def __init__(self, in_channels: int, channels: int, t: int, stride: int,
                 **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._adds = stride == 1 and in_channels == channels
        inside = in_channels * t
        with self.name_scope():
            self.conv = unnamed()
            if t != 1:
                self.conv.add(unnamed(*_conv_bn(inside), RELU6()))
            self.conv.add(unnamed(*_conv_bn(inside, 3, stride, inside), RELU6()),
                          *_conv_bn(channels))

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        y = self.conv(x)
        return F.elemwise_add(y, x) if self._adds else y


def _rounded(channels: float) -> int:
    """To a multiple of 8, and by no more than a tenth down."""
    near = max(8, int(channels + 4) // 8 * 8)
    return near + 8 if near < 0.9 * channels else near


class MobileNetV2b(HybridBlock):
    """MobileNet v2b for pictures (N, 3, H, W); `multiplier` is a factor of all channels."""

    def __init__(self, multiplier: float = 1.0, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="features_")
            with self.features.name_scope():
                channels = _rounded(32 * multiplier)
                self.features.add(unnamed(*_conv_bn(channels, 3, 2), RELU6()))
                for expansion, wanted, blocks, first_stride in V2:
                    after = _rounded(wanted * multiplier)
                    for block in range(blocks):
                        self.features.add(_InvertedResidual(channels, after, expansion,
                                                            1 if block else first_stride))
                        channels = after
                last = _rounded(1280 * max(1.0, multiplier))
                self.features.add(unnamed(*_conv_bn(last), RELU6()))
            self.avgpool = nn.GlobalAvgPool2D()
            self.classifier = unnamed(nn.Dropout(0.2), nn.Dense(classes, in_units=last))

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.classifier(self.avgpool(self.features(x)))


def get_resnet_v1b(num_layers: int, pretrained: bool = False, ctx: Any = cpu(),  # noqa: B008
                   root: str = DEFAULT_ROOT, **kwargs: Any) -> ResNetV1b:
    """ResNet v1b of 18, 34, 50, 101 or 152 layers.

    MXNet published no trained parameters of it: ParameterError where they are asked for;
    `mx.model_zoo.load_torch` loads PyTorch's.
    """
    if num_layers not in DEPTHS:
        raise Mismatch(f"Invalid number of layers: {num_layers}. Options are {list(DEPTHS)}")
    is_bottleneck, layers, channels = DEPTHS[num_layers]
    block = BottleneckV1b if is_bottleneck else BasicBlockV1b
    made: ResNetV1b = load_pretrained(ResNetV1b(block, layers, channels, **kwargs),
                                      f"resnet{num_layers}_v1b", pretrained, root, ctx)
    return made


def resnet18_v1b(**kwargs: Any) -> ResNetV1b:
    """ResNet v1b of 18 layers; see `get_resnet_v1b`."""
    return get_resnet_v1b(18, **kwargs)


def resnet34_v1b(**kwargs: Any) -> ResNetV1b:
    """ResNet v1b of 34 layers; see `get_resnet_v1b`."""
    return get_resnet_v1b(34, **kwargs)


def resnet50_v1b(**kwargs: Any) -> ResNetV1b:
    """ResNet v1b of 50 layers; see `get_resnet_v1b`."""
    return get_resnet_v1b(50, **kwargs)


def resnet101_v1b(**kwargs: Any) -> ResNetV1b:
    """ResNet v1b of 101 layers; see `get_resnet_v1b`."""
    return get_resnet_v1b(101, **kwargs)


def resnet152_v1b(**kwargs: Any) -> ResNetV1b:
    """ResNet v1b of 152 layers; see `get_resnet_v1b`."""
    return get_resnet_v1b(152, **kwargs)


def mobilenet_v2b(multiplier: float = 1.0, pretrained: bool = False, ctx: Any = cpu(),  # noqa: B008
                  root: str = DEFAULT_ROOT, **kwargs: Any) -> MobileNetV2b:
    """MobileNet v2b. MXNet published no trained parameters of it: ParameterError where they are
    asked for; `mx.model_zoo.load_torch` loads PyTorch's."""
    made: MobileNetV2b = load_pretrained(MobileNetV2b(multiplier, **kwargs), "mobilenet_v2b",
                                         pretrained, root, ctx)
    return made
