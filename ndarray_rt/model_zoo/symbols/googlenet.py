"""GoogLeNet, Inception v1 (Szegedy et al. 2014), without auxiliary heads and normalisation."""

from __future__ import annotations

from ... import sym
from ...symbol.symbol import Symbol
from .layers import data_of

# name -> channels of 1x1, before 3x3, 3x3, before 5x5, 5x5, behind the pooling
INCEPTIONS = {
    "3a": (64, 96, 128, 16, 32, 32), "3b": (128, 128, 192, 32, 96, 64),
    "4a": (192, 96, 208, 16, 48, 64), "4b": (160, 112, 224, 24, 64, 64),
    "4c": (128, 128, 256, 24, 64, 64), "4d": (112, 144, 288, 32, 64, 64),
    "4e": (256, 160, 320, 32, 128, 128), "5a": (256, 160, 320, 32, 128, 128),
    "5b": (384, 192, 384, 48, 128, 128),
}


def _conv(x: Symbol, filters: int, kernel: int, name: str, stride: int = 1) -> Symbol:
    pad = kernel // 2
    y = sym.Convolution(x, num_filter=filters, kernel=(kernel, kernel), stride=(stride, stride),
                        pad=(pad, pad), name=f"conv_{name}")
    made: Symbol = sym.Activation(y, act_type="relu", name=f"relu_{name}")
    return made


def _max_pool(x: Symbol, stride: int, pad: int = 0) -> Symbol:
    made: Symbol = sym.Pooling(x, kernel=(3, 3), stride=(stride, stride), pad=(pad, pad),
                               pool_type="max")
    return made


def _inception(x: Symbol, name: str) -> Symbol:
    one, before3, three, before5, five, pooled = INCEPTIONS[name]
    parts = [_conv(x, one, 1, f"{name}_1x1"),
             _conv(_conv(x, before3, 1, f"{name}_3x3r"), three, 3, f"{name}_3x3"),
             _conv(_conv(x, before5, 1, f"{name}_5x5r"), five, 5, f"{name}_5x5"),
             _conv(_max_pool(x, 1, 1), pooled, 1, f"{name}_proj")]
    made: Symbol = sym.Concat(*parts, name=f"concat_{name}")
    return made


def googlenet(classes: int = 1000, data: Symbol | str = "data") -> Symbol:
    """GoogLeNet: class scores without softmax; `data` is (N, 3, 224, 224).

    Names are those of MXNet's example symbol.
    """
    x = _max_pool(_conv(data_of(data), 64, 7, "1", 2), 2)
    x = _max_pool(_conv(_conv(x, 64, 1, "2r"), 192, 3, "2"), 2)
    for name in INCEPTIONS:
        x = _inception(x, name)
        if name == "3b":
            x = _max_pool(x, 2)
        if name == "4e":
            x = _max_pool(x, 2, 1)
    x = sym.Pooling(x, kernel=(7, 7), stride=(1, 1), pool_type="avg")
    made: Symbol = sym.FullyConnected(sym.Flatten(x), num_hidden=classes, name="fc1")
    return made


MODELS = {"googlenet": googlenet}
