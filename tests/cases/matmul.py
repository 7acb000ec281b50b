"""dot and batch_dot against sums written out."""

from __future__ import annotations

import numpy as np

from ndarray_rt.testing.case import Array, Case, Reference

NEAR = {"float32": 1e-5, "float16": 1e-2}


def dot(turn_a: bool, turn_b: bool) -> Reference:
    def reference(a: Array, b: Array) -> Array:
        y = np.tensordot(a, b, ((0 if turn_a else a.ndim - 1,), (b.ndim - 1 if turn_b else 0,)))
        return y.reshape(1) if y.ndim == 0 else y
    return reference


def batch_dot(turn_a: bool, turn_b: bool) -> Reference:
    left, right = "...km" if turn_a else "...mk", "...nk" if turn_b else "...kn"
    return lambda a, b: np.einsum(f"{left},{right}->...mn", a, b)


CASES = [Case("dot", {"transpose_a": turn_a, "transpose_b": turn_b} if turn_a or turn_b else {},
              [a, b], reference=dot(turn_a, turn_b), native=True, native_backward=True, rtol=NEAR,
              atol=NEAR, dtypes=("float32", "float64", "float16", "int32") if a == (3, 4) else (
                  "float32", "float64"))
         for a, b, turn_a, turn_b in (
             ((3, 4), (4, 5), False, False), ((4, 3), (4, 5), True, False),
             ((3, 4), (5, 4), False, True), ((4, 3), (5, 4), True, True),
             ((6,), (6,), False, False), ((4,), (4, 5), False, False), ((3, 4), (4,), False, False),
             ((4,), (4, 5), True, False), ((3, 4), (4,), False, True),
             ((4, 3), (4,), True, False), ((2, 3, 4), (4, 5), False, False),
             ((2, 3, 4), (4, 5, 2), False, False), ((4, 2, 3), (4, 5, 2), True, False),
             ((2, 3, 4), (5, 2, 4), False, True), ((4, 2, 3), (5, 2, 4), True, True),
             ((1, 1), (1, 1), False, False), ((1, 20, 3, 2), (2, 3), False, False),
             ((17, 33), (33, 65), False, False), ((1, 5), (5, 1), False, False))]
CASES += [Case("dot", {}, [a, b], reference=dot(False, False), native=False,
               native_backward=False) for a, b in (((0, 4), (4, 5)), ((3, 0), (0, 5)))]
CASES += [Case("batch_dot", {"transpose_a": turn_a, "transpose_b": turn_b}, [a, b],
               reference=batch_dot(turn_a, turn_b), native=True, rtol=NEAR, atol=NEAR,
               dtypes=("float32", "float64", "float16") if a[0] == 2 else ("float32",))
          for a, b, turn_a, turn_b in (
              ((2, 3, 4), (2, 4, 5), False, False), ((2, 4, 3), (2, 4, 5), True, False),
              ((2, 3, 4), (2, 5, 4), False, True), ((2, 4, 3), (2, 5, 4), True, True),
              ((1, 2, 3, 4), (1, 2, 4, 5), False, False), ((3, 2, 4, 3), (3, 2, 5, 4), True, True),
              ((3, 1, 1), (3, 1, 1), False, False), ((5, 1, 4), (5, 4, 1), False, False))]
CASES += [Case("batch_dot", {}, [(2, 3, 0), (2, 0, 5)], reference=batch_dot(False, False),
               native=False)]
