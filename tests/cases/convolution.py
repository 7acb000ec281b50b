"""Convolution against plain loops over the output."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input, Native


def convolve(x: Array, w: Array, b: Array | None, stride: tuple[int, ...],
             dilate: tuple[int, ...], pad: tuple[int, ...], groups: int) -> Array:
    """Written out from the definition, one output element at a time."""
    kernel = w.shape[2:]
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in pad)])
    out = [(d - dl * (k - 1) - 1) // s + 1
           for d, k, s, dl in zip(x.shape[2:], kernel, stride, dilate, strict=True)]
    y = np.zeros((x.shape[0], w.shape[0], *out))
    per_in, per_out = w.shape[1], w.shape[0] // groups
    for o in range(w.shape[0]):
        first = o // per_out * per_in
        for at in product(*map(range, out)):
            window = tuple(slice(i * s, i * s + dl * (k - 1) + 1, dl)
                           for i, s, k, dl in zip(at, stride, kernel, dilate, strict=True))
            place: tuple[Any, ...] = (slice(None), slice(first, first + per_in), *window)
            seen = x[place]
            out_place: tuple[Any, ...] = (slice(None), o, *at)
            y[out_place] = (seen * w[o]).sum(axis=tuple(range(1, seen.ndim)))
            if b is not None:
                y[out_place] += b[o]
    return y


def case(data: tuple[int, ...], filters: int, kernel: tuple[int, ...], groups: int = 1,
         bias: bool = True, note: str = "", native: Native = True, **params: Any) -> Case:
    rank = len(kernel)
    weight = (filters, data[1] // groups, *kernel)
    given = {"kernel": kernel, "num_filter": filters, **params}
    if groups > 1:
        given["num_group"] = groups
    if not bias:
        given["no_bias"] = True
    stride, dilate, pad = (params.get(name, (default,) * rank)
                           for name, default in (("stride", 1), ("dilate", 1), ("pad", 0)))
    inputs = [Input(data), Input(weight, weight_groups=groups)]
    if bias:
        inputs.append(Input((filters,)))
    return Case("Convolution", given, inputs,
                reference=lambda x, w, b=None: convolve(x, w, b, stride, dilate, pad, groups),
                native=native, native_backward=native, rtol={"float32": 1e-4},
                atol={"float32": 1e-4}, grad_eps=1e-5,
                dtypes=("float32", "float64", "float16"), note=note)


CASES = [
    case((2, 3, 5, 5), 4, (3, 3)),
    case((1, 3, 6, 5), 20, (3, 3), pad=(1, 1), note="20 filters"),
    case((2, 20, 4, 4), 16, (1, 1), bias=False, note="20 channels"),
    case((2, 48, 3, 2), 50, (1, 1), note="one pixel, 48 channels"),
    case((3, 5, 4), 3, (1,), note="one pixel"),
    case((2, 20, 7, 1), 18, (3, 1), pad=(1, 0), note="a column"),
    case((1, 48, 9, 1), 64, (5, 1), stride=(2, 3), dilate=(2, 1), pad=(3, 0), note="a column"),
    case((2, 8, 5, 1), 8, (2, 1), groups=2, note="a column"),
    case((1, 3, 4, 1), 4, (2, 3), pad=(0, 1), note="a column"),
    case((1, 6, 2, 3, 2), 4, (1, 1, 1), note="one pixel"),
    case((2, 17, 1, 1), 16, (1, 1), note="one pixel of one pixel"),
    case((1, 3, 7, 7), 8, (3, 3), stride=(2, 2), pad=(1, 1)),
    case((1, 4, 7, 6), 4, (3, 2), dilate=(2, 1)),
    case((2, 4, 5, 5), 8, (3, 3), groups=2),
    case((1, 16, 4, 4), 32, (1, 1), groups=2, note="groups of 8 and 16"),
    case((2, 10, 3, 5), 30, (1, 1), groups=5, note="groups of 2 and 6"),
    case((1, 6, 5, 5), 6, (3, 3), groups=6, bias=False, pad=(1, 1), note="depthwise"),
    case((2, 32, 6, 5), 32, (3, 3), groups=32, pad=(1, 1), note="depthwise, blocks of 16"),
    case((1, 16, 6, 9), 16, (3, 3), groups=16, stride=(2, 2), note="depthwise, blocks of 16"),
    case((2, 3, 5, 17), 16, (3, 3), pad=(1, 1), note="few channels, a block of filters"),
    case((1, 2, 9, 8), 48, (2, 2), stride=(2, 2), note="few channels, blocks of filters"),
    case((2, 3, 8), 5, (3,), stride=(2,)),
    case((2, 4, 9), 6, (3,), groups=2, pad=(1,)),
    case((1, 3, 4, 5, 4), 4, (2, 3, 2), pad=(0, 1, 0)),
    case((1, 4, 3, 4, 3), 4, (2, 2, 2), groups=2),
    case((1, 3, 7, 6), 4, (2, 2), stride=(3, 3), note="stride above kernel"),
    case((2, 20, 1, 1), 3, (1, 1), note="one pixel"),
    case((1, 3, 1, 1), 4, (3, 3), pad=(1, 1), note="one pixel in padding"),
    case((1, 20, 4, 4), 40, (3, 3), groups=20, pad=(1, 1), note="depthwise, two filters each"),
    case((2, 5, 1, 1), 4, (1, 1), stride=(3, 3), pad=(1, 1), note="the padding's pixel"),
    case((1, 3, 5, 5), 4, (2, 2), stride=(2, 2), pad=(1, 0), note="odd sizes"),
    case((1, 6, 5, 5), 9, (3, 3), groups=3, dilate=(2, 2), pad=(2, 2)),
    case((0, 3, 5, 5), 4, (3, 3), native=False, note="no images"),
    case((2, 0, 5, 5), 4, (3, 3), native=False, note="no channels"),
]
