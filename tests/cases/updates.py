"""Steps of optimizers, by their written-out formulas."""

from __future__ import annotations

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


RULES = {"sgd_update": (sgd, 0), "sgd_mom_update": (momentum, 1), "adam_update": (adam, 2)}


def case(op: str, shape: tuple[int, ...], dtypes: tuple[str, ...] = ("float32", "float64"),
         onednn: bool = True, **params: Any) -> Case:
    rule, states = RULES[op]
    inputs = [Input(shape) for _ in range(2 + states)]
    if op == "adam_update":
        inputs[3] = Input(shape, kind="positive")
    return Case(op, params, inputs, reference=lambda *a: rule(params, *a)[0],
                after=lambda *a: dict(enumerate(rule(params, *a)[1:], 2)), onednn=onednn,
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
}
CASES = [case(op, shape, **SETTINGS[2], **MORE[op]) for op in RULES for shape in SHAPES]
CASES += [case(op, (3, 5), **setting, **MORE[op]) for op in RULES for setting in SETTINGS]
CASES += [case(op, (3, 5), lr=0.125) for op in RULES]
CASES += [case(op, (3, 5), ("float32", "float16"), lr=0.125) for op in RULES]
CASES += [case(op, (0, 5), onednn=False, lr=0.125) for op in RULES]
# padding stays zero also where 0 / 0 threatens
CASES += [case("adam_update", (2, 20, 3, 2), lr=0.125, epsilon=0.0)]
