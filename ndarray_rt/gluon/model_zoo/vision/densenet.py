"""DenseNet of 121 to 201 layers (Huang et al. 2016, arXiv 1608.06993)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....context import cpu
from ....model_zoo.symbols.densenet import DEPTHS
from ....public import shows
from ... import nn
from ...contrib.nn import HybridConcurrent, Identity
from ..model_store import DEFAULT_ROOT, load_pretrained
from .network import Network, stem, unnamed

__all__ = ["DenseNet", "densenet121", "densenet161", "densenet169", "densenet201"]
__dir__ = shows(globals())


def _norm_relu_conv(channels: int, kernel: int, padding: int = 0) -> list[Any]:
    return [nn.BatchNorm(), nn.Activation("relu"),
            nn.Conv2D(channels, kernel_size=kernel, padding=padding, use_bias=False)]


def _dense_layer(growth_rate: int, bn_size: int, dropout: float) -> HybridConcurrent:
    """New features, concatenated with what they are made of."""
    new = unnamed(*_norm_relu_conv(bn_size * growth_rate, 1), *_norm_relu_conv(growth_rate, 3, 1))
    if dropout:
        new.add(nn.Dropout(dropout))
    made = HybridConcurrent(axis=1, prefix="")
    made.add(Identity(), new)
    return made


class DenseNet(Network):
    """DenseNet for pictures (N, 3, 224, 224).

    Parameters
    ----------
    num_init_features : int
        Channels after the stem.
    growth_rate : int
        Channels that a layer adds.
    block_config : list of int
        Layers of each stage.
    bn_size : int
        Inside of a layer there are so many times `growth_rate` channels.
    dropout : float
        After each layer; 0: none.
    classes : int
    """

    def __init__(self, num_init_features: int, growth_rate: int, block_config: Sequence[int],
                 bn_size: int = 4, dropout: float = 0, classes: int = 1000,
                 **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = unnamed(*stem(num_init_features))
            channels = num_init_features
            for i, layers in enumerate(block_config):
                stage = nn.HybridSequential(prefix=f"stage{i + 1}_")
                with stage.name_scope():
                    for _ in range(layers):
                        stage.add(_dense_layer(growth_rate, bn_size, dropout))
                self.features.add(stage)
                channels += layers * growth_rate
                if i + 1 < len(block_config):
                    channels //= 2
                    self.features.add(unnamed(*_norm_relu_conv(channels, 1),
                                              nn.AvgPool2D(pool_size=2, strides=2)))
            self.features.add(nn.BatchNorm(), nn.Activation("relu"), nn.AvgPool2D(pool_size=7),
                              nn.Flatten())
            self.output = nn.Dense(classes)


def get_densenet(num_layers: int, pretrained: bool = False, ctx: Any = cpu(),  # noqa: B008
                 root: str = DEFAULT_ROOT, **kwargs: Any) -> DenseNet:
    """DenseNet of 121, 161, 169 or 201 layers, with trained parameters if asked for."""
    made: DenseNet = load_pretrained(DenseNet(*DEPTHS[num_layers], **kwargs),
                                     f"densenet{num_layers}", pretrained, root, ctx)
    return made


def densenet121(**kwargs: Any) -> DenseNet:
    """DenseNet of 121 layers; see `get_densenet`."""
    return get_densenet(121, **kwargs)


def densenet161(**kwargs: Any) -> DenseNet:
    """DenseNet of 161 layers; see `get_densenet`."""
    return get_densenet(161, **kwargs)


def densenet169(**kwargs: Any) -> DenseNet:
    """DenseNet of 169 layers; see `get_densenet`."""
    return get_densenet(169, **kwargs)


def densenet201(**kwargs: Any) -> DenseNet:
    """DenseNet of 201 layers; see `get_densenet`."""
    return get_densenet(201, **kwargs)
