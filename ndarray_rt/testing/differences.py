"""Finite differences: slopes of a function of numpy arrays against gradients. Runs no operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .case import Array
from .compare import assert_close

COORDINATES = 16  # of an input of many elements so many are checked one by one
DIRECTIONS = 3


@dataclass(frozen=True)
class Steps:
    """How far to step, and how near the slope must be."""

    eps: float = 1e-6
    rtol: float = 1e-5
    atol: float = 1e-7


def assert_slopes(value: Callable[[list[Array]], float], at: Sequence[Array],
                  grads: Sequence[Array | None], names: Sequence[str], wanted: Sequence[int],
                  steps: Steps) -> int:
    """The gradients of `value` at some point are its central differences.

    `wanted` are the positions to check; no gradient (None) stands for zero. Of small inputs each
    element is stepped along, of others some, and random directions through all of them. Gives the
    number of slopes compared; raises AssertionError naming input and element.
    """
    rng = np.random.default_rng(11)
    compared = 0
    for i in wanted:
        point, grad = at[i], grads[i]
        if not point.size:
            continue
        if grad is not None:
            assert grad.shape == point.shape, (
                f"gradient of {names[i]} has shape {grad.shape}, expected {point.shape}")
            assert grad.dtype == point.dtype, (
                f"gradient of {names[i]} has dtype {grad.dtype}, expected {point.dtype}")
        found = np.zeros(point.shape) if grad is None else grad
        for direction, what in _directions(point, rng):
            got = np.array(float(np.sum(found * direction)))
            want = np.array(_slope_along(value, at, i, direction, steps.eps))
            scale = max(1.0, float(np.abs(direction).sum()))
            atol = max(steps.atol, steps.rtol * 1e-2) * scale
            assert_close(got, want, steps.rtol, atol, f"gradient of {names[i]} along {what}")
            compared += 1
    return compared


def _slope_along(value: Callable[[list[Array]], float], at: Sequence[Array], position: int,
                 direction: Array, eps: float) -> float:
    """Central difference along a direction of one input."""
    def after(step: float) -> float:
        moved = list(at)
        moved[position] = moved[position] + step * direction
        return value(moved)
    return (after(eps) - after(-eps)) / (2 * eps)


def _directions(point: Array, rng: np.random.Generator) -> list[tuple[Array, str]]:
    places = np.arange(point.size)
    if point.size > COORDINATES:
        places = rng.choice(point.size, COORDINATES, replace=False)
    made = []
    for place in places:
        one = np.zeros(point.size)
        one[place] = 1.0
        at = tuple(int(i) for i in np.unravel_index(place, point.shape))
        made.append((one.reshape(point.shape), f"element {at}"))
    for k in range(DIRECTIONS if point.size > 1 else 0):
        made.append((rng.choice([-1.0, 1.0], point.shape), f"random direction {k}"))
    return made
