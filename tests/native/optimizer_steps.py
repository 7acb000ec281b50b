"""Steps of optimizers as native kernels, and arguments for each."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ndarray_rt.storage.kernels import optimizer as kernels

NUMBERS = {"lr": 0.1, "wd": 0.01, "rescale_grad": 0.5, "clip_gradient": 0.7, "momentum": 0.9,
           "wd_lh": 0.1, "beta1": 0.9, "beta2": 0.99, "epsilon": 1e-6, "eta": 0.5, "gamma1": 0.9,
           "gamma2": 0.8, "clip_weights": 2.0, "lamda1": 0.1, "beta": 1.0, "clip_grad": 0.7,
           "t": 3.0, "bias_correction": 1.0, "lower_bound": -1.0, "upper_bound": 10.0}
SINGLE = {"rescale_grad": 0.5, "norm": 2.0, "step_norm": 3.0}  # arrays of one element
STEPS = [made for name, made in vars(kernels).items()
         if inspect.isfunction(made) and name != "norm"]


def arguments(step: Any, n: int, array: Callable[[int], Any]) -> dict[str, Any]:
    """Arguments of a step of n elements; `array` makes one in float32 by a number."""
    made: dict[str, Any] = {"count": n}
    for name, kind in step.__annotations__.items():
        if kind == "float":
            made[name] = NUMBERS[name]
        elif kind == "Mem":
            made[name] = np.array([SINGLE[name]], "f4") if name in SINGLE else array(len(made))
    return made
