"""Steps of optimizers with master copies of weights, LAMB and AdamW, by their formulas."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input

from .updates import clipped, momentum, sgd

Arrays = tuple[Array, ...]
# products of halves and sums of squares
LOOSE = {"float16": 4e-3, "float32": 1e-4, "float64": 1e-9}
# steps of master copies are done in float32, whatever the weight is in
SINGLE = {**LOOSE, "float64": 1e-4}
SETTING = {"lr": 0.5, "wd": 0.25, "rescale_grad": 3.0, "clip_gradient": 0.5}
SHAPES = ((7,), (3, 5), (2, 20, 3, 2))


def nag(p: dict[str, Any], w: Array, g: Array, m: Array) -> Arrays:
    g = clipped(g * p["rescale_grad"], p)
    lr, wd, keep = p["lr"], p["wd"], p["momentum"]
    new = w + keep * (keep * m - lr * (g + wd * w)) - lr * (g + wd * w)
    return new, keep * m - lr * (g + wd * new)


def adamw(p: dict[str, Any], arrays: Arrays, scale: float) -> Arrays:
    w, g, m, v = arrays
    if scale == 0 or not np.isfinite(scale):
        return w, m, v
    g = clipped(g * scale, p)
    m, v = p["beta1"] * m + (1 - p["beta1"]) * g, p["beta2"] * v + (1 - p["beta2"]) * g * g
    return w - p["eta"] * (p["lr"] * m / (np.sqrt(v) + p["epsilon"]) + p["wd"] * w), m, v


def lamb_1(p: dict[str, Any], w: Array, g: Array, m: Array, v: Array) -> Arrays:
    g = clipped(g * p.get("rescale_grad", 1), p)
    beta1, beta2, t = p.get("beta1", 0.9), p.get("beta2", 0.999), p["t"]
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
    fix = p.get("bias_correction", True)
    mean, var = (m / (1 - beta1**t), v / (1 - beta2**t)) if fix else (m, v)
    return mean / (np.sqrt(var) + p.get("epsilon", 1e-6)) + p["wd"] * w, m, v


def lamb_2(p: dict[str, Any], w: Array, g: Array, r1: float, r2: float) -> Array:
    if p.get("lower_bound", -1) >= 0:
        r1 = max(r1, p["lower_bound"])
    if p.get("upper_bound", -1) >= 0:
        r1 = min(r1, p["upper_bound"])
    made: Array = w - p["lr"] * (r1 / r2 if r1 and r2 else 1.0) * g
    return made


def norm(x: Array) -> float:
    return float(np.sqrt(np.sum(np.square(x.astype(np.float64)))))


def single(shape: tuple[int, ...]) -> Input:
    return Input(shape, dtype="float32")


def positive(shape: tuple[int, ...]) -> Input:
    return Input(shape, dtype="float32", kind="positive")


def master(op: str, rule: Any, states: int, shape: tuple[int, ...], **p: Any) -> Case:
    """Weight and gradient in 16 bits, states and master copy in 32; the weight is not read."""
    inputs = [Input(shape), Input(shape), *[single(shape)] * states, single(shape)]

    def after(*a: Array) -> dict[int, Array]:
        new, *changed = rule(p, a[-1], *a[1:-1])
        return dict(enumerate([*changed, new], 2))
    return Case(op, p, inputs, reference=lambda *a: rule(p, a[-1], *a[1:-1])[0], after=after,
                dtypes=("float16", "float32"), native=False, rtol=SINGLE, atol=SINGLE)


CASES = [master("mp_sgd_update", sgd, 0, shape, **SETTING) for shape in SHAPES]
CASES += [master("mp_sgd_mom_update", momentum, 1, shape, **SETTING, momentum=0.875)
          for shape in SHAPES]
CASES += [master("mp_nag_mom_update", nag, 1, shape, **SETTING, momentum=0.875)
          for shape in SHAPES]

# ---- AdamW --------------------------------------------------------------------------------------

ADAMW = {"lr": 0.125, "eta": 0.5, "wd": 0.25, "beta1": 0.75, "beta2": 0.875, "epsilon": 0.125,
         "clip_gradient": 0.5}


def one_adamw(shape: tuple[int, ...], factor: float) -> Case:
    scale = Input((1,), dtype="float32", values=[factor])
    return Case("_adamw_update", ADAMW,
                [Input(shape), Input(shape), Input(shape), Input(shape, kind="positive"), scale],
                reference=lambda *a: adamw(ADAMW, a[:4], factor)[0],
                after=lambda *a: dict(enumerate(adamw(ADAMW, a[:4], factor)[1:], 2)),
                dtypes=("float32", "float64"), native=True)


def master_adamw(shape: tuple[int, ...], factor: float) -> Case:
    scale = Input((1,), dtype="float32", values=[factor])

    def after(*a: Array) -> dict[int, Array]:
        new, mean, var = adamw(ADAMW, (a[4], *a[1:4]), factor)
        return {2: mean, 3: var, 4: new}
    return Case("_mp_adamw_update", ADAMW,
                [Input(shape), Input(shape), single(shape), positive(shape), single(shape), scale],
                reference=lambda *a: adamw(ADAMW, (a[4], *a[1:4]), factor)[0], after=after,
                dtypes=("float16", "float32"), native=False, rtol=SINGLE, atol=SINGLE)


CASES += [made(shape, factor) for made in (one_adamw, master_adamw) for shape in SHAPES[1:]
          for factor in (0.5, 0.0)]

# ---- LAMB ---------------------------------------------------------------------------------------

PHASE1: tuple[dict[str, Any], ...] = (
    {"t": 3, "wd": 0.25, "rescale_grad": 0.5, "clip_gradient": 0.25},
    {"t": 1, "wd": 0.0, "bias_correction": False, "beta1": 0.5, "epsilon": 0.125})
PHASE2: tuple[dict[str, Any], ...] = (
    {"lr": 0.125}, {"lr": 0.125, "lower_bound": 2.0}, {"lr": 0.125, "upper_bound": 0.5})


def phase1(p: dict[str, Any], shape: tuple[int, ...], has_master: bool) -> Case:
    states = ([single(shape), positive(shape), single(shape)] if has_master
              else [Input(shape), Input(shape, kind="positive")])

    def rule(*a: Array) -> Arrays:
        return lamb_1(p, a[4 if has_master else 0], *a[1:4])
    return Case("mp_lamb_update_phase1" if has_master else "lamb_update_phase1", p,
                [Input(shape), Input(shape), *states], reference=lambda *a: rule(*a)[0],
                after=lambda *a: {2: rule(*a)[1], 3: rule(*a)[2]}, native=not has_master,
                dtypes=("float16",) if has_master else ("float32", "float64"), rtol=SINGLE,
                atol=SINGLE)


def phase2(p: dict[str, Any], shape: tuple[int, ...], has_master: bool, r2: float) -> Case:
    given = "float32" if has_master else None
    norms = [Input((1,), dtype=given, values=[1.5]), Input((1,), dtype=given, values=[r2])]
    return Case("mp_lamb_update_phase2" if has_master else "lamb_update_phase2", p,
                [Input(shape), Input(shape, dtype=given), *norms,
                 *([single(shape)] if has_master else [])],
                reference=lambda *a: lamb_2(p, a[4 if has_master else 0], a[1], 1.5, r2),
                native=not has_master,
                dtypes=("float16",) if has_master else ("float32", "float64"), rtol=SINGLE,
                atol=SINGLE)


CASES += [phase1(p, shape, has_master) for p in PHASE1 for shape in SHAPES[1:]
          for has_master in (False, True)]
CASES += [phase2(p, (3, 5), has_master, r2) for p in PHASE2 for r2 in (0.5, 0.0)
          for has_master in (False, True)]
