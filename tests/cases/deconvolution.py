"""Deconvolution against plain loops: each element of data spreads the kernel over the output."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input, Native


def spread(x: Array, w: Array, b: Array | None, out: tuple[int, ...], stride: tuple[int, ...],
           dilate: tuple[int, ...], pad: tuple[int, ...], groups: int) -> Array:
    """Written out from the definition, one element of data and of the kernel at a time."""
    per_in, per_out = w.shape[0] // groups, w.shape[1]
    y = np.zeros((len(x), per_out * groups, *out))
    for c in range(w.shape[0]):
        filters = slice(c // per_in * per_out, (c // per_in + 1) * per_out)
        for at in product(*map(range, x.shape[2:])):
            for k in product(*map(range, w.shape[2:])):
                to = tuple(i * s - p + j * d for i, s, p, j, d
                           in zip(at, stride, pad, k, dilate, strict=True))
                if all(0 <= t < n for t, n in zip(to, out, strict=True)):
                    place: tuple[Any, ...] = (slice(None), filters, *to)
                    pixel: tuple[Any, ...] = (slice(None), c, *at)
                    weight: tuple[Any, ...] = (c, slice(None), *k)
                    y[place] += np.outer(x[pixel], w[weight])
    if b is not None:
        y += b.reshape(-1, *(1,) * len(out))
    return y


def case(data: tuple[int, ...], filters: int, kernel: tuple[int, ...], out: tuple[int, ...],
         groups: int = 1, bias: bool = False, begin: tuple[int, ...] | None = None,
         note: str = "", native: Native = True, **params: tuple[int, ...]) -> Case:
    """`out` is the spatial shape expected, `begin` what is cut off in front (default: pad)."""
    rank = len(kernel)
    weight = (data[1], filters // groups, *kernel)
    given: dict[str, Any] = {"kernel": kernel, "num_filter": filters, **params}
    if groups > 1:
        given["num_group"] = groups
    if bias:
        given["no_bias"] = False
    stride, dilate = params.get("stride", (1,) * rank), params.get("dilate", (1,) * rank)
    cut = params.get("pad", (0,) * rank) if begin is None else begin
    inputs = [Input(data), Input(weight, weight_groups=groups)]
    if bias:
        inputs.append(Input((filters,)))
    return Case("Deconvolution", given, inputs,
                reference=lambda x, w, b=None: spread(x, w, b, out, stride, dilate, cut, groups),
                native=native, native_backward=native, rtol={"float32": 1e-4},
                atol={"float32": 1e-4}, grad_eps=1e-5,
                dtypes=("float32", "float64", "float16"), note=note)


CASES = [
    case((2, 3, 4, 4), 4, (3, 3), (6, 6), bias=True),
    case((1, 3, 4, 5), 20, (4, 4), (8, 10), stride=(2, 2), pad=(1, 1), note="20 filters"),
    case((2, 20, 3, 3), 16, (2, 2), (6, 6), stride=(2, 2), bias=True, note="20 channels"),
    case((1, 3, 3, 3), 5, (3, 3), (6, 6), stride=(2, 2), pad=(1, 1), adj=(1, 1), bias=True),
    case((1, 3, 3, 2), 4, (2, 3), (8, 6), stride=(3, 2), adj=(0, 1), note="stride above kernel"),
    case((1, 3, 3, 3), 4, (3, 3), (7, 7), stride=(2, 2), target_shape=(7, 7), begin=(0, 0)),
    case((1, 3, 3, 3), 4, (3, 3), (6, 5), stride=(2, 2), pad=(4, 4), target_shape=(6, 5),
         begin=(1, 1), note="target shape overrides pad"),
    case((1, 4, 3, 3), 3, (2, 2), (5, 5), dilate=(2, 2)),
    case((2, 4, 3, 3), 6, (3, 3), (5, 5), groups=2, bias=True),
    case((1, 32, 3, 3), 16, (2, 2), (4, 4), groups=2, note="groups of 16 and 8"),
    case((1, 20, 3, 3), 20, (3, 3), (5, 5), groups=20, stride=(2, 2), pad=(1, 1),
         note="depthwise"),
    case((2, 3, 1, 1), 4, (3, 3), (3, 3), note="one pixel"),
    case((2, 3, 5), 4, (3,), (11,), stride=(2,), bias=True),
    case((2, 4, 4), 6, (3,), (8,), groups=2, stride=(2,), pad=(1,), adj=(1,)),
    case((1, 3, 2, 3, 2), 4, (2, 3, 2), (4, 5, 4), stride=(2, 2, 2), pad=(0, 1, 0)),
    case((1, 4, 2, 2, 2), 4, (2, 2, 2), (3, 3, 3), groups=2, bias=True),
    case((0, 3, 4, 4), 4, (3, 3), (6, 6), native=False, bias=True, note="no images"),
    case((2, 3, 2), 4, (3,), (0,), pad=(2,), native=False, note="nothing left"),
]
