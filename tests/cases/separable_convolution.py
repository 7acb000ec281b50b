"""_fused_separable_Convolution against its convolutions written out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ndarray_rt.cpu_level import has_avx512
from ndarray_rt.testing.case import Array, Case, Input

from .convolution import convolve

WIDE = has_avx512()
Change = Callable[[Array], Array]


def clip6(x: Array) -> Array:
    return np.clip(x, 0, 6)


def same(x: Array) -> Array:
    return x


def case(data: tuple[int, int, int, int], between: int, filters: int, stride: int = 1, pad: int = 1,
         is_expanded: bool = True, biases: tuple[bool, bool, bool] = (True, True, True),
         post_ops: str = "", after: Change | None = None, add: bool = False,
         inner: tuple[str, Change] = ("clip:0.0:6.0", clip6), native: bool = WIDE,
         ) -> Case:
    geometry = ((1, 1), (stride, stride), (1, 1))
    strides, pads = geometry, ((0, 0), (pad, pad), (0, 0))
    shapes = [(between, data[1], 1, 1), (between, 1, 3, 3), (filters, between, 1, 1)]
    groups = (1, between, 1)
    stages = [*zip(shapes, strides, pads, groups, biases, strict=True)][not is_expanded:]
    inputs = [Input(data)]
    for shape, _, _, count, bias in stages:
        inputs.append(Input(shape, weight_groups=count))
        if bias:
            inputs.append(Input(shape[:1]))
    out = tuple((side + 2 * pad - 3) // stride + 1 for side in data[2:])
    if add:
        inputs.append(Input((data[0], filters, *out)))

    def reference(*given: Array) -> Array:
        x, *rest = given
        for i, (_, step, padding, count, bias) in enumerate(stages):
            weight = rest.pop(0)
            x = convolve(x, weight, rest.pop(0) if bias else None, step, (1, 1), padding, count)
            if i + 1 < len(stages):
                x = inner[1](x)
        x = x + rest.pop(0) if add else x
        return x if after is None else after(x)
    given = {"num_filter": filters, "num_between": between, "stride": (stride, stride),
             "pad": (pad, pad), "is_expanded": is_expanded, "no_expansion_bias": not biases[0],
             "no_depthwise_bias": not biases[1], "no_bias": not biases[2],
             "expansion_post_ops": inner[0], "depthwise_post_ops": inner[0],
             "post_ops": ",".join(filter(None, ("add:1.0:0.0" if add else "", post_ops)))}
    return Case("_fused_separable_Convolution", given, inputs, reference=reference, native=native,
                rtol={"float32": 1e-4}, atol={"float32": 1e-4})


CASES = [
    case((2, 5, 7, 6), 16, 20),
    case((1, 16, 9, 4), 32, 16, stride=2, add=True),
    case((1, 16, 6, 6), 16, 7, is_expanded=False, post_ops="relu",
         after=lambda y: np.maximum(y, 0)),
    case((3, 4, 5, 9), 48, 4, biases=(False, False, False), add=True, post_ops="clip:-1.0:1.0",
         after=lambda y: np.clip(y, -1, 1)),
    case((1, 3, 5, 5), 16, 3, pad=3, biases=(True, False, True), inner=("", same)),
    case((1, 3, 5, 5), 20, 3, native=False),  # multiples of 16 channels only
    case((1, 3, 9, 9), 16, 3, stride=3, native=False),  # strides of 1 and 2 only
    case((1, 3, 5, 5), 16, 3, inner=("tanh", np.tanh), native=False),  # bounds only
]
