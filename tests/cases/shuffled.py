"""_shuffle_channels, _shuffle_filters and _fused_shuffled_Convolution against their parts written
out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input, Native

from .convolution import convolve

Change = Callable[..., Array]


def in_order(x: Array, groups: int, axis: int = 1) -> Array:
    size = x.shape[axis] // groups
    return np.take(x, [i * size + j for j in range(size) for i in range(groups)], axis)


def shuffle(shape: tuple[int, ...], groups: int, native: bool = True) -> Case:
    return Case("_shuffle_channels", {"groups": groups}, [Input(shape)],
                reference=lambda x: in_order(x, groups), native=native,
                dtypes=("float32", "float64", "float16", "int32", "uint8"))


def filters(shape: tuple[int, ...], groups: int) -> Case:
    return Case("_shuffle_filters", {"groups": groups}, [Input(shape)],
                reference=lambda x: in_order(x, groups, 0), native=True)


def conv(data: tuple[int, ...], made: int, groups: int, shuffled: int, post_ops: str = "",
         after: Change = lambda y: y, *operands: tuple[int, ...], bias: bool = True,
         native: Native = True, note: str = "") -> Case:
    ones = (1,) * (len(data) - 2)
    weight = Input((made, data[1] // groups, *ones), weight_groups=groups)
    inputs = [Input(data), weight, *([Input((made,))] if bias else []), *map(Input, operands)]

    def reference(x: Array, w: Array, *rest: Array) -> Array:
        b, given = (rest[0], rest[1:]) if bias else (None, rest)
        y = convolve(in_order(x, shuffled), w, b, ones, ones, (0,) * len(ones), groups)
        return after(y, *given)
    return Case("_fused_shuffled_Convolution",
                {"kernel": ones, "num_filter": made, "num_group": groups, "shuffled": shuffled,
                 "no_bias": not bias, "post_ops": post_ops}, inputs, reference=reference,
                native=native, rtol={"float32": 1e-4}, atol={"float32": 1e-4}, note=note)


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


CASES = [
    shuffle((2, 12, 3, 5), 4),
    shuffle((1, 40, 4, 4), 2),
    shuffle((3, 6, 7), 3),
    shuffle((2, 8, 2, 3, 2), 8),
    shuffle((3, 6), 2),
    shuffle((2, 6, 1, 1), 1),
    shuffle((0, 6, 2, 2), 2, native=False),
    filters((12, 1, 3, 3), 4),
    filters((20,), 5),
    conv((2, 12, 3, 5), 8, 4, 4),
    conv((1, 24, 4, 4), 20, 4, 4, "add,relu", lambda y, a: relu(y + a), (1, 20, 4, 4)),
    conv((2, 20, 3, 3), 18, 2, 5, "clip:-0.5:0.5", lambda y: np.clip(y, -0.5, 0.5), bias=False,
         note="of other groups"),
    conv((1, 18, 2, 2), 6, 6, 2, note="3 channels of a group from 2 groups"),
    conv((1, 16, 2, 3), 40, 1, 4, "relu", relu, note="one group"),
    conv((2, 12, 7), 6, 3, 2, note="one axis"),
    conv((1, 8, 2, 2, 2), 8, 8, 4, note="depthwise"),
    conv((3, 8, 1, 1), 8, 2, 8, note="one pixel"),
    conv((1, 8, 3, 3), 4, 2, 2, "tanh", np.tanh, native=False, note="another function"),
    conv((1, 8, 3, 3), 4, 2, 2, "add", lambda y, a: y + a, (1, 4, 1, 1), native=False,
         note="a sum of a smaller one"),
    conv((1, 130, 2, 2), 6, 2, 65, native=False, note="from very many groups"),
    conv((0, 8, 3, 3), 4, 2, 2, native=False, note="no images"),
]
