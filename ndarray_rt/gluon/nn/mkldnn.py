"""Blocks that change the layout of data, and putting them around the layers of a network."""

# ruff: noqa: N803 - F is what all blocks call the module of operators
from __future__ import annotations

from collections import OrderedDict
from typing import Any

from ...public import shows
from ..block import Block, HybridBlock
from .activations import Activation, LeakyReLU
from .basic_layers import Dropout, HybridSequential, Sequential
from .conv_layers import _Conv
from .norm_layers import _BatchNorm
from .pool_layers import _Pooling

__all__ = ["Dense2Mkldnn", "Mkldnn2Dense", "insert_conversions", "remove_conversions"]
__dir__ = shows(globals())

# layers that read and write images in channels-last layouts
SUPPORTED = (_Conv, _Pooling, _BatchNorm, Activation, LeakyReLU, Dropout)


class Dense2Mkldnn(HybridBlock):
    """Brings data into a layout of oneDNN's; its values stay.

    `layout` is a name such as 'nhwc' or 'nChw16c'; None: channels-last. Source: operator
    _contrib_to_mkldnn.
    """

    def __init__(self, layout: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._layout = layout

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.contrib.to_mkldnn(x, layout=self._layout or "")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._layout or 'channels-last'})"


class Mkldnn2Dense(HybridBlock):
    """Brings data into the default layout; its values stay. Source: operator _contrib_to_dense."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.contrib.to_dense(x)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def insert_conversions(net: Block) -> int:
    """Puts a Dense2Mkldnn before each row of supported layers in a container and a Mkldnn2Dense
    behind it; says how many rows there are.

    Supported are convolutions, pooling, batch normalisation, activations and dropout that compute
    with oneDNN. Other layers get data in the default layout. Names of parameters stay.
    """
    remove_conversions(net)
    rows = 0
    for block in _containers(net):
        made: OrderedDict[str, Block] = OrderedDict()
        inside = False
        for name, child in block._children.items():
            supported = (isinstance(child, SUPPORTED)
                         and getattr(child, "use_onednn", True))
            if supported is not inside:
                rows += supported
                made[f"layout{len(made)}"] = Dense2Mkldnn() if supported else Mkldnn2Dense()
                inside = supported
            made[name] = child
        if inside:
            made[f"layout{len(made)}"] = Mkldnn2Dense()
        block._children = made
    _trace_anew(net)
    return rows


def remove_conversions(net: Block) -> None:
    """Takes away what `insert_conversions` has put there."""
    for block in _containers(net):
        block._children = OrderedDict(
            (name, child) for name, child in block._children.items()
            if not (name.startswith("layout") and isinstance(child, (Dense2Mkldnn, Mkldnn2Dense))))
    _trace_anew(net)


def _containers(net: Block) -> list[Block]:
    found: list[Block] = []
    net.apply(lambda block: found.append(block)
              if isinstance(block, (Sequential, HybridSequential)) else None)
    return found


def _trace_anew(net: Block) -> None:
    net.apply(lambda block: block._clear_cached_op() if isinstance(block, HybridBlock) else None)
