"""Steps of optimizers, by their written-out formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input


def clipped(g: Array, params: dict[str, Any]) -> Array:
    bound = params.get("clip_gradient", -1)
    return g if bound < 0 else np.clip(g, -bound, bound)


def sgd(params: dict[str, Any], w: Array, g: Array) -> tuple[Array, ...]:
    g = clipped(g * params.get("rescale_grad", 1), params) + params.get("wd", 0) * w
    return (w - params["lr"] * g,)


def momentum(params: dict[str, Any], w: Array, g: Array, m: Array) -> tuple[Array, ...]:
    g = clipped(g * params.get("rescale_grad", 1), params) + params.get("wd", 0) * w
    m = params.get("momentum", 0) * m - params["lr"] * g
    return w + m, m


def adam(params: dict[str, Any], w: Array, g: Array, m: Array, v: Array) -> tuple[Array, ...]:
    g = clipped(g * params.get("rescale_grad", 1) + params.get("wd", 0) * w, params)
    beta1, beta2 = params.get("beta1", 0.9), params.get("beta2", 0.999)
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g * g
    return w - params["lr"] * m / (np.sqrt(v) + params.get("epsilon", 1e-8)), m, v


def nag(params: dict[str, Any], w: Array, g: Array, m: Array) -> tuple[Array, ...]:
    g = clipped(g * params.get("rescale_grad", 1), params) + params.get("wd", 0) * w
    keep = params.get("momentum", 0)
    m = keep * m - params["lr"] * g
    return w + keep * m - params["lr"] * g, m


def signs(params: dict[str, Any], w: Array, g: Array) -> tuple[Array, ...]:
    return ((1 - params["lr"] * params.get("wd", 0)) * w - params["lr"] * np.sign(g),)


def signum(params: dict[str, Any], w: Array, g: Array, m: Array) -> tuple[Array, ...]:
    g = clipped(g * params.get("rescale_grad", 1), params) + params.get("wd", 0) * w
    keep = params.get("momentum", 0)
    m = keep * m - (1 - keep) * g
    return (1 - params["lr"] * params.get("wd_lh", 0)) * w + params["lr"] * np.sign(m), m


def decayed(params: dict[str, Any], w: Array, g: Array) -> Array:
    return clipped(g * params.get("rescale_grad", 1) + params.get("wd", 0) * w, params)


def rmsprop(params: dict[str, Any], w: Array, g: Array, n: Array) -> tuple[Array, ...]:
    g, gamma = decayed(params, w, g), params.get("gamma1", 0.95)
    n = gamma * n + (1 - gamma) * g * g
    return w - params["lr"] * g / np.sqrt(n + params.get("epsilon", 1e-8)), n


def alex(params: dict[str, Any], w: Array, g: Array, n: Array, mean: Array,
         delta: Array) -> tuple[Array, ...]:
    g, gamma = decayed(params, w, g), params.get("gamma1", 0.95)
    n, mean = gamma * n + (1 - gamma) * g * g, gamma * mean + (1 - gamma) * g
    delta = params.get("gamma2", 0.9) * delta - params["lr"] * g / np.sqrt(
        n - mean * mean + params["epsilon"])
    return w + delta, n, mean, delta


def ftrl(params: dict[str, Any], w: Array, g: Array, z: Array, n: Array) -> tuple[Array, ...]:
    g = clipped(g * params.get("rescale_grad", 1), params)
    lr, least = params["lr"], params.get("lamda1", 0.01)
    z = z + g - (np.sqrt(n + g * g) - np.sqrt(n)) * w / lr
    n = n + g * g
    size = (params.get("beta", 1) + np.sqrt(n)) / lr + params.get("wd", 0)
    return np.where(np.abs(z) > least, (np.sign(z) * least - z) / size, 0), z, n


def ftml(params: dict[str, Any], w: Array, g: Array, d: Array, v: Array,
         z: Array) -> tuple[Array, ...]:
    beta1, beta2, t = params.get("beta1", 0.6), params.get("beta2", 0.999), params["t"]
    g = decayed({**params, "clip_gradient": params.get("clip_grad", -1)}, w, g)
    v = beta2 * v + (1 - beta2) * g * g
    size = (1 - beta1**t) / params["lr"] * (np.sqrt(v / (1 - beta2**t)) + params["epsilon"])
    z = beta1 * z + (1 - beta1) * g - (size - beta1 * d) * w
    return -z / size, size, v, z


RULES: dict[str, tuple[Callable[..., Any], int]] = {
    "sgd_update": (sgd, 0), "sgd_mom_update": (momentum, 1), "adam_update": (adam, 2),
    "nag_mom_update": (nag, 1), "signsgd_update": (signs, 0), "signum_update": (signum, 1),
    "rmsprop_update": (rmsprop, 1), "rmspropalex_update": (alex, 3), "ftrl_update": (ftrl, 2),
    "ftml_update": (ftml, 3)}
# states that are squares, or their sums
POSITIVE = {"adam_update": (3,), "rmsprop_update": (2,), "rmspropalex_update": (2,),
            "ftrl_update": (3,), "ftml_update": (2, 3)}


def case(op: str, shape: tuple[int, ...], dtypes: tuple[str, ...] = ("float32", "float64"),
         native: bool = True, **params: Any) -> Case:
    rule, states = RULES[op]
    inputs = [Input(shape) for _ in range(2 + states)]
    for position in POSITIVE.get(op, ()):
        inputs[position] = Input(shape, kind="positive")
    return Case(op, params, inputs, reference=lambda *a: rule(params, *a)[0],
                after=lambda *a: dict(enumerate(rule(params, *a)[1:], 2)), native=native,
                dtypes=dtypes)


SHAPES = ((7,), (3, 5), (2, 20, 3, 2), (2, 16, 3, 3))
SETTINGS: tuple[dict[str, Any], ...] = (
    {"lr": 0.1},
    {"lr": 0.1, "wd": 0.25, "rescale_grad": 0.5},
    {"lr": 0.5, "wd": 0.25, "rescale_grad": 3.0, "clip_gradient": 0.5},
    {"lr": 0.5, "wd": 0.25, "clip_gradient": 0.0, "lazy_update": False},
)
MORE: dict[str, dict[str, Any]] = {
    "sgd_update": {}, "sgd_mom_update": {"momentum": 0.875},
    "adam_update": {"beta1": 0.75, "beta2": 0.875, "epsilon": 0.125},
    "nag_mom_update": {"momentum": 0.875}, "signsgd_update": {},
    "signum_update": {"momentum": 0.875, "wd_lh": 0.125},
    "rmsprop_update": {"gamma1": 0.75, "epsilon": 0.125},
    "rmspropalex_update": {"gamma1": 0.75, "gamma2": 0.5, "epsilon": 2.0},
    "ftrl_update": {"lamda1": 0.125, "beta": 0.5},
    "ftml_update": {"t": 3, "epsilon": 0.125},
}
OLD = ("sgd_update", "sgd_mom_update", "adam_update")
LAZY = OLD


def named(op: str, setting: dict[str, Any]) -> dict[str, Any]:
    """The setting with the names that the operator has for it."""
    made = {key: value for key, value in setting.items() if key != "lazy_update" or op in LAZY}
    if op == "ftml_update" and "clip_gradient" in made:
        made["clip_grad"] = made.pop("clip_gradient")
    return {**made, **MORE[op]}


CASES = [case(op, shape, **named(op, SETTINGS[2])) for op in RULES for shape in SHAPES]
CASES += [case(op, (3, 5), **named(op, setting)) for op in RULES for setting in SETTINGS]
CASES += [case(op, (3, 5), lr=0.125) for op in OLD]
CASES += [case(op, (3, 5), ("float32", "float16"), **named(op, {"lr": 0.125})) for op in RULES]
CASES += [case(op, (0, 5), native=False, **named(op, {"lr": 0.125})) for op in RULES]
# padding stays zero also where 0 / 0 threatens
CASES += [case("adam_update", (2, 20, 3, 2), lr=0.125, epsilon=0.0)]
