"""Activation and its family."""

from __future__ import annotations

import numpy as np

from ndarray_rt.testing.case import Case, Input, Native, Reference

NUMPY_OF: dict[str, Reference] = {
    "relu": lambda x: np.where(x > 0, x, 0.0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "softrelu": lambda x: np.log1p(np.exp(x)),
    "softsign": lambda x: x / (1 + np.abs(x)),
}
SHAPES = ((2, 3), (7,), (1, 20, 3, 3), (2, 16, 2, 3), (2, 3, 5), (1, 3, 2, 2, 2))
# f(0) != 0: on padded blocks oneDNN has reference code only
NOT_ON_PADDED = {"sigmoid", "softrelu"}


def _onednn(name: str, shape: tuple[int, ...]) -> Native:
    return "auto" if name in NOT_ON_PADDED and len(shape) > 2 else True


CASES = [
    Case("Activation", {"act_type": name}, [Input(shape, kind="away", low=-3, high=3)],
         reference=NUMPY_OF[name], native=_onednn(name, shape),
         native_backward=_onednn(name, shape))
    for name in NUMPY_OF for shape in SHAPES
]
CASES += [Case("Activation", {"act_type": "relu"}, [(0, 4)], reference=NUMPY_OF["relu"],
               native=False, native_backward=False, note="no elements"),
          Case("Activation", {"act_type": "sigmoid"}, [Input((2, 4), values=[
              -1000, -100, -1, 0, 1, 30, 100, 1000])],
               reference=lambda x: np.where(x < 0, np.exp(np.minimum(x, 0)), 1)
               / (1 + np.exp(-np.abs(x))), native=True, note="far from zero")]
