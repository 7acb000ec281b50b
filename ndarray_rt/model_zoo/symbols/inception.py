"""Inception v3 (Szegedy et al. 2015), as in gluon's model zoo."""

from __future__ import annotations

from functools import partial

from ...symbol.symbol import Symbol
from .layers import Layers, Size, data_of

EPS = 1e-3


def _conv(net: Layers, x: Symbol, filters: int, kernel: Size, stride: int = 1,
          pad: Size = 0) -> Symbol:
    return net.conv_bn(x, filters, kernel, stride, pad, eps=EPS)


def _wide(net: Layers, x: Symbol, filters: int, length: int) -> Symbol:
    """One row high, as wide as asked, the size of the image kept."""
    return _conv(net, x, filters, (1, length), 1, (0, length // 2))


def _high(net: Layers, x: Symbol, filters: int, length: int) -> Symbol:
    """One column wide, as high as asked, the size of the image kept."""
    return _conv(net, x, filters, (length, 1), 1, (length // 2, 0))


def _block_a(net: Layers, x: Symbol, pooled: int) -> Symbol:
    one = _conv(net, x, 64, 1)
    five = _conv(net, _conv(net, x, 48, 1), 64, 5, 1, 2)
    three = _conv(net, _conv(net, _conv(net, x, 64, 1), 96, 3, 1, 1), 96, 3, 1, 1)
    pool = _conv(net, net.avg_pool(x, 3, 1, 1), pooled, 1)
    return net.concat([one, five, three, pool])


def _block_b(net: Layers, x: Symbol) -> Symbol:
    three = _conv(net, x, 384, 3, 2)
    double = _conv(net, _conv(net, _conv(net, x, 64, 1), 96, 3, 1, 1), 96, 3, 2)
    return net.concat([three, double, net.max_pool(x, 3, 2)])


def _block_c(net: Layers, x: Symbol, inside: int) -> Symbol:
    one = _conv(net, x, 192, 1)
    seven = _high(net, _wide(net, _conv(net, x, inside, 1), inside, 7), 192, 7)
    y = _high(net, _conv(net, x, inside, 1), inside, 7)
    y = _high(net, _wide(net, y, inside, 7), inside, 7)
    double = _wide(net, y, 192, 7)
    pool = _conv(net, net.avg_pool(x, 3, 1, 1), 192, 1)
    return net.concat([one, seven, double, pool])


def _block_d(net: Layers, x: Symbol) -> Symbol:
    three = _conv(net, _conv(net, x, 192, 1), 320, 3, 2)
    y = _high(net, _wide(net, _conv(net, x, 192, 1), 192, 7), 192, 7)
    seven = _conv(net, y, 192, 3, 2)
    return net.concat([three, seven, net.max_pool(x, 3, 2)])


def _block_e(net: Layers, x: Symbol) -> Symbol:
    one = _conv(net, x, 320, 1)
    y = _conv(net, x, 384, 1)
    three = net.concat([_wide(net, y, 384, 3), _high(net, y, 384, 3)])
    y = _conv(net, _conv(net, x, 448, 1), 384, 3, 1, 1)
    double = net.concat([_wide(net, y, 384, 3), _high(net, y, 384, 3)])
    pool = _conv(net, net.avg_pool(x, 3, 1, 1), 192, 1)
    return net.concat([one, three, double, pool])


def inception_v3(classes: int = 1000, data: Symbol | str = "data") -> Symbol:
    """Inception v3: class scores without softmax; `data` is (N, 3, 299, 299)."""
    net = Layers("inception30_")
    x = _conv(net, data_of(data), 32, 3, 2)
    x = _conv(net, _conv(net, x, 32, 3), 64, 3, 1, 1)
    x = net.max_pool(x, 3, 2)
    x = _conv(net, _conv(net, x, 80, 1), 192, 3)
    x = net.max_pool(x, 3, 2)
    blocks = (("A1", partial(_block_a, pooled=32)), ("A2", partial(_block_a, pooled=64)),
              ("A3", partial(_block_a, pooled=64)), ("B", _block_b),
              ("C1", partial(_block_c, inside=128)), ("C2", partial(_block_c, inside=160)),
              ("C3", partial(_block_c, inside=160)), ("C4", partial(_block_c, inside=192)),
              ("D", _block_d), ("E1", _block_e), ("E2", _block_e))
    for name, block in blocks:
        x = block(net.inner(f"{name}_"), x)
    return net.dense(net.dropout(net.avg_pool(x, 8, 8)), classes)


MODELS = {"inceptionv3": inception_v3}
