"""Operators on quantized numbers, element by element in Python."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input

F = np.float32
MOST = {"int8": F(127.5), "uint8": F(255.5), "int32": F(2**31)}
CALIBRATED: dict[str, Any] = {"min_calib_range": -1.25, "max_calib_range": 0.75}
POSITIVE: dict[str, Any] = {"min_calib_range": 0.0, "max_calib_range": 1.75}
RNG = np.random.default_rng(7)


def whole(shape: tuple[int, ...], dtype: str = "int8", most: int = 0, **more: Any) -> Input:
    """Numbers of a dtype, its ends among them."""
    info = np.iinfo(dtype)
    low, high = max(info.min, -most if most else info.min), min(info.max, most or info.max)
    values = RNG.integers(low, high + 1, shape)
    if values.size > 1:
        values.flat[0], values.flat[-1] = low, high
    return Input(shape, dtype, values=values, **more)


def ends(*values: float) -> list[Input]:
    return [Input((1,), "float32", values=[value]) for value in values]


def fit(value: float, dtype: str) -> int:
    """The nearest number of a dtype, halves to even."""
    info = np.iinfo(dtype)
    return int(min(max(float(np.rint(value)), info.min), info.max))


def each(dtype: str, f: Callable[..., float], *arrays: Array) -> Array:
    made = [fit(f(*values), dtype) for values in zip(*(a.ravel() for a in arrays), strict=True)]
    return np.array(made, dtype).reshape(arrays[0].shape)


def one(value: Any) -> Array:
    return np.array([value], np.float32)


def widest(low: Any, high: Any) -> Any:
    return max(abs(F(low).item()), abs(F(high).item()), key=float)


def zeros(*arrays: Array) -> tuple[Array | None, ...]:
    """Gradients of what is for inference, of which only those of floats are looked at."""
    return tuple(np.zeros(a.shape, a.dtype) if a.dtype.kind == "f" else None for a in arrays)


def gradients(count: int) -> Callable[..., tuple[Array | None, ...]]:
    return lambda *arrays: zeros(*arrays[:count])


def case(op: str, params: dict[str, Any], inputs: Sequence[Any], reference: Callable[..., Any],
         **more: Any) -> Case:
    """Bit for bit, in float32 alone; gradients, which are zeros, where they are given."""
    exempt = {} if "gradients" in more else {"gradient": "zeros, as other cases of it show"}
    return Case(f"_contrib_{op}", params, inputs, reference=reference, exact=True,
                dtypes=("float32",), exempt=exempt, **more)


# ---- to whole numbers and back ------------------------------------------------------------------


def quantize(dtype: str) -> Callable[..., Any]:
    def reference(x: Array, low: Array, high: Array) -> Any:
        top = F(widest(low[0], high[0]))
        scale = F(127 if dtype == "int8" else 255) / top
        made = each(dtype, lambda v: F(v) * scale, x)
        return made, *((one(-top), one(top)) if dtype == "int8" else (low, high))
    return reference


def quantize_v2(dtype: str, given: dict[str, float]) -> Callable[..., Any]:
    def reference(x: Array) -> Any:
        low = F(given["min_calib_range"]) if given else x.min()
        high = F(given["max_calib_range"]) if given else x.max()
        top = F(widest(low, high))
        made = each(dtype, lambda v: F(v) * (MOST[dtype] / top), x)
        return made, *((one(-top), one(top)) if dtype == "int8" else (one(low), one(high)))
    return reference


def passed_on(x: Array) -> Any:
    most = MOST[x.dtype.name]
    return x, one(-most if x.dtype.name == "int8" else 0), one(most)


def quantize_asym(given: dict[str, float]) -> Callable[..., Any]:
    def reference(x: Array) -> Any:
        low = F(given["min_calib_range"]) if given else x.min()
        high = F(given["max_calib_range"]) if given else x.max()
        scale = F(255) / (high - low)
        shift = F(255) - high * scale
        return each("uint8", lambda v: F(v) * scale + shift, x), one(scale), one(shift)
    return reference


def dequantize(x: Array, low: Array, high: Array) -> Array:
    step = F(widest(low[0], high[0])) / MOST[x.dtype.name]
    return np.array([F(v) * step for v in x.ravel()], F).reshape(x.shape)


def requantize(dtype: str, given: dict[str, float]) -> Callable[..., Any]:
    def reference(x: Array, low: Array, high: Array) -> Any:
        own = F(widest(low[0], high[0]))
        if given:
            top = F(widest(given["min_calib_range"], given["max_calib_range"]))
        else:
            top = F(max(abs(int(v)) for v in x.ravel())) * own / F(2**31)
        scale = (own / F(2**31)) * (F(127 if dtype == "int8" else 255) / top)
        made = each(dtype, lambda v: F(v) * scale, x)
        return made, one(-top if dtype == "int8" else 0), one(top)
    return reference


SHAPES = ((2, 20, 3, 3), (3, 7), (1, 3, 4, 5, 2))
CASES = [
    *(case("quantize", {"out_type": dtype}, [Input(shape, "float32", -3, 3), *ends(-1.0, 1.5)],
           quantize(dtype), gradients=gradients(3))
      for dtype in ("int8", "uint8") for shape in SHAPES[:2]),
    *(case("quantize_v2", {"out_type": dtype, **given}, [Input(shape, "float32", -3, 2)],
           quantize_v2(dtype, given), gradients=gradients(1))
      for shape in SHAPES for dtype in ("int8", "uint8") for given in ({}, CALIBRATED)),
    case("quantize_v2", {"out_type": "auto", **POSITIVE}, [Input((2, 20, 3, 3), "float32", -1, 2)],
         quantize_v2("uint8", POSITIVE), gradients=gradients(1)),
    *(case("quantize_v2", {"out_type": dtype}, [whole((2, 20, 3, 3), dtype)], passed_on,
           no_grad={0}) for dtype in ("int8", "uint8")),
    *(case("quantize_asym", given, [Input((4, 3, 5), "float32", -1, 3)], quantize_asym(given),
           gradients=gradients(1)) for given in ({}, CALIBRATED)),
    *(case("dequantize", {}, [whole(shape, dtype), *ends(-1.5, 2.25)], dequantize, no_grad={0},
           gradients=gradients(3))
      for shape in SHAPES for dtype in ("int8", "uint8")),
    *(case("requantize", {"out_type": dtype, **given},
           [whole(shape, "int32"), *ends(-9.5, 10.25)], requantize(dtype, given), no_grad={0},
           gradients=gradients(3))
      for shape in SHAPES[:2] for dtype in ("int8", "uint8") for given in ({}, CALIBRATED)),
]


# ---- layers -------------------------------------------------------------------------------------


def told_range(a: str, low: Array, high: Array, w_low: Array, w_high: Array) -> tuple[Array, Array]:
    step = (F(widest(low[0], high[0])) / F(127 if a == "int8" else 255)
            * (F(widest(w_low[0], w_high[0])) / F(127)))
    return one(-step * F(2**31)), one(step * F(2**31))


def conv(stride: int = 1, pad: int = 0, dilate: int = 1, groups: int = 1) -> Callable[..., Any]:
    def reference(x: Array, w: Array, *rest: Array) -> Any:
        bias = rest[0] if len(rest) == 7 else np.zeros(len(w), int)
        n, _, height, width = x.shape
        filters, per, kh, kw = w.shape
        oh = (height + 2 * pad - dilate * (kh - 1) - 1) // stride + 1
        ow = (width + 2 * pad - dilate * (kw - 1) - 1) // stride + 1
        y = np.zeros((n, filters, oh, ow), np.int32)
        for b, f, i, j in np.ndindex(y.shape):
            total = int(bias[f])
            for c, u, v in np.ndindex(per, kh, kw):
                r, s = i * stride - pad + u * dilate, j * stride - pad + v * dilate
                if 0 <= r < height and 0 <= s < width:
                    at = f // (filters // groups) * per + c
                    total += int(x[b, at, r, s]) * int(w[f, c, u, v])
            y[b, f, i, j] = total
        return y, *told_range("int8", *rest[len(rest) - (6 if len(rest) == 7 else 4):][:4])
    return reference


def dense(x: Array, w: Array, *rest: Array) -> Any:
    lead = x.shape[:1] if math.prod(x.shape[1:]) == w.shape[1] else x.shape[:-1]
    rows = x.reshape(math.prod(lead), w.shape[1])
    with_bias = len(rest) == 7
    low, high, w_low, w_high = rest[with_bias:with_bias + 4]
    y = [[sum(int(a) * int(b) for a, b in zip(row, col, strict=True)) for col in w]
         for row in rows]
    made = np.array(y).reshape(len(rows), len(w))
    if with_bias:
        step = (MOST[x.dtype.name] / F(widest(low[0], high[0]))
                * (F(127.5) / F(widest(w_low[0], w_high[0])))
                * F(widest(rest[5][0], rest[6][0])) / F(127.5))
        made = made + np.array([math.trunc(float(F(b) * step)) for b in rest[0]])
    return (made.astype(np.int32).reshape(*lead, len(w)),
            *told_range(x.dtype.name, low, high, w_low, w_high))


ENDS = ends(-1.0, 2.5, -0.7, 0.9)
CASES += [
    *(case("quantized_conv", {"kernel": (3, 3), "num_filter": 20, "pad": (1, 1), **more},
           [whole((2, 20, 5, 4), dtype), whole((20, 20 // groups, 3, 3), weight_groups=groups),
            whole((20,)), *ENDS, *ends(-1.5, 1.0)], conv(pad=1, groups=groups, **extra),
           no_grad={0, 1, 2})
      for dtype in ("int8", "uint8")
      for groups, more, extra in ((1, {}, {}), (4, {"num_group": 4}, {}),
                                  (1, {"stride": (2, 2), "dilate": (1, 1)}, {"stride": 2}))),
    *(case("quantized_conv", {"kernel": (1, 1), "num_filter": 7, "no_bias": True},
           [whole((2, channels, 3, 4), dtype), whole((7, channels, 1, 1), weight_groups=1), *ENDS],
           conv(), no_grad={0, 1}) for dtype in ("int8", "uint8") for channels in (3, 33)),
    case("quantized_conv", {"kernel": (3, 3), "num_filter": 20, "num_group": 20, "no_bias": True},
         [whole((1, 20, 5, 6), "uint8"), whole((20, 1, 3, 3), weight_groups=20), *ENDS],
         conv(groups=20), no_grad={0, 1}),
    *(case("quantized_fully_connected", {"num_hidden": hidden},
           [whole((rows, features), dtype), whole((hidden, features), weight_groups=1),
            whole((hidden,)), *ENDS, *ends(-1.5, 1.0)], dense, no_grad={0, 1, 2})
      for dtype in ("int8", "uint8") for rows, features, hidden in ((3, 70, 20), (1, 5, 1))),
    *(case("quantized_fully_connected", {"num_hidden": 6, "no_bias": True, "flatten": flatten},
           [whole((2, 3, 9), dtype),
            whole((6, 27 if flatten else 9), weight_groups=1), *ENDS], dense, no_grad={0, 1})
      for dtype in ("int8", "uint8") for flatten in (True, False)),
]


# ---- between layers -----------------------------------------------------------------------------


def pooled(kind: str, kernel: tuple[int, int], stride: int, pad: int, inside: bool = False,
           full: bool = False) -> Callable[..., Any]:
    def reference(x: Array, low: Array, high: Array) -> Any:
        n, channels, *sizes = x.shape
        out = [(math.ceil if full else math.floor)((size + 2 * pad - k) / stride) + 1
               for size, k in zip(sizes, kernel, strict=True)]
        y = np.zeros((n, channels, *out), x.dtype)
        for b, c, i, j in np.ndindex(y.shape):
            met = [int(x[b, c, r, s])
                   for r in range(i * stride - pad, i * stride - pad + kernel[0])
                   for s in range(j * stride - pad, j * stride - pad + kernel[1])
                   if 0 <= r < sizes[0] and 0 <= s < sizes[1]]
            if kind == "max":
                y[b, c, i, j] = max(met)
            else:
                count = len(met) if inside else kernel[0] * kernel[1]
                y[b, c, i, j] = fit(float(F(sum(met)) / F(count)), x.dtype.name)
        return y, low, high
    return reference


def rescaled(*arrays: Array) -> Any:
    count = len(arrays) // 3
    lows, highs = arrays[count::2], arrays[count + 1::2]
    low, high = min(0, *(a[0] for a in lows)), max(0, *(a[0] for a in highs))
    dtype = "int8" if any(a.dtype.name == "int8" for a in arrays[:count]) else "uint8"
    wanted, parts = MOST[dtype] / F(widest(low, high)), []
    for x, a, b in zip(arrays[:count], lows, highs, strict=True):
        own = MOST[x.dtype.name] / F(widest(a[0], b[0]))
        factor = wanted / own
        same = own == wanted and x.dtype.name == dtype
        parts.append(x if same else each(dtype, lambda v, factor=factor: F(v) * factor, x))
    return parts, one(low), one(high)


def joined(axis: int) -> Callable[..., Any]:
    def reference(*arrays: Array) -> Any:
        parts, low, high = rescaled(*arrays)
        return np.concatenate(parts, axis), low, high
    return reference


def summed(given: dict[str, float]) -> Callable[..., Any]:
    def reference(a: Array, b: Array, *rest: Array) -> Any:
        tops = F(widest(rest[0][0], rest[1][0])), F(widest(rest[2][0], rest[3][0]))
        dtype = "int32" if not given else a.dtype.name if a.dtype == b.dtype else "int8"
        if given:
            wanted = F(widest(given["min_calib_range"], given["max_calib_range"]))
            scales = [(MOST[dtype] / wanted) / (MOST[x.dtype.name] / top)
                      for x, top in zip((a, b), tops, strict=True)]
        else:
            scales = [top * MOST[dtype] / (sum(tops, F(0)) * MOST[x.dtype.name])
                      for x, top in zip((a, b), tops, strict=True)]
        made = each(dtype, lambda v, w: F(v) * scales[0] + F(w) * scales[1], a, b)
        if given:
            return made, one(given["min_calib_range"]), one(given["max_calib_range"])
        return made, one(-sum(tops, F(0))), one(sum(tops, F(0)))
    return reference


def product(given: Mapping[str, Any]) -> Callable[..., Any]:
    def reference(a: Array, b: Array, *rest: Array) -> Any:
        pairs = [(int(v), int(w)) for v, w in zip(a.ravel(), b.ravel(), strict=True)]
        own = [F(127.5) / F(widest(rest[i][0], rest[i + 1][0])) for i in (0, 2)]
        if not given:
            made = np.array([v * w for v, w in pairs], np.int32).reshape(a.shape)
            return made, *told_range("int8", *rest)
        if "enable_float_output" in given:
            scale = F(1.0 / float(own[0]) / float(own[1]))
            return np.array([F(v * w) * scale for v, w in pairs], F).reshape(a.shape)
        scale = F(127.5) / F(widest(given["min_calib_range"], given["max_calib_range"]))
        scale = scale / own[0] / own[1]
        made = np.array([fit(math.trunc(float(F(v * w) * scale)), "int8")
                         for v, w in pairs], np.int8)
        return (made.reshape(a.shape), one(given["min_calib_range"]),
                one(given["max_calib_range"]))
    return reference


def normed(eps: float) -> Callable[..., Any]:
    def reference(x: Array, gamma: Array, beta: Array, mean: Array, var: Array, low: Array,
                  high: Array) -> Any:
        top, wanted = F(widest(low[0], high[0])), F(1.25)
        y = np.zeros(x.shape, np.int8)
        for place in np.ndindex(x.shape):
            c = place[1]
            inverse = F(1 / float(np.sqrt(var[c] + F(eps))))
            factor = gamma[c] * inverse * top / wanted / np.sqrt(F(1) + F(eps))
            summand = (beta[c] - mean[c] * gamma[c] * inverse) * F(127.5) / wanted
            value = int(x[place])
            if x.dtype == np.uint8:
                value = fit(F(value) * (F(127.5) / F(255.5)), "int8")
            y[place] = fit(F(value) * factor + summand, "int8")
        return y, one(-1.25), one(0.75)
    return reference


WINDOWS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"pad": (1, 1), "stride": (2, 2)}, {"stride": 2, "pad": 1}),
    ({"pad": (1, 1), "count_include_pad": False}, {"stride": 1, "pad": 1, "inside": True}),
    ({"stride": (2, 2), "pooling_convention": "full"}, {"stride": 2, "pad": 0, "full": True})]
CASES += [
    *(case("quantized_pooling", {"kernel": (2, 3), "pool_type": kind, **params},
           [whole((2, 20, 5, 6), dtype), *ends(-1.5, 2.25)],
           pooled(kind, (2, 3), **own), no_grad={0})
      for dtype in ("int8", "uint8") for kind in ("max", "avg") for params, own in WINDOWS),
    *(case("quantized_concat", {"num_args": 2, "dim": 1},
           [whole((2, 20, 3, 4), a), whole((2, 16, 3, 4), b), *ends(-1.5, 2.25, -0.5, 3.0)],
           joined(1), no_grad={0, 1})
      for a in ("int8", "uint8") for b in ("int8", "uint8")),
    case("quantized_concat", {"num_args": 3, "dim": 1},
         [whole((2, 5)), whole((2, 3)), whole((2, 1)), *ends(-2.0, 1.5, -0.5, 2.0, 0.5, 1.0)],
         joined(1), no_grad={0, 1, 2}),
    *(case("quantized_concat", {"num_args": 2, "dim": dim},
           [whole((2, 5, 3, 4)), whole((2, 5, 3, 4), "uint8"), *ends(-1.5, 2.25, -0.5, 3.0)],
           joined(dim), no_grad={0, 1}) for dim in (0, 2, 3)),
    *(case("quantized_act", {"act_type": "relu"}, [whole(shape, dtype), *ends(-1.5, 2.25)],
           lambda x, low, high: (np.where(x > 0, x, 0).astype(x.dtype), low, high))
      for shape in SHAPES for dtype in ("int8", "uint8")),
    *(case("quantized_flatten", {}, [whole(shape, dtype), *ends(-1.5, 2.25)],
           lambda x, low, high: (x.reshape(len(x), -1), low, high), no_grad={0})
      for shape in SHAPES for dtype in ("int8", "uint8")),
    *(case("quantized_elemwise_add", given,
           [whole(shape, a), whole(shape, b), *ends(-1.5, 2.25, -0.5, 3.0)], summed(given))
      for a, b, shape in (("int8", "int8", SHAPES[0]), ("uint8", "uint8", SHAPES[1]),
                          ("int8", "uint8", SHAPES[0]), ("uint8", "int8", SHAPES[2]))
      for given in ({}, CALIBRATED)),
    *(case("quantized_elemwise_mul", given,
           [whole(shape), whole(shape), *ends(-1.5, 2.25, -0.5, 3.0)], product(given),
           no_grad={0, 1}, native=True if "enable_float_output" in given else "auto")
      for shape in SHAPES for given in ({}, CALIBRATED, {"enable_float_output": True})),
    *(case("quantized_batch_norm", {**CALIBRATED, "eps": eps},
           [whole((2, 20, 3, 4), dtype),
            *(Input((20,), "float32", low, high)
              for low, high in ((0.5, 1.5), (-1, 1), (-1, 1), (0.3, 2.0))), *ends(-1.5, 2.25)],
           normed(eps), no_grad={0}) for dtype in ("int8", "uint8") for eps in (1e-3, 0.1)),
    *(case("quantized_embedding", {"input_dim": 4, "output_dim": 3},
           [Input((2, 3), dtype, values=[0, 3, 2, 9, 1, 0]), whole((4, 3)), *ends(-1.0, 2.0)],
           lambda at, w, low, high: (w[np.minimum(at.astype(int), 3)], low, high),
           no_grad={0, 1}) for dtype in ("int32", "float32")),
]


# ---- calibration --------------------------------------------------------------------------------


def entropy(bins: int) -> Callable[..., Any]:
    def smooth(p: list[Any]) -> list[Any] | None:
        zeros_of = sum(v == 0 for v in p)
        if zeros_of == len(p):
            return None
        taken = F(1e-4) * F(zeros_of) / F(len(p) - zeros_of)
        return None if taken >= 1 else [v + F(1e-4) if v == 0 else v - taken for v in p]

    def reference(hist: Array, edges: Array) -> Any:
        center, best, found = len(hist) // 2, F(np.inf), F(0)
        for reach in range(bins // 2, center + 1):
            start, stop = center - reach, center + reach + 1
            p = [F(v) for v in hist[start:stop]]
            middle = [0, *(int(v) for v in hist[start + 1:stop])]
            p[0], p[-1] = F(sum(hist[:start + 1])), F(sum(hist[stop - 1:]))
            q, step = [F(0)] * len(p), len(p) // bins
            for j in range(bins):
                places = range(j * step, len(p) if j == bins - 1 else (j + 1) * step)
                filled = [k for k in places if middle[k]]
                for k in places:
                    if filled and p[k]:
                        q[k] = F(sum(middle[i] for i in places)) / F(len(filled))
            given, kept = smooth(p), smooth(q)
            if given is None or kept is None:
                continue
            a, b = F(sum(given)), F(sum(kept))
            lost = sum((u / a) * np.log((u / a) / (v / b))
                       for u, v in zip(given, kept, strict=True))
            if lost < best:
                best, found = F(lost), edges[stop]
        return one(found), one(best)
    return reference


def weight(x: Array) -> tuple[Array, ...]:
    most = F(np.abs(x).max())
    return each("int8", lambda v: F(v) * (F(127) / most), x), one(-most), one(most)


CASES += [Case("_quantize_weight", {}, [shape], reference=weight, exact=True, dtypes=("float32",),
               exempt={"gradient": "it is for inference"})
          for shape in ((3, 5), (16, 3, 3, 2), (17,))]


def rounded_row(x: Array, dtype: str) -> tuple[list[int], Any]:
    """Whole numbers less their zero point, and what 1 stands for."""
    least, most = F(min(0, x.min())), F(max(0, x.max()))
    if dtype == "int8":
        step = max(-least, most) / F(127) or F(1)
        return [max(-127, min(127, round(float(F(v) / step)))) for v in x], step
    step = (most - least) / F(255) or F(1)
    zero = round(float(-least / step))
    return [max(-zero, min(255 - zero, round(float(F(v) / step)))) for v in x], step


def dynamic(dtype: str, per_tensor: bool) -> Callable[..., Array]:
    def reference(x: Array, w: Array, scale: Array, *bias: Array) -> Array:
        x = x.reshape(-1, w.shape[1])
        if per_tensor:
            flat, step = rounded_row(x.reshape(-1), dtype)
            rows = [(flat[i:i + x.shape[1]], step) for i in range(0, x.size, x.shape[1])]
        else:
            rows = [rounded_row(row, dtype) for row in x]
        made = [[F(sum(q * int(v) for q, v in zip(row, line, strict=True))) * (step * s)
                 for line, s in zip(w, scale, strict=True)] for row, step in rows]
        return np.array(made, np.float32) + (bias[0] if bias else F(0))
    return reference


CASES += [
    Case("_contrib_dynamic_fully_connected",
         {"num_hidden": n, "data_dtype": dtype, "per_tensor": per_tensor, "no_bias": no_bias},
         [(rows, k), whole((n, k)), Input((n,), low=0.01, high=0.1), *(() if no_bias else [(n,)])],
         reference=dynamic(dtype, per_tensor), dtypes=("float32",), rtol=1e-5, atol=1e-5,
         native=True, exempt={"gradient": "zeros, as it is for inference"})
    for rows, k, n, dtype, per_tensor, no_bias in (
        (1, 7, 5, "int8", False, False), (4, 6, 17, "uint8", False, True),
        (3, 5, 33, "uint8", True, False), (2, 8, 3, "int8", True, True))]


def rows_as_bytes(transposed: bool) -> Callable[..., tuple[Array, Array]]:
    def reference(x: Array) -> tuple[Array, Array]:
        x = x.T if transposed else x
        steps = np.abs(x).max(axis=1) / F(127)
        whole_rows = [[round(float(F(v) / step)) for v in row]
                      for row, step in zip(x, steps, strict=True)]
        return np.array(whole_rows, np.int8), steps.astype(np.float32)
    return reference


CASES += [Case("_quantize_rows", {"transposed": transposed}, [(5, 3)],
               reference=rows_as_bytes(transposed), exact=True, dtypes=("float32",),
               exempt={"gradient": "it is for inference"})
          for transposed in (False, True)]


BINS = [round(800 / (1 + abs(i - 50) / 9) ** 2) for i in range(101)]
CASES += [
    Case("_contrib_calibrate_entropy", {"num_quantized_bins": bins},
         [Input((101,), "float32", values=BINS),
          Input((102,), "float32", values=[(i - 50.5) / 40 for i in range(102)])],
         reference=entropy(bins), dtypes=("float32",), rtol=1e-3, atol=1e-5, native=True)
    for bins in (15, 63)]
