"""_sg_mkldnn_conv and its like: layers with a graph inside, value by value."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ndarray_rt as mx
from ndarray_rt.testing.case import Array, Case, Input
from tests.cases.control_flow import graphs
from tests.cases.quantization import F, ends, one, whole

CONV, DENSE = "_sg_mkldnn_conv", "_sg_mkldnn_fully_connected"
RANGE = {"min_calib_range": -6.0, "max_calib_range": 8.0}
CALIBRATED: dict[str, Any] = {"quantized": True, **RANGE}
STEP = F(1.25) / F(127.5)  # of data that goes up to 1.25
RNG = np.random.default_rng(11)


def fused(op: str, symbol: Any, params: dict[str, Any], inputs: Sequence[Input],
          reference: Callable[..., Any], **more: Any) -> Case:
    more = {"exact": params.get("quantized", False), "native": False, **more}
    return Case(op, {**params, "subgraphs": graphs(symbol)}, inputs, reference=reference,
                dtypes=("float32",),
                exempt={"gradient": "zeros: what is fused is for inference"}, **more)


def weights(*shape: int) -> Input:
    """Floats whose products with data are whole steps, or nearly."""
    return Input(shape, "float32", values=RNG.integers(-16, 17, shape) / 16)


def rows_of(x: Array) -> Array:
    return x.reshape(len(x), -1)


def int8(x: Array, by_rows: bool) -> tuple[Array, Array]:
    """Weights as int8 and what they were multiplied by."""
    most = abs(rows_of(x)).max(axis=1) if by_rows else np.full(len(x), abs(x).max())
    scales = F(127.5) / most.astype(F)
    made = np.clip(np.rint(rows_of(x) * scales[:, None]), -128, 127)
    return made.reshape(x.shape).astype(np.int64), scales


def windows(x: Array, w: Array) -> Array:
    """Sums of 3x3 windows, with a border of 1."""
    n, _, height, width = x.shape
    padded = np.pad(x.astype(np.int64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    made = np.zeros((n, len(w), height, width), np.int64)
    for b, f, i, j in np.ndindex(made.shape):
        made[b, f, i, j] = (padded[b, :, i:i + 3, j:j + 3] * w[f]).sum()
    return made


def to(dtype: str, x: Array) -> Array:
    info = np.iinfo(dtype)
    return np.clip(np.rint(x), info.min, info.max).astype(dtype)


# ---- convolutions -------------------------------------------------------------------------------


def conv(follow: Callable[[Any], Any] | None = None, bias: bool = True) -> Any:
    x = mx.sym.Convolution(mx.sym.var("x"), kernel=(3, 3), pad=(1, 1), num_filter=4,
                           no_bias=not bias, name="c")
    return x if follow is None else follow(x)


def relu(x: Any) -> Any:
    return mx.sym.Activation(x, act_type="relu")


def norm(x: Any) -> Any:
    return mx.sym.BatchNorm(x, fix_gamma=False, eps=0.25, name="n")


def plus(x: Any) -> Any:
    return mx.sym.elemwise_add(x, mx.sym.var("s"))


def conv_floats(x: Array, w: Array, b: Array, gamma: Array, beta: Array, s: Array,
                mean: Array, var: Array) -> Array:
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    y = np.zeros((len(x), len(w), *x.shape[2:]))
    for n, f, i, j in np.ndindex(y.shape):
        y[n, f, i, j] = (padded[n, :, i:i + 3, j:j + 3] * w[f]).sum() + b[f]
    column = (1, -1, 1, 1)
    y = (y - mean.reshape(column)) / np.sqrt(var + 0.25).reshape(column)
    return np.maximum(y * gamma.reshape(column) + beta.reshape(column) + s, 0)


def conv_calibrated(dtype: str, f: Callable[[Array, Any], Array]) -> Callable[..., Any]:
    """With a scale for each filter; `f(numbers in the steps of the output, its scale)`."""
    def reference(x: Array, w: Array, b: Array, *rest: Array) -> Any:
        data = (F(127.5) if x.dtype == np.int8 else F(255.5)) / F(1.25)
        kept, scales = int8(w, True)
        out = (F(127.5) if dtype == "int8" else F(255.5)) / F(8)
        sums = windows(x, kept) + np.rint(b * (scales * data)).reshape(1, -1, 1, 1)
        y = sums.astype(F) * (out / data / scales).astype(F).reshape(1, -1, 1, 1)
        return to(dtype, f(y, out)), one(-6), one(8)
    return reference


def conv_int32(x: Array, w: Array, *rest: Array) -> Any:
    """One scale for all filters; sums of int32, and their range."""
    kept, _ = int8(w, False)
    steps = F(1.25) / F(127 if x.dtype == np.int8 else 255) * (F(abs(w).max()) / F(127))
    top = F(steps * F(2**31))
    return np.maximum(windows(x, kept), 0).astype(np.int32), one(-top), one(top)


SHAPE = (2, 3, 4, 3)
PICTURES = {dtype: [whole(SHAPE, dtype), weights(4, 3, 3, 3)] for dtype in ("int8", "uint8")}
BIAS = [Input((4,), "float32", values=[0.5, -1, 0, 2])]
SPAN = {"int8": ends(-1.25, 1.0), "uint8": ends(0, 1.25)}

CASES = [
    fused(CONV, conv(lambda x: relu(plus(norm(x)))),
          {"with_bn": True, "with_sum": True, "with_postsum_act": True},
          [Input(SHAPE), Input((4, 3, 3, 3)), Input((4,)), Input((4,)), Input((4,)),
           Input((4,)), Input((4,), kind="positive"), Input((2, 4, 4, 3))],
          lambda x, w, b, gamma, beta, mean, var, s: conv_floats(
              x, w, b, gamma, beta, s, mean, var)),
    *(fused(CONV, conv(), CALIBRATED, [*PICTURES[dtype], *BIAS, *SPAN[dtype]],
            conv_calibrated("int8", lambda y, out: y), no_grad={0})
      for dtype in ("int8", "uint8")),
    *(fused(CONV, conv(relu), {"with_act": True, **CALIBRATED},
            [*PICTURES[dtype], *BIAS, *SPAN[dtype]],
            conv_calibrated("uint8", lambda y, out: y), no_grad={0})
      for dtype in ("int8", "uint8")),
    fused(CONV, conv(lambda x: mx.sym.clip(x, a_min=0, a_max=3)),
          {"with_act": True, **CALIBRATED}, [*PICTURES["uint8"], *BIAS, *SPAN["uint8"]],
          conv_calibrated("uint8", lambda y, out: np.minimum(y, F(3) * out)), no_grad={0}),
    *(fused(CONV, conv(relu, bias=False), {"with_act": True, "quantized": True},
            [*PICTURES[dtype], *SPAN[dtype]], conv_int32, no_grad={0})
      for dtype in ("int8", "uint8")),
    *(fused(CONV, conv(plus, bias=True), {"with_sum": True, **CALIBRATED},
            [*PICTURES["uint8"], *BIAS, whole((2, 4, 4, 3), dtype), *SPAN["uint8"],
             *ends(-3 if dtype == "int8" else 0, 4)],
            lambda x, w, b, s, *rest: conv_calibrated(
                "int8", lambda y, out: y + s.astype(F) * (
                    out / ((F(127.5) if s.dtype == np.int8 else F(255.5)) / F(4))))(x, w, b),
            no_grad={0, 3}) for dtype in ("int8", "uint8")),
]

# ---- dense layers -------------------------------------------------------------------------------


def dense(follow: Callable[[Any], Any] | None = None, bias: bool = True) -> Any:
    x = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=5, no_bias=not bias, name="d")
    return x if follow is None else follow(x)


def dense_sums(x: Array, w: Array, b: Array, low_w: Array, high_w: Array, low_b: Array,
               high_b: Array) -> tuple[Array, Any]:
    """Sums with an int8 bias in their steps, and what they are multiples of."""
    data = (F(127.5) if x.dtype == np.int8 else F(255.5)) / F(1.25)
    own = F(127.5) / max(abs(low_w[0]), abs(high_w[0]))
    factor = data * own / (F(127.5) / max(abs(low_b[0]), abs(high_b[0])))
    whole_bias = np.array([math.copysign(math.floor(abs(v) * factor + 0.5), v) for v in b])
    return rows_of(x).astype(np.int64) @ w.T.astype(np.int64) + whole_bias, data * own


def dense_bytes(kind: str) -> Callable[..., Any]:
    def reference(x: Array, w: Array, b: Array, *ranges: Array) -> Any:
        sums, steps = dense_sums(x, w, b, *ranges[2:])
        if kind == "float32":
            return np.maximum(sums / steps, 0).astype(F)
        if kind == "int32":
            most = F(127 if x.dtype == np.int8 else 255)
            top = F(F(1.25) / most * (F(0.5) / F(127)) * F(2**31))
            return sums.astype(np.int32), one(-top), one(top)
        out = (F(127.5) if kind == "int8" else F(255.5)) / F(8)
        return to(kind, sums * float(out / steps)), one(-6), one(8)
    return reference


def dense_rows(x: Array, w: Array, b: Array, *rest: Array) -> Any:
    data = F(255.5) / F(1.25)
    kept, scales = int8(w, True)
    sums = rows_of(x).astype(np.int64) @ kept.T + np.rint(b * (scales * data))
    real = sums / (data * scales).astype(float)
    return to("int8", real * float(F(127.5) / F(8))), one(-6), one(8)


FEATURES = {dtype: [whole((3, 2, 3), dtype), whole((5, 6)), whole((5,)), *SPAN[dtype],
                    *ends(-0.5, 0.5), *ends(-0.75, 1.0)] for dtype in ("int8", "uint8")}
CASES += [
    fused(DENSE, dense(mx.sym.abs), {"with_eltwise": True},
          [Input((3, 2, 3)), Input((5, 6)), Input((5,))],
          lambda x, w, b: abs(rows_of(x) @ w.T + b)),
    *(fused(DENSE, dense(relu if kind in ("uint8", "float32") else None),
            {"quantized": True, "with_eltwise": kind in ("uint8", "float32"),
             "enable_float_output": kind == "float32",
             **(RANGE if kind in ("int8", "uint8") else {})},
            FEATURES[dtype], dense_bytes(kind), no_grad={0, 1, 2})
      for dtype in ("int8", "uint8") for kind in ("int8", "uint8", "int32")),
    fused(DENSE, dense(), {"channel_wise_quantize": True, **CALIBRATED},
          [whole((3, 2, 3), "uint8"), weights(5, 6),
           Input((5,), "float32", values=[1, -2, 0, 0.5, 3]), *SPAN["uint8"]], dense_rows,
          no_grad={0}),
]

# ---- attention ----------------------------------------------------------------------------------

SCORES, WEIGHTED = "_sg_mkldnn_selfatt_qk", "_sg_mkldnn_selfatt_valatt"
HEADS, SIZE = 2, 4


def scores() -> Any:
    return mx.sym.contrib.interleaved_matmul_selfatt_qk(mx.sym.var("x"), heads=HEADS)


def weighted() -> Any:
    return mx.sym.contrib.interleaved_matmul_selfatt_valatt(mx.sym.var("x"), mx.sym.var("a"),
                                                            heads=HEADS)


def part(x: Array, b: int, which: int, step: int) -> Array:
    """A query, key or value of a sample's head."""
    begin = (b % HEADS * 3 + which) * SIZE
    return x[step, b // HEADS, begin:begin + SIZE].astype(np.float64)


def score_sums(x: Array) -> Array:
    steps, batch, _ = x.shape
    made = np.zeros((batch * HEADS, steps, steps))
    for b, i, j in np.ndindex(made.shape):
        made[b, i, j] = part(x, b, 0, i) @ part(x, b, 1, j)
    return made


def weighted_sums(x: Array, a: Array) -> Array:
    steps, batch, _ = x.shape
    made = np.zeros((steps, batch, HEADS * SIZE))
    for b, i, j in np.ndindex(a.shape):
        begin = b % HEADS * SIZE
        made[i, b // HEADS, begin:begin + SIZE] += a[b, i, j] * part(x, b, 2, j)
    return made


def half(dtype: Any) -> Any:
    return F(127.5) if dtype == np.int8 else F(255.5)


def most(dtype: Any) -> Any:
    return F(127 if dtype == np.int8 else 255)


def product(kind: str, sums: Callable[..., Array], factor: float) -> Callable[..., Any]:
    """Sums as floats, as int8, or as they are; each input is followed by its range."""
    def reference(*given: Array) -> Any:
        arrays = given[:len(given) // 3]
        tops = [F(max(abs(low[0]), abs(high[0]))) for low, high in zip(
            given[len(arrays)::2], given[len(arrays) + 1::2], strict=True)]
        pairs = [*zip(arrays, tops, strict=True)] * (3 - len(arrays))
        step = F(half(pairs[0][0].dtype) / pairs[0][1]) * F(half(pairs[1][0].dtype) / pairs[1][1])
        y = sums(*arrays)
        if kind == "float32":
            return y.astype(F) * F(F(factor) / step)
        if kind == "int8":
            scale = F(F(127.5) / F(8)) / step * F(factor)
            return to("int8", y.astype(F) * scale), one(-6), one(8)
        steps = [F(top / most(x.dtype)) for x, top in pairs]
        end = F(steps[-1] * steps[0] * F(2**31))
        return to("int32", y * F(factor)), one(-end), one(end)
    return reference


X = (3, 2, HEADS * 3 * SIZE)
A = (2 * HEADS, 3, 3)
OUTPUTS: dict[str, dict[str, Any]] = {"float32": {"enable_float_output": True}, "int8": RANGE,
                                      "int32": {}}
CASES += [
    fused(SCORES, scores(), {"heads": HEADS}, [Input(X)],
          lambda x: score_sums(x) / math.sqrt(SIZE)),
    fused(WEIGHTED, weighted(), {"heads": HEADS}, [Input(X), Input(A)], weighted_sums),
    *(fused(SCORES, scores(), {"heads": HEADS, "quantized": True, **params},
            [whole(X, dtype), *SPAN[dtype]], product(kind, score_sums, 0.5), no_grad={0},
            native=True if kind == "float32" else "auto")
      for kind, params in OUTPUTS.items() for dtype in ("int8", "uint8")),
    *(fused(WEIGHTED, weighted(), {"heads": HEADS, "quantized": True, **params},
            [whole(X, values), whole(A, dtype), *SPAN[values], *SPAN[dtype]],
            product(kind, weighted_sums, 1), no_grad={0, 1},
            native=True if kind == "float32" else "auto")
      for kind, params in OUTPUTS.items() for values in ("int8", "uint8")
      for dtype in ("int8", "uint8")),
]
