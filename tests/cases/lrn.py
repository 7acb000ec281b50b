"""LRN, channel by channel."""

from __future__ import annotations

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input, Native


def normalize(x: Array, nsize: int, alpha: float, beta: float, knorm: float) -> Array:
    y = np.empty_like(x)
    reach = (nsize - 1) // 2
    for c in range(x.shape[1]):
        around = x[:, max(0, c - reach):c + reach + 1]
        y[:, c] = x[:, c] / (knorm + alpha / nsize * (around ** 2).sum(axis=1)) ** beta
    return y


def case(data: tuple[int, ...], nsize: int, alpha: float = 0.5, beta: float = 0.75,
         knorm: float = 1.0, native: Native = True, native_backward: Native | None = None,
         note: str = "") -> Case:
    params = {"nsize": nsize, "alpha": alpha, "beta": beta, "knorm": knorm}
    return Case("LRN", params, [Input(data, low=-2, high=2)],
                reference=lambda x: normalize(x, nsize, alpha, beta, knorm), native=native,
                native_backward=native if native_backward is None else native_backward,
                rtol={"float32": 1e-4}, atol={"float32": 1e-5},
                dtypes=("float32", "float64", "float16"), note=note)


CASES = [
    case((2, 3, 4, 4), 5),
    case((1, 20, 3, 3), 5, note="20 channels"),
    case((2, 16, 3, 2), 5),
    case((2, 16, 3, 2), 3, alpha=1e-4, knorm=2.0, note="usual numbers"),
    case((1, 8, 2, 2), 4, note="even"),
    case((1, 8, 2, 2), 3, beta=1.25, native_backward=False, note="another power"),
    case((1, 20, 3, 2), 7, native_backward=False, note="wide"),
    case((2, 20, 1, 1), 3),
    case((1, 2, 3, 3), 9, note="fewer channels than neighbours"),
    case((2, 3, 3, 3), 1, native_backward=False),
    case((2, 3, 3, 3), 2, native_backward=False),
    case((2, 20, 21, 20), 5, note="more than the small kernel takes"),
    case((2, 9), 5),
    case((2, 6, 4), 3),
    case((1, 6, 2, 3, 2), 3),
    case((0, 3, 2, 2), 3, native=False, note="no images"),
]
