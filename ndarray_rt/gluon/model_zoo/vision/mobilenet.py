"""MobileNet v1 (Howard et al. 2017) and v2 (Sandler et al. 2018), of four widths."""

# ruff: noqa: N803 - F is what all blocks call the module of operators
from __future__ import annotations

from typing import Any

from ....context import cpu
from ....model_zoo.symbols.mobilenet import V1, V2
from ....public import shows
from ... import nn
from ...block import HybridBlock
from ..model_store import DEFAULT_ROOT, load_pretrained
from .network import Network

__all__ = ["MobileNet", "MobileNetV2", "get_mobilenet", "get_mobilenet_v2", "mobilenet0_5",
           "mobilenet0_25", "mobilenet0_75", "mobilenet1_0", "mobilenet_v2_0_5",
           "mobilenet_v2_0_25", "mobilenet_v2_0_75", "mobilenet_v2_1_0"]
__dir__ = shows(globals())


class RELU6(HybridBlock):
    """min(max(x, 0), 6)."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.clip(x, 0, 6, name="relu6")


def _conv(channels: int, kernel: int = 1, stride: int = 1, padding: int = 0,
          groups: int = 1) -> list[Any]:
    return [nn.Conv2D(channels, kernel, stride, padding, groups=groups, use_bias=False),
            nn.BatchNorm(scale=True)]


class LinearBottleneck(HybridBlock):
    """Widens `t` times, convolves each channel for itself, narrows; adds the input where it fits.
    """

    def __init__(self, in_channels: int, channels: int, t: int, stride: int,
                 **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.use_shortcut = stride == 1 and in_channels == channels
        inside = in_channels * t
        with self.name_scope():
            self.out = nn.HybridSequential()
            self.out.add(*_conv(inside), RELU6(), *_conv(inside, 3, stride, 1, inside), RELU6(),
                         *_conv(channels))

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        out = self.out(x)
        return F.elemwise_add(out, x) if self.use_shortcut else out


class MobileNet(Network):
    """MobileNet v1 for pictures (N, 3, H, W); `multiplier` is a factor of all channels."""

    def __init__(self, multiplier: float = 1.0, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            channels = int(32 * multiplier)
            self.features.add(*_conv(channels, 3, 2, 1), nn.Activation("relu"))
            for wanted, stride in V1:
                self.features.add(*_conv(channels, 3, stride, 1, channels), nn.Activation("relu"))
                channels = int(wanted * multiplier)
                self.features.add(*_conv(channels), nn.Activation("relu"))
            self.features.add(nn.GlobalAvgPool2D(), nn.Flatten())
            self.output = nn.Dense(classes)


class MobileNetV2(Network):
    """MobileNet v2 for pictures (N, 3, H, W); `multiplier` is a factor of all channels."""

    def __init__(self, multiplier: float = 1.0, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="features_")
            with self.features.name_scope():
                channels = int(32 * multiplier)
                self.features.add(*_conv(channels, 3, 2, 1), RELU6())
                for expansion, wanted, blocks, first_stride in V2:
                    for block in range(blocks):
                        after = int(wanted * multiplier)
                        self.features.add(LinearBottleneck(channels, after, expansion,
                                                           1 if block else first_stride))
                        channels = after
                last = int(1280 * multiplier) if multiplier > 1.0 else 1280
                self.features.add(*_conv(last), RELU6(), nn.GlobalAvgPool2D())
            self.output = nn.HybridSequential(prefix="output_")
            with self.output.name_scope():
                self.output.add(nn.Conv2D(classes, 1, use_bias=False, prefix="pred_"),
                                nn.Flatten())


def _file_name(kind: str, multiplier: float) -> str:
    """Files are named by two digits, or by one where the second is 0."""
    return kind + f"{multiplier:.2f}".removesuffix("0")


def get_mobilenet(multiplier: float, pretrained: bool = False, ctx: Any = cpu(),  # noqa: B008
                  root: str = DEFAULT_ROOT, **kwargs: Any) -> MobileNet:
    """MobileNet v1, with trained parameters out of `root` if asked for."""
    made: MobileNet = load_pretrained(MobileNet(multiplier, **kwargs),
                                      _file_name("mobilenet", multiplier), pretrained, root, ctx)
    return made


def get_mobilenet_v2(multiplier: float, pretrained: bool = False, ctx: Any = cpu(),  # noqa: B008
                     root: str = DEFAULT_ROOT, **kwargs: Any) -> MobileNetV2:
    """MobileNet v2, with trained parameters out of `root` if asked for."""
    made: MobileNetV2 = load_pretrained(MobileNetV2(multiplier, **kwargs),
                                        _file_name("mobilenetv2_", multiplier), pretrained, root,
                                        ctx)
    return made


def mobilenet1_0(**kwargs: Any) -> MobileNet:
    """MobileNet v1 with 1.0 times the channels; see `get_mobilenet`."""
    return get_mobilenet(1.0, **kwargs)


def mobilenet_v2_1_0(**kwargs: Any) -> MobileNetV2:
    """MobileNet v2 with 1.0 times the channels; see `get_mobilenet_v2`."""
    return get_mobilenet_v2(1.0, **kwargs)


def mobilenet0_75(**kwargs: Any) -> MobileNet:
    """MobileNet v1 with 0.75 times the channels; see `get_mobilenet`."""
    return get_mobilenet(0.75, **kwargs)


def mobilenet_v2_0_75(**kwargs: Any) -> MobileNetV2:
    """MobileNet v2 with 0.75 times the channels; see `get_mobilenet_v2`."""
    return get_mobilenet_v2(0.75, **kwargs)


def mobilenet0_5(**kwargs: Any) -> MobileNet:
    """MobileNet v1 with 0.5 times the channels; see `get_mobilenet`."""
    return get_mobilenet(0.5, **kwargs)


def mobilenet_v2_0_5(**kwargs: Any) -> MobileNetV2:
    """MobileNet v2 with 0.5 times the channels; see `get_mobilenet_v2`."""
    return get_mobilenet_v2(0.5, **kwargs)


def mobilenet0_25(**kwargs: Any) -> MobileNet:
    """MobileNet v1 with 0.25 times the channels; see `get_mobilenet`."""
    return get_mobilenet(0.25, **kwargs)


def mobilenet_v2_0_25(**kwargs: Any) -> MobileNetV2:
    """MobileNet v2 with 0.25 times the channels; see `get_mobilenet_v2`."""
    return get_mobilenet_v2(0.25, **kwargs)
