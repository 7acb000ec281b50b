"""Attention's matrix products, and linalg_gemm2, against sums written out."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case

NEAR = {"float32": 1e-5, "float16": 1e-2}


def part(x: Array, heads: int, parts: int, which: int) -> Array:
    """One of the parts of a projection: (batch, heads, steps, size)."""
    steps, batch, width = x.shape
    split = x.reshape(steps, batch, heads, parts, width // heads // parts)
    return np.einsum("lbhd->bhld", split[:, :, :, which])


def scores(q: Array, k: Array) -> Array:
    made = np.einsum("bhid,bhjd->bhij", q, k) / np.sqrt(q.shape[-1])
    return made.reshape(-1, *made.shape[2:])


def weighted(v: Array, attention: Array) -> Array:
    batch, heads, others, size = v.shape
    split = attention.reshape(batch, heads, -1, others)
    return np.einsum("bhij,bhjd->ibhd", split, v).reshape(-1, batch, heads * size)


def case(name: str, heads: int, shapes: list[tuple[int, ...]], reference: Any,
         dtypes: tuple[str, ...] = ("float32", "float64", "float16")) -> Case:
    return Case(f"_contrib_interleaved_matmul_{name}", {"heads": heads}, shapes,
                reference=reference, native=True, native_backward=True, rtol=NEAR, atol=NEAR,
                dtypes=dtypes)


def attention(heads: int, steps: int, others: int, batch: int, size: int) -> list[Case]:
    h, width, scored = heads, heads * size, (batch * heads, steps, others)
    found = [case("encdec_qk", h, [(steps, batch, width), (others, batch, 2 * width)],
                  lambda q, kv: scores(part(q, h, 1, 0), part(kv, h, 2, 0))),
             case("encdec_valatt", h, [(others, batch, 2 * width), scored],
                  lambda kv, a: weighted(part(kv, h, 2, 1), a))]
    if steps == others:
        found += [case("selfatt_qk", h, [(steps, batch, 3 * width)],
                       lambda x: scores(part(x, h, 3, 0), part(x, h, 3, 1))),
                  case("selfatt_valatt", h, [(steps, batch, 3 * width), scored],
                       lambda x, a: weighted(part(x, h, 3, 2), a))]
    return found


def gemm2(axis: int, turn_a: bool, turn_b: bool, alpha: float, a: tuple[int, ...],
          b: tuple[int, ...]) -> Case:
    def reference(x: Array, y: Array) -> Array:
        x, y = np.moveaxis(x, axis, -2), np.moveaxis(y, axis, -2)
        left, right = "...km" if turn_a else "...mk", "...nk" if turn_b else "...kn"
        return np.moveaxis(alpha * np.einsum(f"{left},{right}->...mn", x, y), -2, axis)
    params = {"axis": axis, "transpose_a": turn_a, "transpose_b": turn_b, "alpha": alpha}
    return Case("_linalg_gemm2", params, [a, b], reference=reference, native=True, rtol=NEAR,
                atol=NEAR)


CASES = [
    *attention(2, 3, 3, 2, 4),
    *attention(2, 3, 5, 2, 4),
    *attention(1, 4, 4, 1, 3),
    *attention(3, 5, 2, 2, 1),
    gemm2(-2, False, False, 1.0, (3, 4), (4, 5)),
    gemm2(-2, False, True, 2.0, (2, 3, 4), (2, 5, 4)),
    gemm2(-2, True, False, -0.5, (2, 2, 4, 3), (2, 2, 4, 5)),
    gemm2(0, False, False, 1.0, (3, 2, 4), (4, 2, 5)),
    gemm2(0, True, True, 1.0, (4, 2, 3), (5, 2, 4)),
    gemm2(1, False, False, 1.0, (2, 3, 4, 5), (2, 5, 4, 6)),
    gemm2(-3, True, False, 3.0, (2, 5, 4, 3), (2, 5, 4, 6)),
]
