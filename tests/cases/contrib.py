"""Operators of contrib that stand alone, in loops written out."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input

FLOATS = ("float32", "float64", "float16")
HALVES: dict[str, Any] = {"rtol": {"float16": 2e-2}, "atol": {"float16": 2e-2}}


# ---- steps that let the gradient through --------------------------------------------------------


def rounded(x: Array) -> Array:
    return np.where(x < 0, np.ceil(x - 0.5), np.floor(x + 0.5))


STEPS = [-2.5, -1.5, -0.4, 0.0, 0.3, 0.5, 1.5, 2.7]
CASES = [
    Case(f"_contrib_{name}_ste", {}, [Input((2, 4), dtype, values=STEPS)], reference=step,
         gradients=lambda x, dy: dy + 0, native=False,
         dtypes=("float32",) if dtype else FLOATS,
         exempt={"gradient": "whole numbers have no differences"} if dtype else {})
    for name, step in (("round", rounded), ("sign", np.sign))
    for dtype in (None, "int32")]


# ---- Fourier transforms -------------------------------------------------------------------------


def turned(row: Array, k: int, sign: int) -> complex:
    return sum(complex(x) * cmath.exp(sign * 2j * cmath.pi * k * i / len(row))
               for i, x in enumerate(row))


def fft(x: Array) -> Array:
    rows = x.reshape(-1, x.shape[-1])
    made = [[part for k in range(len(row)) for z in [turned(row, k, -1)]
             for part in (z.real, z.imag)] for row in rows]
    return np.array(made).reshape(*x.shape[:-1], -1)


def ifft(x: Array) -> Array:
    rows = x.reshape(-1, x.shape[-1] // 2, 2) @ np.array([1, 1j])
    return np.array([[turned(row, k, 1).real for k in range(len(row))]
                     for row in rows]).reshape(*x.shape[:-1], -1)


CASES += [
    Case(op, params, [shape], reference=reference, native=False, native_backward=False,
         dtypes=FLOATS, **HALVES)
    for op, params, shape, reference in (
        ("_contrib_fft", {}, (3, 5), fft), ("_contrib_fft", {"compute_size": 1}, (2, 8), fft),
        ("_contrib_fft", {}, (2, 1, 3, 4), fft), ("_contrib_fft", {}, (4, 1), fft),
        ("_contrib_ifft", {}, (3, 10), ifft), ("_contrib_ifft", {"compute_size": 2}, (2, 8), ifft),
        ("_contrib_ifft", {}, (2, 1, 3, 6), ifft))]
CASES += [Case(op, {}, [(0, 4)], reference=lambda x, n=n: np.zeros((0, n)), native=False,
               native_backward=False, note="no rows")
          for op, n in (("_contrib_fft", 8), ("_contrib_ifft", 2))]


# ---- count_sketch -------------------------------------------------------------------------------


def sketch(length: int) -> Any:
    def reference(x: Array, h: Array, s: Array) -> Array:
        made = np.zeros((*x.shape[:-1], length))
        for at in np.ndindex(x.shape):
            place = (*at[:-1], int(h[0, at[-1]]))
            made[place] += s[0, at[-1]] * x[at]
        return made
    return reference


def sketch_case(shape: tuple[int, ...], places: list[int], length: int) -> Case:
    d = shape[-1]
    return Case("_contrib_count_sketch", {"out_dim": length},
                [shape, Input((1, d), values=places), Input((1, d), values=[1, -1, 1, 1, -1][:d])],
                reference=sketch(length), no_grad={1, 2}, native=False, native_backward=False,
                dtypes=FLOATS, **HALVES)


CASES += [sketch_case((3, 5), [1, 0, 1, 1, 2], 4), sketch_case((2, 1, 3, 4), [2, 2, 0, 1], 3),
          sketch_case((0, 3), [0, 1, 1], 2)]


# ---- hawkesll -----------------------------------------------------------------------------------


def hawkes(lda: Array, alpha: Array, beta: Array, state: Array, lags: Array, marks: Array,
           length: Array, end: Array) -> tuple[Array, Array]:
    """The intensity of mark k at t is lda + alpha beta times the sum of exp(-beta (t - t_i))."""
    samples, number = lda.shape
    found, left = np.zeros(samples), np.zeros((samples, number))
    for i, k in np.ndindex(samples, number):
        # what was before time 0 acts like so many points at time 0
        weights, times, now, total = [state[i, k]], [0.0], 0.0, 0.0
        for j in range(min(math.ceil(length[i]), lags.shape[1])):
            now += lags[i, j]
            if marks[i, j] == k:
                decays = [w * math.exp(-beta[k] * (now - t))
                          for w, t in zip(weights, times, strict=True)]
                total += math.log(lda[i, k] + alpha[k] * beta[k] * sum(decays))
                weights.append(1.0)
                times.append(now)
        decays = [w * math.exp(-beta[k] * (end[i] - t))
                  for w, t in zip(weights, times, strict=True)]
        found[i] += total - lda[i, k] * end[i] - alpha[k] * (sum(weights) - sum(decays))
        left[i, k] = sum(decays)
    return found, left


def hawkes_case(n: int, t: int, k: int, length: list[float], **more: Any) -> Case:
    return Case("_contrib_hawkesll", {}, [
        Input((n, k), low=0.5, high=2), Input((k,), low=0.2, high=0.6),
        Input((k,), low=0.5, high=1.5), Input((n, k), kind="positive"),
        Input((n, t), low=0.1, high=1), Input((n, t), "int32", low=0, high=k),
        Input((n,), values=length), Input((n,), low=6, high=8)],
        reference=hawkes, no_grad={5, 6}, native=False, native_backward=False,
        grad_rtol=1e-4, **more)


CASES += [hawkes_case(3, 5, 2, [5, 3, 0]), hawkes_case(1, 4, 1, [9]),
          hawkes_case(2, 6, 3, [6, 2.5]), hawkes_case(2, 0, 2, [0, 3], note="no points")]


# ---- what is made for sparse arrays -------------------------------------------------------------


def square_sum(axis: Any, keepdims: bool) -> Any:
    def reference(x: Array) -> Array:
        return np.reshape((x * x).sum(axis, keepdims=keepdims),
                          (x * x).sum(axis, keepdims=keepdims).shape or (1,))
    return reference


CASES += [Case("_square_sum", {"axis": axis, "keepdims": keepdims}, [shape],
               reference=square_sum(axis, keepdims), native=False, native_backward="auto",
               dtypes=FLOATS, **HALVES)
          for axis, keepdims, shape in (
              (1, False, (3, 4)), (0, True, (3, 4)), (None, False, (2, 3)),
              ((0, 2), False, (2, 3, 2)))]
CASES += [
    Case("cast_storage", {"stype": "default"}, [(2, 20, 3, 3)], reference=lambda x: x + 0,
         exact=True, native=True),
    *(Case("_scatter_plus_scalar", {"scalar": 1.5}, [shape], reference=lambda x: x + 1.5,
           native=True) for shape in ((3, 4), (2, 20, 3, 3))),
    Case("_scatter_minus_scalar", {"scalar": 1.5}, [(3, 4)], reference=lambda x: x - 1.5,
         native=True),
    Case("_scatter_elemwise_div", {}, [(3, 4), Input((3, 4), kind="away")],
         reference=lambda x, y: x / y, native=True, native_backward=True),
]
HOLES = Input((3, 4), values=[0, 1, 2, 0, -3, 0, 0, 0, 0.5, 6, 7, 8])
CASES += [Case("_contrib_getnnz", {"axis": axis}, [HOLES], native=False, exact=True,
               reference=lambda x, axis=axis: np.reshape((x != 0).sum(axis), (-1,)))
          for axis in (None, 0, 1)]
CASES += [Case("_contrib_edge_id", {}, [HOLES, Input((5,), values=[0, 0, 1, 2, 2]),
                                        Input((5,), values=[0, 1, 0, 3, 0])], native=False,
               reference=lambda x, u, v: np.array([x[int(i), int(j)] or -1 for i, j in zip(
                   u, v, strict=True)]).astype(x.dtype),
               dtypes=("float32", "int32"), exact=True)]
CASES += [
    Case("_contrib_SparseEmbedding", {"input_dim": 4, "output_dim": 3},
         [Input((2, 3), values=[0, 3, 1, 1, 9, -2]), (4, 3)],
         reference=lambda i, w: w[np.clip(i, 0, 3).astype(int)], no_grad={0}, native=True,
         native_backward=True),
]


# ---- group_adagrad_update -----------------------------------------------------------------------


def adagrad(params: dict[str, float], w: Array, g: Array, h: Array) -> tuple[Array, Array]:
    g = g * params.get("rescale_grad", 1)
    if params.get("clip_gradient", -1) >= 0:
        g = np.clip(g, -params["clip_gradient"], params["clip_gradient"])
    total = h + (g * g).mean(1, keepdims=True).reshape(h.shape)
    root = np.sqrt(total.reshape(-1, 1) + params.get("epsilon", 1e-5))
    return w - params["lr"] * g / root, total


CASES += [
    Case("_contrib_group_adagrad_update", params, [(3, 4), (3, 4), Input(rows, kind="positive")],
         reference=lambda w, g, h, params=params: adagrad(params, w, g, h)[0],
         after=lambda w, g, h, params=params: {2: adagrad(params, w, g, h)[1]}, native=False,
         dtypes=("float32", "float64"))
    for params in ({"lr": 0.1}, {"lr": 0.5, "rescale_grad": 2, "clip_gradient": 0.4,
                                 "epsilon": 0.1})
    for rows in ((3, 1), (3,))]
