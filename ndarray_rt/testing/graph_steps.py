"""What random graphs are made of: each step adds one operator, or a small figure of several.

A step is a function of the builder and one value of the graph. It draws its parameters from
the builder's chooser, the simplest first, and gives the new values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import gcd, prod
from typing import Any, Protocol, TypeVar

import ndarray_rt as mx

from .case import Input

T = TypeVar("T")
Shape = tuple[int, ...]

CHANNELS = (3, 4, 16, 20, 8, 1)
LARGEST = 6000  # elements of a value: graphs stay small


class Chooser(Protocol):
    """Where choices come from: Hypothesis, or a seeded generator."""

    def choose(self, options: Sequence[T]) -> T:
        """One of the options; the first one is the simplest."""
        ...


@dataclass(frozen=True)
class Value:
    """One value of the graph under construction."""

    symbol: Any
    shape: Shape
    is_loss: bool = False


@dataclass
class Builder:
    """A graph under construction: its values, its variables, and what it has been built of."""

    chooser: Chooser
    values: list[Value] = field(default_factory=list)
    variables: dict[str, Input] = field(default_factory=dict)
    symbols: dict[str, Any] = field(default_factory=dict)  # of the variables
    aux: dict[str, Input] = field(default_factory=dict)
    data: list[str] = field(default_factory=list)  # variables that count as data
    frozen: set[str] = field(default_factory=set)  # variables without a gradient
    features: Counter[str] = field(default_factory=Counter)
    count: int = 0

    def choose(self, *options: T) -> T:
        return self.chooser.choose(options)

    def name(self, word: str) -> str:
        self.count += 1
        return f"{word}{self.count}"

    def variable(self, shape: Shape, word: str, share: bool = True, **contents: Any) -> Any:
        """A variable of this shape: a new one, or one that is there already."""
        given = Input(shape, **contents)
        same = [n for n, other in self.variables.items() if other == given
                and n not in self.frozen] if share else []
        found = self.choose("", *same)
        if found:
            self.features["shared weight"] += 1
        else:
            found = self.name(word)
            self.variables[found] = given
            self.symbols[found] = mx.sym.Variable(found)
        return self.symbols[found]

    def weight(self, shape: Shape, fan_in: int) -> Any:
        """A weight that keeps values about as large as they were."""
        limit = round((3.0 / max(1, fan_in)) ** 0.5, 3)
        return self.variable(shape, "w", low=-limit, high=limit)

    def small(self, shape: Shape, **contents: Any) -> Any:
        """A bias, a scale or another small input."""
        return self.variable(shape, "b", **contents)

    def op(self, op: str, *inputs: Any, **params: Any) -> Any:
        """The symbol of an operator; a group when it has several outputs."""
        space = mx.sym._internal if op.startswith("_") else mx.sym
        self.features[op] += 1
        return getattr(space, op)(*inputs, name=self.name(op.strip("_").lower()), **params)

    def alike(self, x: Value) -> Value | None:
        """Another value of the same shape, x itself if there is none."""
        same = [v for v in self.values if v.shape == x.shape and not v.is_loss]
        return self.choose(*reversed(same)) if same else None


Step = Callable[[Builder, Value], "list[Value] | None"]
STEPS: dict[str, Step] = {}


def step(function: Step) -> Step:
    STEPS[function.__name__] = function
    return function


def _window(size: int, kernel: int, stride: int, pad: int, dilate: int = 1) -> int:
    return (size + 2 * pad - dilate * (kernel - 1) - 1) // stride + 1


@step
def activation(b: Builder, x: Value) -> list[Value]:
    kind = b.choose("relu", "tanh", "sigmoid", "softrelu", "softsign", "leaky", "gelu", "prelu")
    if kind in ("leaky", "gelu"):
        return [Value(b.op("LeakyReLU", x.symbol, act_type=kind), x.shape)]
    if kind == "prelu":
        if len(x.shape) < 2:
            return []
        slope = b.small((x.shape[1],), low=0.1, high=0.9)
        return [Value(b.op("LeakyReLU", x.symbol, slope, act_type=kind), x.shape)]
    return [Value(b.op("Activation", x.symbol, act_type=kind), x.shape)]


@step
def convolution(b: Builder, x: Value) -> list[Value] | None:
    if len(x.shape) != 4:
        return None
    n, c, *size = x.shape
    filters = b.choose(*CHANNELS)
    groups = b.choose(1, *[g for g in (2, 4, c) if g > 1 and gcd(c, filters) % g == 0])
    kernel, stride, pad = b.choose((1, 1, 0), (3, 1, 1), (3, 2, 1), (3, 1, 0), (2, 2, 0))
    dilate = b.choose(1, 2) if kernel == 3 and stride == 1 else 1
    out = [_window(s, kernel, stride, pad, dilate) for s in size]
    if min(out) < 1 or n * filters * prod(out) > LARGEST:
        return []
    no_bias = b.choose(True, False)
    inputs = [b.weight((filters, c // groups, kernel, kernel), c // groups * kernel * kernel)]
    if not no_bias:
        inputs.append(b.small((filters,)))
    b.features["grouped"] += groups > 1
    b.features["strided"] += stride > 1
    made = b.op("Convolution", x.symbol, *inputs, num_filter=filters, kernel=(kernel, kernel),
                stride=(stride, stride), pad=(pad, pad), dilate=(dilate, dilate),
                num_group=groups, no_bias=no_bias)
    return [Value(made, (n, filters, *out))]


@step
def deconvolution(b: Builder, x: Value) -> list[Value] | None:
    if len(x.shape) != 4:
        return None
    n, c, *size = x.shape
    filters = b.choose(3, 4, 16)
    out = [2 * s for s in size]
    if n * filters * prod(out) > LARGEST:
        return []
    weight = b.weight((c, filters, 2, 2), c)
    made = b.op("Deconvolution", x.symbol, weight, num_filter=filters, kernel=(2, 2), stride=(2, 2))
    return [Value(made, (n, filters, *out))]


@step
def batch_norm(b: Builder, x: Value) -> list[Value] | None:
    if len(x.shape) < 2 or x.shape[0] * prod(x.shape[2:]) < 8:
        return None
    c = (x.shape[1],)
    scale, shift = b.small(c, low=0.5, high=1.5), b.small(c)
    name = b.name("batchnorm")
    aux = []
    for word, given in (("mean", Input(c)), ("var", Input(c, low=0.5, high=1.5))):
        b.aux[f"{name}_moving_{word}"] = given
        aux.append(mx.sym.Variable(f"{name}_moving_{word}"))
    b.features["BatchNorm"] += 1
    outputs = b.choose(False, True)
    made = mx.sym.BatchNorm(x.symbol, scale, shift, *aux, name=name, eps=0.01,
                            fix_gamma=b.choose(True, False), momentum=0.8,
                            use_global_stats=b.choose(False, True), output_mean_var=outputs)
    if not outputs:
        return [Value(made, x.shape)]
    return [Value(made[0], x.shape)]


@step
def pooling(b: Builder, x: Value) -> list[Value] | None:
    if len(x.shape) != 4:
        return None
    n, c, *size = x.shape
    kind = b.choose("max", "avg", "sum")
    if b.choose(False, True):
        return [Value(b.op("Pooling", x.symbol, global_pool=True, pool_type=kind), (n, c, 1, 1))]
    kernel, stride, pad = b.choose((2, 2, 0), (3, 2, 1), (2, 1, 0), (3, 1, 1))
    out = [_window(s, kernel, stride, pad) for s in size]
    if min(out) < 1:
        return []
    made = b.op("Pooling", x.symbol, kernel=(kernel, kernel), stride=(stride, stride),
                pad=(pad, pad), pool_type=kind)
    return [Value(made, (n, c, *out))]


@step
def fully_connected(b: Builder, x: Value) -> list[Value]:
    if len(x.shape) < 2:
        return []
    hidden, flat, no_bias = b.choose(4, 16, 20), b.choose(True, False), b.choose(True, False)
    length = prod(x.shape[1:]) if flat else x.shape[-1]
    shape = (x.shape[0], hidden) if flat else (*x.shape[:-1], hidden)
    if length * hidden > 4 * LARGEST or prod(shape) > LARGEST:
        return []
    inputs = [b.weight((hidden, length), length)] + ([] if no_bias else [b.small((hidden,))])
    made = b.op("FullyConnected", x.symbol, *inputs, num_hidden=hidden, flatten=flat,
                no_bias=no_bias)
    return [Value(made, shape)]


@step
def lrn(b: Builder, x: Value) -> list[Value] | None:
    if len(x.shape) != 4:
        return None
    return [Value(b.op("LRN", x.symbol, nsize=b.choose(3, 5), alpha=0.1), x.shape)]


@step
def elementwise(b: Builder, x: Value) -> list[Value]:
    """With another value of the same shape: a residual connection where there is one."""
    other = b.alike(x)
    if other is None or (other is x and b.choose(True, False)):
        symbol = b.small(x.shape)
    else:
        symbol = other.symbol
        b.features["residual" if other is not x else "same input twice"] += 1
    op = b.choose("elemwise_add", "elemwise_sub", "elemwise_mul", "_maximum", "add_n")
    inputs = [x.symbol, symbol]
    if op == "add_n" and b.choose(False, True):
        inputs.append(x.symbol)
    return [Value(b.op(op, *inputs), x.shape)]


@step
def broadcast(b: Builder, x: Value) -> list[Value]:
    shape = tuple(b.choose(d, 1) for d in x.shape)
    op = b.choose("broadcast_add", "broadcast_mul", "broadcast_sub", "broadcast_div",
                  "broadcast_maximum")
    other = b.small(shape, **({"low": 0.5, "high": 1.5} if op == "broadcast_div" else {}))
    inputs = [x.symbol, other]
    if op != "broadcast_div" and b.choose(False, True):
        inputs.reverse()
    return [Value(b.op(op, *inputs), x.shape)]


@step
def pointwise(b: Builder, x: Value) -> list[Value]:
    op = b.choose("tanh", "relu", "sigmoid", "square", "abs", "negative", "_copy", "erf", "cos",
                  "BlockGrad", "softsign")
    return [Value(b.op(op, x.symbol), x.shape)]


@step
def with_scalar(b: Builder, x: Value) -> list[Value]:
    op = b.choose("_plus_scalar", "_mul_scalar", "_rminus_scalar", "_div_scalar", "_maximum_scalar")
    return [Value(b.op(op, x.symbol, scalar=b.choose(0.5, 2.0)), x.shape)]


@step
def chain(b: Builder, x: Value) -> list[Value]:
    """Operators that may each take over the memory of the one before."""
    symbol = x.symbol
    for op in (b.choose("tanh", "relu"), b.choose("negative", "sigmoid"), "square"):
        symbol = b.op(op, symbol)
    b.features["chain"] += 1
    return [Value(symbol, x.shape)]


@step
def clip(b: Builder, x: Value) -> list[Value]:
    return [Value(b.op("clip", x.symbol, a_min=-0.4, a_max=0.6), x.shape)]


@step
def reduction(b: Builder, x: Value) -> list[Value]:
    op = b.choose("sum", "mean", "max", "min")
    axis = b.choose(*range(len(x.shape)))
    keep = b.choose(True, False) or len(x.shape) == 1
    made = b.op(op, x.symbol, axis=axis, keepdims=keep)
    shape = tuple(1 if i == axis else d for i, d in enumerate(x.shape) if keep or i != axis)
    return [Value(made, shape)]


@step
def softmax(b: Builder, x: Value) -> list[Value]:
    axis = b.choose(len(x.shape) - 1, *range(len(x.shape) - 1))
    return [Value(b.op(b.choose("softmax", "log_softmax"), x.symbol, axis=axis), x.shape)]


@step
def dropout(b: Builder, x: Value) -> list[Value]:
    axes = b.choose((), (0,)) if len(x.shape) > 1 else ()
    return [Value(b.op("Dropout", x.symbol, p=0.4, axes=axes), x.shape)]


@step
def concat(b: Builder, x: Value) -> list[Value]:
    """With a value that differs in the length of one axis at most."""
    axis = b.choose(*([1, *range(len(x.shape))] if len(x.shape) > 1 else [0]))

    def fits(v: Value) -> bool:
        return len(v.shape) == len(x.shape) and not v.is_loss and all(
            i == axis or a == c for i, (a, c) in enumerate(zip(v.shape, x.shape, strict=True)))
    others = [v for v in b.values if fits(v)] or [x]
    parts = [x, *[b.choose(*reversed(others)) for _ in range(b.choose(1, 2))]]
    shape = list(x.shape)
    shape[axis] = sum(p.shape[axis] for p in parts)
    if prod(shape) > LARGEST:
        return []
    made = b.op("Concat", *[p.symbol for p in parts], dim=axis)
    return [Value(made, tuple(shape))]


@step
def slice_channel(b: Builder, x: Value) -> list[Value]:
    axis = b.choose(*range(len(x.shape)))
    parts = b.choose(1, *[n for n in (2, 3, 4, 5) if x.shape[axis] % n == 0])
    squeeze = parts == x.shape[axis] and len(x.shape) > 1 and b.choose(False, True)
    shape = list(x.shape)
    shape[axis] //= parts
    if squeeze:
        del shape[axis]
    made = b.op("SliceChannel", x.symbol, num_outputs=parts, axis=axis, squeeze_axis=squeeze)
    return [Value(made[i], tuple(shape)) for i in range(min(2, parts))]


@step
def transpose(b: Builder, x: Value) -> list[Value]:
    if len(x.shape) < 2:
        return []
    if b.choose(True, False):
        axes = tuple(reversed(range(len(x.shape))))
        return [Value(b.op("transpose", x.symbol, axes=axes), tuple(x.shape[a] for a in axes))]
    shape = list(x.shape)
    shape[0], shape[-1] = shape[-1], shape[0]
    return [Value(b.op("SwapAxis", x.symbol, dim1=0, dim2=len(shape) - 1), tuple(shape))]


@step
def reshape(b: Builder, x: Value) -> list[Value]:
    kind = b.choose("flatten", "image", "expand", "squeeze")
    size = prod(x.shape)
    if kind == "flatten" and len(x.shape) > 1:
        return [Value(b.op("Flatten", x.symbol), (x.shape[0], size // x.shape[0]))]
    if kind == "image":
        for shape in ((1, 16, 2), (2, 3, 2), (1, 4, 2), (1, 1, 1)):
            rows = prod(shape)
            if size % rows == 0 and size // rows < 64:
                full = (*shape, size // rows)
                return [Value(b.op("Reshape", x.symbol, shape=full), full)]
    if kind == "expand" and len(x.shape) < 4:
        return [Value(b.op("expand_dims", x.symbol, axis=1), (x.shape[0], 1, *x.shape[1:]))]
    if kind == "squeeze" and len(x.shape) > 2 and 1 in x.shape[1:]:
        axis = x.shape.index(1, 1)
        return [Value(b.op("squeeze", x.symbol, axis=axis), x.shape[:axis] + x.shape[axis + 1:])]
    return []


@step
def matmul(b: Builder, x: Value) -> list[Value]:
    if len(x.shape) == 2:
        weight = b.weight((x.shape[1], 5), x.shape[1])
        return [Value(b.op("dot", x.symbol, weight), (x.shape[0], 5))]
    if len(x.shape) == 3 and x.shape[1] ** 2 * x.shape[0] <= LARGEST:
        made = b.op("batch_dot", x.symbol, x.symbol, transpose_b=True)
        b.features["same input twice"] += 1
        return [Value(made, (x.shape[0], x.shape[1], x.shape[1]))]
    return []


@step
def figure(b: Builder, x: Value) -> list[Value] | None:
    """A block as in residual networks: two branches that meet again."""
    if len(x.shape) != 4:
        return None
    left = convolution(b, x)
    if not left:
        return []
    branch = b.op("Activation", left[0].symbol, act_type=b.choose("relu", "tanh"))
    other = b.op(b.choose("sigmoid", "_copy", "negative"), left[0].symbol)
    b.features["residual"] += 1
    return [*left, Value(b.op("elemwise_add", branch, other), left[0].shape)]


@step
def loss(b: Builder, x: Value) -> list[Value]:
    """An output with a gradient of its own."""
    if len(x.shape) < 2:
        return []
    kind = b.choose("MakeLoss", "make_loss", "SoftmaxOutput", "LinearRegressionOutput",
                    "LogisticRegressionOutput", "MAERegressionOutput")
    if kind in ("MakeLoss", "make_loss"):
        return [Value(b.op(kind, x.symbol), x.shape, is_loss=True)]
    name = b.name("label")
    if kind == "SoftmaxOutput":
        multi = len(x.shape) > 2
        classes = x.shape[1]
        shape = (x.shape[0], *x.shape[2:]) if multi else (x.shape[0],)
        given = Input(shape, kind="ints", low=0, high=classes)
        params = {"multi_output": multi, "normalization": b.choose("null", "batch", "valid")}
    else:
        given, params = Input(x.shape), {"grad_scale": b.choose(1.0, 0.5)}
    b.variables[name] = given
    b.frozen.add(name)
    return [Value(b.op(kind, x.symbol, mx.sym.Variable(name), **params), x.shape, is_loss=True)]
