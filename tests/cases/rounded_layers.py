"""Layers on 8-bit data whose parameters were rounded beforehand, and what rounds these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input
from tests.cases.quantization import MOST, F, conv, dense, ends, one, told_range, whole, widest

RNG = np.random.default_rng(12)
SUM_ENDS = (-1.5, 2.25)
INF = float("inf")


def case(op: str, params: dict[str, Any], inputs: list[Input], reference: Callable[..., Any],
         **more: Any) -> Case:
    return Case(op, params, inputs, reference=reference, exact=True, dtypes=("float32",), **more)


# ---- layers -------------------------------------------------------------------------------------


def scales(count: int) -> Input:
    return Input((count,), "float32", values=RNG.uniform(1e-4, 4e-3, count).astype(F))


def biases(count: int, dtype: str) -> Input:
    return Input((count,), dtype, values=RNG.integers(-3000, 3000, count))


def bent(p: dict[str, Any], when: str, x: Array) -> Array:
    x = np.where(x < 0, x * F(p.get(f"{when}_slope", 1)), x)
    return np.minimum(np.maximum(x, F(p.get(f"{when}_low", -INF))), F(p.get(f"{when}_high", INF)))


def finished(p: dict[str, Any], sums_of: Callable[..., Any], column: tuple[int, ...],
             ) -> Callable[..., Any]:
    kind = p["out_type"]

    def reference(x: Array, w: Array, *more: Array) -> Any:
        rest = list(more)
        y = sums_of(x, w, *(np.ones(1, F),) * 4)[0]
        if not p.get("no_bias"):
            bias = rest.pop(0)
            y = y + bias.reshape(column) if kind == "int32" else y.astype(F) + bias.reshape(column)
        if kind == "int32":
            return y.astype(np.int32)
        y = y.astype(F) * (rest[0] if rest[0].size == 1 else rest[0].reshape(column))
        y = bent(p, "first", y)
        if p.get("with_sum"):
            own = MOST[rest[1].dtype.name] / F(widest(rest[2][0], rest[3][0]))
            y = y + rest[1].astype(F) * (F(p["out_scale"]) / own)
        y = bent(p, "last", y)
        if kind == "float32":
            return y
        info = np.iinfo(kind)
        return np.clip(np.rint(y), info.min, info.max).astype(kind)
    return reference


GIVEN: tuple[dict[str, Any], ...] = (
    {"out_type": "int8"},
    {"out_type": "uint8", "last_low": 0.0},
    {"out_type": "float32", "first_slope": 0.25, "last_high": 90.0},
    {"out_type": "int32"},
    {"out_type": "int8", "no_bias": True, "first_low": -20.0, "first_high": 55.5},
    {"out_type": "uint8", "with_sum": True, "out_scale": 40.0, "first_low": 0.0},
    {"out_type": "int8", "with_sum": True, "out_scale": 31.0, "last_slope": 0.5},
    {"out_type": "float32", "with_sum": True, "out_scale": 1.0, "no_bias": True},
    {"out_type": "int32", "no_bias": True})


def rest(p: dict[str, Any], filters: int, shape: tuple[int, ...], count: int, dtype: str,
         ) -> list[Input]:
    is_sums = p["out_type"] == "int32"
    bias = [] if p.get("no_bias") else [biases(filters, "int32" if is_sums else "float32")]
    summand = [whole(shape, dtype), *ends(*SUM_ENDS)] if p.get("with_sum") else []
    return [*bias, *([] if is_sums else [scales(count)]), *summand]


CASES = [
    *(case("_fused_rounded_conv",
           {"kernel": (3, 3), "num_filter": filters, "pad": (1, 1), "stride": (2, 2),
            "num_group": groups, **p},
           [whole((2, channels, 5, 6), dtype),
            whole((filters, channels // groups, 3, 3), weight_groups=groups),
            *rest(p, filters, (2, filters, 3, 3), filters if channels != 7 else 1, dtype)],
           finished(p, conv(stride=2, pad=1, groups=groups), (1, -1, 1, 1)))
      for dtype in ("int8", "uint8")
      for p, (channels, filters, groups) in zip(GIVEN, (
          (3, 20, 1), (4, 17, 1), (6, 32, 2), (7, 16, 1), (20, 20, 20), (7, 33, 1), (32, 32, 2),
          (9, 12, 3), (6, 6, 6)), strict=True)),
    *(case("_fused_rounded_dense", {"num_hidden": hidden, **p},
           [whole((rows, features), dtype), whole((hidden, features), weight_groups=1),
            *rest(p, hidden, (rows, hidden), count, dtype)], finished(p, dense, (1, -1)))
      for dtype in ("int8", "uint8")
      for p, (rows, features, hidden, count) in zip(GIVEN, (
          (3, 70, 20, 1), (1, 5, 1, 1), (7, 33, 17, 17), (2, 64, 32, 1), (7, 9, 16, 16),
          (2, 3, 40, 40), (6, 8, 5, 1), (13, 2, 3, 3), (2, 2, 2, 2)), strict=True)),
]

# ---- parameters ---------------------------------------------------------------------------------


def rounded_layer(p: dict[str, Any]) -> Callable[..., Any]:
    """Row by row; batch normalization first."""
    most_of_data = MOST[p["data_type"]]
    out_scale = p.get("out_scale")

    def reference(low: Array, high: Array, weight: Array, *others: Array) -> Any:
        summand = widest(others[-2][0], others[-1][0]) if p.get("with_sum") else 0
        given = iter(others[:-2] if p.get("with_sum") else others)
        bias = None if p.get("no_bias") else next(given)
        if p.get("with_norm"):
            gamma, beta, mean, var = given
            factor = (F(1) if p.get("fix_gamma", True) else gamma) / np.sqrt(var + F(p["eps"]))
            bias = beta + factor * ((F(0) if bias is None else bias) - mean)
            weight = weight * factor.reshape(-1, *[1] * (weight.ndim - 1))
        own = most_of_data / F(widest(low[0], high[0]))
        most = abs(weight).max()
        added = F(0 if bias is None else abs(bias).max()) * F(p.get("growth", 1)) + F(
            summand * p.get("sum_growth", 1))
        is_full = out_scale is None and summand and added * (F(127.5) / most * own) >= 2**30
        whole_weight, whole_bias, scale = [], [], []
        for i, row in enumerate(weight):
            of = F(127.5) / (most if out_scale is None else abs(row).max())
            if is_full:
                of = F(2**30) / added / own
            if bias is not None and out_scale is not None and bias[i]:
                of = min(of, F(2**30) / abs(bias[i]) / own)
            whole_weight.append(np.clip(np.rint(row * of), -128, 127))
            if bias is not None:
                whole_bias.append(np.rint(bias[i] * (of * own)))
            if out_scale is not None:
                scale.append(F(out_scale) / own / of)
        made = [np.array(whole_weight).astype(np.int8)]
        if bias is not None:
            made.append(np.array(whole_bias).astype(np.int32 if out_scale is None else F))
        end = F(2**31) / (of * own)
        told = (one(-end), one(end)) if is_full else told_range(
            p["data_type"], low, high, one(-most), one(most))
        last = ([np.array(scale, F)] if out_scale is not None
                else [*told, *([one(F(own * of))] if p.get("with_steps") else [])])
        return (*made, *last)
    return reference


def rounded_dense(p: dict[str, Any]) -> Callable[..., Any]:
    def reference(low: Array, high: Array, weight: Array, w_low: Array, w_high: Array,
                  *bias: Array) -> Any:
        own = MOST[p["data_type"]] / F(widest(low[0], high[0]))
        scale = F(127.5) / F(widest(w_low[0], w_high[0]))
        made = [weight]
        if bias:
            b_scale = F(127.5) / F(widest(bias[1][0], bias[2][0]))
            x = bias[0] * (own * scale / b_scale)
            made.append(np.copysign(np.floor(abs(x) + F(0.5)), x).astype(
                np.int32 if p.get("out_scale") is None else F))
        if p.get("out_scale") is None:
            steps = [one(F(own * scale))] if p.get("with_steps") else []
            return (*made, *told_range(p["data_type"], low, high, w_low, w_high), *steps)
        return (*made, one(F(p["out_scale"]) / own / scale))
    return reference


def floats(*shape: int, low: float = -1.0) -> Input:
    return Input(shape, "float32", values=RNG.uniform(low, 1, shape).astype(F))


NORM: dict[str, Any] = {"with_norm": True, "eps": 0.25}
LAYERS: list[tuple[dict[str, Any], tuple[int, ...]]] = [
    ({"out_scale": 17.0}, (5, 3, 3, 3)), ({"out_scale": 1.0, "no_bias": True}, (20, 7)),
    ({}, (4, 2, 1, 1)), ({"no_bias": True}, (3, 17)), ({"out_scale": 3.5, **NORM}, (5, 3, 2, 3)),
    ({"out_scale": 3.5, "no_bias": True, "fix_gamma": False, **NORM}, (7, 4, 1, 1)),
    ({"fix_gamma": False, **NORM}, (2, 9)), ({"with_steps": True}, (3, 8, 1, 1)),
    ({"with_steps": True, "no_bias": True}, (2, 5)),
    ({"with_steps": True, "with_sum": True, "growth": 3.5, "sum_growth": 2.0}, (3, 4, 1, 1))]
LAYERS += [({**LAYERS[-1][0], **NORM}, (2, 3, 1, 2)), ({**LAYERS[-1][0], "no_bias": True}, (3, 5))]
CASES += [
    *(case("_round_layer", {"data_type": kind, **p},
           [*ends(-1.0 * size, 2.5 * size), floats(*shape),
            *([] if p.get("no_bias") else [floats(shape[0])]),
            *([floats(shape[0]), floats(shape[0]), floats(shape[0]), floats(shape[0], low=0.0)]
              if p.get("with_norm") else []),
            *(ends(*SUM_ENDS) if p.get("with_sum") else [])],
           rounded_layer(p | {"data_type": kind}))
      for kind in ("int8", "uint8") for p, shape in LAYERS
      for size in ((1.0, 1e-6) if p.get("with_sum") else (1.0,))),
    *(case("_round_dense", {"data_type": kind, **p},
           [*ends(-1.0, 2.5), whole((5, 7)), *ends(-0.7, 0.9),
            *([] if p.get("no_bias") else [whole((5,)), *ends(-0.25, 0.5)])],
           rounded_dense(p | {"data_type": kind}))
      for kind in ("int8", "uint8")
      for p in ({"out_scale": 17.0}, {"out_scale": 1.0, "no_bias": True}, {}, {"no_bias": True},
                {"with_steps": True})),
]

# ---- what follows sums --------------------------------------------------------------------------


def bent_sums(p: dict[str, Any]) -> Callable[..., Any]:
    def bend(when: str, y: Array, steps: Any) -> Array:
        y = np.where(y < 0, y * p.get(f"{when}_slope", 1), y)
        low, high = (p.get(f"{when}_{end}", bound) for end, bound in (("low", -INF), ("high", INF)))
        return np.clip(y, low * np.float64(steps), high * np.float64(steps))

    def reference(data: Array, steps: Array, *summand: Array) -> Any:
        y = bend("first", data.astype(np.float64), steps[0])
        if summand:
            added, low, high = summand
            own = MOST[added.dtype.name] / F(widest(low[0], high[0]))
            y = y + added.astype(np.float64) * F(steps[0] / own)
        y = np.rint(bend("last", y, steps[0]))
        return np.clip(y, -2**31, 2**31 - 1).astype(np.int32)
    return reference


CASES += [
    case("_bend_sums", {**p, "with_sum": kind is not None},
         [Input(shape, "int32", values=RNG.integers(-40000, 40000, shape)),
          Input((1,), "float32", values=[1234.5]),
          *([] if kind is None else [whole(shape, kind), *ends(*SUM_ENDS)])], bent_sums(p))
    for shape in ((2, 20, 3, 4), (3, 5))
    for p, kind in (({"last_low": 0.0}, None), ({"last_low": 0.0}, "int8"),
                    ({"first_low": 0.0}, "uint8"), ({"last_low": 0.0, "last_high": 6.0}, "int8"),
                    ({"first_slope": 0.1, "last_slope": -1.0}, "uint8"), ({}, "uint8"))]
