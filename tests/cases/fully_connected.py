"""FullyConnected against a plain matrix product."""

from __future__ import annotations

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input, Native


def transform(x: Array, w: Array, b: Array | None, flatten: bool) -> Array:
    if flatten:
        x = x.reshape(len(x), w.shape[1])
    y = np.einsum("...i,oi->...o", x, w)
    return y if b is None else y + b


def case(data: tuple[int, ...], hidden: int, features: int, bias: bool = True,
         flatten: bool = True, note: str = "", native: Native = True) -> Case:
    params: dict[str, object] = {"num_hidden": hidden}
    if not bias:
        params["no_bias"] = True
    if not flatten:
        params["flatten"] = False
    inputs = [Input(data), Input((hidden, features), weight_groups=1)]
    if bias:
        inputs.append(Input((hidden,)))
    return Case("FullyConnected", params, inputs,
                reference=lambda x, w, b=None: transform(x, w, b, flatten),
                native=native, native_backward=native, rtol={"float32": 1e-4},
                atol={"float32": 1e-4}, dtypes=("float32", "float64", "float16"), note=note)


CASES = [
    case((2, 3), 4, 3),
    case((1, 17), 20, 17, bias=False),
    case((5, 1), 1, 1),
    case((2, 20, 3, 3), 10, 180, note="blocked padded data"),
    case((3, 16, 2, 2), 33, 64, note="blocked data"),
    case((2, 3, 1, 1), 4, 3),
    case((3, 33), 130, 33, note="wide blocks of columns"),
    case((6, 33), 130, 33, note="wide blocks of columns, more rows"),
    case((2, 16, 2, 3), 130, 96, note="wide blocks behind blocked data"),
    case((5, 16, 2, 3), 130, 96, note="wide blocks behind blocked data, more rows"),
    case((2, 3, 5), 6, 15, bias=False),
    case((1, 4, 2, 3, 2), 5, 48),
    case((4,), 3, 1, note="rank 1"),
    case((2, 3, 4), 5, 4, flatten=False),
    case((2, 3, 2, 7), 5, 7, flatten=False, bias=False),
    case((6,), 5, 6, flatten=False, note="rank 1"),
    case((0, 4), 3, 4, native=False, note="no rows"),
    case((2, 0), 3, 0, native=False, note="no features"),
    case((2, 3, 0), 4, 0, native=False, note="no features"),
]
