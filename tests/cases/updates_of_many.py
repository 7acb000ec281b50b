"""Steps of many weights in one call, sums of squares, LARS."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input

from .updates import momentum, sgd
from .updates_of_masters import ADAMW, LOOSE, SINGLE, adamw, lamb_1, lamb_2, norm

SHAPES = ((3, 5), (4,))
LRS, WDS, ETAS, STEPS = (0.125, 0.5), (0.25, 0.0), (0.5, 1.0), (1, 3)
SCALE: dict[str, Any] = {"rescale_grad": 2.0, "clip_gradient": 0.5}


def many(op: str, params: dict[str, Any], rule: Any, states: int,
         tail: tuple[tuple[float, ...], ...] = (), dtypes: tuple[str, ...] = ("float32",)) -> Case:
    """`rule(i, w, g, *states)` is the step of one weight."""
    has_master = "mp_" in op
    inputs: list[Input] = []
    for shape in SHAPES:
        kind = "float32" if has_master else None
        inputs += [Input(shape), Input(shape)]
        inputs += [Input(shape, dtype=kind, kind="positive")] * states
        inputs += [Input(shape, dtype="float32")] if has_master else []
    stride = len(inputs) // 2
    inputs += [Input((len(x),), dtype="float32", values=list(x)) for x in tail]

    def steps(a: tuple[Array, ...]) -> list[tuple[Array, ...]]:
        made = []
        for i in range(2):
            w, g, *rest = a[i * stride:(i + 1) * stride]
            if has_master:
                w = rest.pop()
            made.append(rule(i, w, g, *rest))
        return made

    def after(*a: Array) -> dict[int, Array]:
        changed = {}
        for i, (new, *found) in enumerate(steps(a)):
            found += [new] if has_master else []
            changed.update({i * stride + 2 + j: x for j, x in enumerate(found)})
        return changed
    return Case(op, params, inputs, reference=lambda *a: tuple(new for new, *_ in steps(a)),
                after=after if states or has_master else None, dtypes=dtypes,
                native=not has_master, rtol=SINGLE if has_master else LOOSE,
                atol=SINGLE if has_master else LOOSE)


def sgd_of(i: int, *a: Array) -> tuple[Array, ...]:
    p = {"lr": LRS[i], "wd": WDS[i], **SCALE}
    return sgd(p, *a) if len(a) == 2 else momentum({**p, "momentum": 0.75}, *a)


def adamw_of(i: int, *a: Array) -> tuple[Array, ...]:
    return adamw({**ADAMW, "lr": LRS[i], "wd": WDS[i], "eta": ETAS[i]}, a, 0.5)


def lamb_of(i: int, w: Array, *a: Array) -> tuple[Array, ...]:
    step, mean, var = lamb_1({"t": STEPS[i], "wd": WDS[i], **SCALE}, w, *a)
    return lamb_2({"lr": LRS[i]}, w, step, norm(w), norm(step)), mean, var


LISTS = {"lrs": LRS, "wds": WDS}
CASES = []
for word, dtypes in (("", ("float32", "float64")), ("mp_", ("float16",))):
    for name, states, own in (("sgd_update", 0, {}), ("sgd_mom_update", 1, {"momentum": 0.75})):
        CASES += [many(f"multi_{word}{name}", {**LISTS, **SCALE, **own, "num_weights": 2}, sgd_of,
                       states, (), dtypes),
                  many(f"preloaded_multi_{word}{name}", {**SCALE, **own, "num_weights": 2}, sgd_of,
                       states, (LRS, WDS), dtypes)]
    both = {key: ADAMW[key] for key in ("beta1", "beta2", "epsilon", "clip_gradient")}
    CASES += [many(f"_multi_{word}adamw_update", {**both, **LISTS, "etas": ETAS, "num_weights": 2},
                   adamw_of, 2, ((0.5,),), dtypes),
              many(f"_multi_{word}lamb_update",
                   {"learning_rates": LRS, "wds": WDS, "step_count": STEPS, **SCALE,
                    "num_tensors": 2}, lamb_of, 2, (), dtypes)]


def sums(*a: Array) -> Array:
    return np.array([np.sum(np.square(x.astype(np.float64))) for x in a])


def lars(lr: Array, w: Array, g: Array, wd: Array) -> Array:
    rate = lr * 0.5 * np.sqrt(w) / (2 * np.sqrt(g) + wd * np.sqrt(w) + 0.25)
    return np.where((w > 0) & (g > 0), rate, lr)


CASES += [
    Case("multi_sum_sq", {"num_arrays": 2}, [(3, 5), (2, 20, 3, 2)], reference=sums,
         dtypes=("float32", "float64", "float16"), native=True, rtol=LOOSE, atol=LOOSE),
    Case("multi_sum_sq", {"num_arrays": 1}, [(9000,)], reference=sums, native=True, rtol=LOOSE,
         atol=LOOSE),
    Case("multi_lars", {"eta": 0.5, "eps": 0.25, "rescale_grad": 2.0},
         [(4,), Input((4,), values=[1.0, 0.0, 2.0, 0.5]), Input((4,), values=[0.5, 1.0, 0.0, 4.0]),
          (4,)], reference=lars),
]
