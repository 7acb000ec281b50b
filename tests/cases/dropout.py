"""Dropout: what is random, and what is not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ndarray_rt.testing.case import Array, Case


def check(share: float, axes: tuple[int, ...] = ()) -> Callable[[list[Array], list[Array]], None]:
    """The mask holds 0 and 1 / (1 - p) in the right shares, and is what data was multiplied by."""
    def test(inputs: list[Array], outputs: list[Array]) -> None:
        x, (y, mask) = inputs[0], outputs
        assert mask.shape == tuple(1 if d in axes else n for d, n in enumerate(x.shape))
        kept = mask != 0
        np.testing.assert_allclose(mask[kept], 1 / (1 - share), rtol=1e-6)
        spread = 5 * np.sqrt(share * (1 - share) / mask.size)
        assert abs(1 - share - kept.mean()) <= spread
        np.testing.assert_allclose(y, x * mask, rtol=1e-6)
    return test


def same(x: Array) -> tuple[Array, None]:
    return x, None


CASES = [
    Case("Dropout", {"p": 0.3}, [shape], check=check(0.3), is_train=True, native=True,
         native_backward=True)
    for shape in ((300,), (4, 5), (2, 20, 3, 4), (2, 16, 3, 3), (2, 3, 5), (1, 3, 2, 3, 2))
]
CASES += [
    Case("Dropout", {"p": 0.5, "axes": axes}, [shape], check=check(0.5, axes), is_train=True,
         native=True, native_backward=True)
    for shape, axes in (((40, 5), (1,)), ((4, 20, 3, 2), (2, 3)), ((4, 16, 3, 2), (1,)),
                        ((30, 3, 2, 2), (1, 2, 3)))
]
CASES += [
    Case("Dropout", {"mode": "always"}, [(6, 7)], check=check(0.5), native=True,
         note="not training"),
    Case("Dropout", {}, [(2, 20, 3, 4)], reference=same, native=True,
         exempt={"gradient": "gradients run in training"}, note="not training"),
    Case("Dropout", {"p": 0}, [(2, 20, 3, 4)], reference=same, is_train=True, native=True,
         native_backward=True),
    Case("Dropout", {"p": 1}, [(2, 3)], reference=lambda x: (x * np.nan, x * np.nan),
         is_train=True, native=True, native_backward=True,
         exempt={"gradient": "NaN has no slope"}, note="everything is lost"),
    Case("Dropout", {}, [(0, 3)], reference=same, is_train=True, native=False,
         native_backward=False, note="no elements"),
    Case("Dropout", {}, [(40, 5)], check=None, is_train=True, dtypes=("float32", "float16"),
         native=True, native_backward=True, note="float16"),
]
