"""VGG of 11 to 19 layers, with and without batch normalisation (Simonyan and Zisserman 2014)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....context import cpu
from ....initializer import Xavier
from ....model_zoo.symbols.vgg import CHANNELS, DEPTHS
from ....public import shows
from ... import nn
from ...errors import Mismatch
from ..model_store import DEFAULT_ROOT, load_pretrained
from .network import Network

__all__ = ["VGG", "get_vgg", "vgg11", "vgg11_bn", "vgg13", "vgg13_bn", "vgg16", "vgg16_bn",
           "vgg19", "vgg19_bn"]
__dir__ = shows(globals())


class VGG(Network):
    """VGG for pictures (N, 3, 224, 224).

    `layers` is the number of convolutions of each stage, `filters` their channels.
    """

    def __init__(self, layers: Sequence[int], filters: Sequence[int], classes: int = 1000,
                 batch_norm: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if len(layers) != len(filters):
            raise Mismatch(f"VGG: got {len(layers)} layers and {len(filters)} filters, expected "
                           "one for each stage")
        with self.name_scope():
            self.features = self._make_features(layers, filters, batch_norm)
            for _ in range(2):
                self.features.add(nn.Dense(4096, activation="relu", weight_initializer="normal",
                                           bias_initializer="zeros"),
                                  nn.Dropout(rate=0.5))
            self.output = nn.Dense(classes, weight_initializer="normal", bias_initializer="zeros")

    def _make_features(self, layers: Sequence[int], filters: Sequence[int],
                       batch_norm: bool) -> nn.HybridSequential:
        made = nn.HybridSequential(prefix="")
        for count, channels in zip(layers, filters, strict=True):
            for _ in range(count):
                init = Xavier(rnd_type="gaussian", factor_type="out", magnitude=2)
                made.add(nn.Conv2D(channels, kernel_size=3, padding=1, weight_initializer=init,
                                   bias_initializer="zeros"))
                if batch_norm:
                    made.add(nn.BatchNorm())
                made.add(nn.Activation("relu"))
            made.add(nn.MaxPool2D(strides=2))
        return made


def get_vgg(num_layers: int, pretrained: bool = False, ctx: Any = cpu(),  # noqa: B008
            root: str = DEFAULT_ROOT, **kwargs: Any) -> VGG:
    """VGG of 11, 13, 16 or 19 layers, with trained parameters out of `root` if asked for."""
    name = f"vgg{num_layers}{'_bn' if kwargs.get('batch_norm') else ''}"
    made: VGG = load_pretrained(VGG(DEPTHS[num_layers], CHANNELS, **kwargs), name, pretrained,
                                root, ctx)
    return made


def vgg11(**kwargs: Any) -> VGG:
    """VGG of 11 layers; see `get_vgg`."""
    return get_vgg(11, **kwargs)


def vgg13(**kwargs: Any) -> VGG:
    """VGG of 13 layers; see `get_vgg`."""
    return get_vgg(13, **kwargs)


def vgg16(**kwargs: Any) -> VGG:
    """VGG of 16 layers; see `get_vgg`."""
    return get_vgg(16, **kwargs)


def vgg19(**kwargs: Any) -> VGG:
    """VGG of 19 layers; see `get_vgg`."""
    return get_vgg(19, **kwargs)


def vgg11_bn(**kwargs: Any) -> VGG:
    """VGG of 11 layers with batch normalisation; see `get_vgg`."""
    return get_vgg(11, **{**kwargs, "batch_norm": True})


def vgg13_bn(**kwargs: Any) -> VGG:
    """VGG of 13 layers with batch normalisation; see `get_vgg`."""
    return get_vgg(13, **{**kwargs, "batch_norm": True})


def vgg16_bn(**kwargs: Any) -> VGG:
    """VGG of 16 layers with batch normalisation; see `get_vgg`."""
    return get_vgg(16, **{**kwargs, "batch_norm": True})


def vgg19_bn(**kwargs: Any) -> VGG:
    """VGG of 19 layers with batch normalisation; see `get_vgg`."""
    return get_vgg(19, **{**kwargs, "batch_norm": True})
