"""Steps of random graphs for passes: what graphs spell out with several operators, and near misses.

`SPELLED` holds them; random graphs take them beside the usual steps when asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from math import prod
from typing import Any

import ndarray_rt as mx

from .graph_steps import LARGEST, STEPS, Builder, Step, Value

SPELLED: dict[str, Step] = {}


def spelled(function: Step) -> Step:
    SPELLED[function.__name__] = function
    return function


@spelled
def written_activation(b: Builder, x: Value) -> list[Value]:
    s: Any = x.symbol
    kind = b.choose("gelu", "gelu by tanh", "swish", "hard swish", "hard sigmoid", "mish", "leaky",
                    "relu6", "nearly gelu")
    written: dict[str, Callable[[], Any]] = {
        "gelu": lambda: s * 0.5 * (1 + mx.sym.erf(s / math.sqrt(2))),
        "gelu by tanh": lambda: 0.5 * s * (1 + mx.sym.tanh(
            math.sqrt(2 / math.pi) * (s + 0.044715 * s ** 3))),
        "swish": lambda: s * mx.sym.sigmoid(s),
        "hard swish": lambda: s * mx.sym.clip(s + 3, 0, 6) / 6,
        "hard sigmoid": lambda: mx.sym.clip(0.2 * s + 0.5, 0, 1),
        "mish": lambda: s * mx.sym.tanh(mx.sym.Activation(s, act_type="softrelu")),
        "leaky": lambda: mx.sym.maximum(s, 0.1 * s),
        "relu6": lambda: mx.sym.minimum(mx.sym.maximum(s, 0), 6),
        "nearly gelu": lambda: s * 0.5 * (1 - mx.sym.erf(s / math.sqrt(2))),
    }
    b.features[kind] += 1
    return [Value(written[kind](), x.shape)]


@spelled
def written_norm(b: Builder, x: Value) -> list[Value]:
    if x.shape[-1] < 3:
        return []
    b.features["layer norm"] += 1
    mean = mx.sym.mean(x.symbol, axis=-1, keepdims=True)
    centered = mx.sym.broadcast_sub(x.symbol, mean)
    eps = b.choose(1e-2, 0.5)
    variance = mx.sym.mean(mx.sym.square(centered), axis=-1, keepdims=True)
    if b.choose(True, False):
        made = mx.sym.broadcast_div(centered, mx.sym.sqrt(variance + eps))
    else:
        made = mx.sym.broadcast_mul(mx.sym.rsqrt(variance + eps), centered)
    if b.choose(True, False):
        made = mx.sym.broadcast_mul(made, b.small(x.shape[-1:]))
        made = mx.sym.broadcast_add(made, b.small(x.shape[-1:]))
    return [Value(made, x.shape), *([Value(centered, x.shape)] if b.choose(False, True) else [])]


@spelled
def written_softmax(b: Builder, x: Value) -> list[Value]:
    b.features["softmax"] += 1
    axis = b.choose(*range(len(x.shape)))
    top = mx.sym.max(x.symbol, axis=axis, keepdims=True)
    e = mx.sym.exp(mx.sym.broadcast_sub(x.symbol, top))
    total = mx.sym.sum(e, axis=axis, keepdims=True)
    return [Value(mx.sym.broadcast_div(e, total), x.shape)]


@spelled
def attention(b: Builder, x: Value) -> list[Value]:
    size = math.prod(x.shape)
    if len(x.shape) != 3 and size % 8 == 0 and size < 1000:
        shape = (2, size // 8, 4)
        x = Value(mx.sym.reshape(x.symbol, shape=shape), shape)
    if len(x.shape) != 3 or x.shape[2] % 2 or x.shape[0] * x.shape[1] ** 2 > LARGEST:
        return []
    b.features["attention"] += 1

    def apart(value: Any) -> Any:
        value = mx.sym.transpose(mx.sym.reshape(value, shape=(0, 0, -4, 2, -1)),
                                 axes=(0, 2, 1, 3))
        return mx.sym.reshape(value, shape=(-3, 0, 0))
    other = b.alike(x) or x
    score = mx.sym.batch_dot(apart(x.symbol) * 0.5, apart(other.symbol), transpose_b=True)
    rows, count = x.shape[1], 2 * x.shape[0]
    if b.choose(False, True):
        shape = b.choose((count, rows, rows), (count, 1, rows), (1, 1, rows))
        score = mx.sym.broadcast_add(score, b.small(shape))
    made = mx.sym.batch_dot(mx.sym.softmax(score, axis=-1), apart(x.symbol))
    made = mx.sym.transpose(mx.sym.reshape(made, shape=(-4, -1, 2, 0, 0)), axes=(0, 2, 1, 3))
    return [Value(mx.sym.reshape(made, shape=(0, 0, -3)), x.shape)]


@spelled
def layer_and_more(b: Builder, x: Value) -> list[Value] | None:
    """A layer, perhaps a batch norm, and what is done to the result."""
    layer = STEPS[b.choose("convolution", "convolution", "deconvolution",
                           "deconvolution", "pooling", "fully_connected")]
    made = layer(b, x)
    if not made:
        return made
    for name in (b.choose("batch_norm", ""), b.choose("activation", "clip", "broadcast"),
                 b.choose("elementwise", "with_scalar", "")):
        made = (STEPS[name](b, made[0]) if name else None) or made
    return made[:1]


@spelled
def norm_and_more(b: Builder, x: Value) -> list[Value] | None:
    made = STEPS["batch_norm"](b, x)
    return made and STEPS["activation"](b, made[0])


@spelled
def scaled_norm(b: Builder, x: Value) -> list[Value] | None:
    """A batch norm and what a Scale layer does behind it, and near misses."""
    made = STEPS["batch_norm"](b, x)
    if not made:
        return made
    channels = (x.shape[1], *[1] * (len(x.shape) - 2))
    normed = made[0].symbol
    for kind in b.choose(("mul", "add"), ("mul",), ("add",)):
        values = b.small(b.choose(channels, channels, (1,), (1, *x.shape[1:])))
        normed = (mx.sym.broadcast_mul if kind == "mul" else mx.sym.broadcast_add)(normed, values)
    b.features["scaled norm"] += 1
    return [Value(normed, x.shape)]


@spelled
def dense_block(b: Builder, x: Value) -> list[Value] | None:
    """Layers that read all before them, joined along the channels, and near misses."""
    if len(x.shape) != 4 or x.shape[0] * prod(x.shape[2:]) < 8 or 4 * prod(x.shape) > LARGEST:
        return None
    made, joined, filters = [], Value(b.op("Concat", x.symbol, x.symbol, dim=1), x.shape), 3
    n, c, *size = x.shape
    c *= 2
    for _ in range(b.choose(1, 2, 3)):
        normed = (STEPS["batch_norm"](b, Value(joined.symbol, (n, c, *size))) or [joined])[0]
        act = b.choose("relu", "relu", "tanh", "")
        rectified = mx.sym.Activation(normed.symbol, act_type=act) if act else normed.symbol
        kernel = b.choose(1, 1, 3)
        layer = b.op("Convolution", rectified, b.weight((filters, c, kernel, kernel), c * kernel),
                     num_filter=filters, kernel=(kernel, kernel), pad=(kernel // 2,) * 2,
                     no_bias=True)
        c += filters
        made.append(Value(layer, (n, filters, *size)))
        joined = Value(b.op("Concat", joined.symbol, layer, dim=1), (n, c, *size))
    b.features["dense block"] += 1
    return made + ([joined] if b.choose(False, True) else [])


@spelled
def inverted_residual(b: Builder, x: Value) -> list[Value] | None:
    """A depthwise convolution between two of one pixel, and near misses."""
    if len(x.shape) != 4 or 16 * x.shape[0] * prod(x.shape[2:]) > LARGEST:
        return None
    c, wide, made, kernel = x.shape[1], 16, x.symbol, b.choose(3, 3, 1)
    for filters, window, groups in ((wide, 1, 1), (wide, kernel, b.choose(wide, wide, 4)),
                                    (c, 1, 1)):
        if groups == 1 and filters == wide == c and b.choose(False, True):
            continue  # it is wide already
        made = mx.sym.Convolution(
            made, b.weight((filters, (c if made is x.symbol else wide) // groups, window, window),
                           window * window * 16 // groups), b.small((filters,)),
            num_filter=filters, num_group=groups, kernel=(window, window), pad=(window // 2,) * 2)
        if filters == wide:
            made = b.choose(mx.sym.relu(made), mx.sym.clip(made, a_min=0, a_max=6), made,
                            mx.sym.tanh(made))
    b.features["inverted residual"] += 1
    if b.choose(True, False):
        made = mx.sym.elemwise_add(made, x.symbol)
    return [Value(made, x.shape)]


@spelled
def product_and_more(b: Builder, x: Value) -> list[Value]:
    if len(x.shape) != 2:
        return []
    b.features["product"] += 1
    out = (x.shape[0], 6)
    made = mx.sym.dot(x.symbol, b.weight((x.shape[1], 6), x.shape[1]))
    shape = b.choose((6,), (1, 6), out, (x.shape[0], 1), (1, 1))
    made = mx.sym.broadcast_add(made, b.small(shape))
    return [Value(mx.sym.Activation(made, act_type=b.choose("relu", "tanh")), out)]


@spelled
def thinned(b: Builder, x: Value) -> list[Value] | None:
    """A residual block of which what comes next reads every so manieth pixel."""
    if len(x.shape) != 4:
        return None
    b.features["thinned"] += 1
    n, c, *size = x.shape
    kernel, pad = b.choose((3, 1), (1, 0))
    made = mx.sym.Convolution(x.symbol, b.weight((c, c, kernel, kernel), c * kernel * kernel),
                              num_filter=c, kernel=(kernel, kernel), pad=(pad, pad), no_bias=True)
    made = mx.sym.Activation(made, act_type=b.choose("relu", "tanh"))
    if b.choose(True, False):
        made = mx.sym.elemwise_add(made, x.symbol)
    if b.choose(False, True):
        made = mx.sym.broadcast_mul(made, b.small((1, c, 1, 1)))
    outs = []
    for filters, stride in b.choose([(4, (2, 2)), (8, (2, 2))], [(4, (2, 2))], [(4, (3, 1))],
                                    [(4, (2, 2)), (4, (1, 2))], [(4, (2, 2)), (4, (1, 1))]):
        out = mx.sym.Convolution(made, b.weight((filters, c, 1, 1), c), num_filter=filters,
                                 kernel=(1, 1), stride=stride, no_bias=True)
        outs.append(Value(out, (n, filters, *(-(-a // s) for a, s in zip(size, stride,
                                                                         strict=True)))))
    return outs


@spelled
def constants(b: Builder, x: Value) -> list[Value]:
    b.features["constant"] += 1
    length = x.shape[-1]
    table = mx.sym.arange(length) * 0.25 - 1
    if b.choose(True, False):
        table = mx.sym.reshape(mx.sym.sin(table), shape=(*(1,) * (len(x.shape) - 1), length))
    op = b.choose("broadcast_add", "broadcast_mul", "broadcast_sub")
    return [Value(getattr(mx.sym, op)(x.symbol, table), x.shape)]


@spelled
def numbers(b: Builder, x: Value) -> list[Value]:
    b.features["numbers"] += 1
    s: Any = x.symbol
    made = b.choose(s * 2 * 0.25, s + 1 + 2, (s + 3) - 3, (s * 1 - 0) / 2, 1 - s / 4 * 2)
    return [Value(made, x.shape)]
