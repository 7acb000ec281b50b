"""SqueezeNet 1.0 and 1.1 (Iandola et al. 2016, arXiv 1602.07360)."""

from __future__ import annotations

from typing import Any

from ....context import cpu
from ....public import shows
from ... import nn
from ...contrib.nn import HybridConcurrent
from ...errors import Mismatch
from ..model_store import DEFAULT_ROOT, load_pretrained
from .network import Network, unnamed

__all__ = ["SqueezeNet", "squeezenet1_0", "squeezenet1_1"]
__dir__ = shows(globals())

# version -> the first convolution's channels and kernel, and what follows: squeezed channels of a
# fire module, or 0, a pooling
_PLANS = {"1.0": (96, 7, (0, 16, 16, 32, 0, 32, 48, 48, 64, 0, 64)),
          "1.1": (64, 3, (0, 16, 16, 0, 32, 32, 0, 48, 48, 64, 64))}


def _conv(channels: int, kernel: int, padding: int = 0) -> nn.HybridSequential:
    return unnamed(nn.Conv2D(channels, kernel, padding=padding), nn.Activation("relu"))


def _fire(squeezed: int) -> nn.HybridSequential:
    """Few channels, and then many of two kernels beside each other."""
    made = unnamed(_conv(squeezed, 1))
    paths = HybridConcurrent(axis=1, prefix="")
    paths.add(_conv(4 * squeezed, 1), _conv(4 * squeezed, 3, 1))
    made.add(paths)
    return made


class SqueezeNet(Network):
    """SqueezeNet for pictures (N, 3, 224, 224); `version` is '1.0' or '1.1'."""

    def __init__(self, version: str, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if version not in _PLANS:
            raise Mismatch(f"Unsupported SqueezeNet version {version}: 1.0 or 1.1 expected")
        channels, kernel, plan = _PLANS[version]
        with self.name_scope():
            self.features = unnamed(nn.Conv2D(channels, kernel_size=kernel, strides=2),
                                    nn.Activation("relu"))
            for squeezed in plan:
                self.features.add(_fire(squeezed) if squeezed else
                                  nn.MaxPool2D(pool_size=3, strides=2, ceil_mode=True))
            self.features.add(nn.Dropout(0.5))
            self.output = unnamed(nn.Conv2D(classes, kernel_size=1), nn.Activation("relu"),
                                  nn.AvgPool2D(13), nn.Flatten())


def get_squeezenet(version: str, pretrained: bool = False, ctx: Any = cpu(),  # noqa: B008
                   root: str = DEFAULT_ROOT, **kwargs: Any) -> SqueezeNet:
    """SqueezeNet '1.0' or '1.1', with trained parameters out of `root` if asked for."""
    made: SqueezeNet = load_pretrained(SqueezeNet(version, **kwargs), f"squeezenet{version}",
                                       pretrained, root, ctx)
    return made


def squeezenet1_0(**kwargs: Any) -> SqueezeNet:
    """SqueezeNet 1.0; see `get_squeezenet`."""
    return get_squeezenet("1.0", **kwargs)


def squeezenet1_1(**kwargs: Any) -> SqueezeNet:
    """SqueezeNet 1.1; see `get_squeezenet`."""
    return get_squeezenet("1.1", **kwargs)
