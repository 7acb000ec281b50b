"""Inception v3 (Szegedy et al. 2015, arXiv 1512.00567)."""

from __future__ import annotations

from typing import Any

from ....context import cpu
from ....public import shows
from ... import nn
from ...contrib.nn import HybridConcurrent
from ..model_store import DEFAULT_ROOT, load_pretrained
from .network import Network, unnamed

__all__ = ["Inception3", "inception_v3"]
__dir__ = shows(globals())

_WIDE7, _HIGH7 = ((1, 7), 1, (0, 3)), ((7, 1), 1, (3, 0))


def _conv(channels: int, kernel: Any, stride: int = 1, padding: Any = 0) -> nn.HybridSequential:
    return unnamed(nn.Conv2D(channels, kernel_size=kernel, strides=stride, padding=padding,
                             use_bias=False),
                   nn.BatchNorm(epsilon=0.001), nn.Activation("relu"))


def _branch(*convs: tuple[Any, ...], pool: Any = None) -> nn.HybridSequential:
    """Convolutions one after the other, behind a pooling if there is one."""
    made = unnamed() if pool is None else unnamed(pool)
    made.add(*[_conv(*conv) for conv in convs])
    return made


def _mean() -> nn.AvgPool2D:
    return nn.AvgPool2D(pool_size=3, strides=1, padding=1)


def _beside(*branches: Any) -> HybridConcurrent:
    made = HybridConcurrent(axis=1, prefix="")
    made.add(*branches)
    return made


def _split(*convs: tuple[Any, ...]) -> nn.HybridSequential:
    """Convolutions, and then a wide and a high one beside each other."""
    made = unnamed(_branch(*convs))
    made.add(_beside(_branch((384, (1, 3), 1, (0, 1))), _branch((384, (3, 1), 1, (1, 0)))))
    return made


def _block_a(pooled: int) -> list[Any]:
    return [_branch((64, 1)), _branch((48, 1), (64, 5, 1, 2)),
            _branch((64, 1), (96, 3, 1, 1), (96, 3, 1, 1)), _branch((pooled, 1), pool=_mean())]


def _block_b() -> list[Any]:
    return [_branch((384, 3, 2)), _branch((64, 1), (96, 3, 1, 1), (96, 3, 2)),
            _branch(pool=nn.MaxPool2D(pool_size=3, strides=2))]


def _block_c(inside: int) -> list[Any]:
    return [_branch((192, 1)), _branch((inside, 1), (inside, *_WIDE7), (192, *_HIGH7)),
            _branch((inside, 1), (inside, *_HIGH7), (inside, *_WIDE7), (inside, *_HIGH7),
                    (192, *_WIDE7)),
            _branch((192, 1), pool=_mean())]


def _block_d() -> list[Any]:
    return [_branch((192, 1), (320, 3, 2)),
            _branch((192, 1), (192, *_WIDE7), (192, *_HIGH7), (192, 3, 2)),
            _branch(pool=nn.MaxPool2D(pool_size=3, strides=2))]


def _block_e() -> list[Any]:
    return [_branch((320, 1)), _split((384, 1)), _split((448, 1), (384, 3, 1, 1)),
            _branch((192, 1), pool=_mean())]


_BLOCKS: tuple[tuple[str, Any, tuple[int, ...]], ...] = (
    ("A1_", _block_a, (32,)), ("A2_", _block_a, (64,)), ("A3_", _block_a, (64,)),
    ("B_", _block_b, ()), ("C1_", _block_c, (128,)), ("C2_", _block_c, (160,)),
    ("C3_", _block_c, (160,)), ("C4_", _block_c, (192,)), ("D_", _block_d, ()),
    ("E1_", _block_e, ()), ("E2_", _block_e, ()))


def make_aux(classes: int) -> nn.HybridSequential:
    """The second output that the paper trains with; the network itself has none."""
    return unnamed(nn.AvgPool2D(pool_size=5, strides=3), _conv(128, 1), _conv(768, 5),
                   nn.Flatten(), nn.Dense(classes))


class Inception3(Network):
    """Inception v3 for pictures (N, 3, 299, 299)."""

    def __init__(self, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = unnamed(
                _conv(32, 3, 2), _conv(32, 3), _conv(64, 3, 1, 1),
                nn.MaxPool2D(pool_size=3, strides=2), _conv(80, 1), _conv(192, 3),
                nn.MaxPool2D(pool_size=3, strides=2))
            for prefix, branches, sizes in _BLOCKS:
                block = HybridConcurrent(axis=1, prefix=prefix)
                with block.name_scope():
                    block.add(*branches(*sizes))
                self.features.add(block)
            self.features.add(nn.AvgPool2D(pool_size=8), nn.Dropout(0.5))
            self.output = nn.Dense(classes)


def inception_v3(pretrained: bool = False, ctx: Any = cpu(), root: str = DEFAULT_ROOT,  # noqa: B008
                 **kwargs: Any) -> Inception3:
    """Inception v3, with trained parameters out of `root` if asked for."""
    made: Inception3 = load_pretrained(Inception3(**kwargs), "inceptionv3", pretrained, root, ctx)
    return made
