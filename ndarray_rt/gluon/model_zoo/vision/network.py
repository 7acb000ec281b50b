"""What all networks of the zoo have in common: features, then an output."""

# ruff: noqa: N803 - F is what all blocks call the module of operators
from __future__ import annotations

from typing import Any

from ... import nn
from ...block import HybridBlock


class Network(HybridBlock):
    """Class scores: `output` of `features` of a picture."""

    features: Any
    output: Any

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.output(self.features(x))


def unnamed(*blocks: Any) -> nn.HybridSequential:
    """Blocks one after the other that are named as if they stood in the scope around."""
    made = nn.HybridSequential(prefix="")
    made.add(*blocks)
    return made


def conv3x3(channels: int, stride: int, in_channels: int) -> nn.Conv2D:
    """A convolution of 3 by 3 that keeps the size, without bias."""
    return nn.Conv2D(channels, kernel_size=3, strides=stride, padding=1, use_bias=False,
                     in_channels=in_channels)


def stem(channels: int) -> list[Any]:
    """The beginning of ResNet and DenseNet: a quarter of height and width."""
    return [nn.Conv2D(channels, kernel_size=7, strides=2, padding=3, use_bias=False),
            nn.BatchNorm(), nn.Activation("relu"),
            nn.MaxPool2D(pool_size=3, strides=2, padding=1)]
