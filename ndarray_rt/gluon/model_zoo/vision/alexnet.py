"""AlexNet (Krizhevsky 2014, arXiv 1404.5997)."""

from __future__ import annotations

from typing import Any

from ....context import cpu
from ....public import shows
from ... import nn
from ..model_store import DEFAULT_ROOT, load_pretrained
from .network import Network

__all__ = ["AlexNet", "alexnet"]
__dir__ = shows(globals())

# channels, kernel, stride, padding of each convolution, and whether a pooling follows
_CONVOLUTIONS = ((64, 11, 4, 2, True), (192, 5, 1, 2, True), (384, 3, 1, 1, False),
                 (256, 3, 1, 1, False), (256, 3, 1, 1, True))


class AlexNet(Network):
    """AlexNet for pictures (N, 3, 224, 224)."""

    def __init__(self, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            for channels, kernel, stride, padding, is_pooled in _CONVOLUTIONS:
                self.features.add(nn.Conv2D(channels, kernel_size=kernel, strides=stride,
                                            padding=padding, activation="relu"))
                if is_pooled:
                    self.features.add(nn.MaxPool2D(pool_size=3, strides=2))
            self.features.add(nn.Flatten())
            for _ in range(2):
                self.features.add(nn.Dense(4096, activation="relu"), nn.Dropout(0.5))
            self.output = nn.Dense(classes)


def alexnet(pretrained: bool = False, ctx: Any = cpu(), root: str = DEFAULT_ROOT,  # noqa: B008
            **kwargs: Any) -> AlexNet:
    """AlexNet, with trained parameters out of `root` if asked for."""
    made: AlexNet = load_pretrained(AlexNet(**kwargs), "alexnet", pretrained, root, ctx)
    return made
