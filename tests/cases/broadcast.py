"""Broadcasting functions of two arrays, broadcast_to and its kin, and the sum that undoes them."""

from __future__ import annotations

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input, Native, Reference

# (lhs, rhs, does oneDNN have code for it)
Pairs = tuple[tuple[tuple[int, ...], tuple[int, ...], Native], ...]
PAIRS: Pairs = (
    ((2, 20, 3, 5), (1, 20, 1, 1), True), ((2, 20, 3, 5), (5,), True),
    ((2, 3, 4, 2), (2, 1, 1, 1), True), ((2, 3, 4, 2), (2, 1, 4, 2), True),
    ((2, 20, 3, 5), (1,), True), ((2, 20, 3, 5), (1, 1, 3, 1), "auto"),
    ((2, 3), (2, 1), True), ((2, 3), (1, 3), True), ((4, 3), (4, 3), True), ((1, 3), (3,), True),
    ((3,), (1, 3), True), ((2, 5, 3), (5, 1), True), ((2, 32, 2, 2), (2, 32, 1, 1), "auto"),
)
BOTH = (((2, 1, 4), (3, 1)), ((3, 1), (1, 2)), ((1,), (1, 1)), ((1, 1, 17), (2, 20, 1)),
        ((2, 20, 1, 5), (20, 3, 1)))
NONE = (((0, 3), (1, 3)), ((2, 1, 3), (2, 0, 1)), ((), (2, 3)), ((), ()))


def logical(function: Reference) -> Reference:
    return lambda a, b: function(a != 0, b != 0).astype(a.dtype)


def as_input(function: Reference) -> Reference:
    return lambda a, b: function(a, b).astype(a.dtype)


ARITHMETIC = {"broadcast_add": np.add, "broadcast_sub": np.subtract, "broadcast_mul": np.multiply}
STEPS = {
    "broadcast_equal": np.equal, "broadcast_not_equal": np.not_equal,
    "broadcast_greater": np.greater, "broadcast_greater_equal": np.greater_equal,
    "broadcast_lesser": np.less, "broadcast_lesser_equal": np.less_equal,
}
LOGICAL = {"broadcast_logical_and": np.logical_and, "broadcast_logical_or": np.logical_or,
           "broadcast_logical_xor": np.logical_xor}

CASES = [Case(name, {}, [a, b], reference=function, native=native,
              dtypes=("float32", "float64", "int32") if a == (2, 3) else ("float32", "float64"))
         for name, function in ARITHMETIC.items() for a, b, native in PAIRS]
CASES += [Case(name, {}, [b, a], reference=function, native=native, note="first operand")
          for name, function in ARITHMETIC.items() for a, b, native in PAIRS[:4]]
CASES += [Case("broadcast_div", {}, [a, Input(b, kind="away")], reference=np.divide,
               native=native) for a, b, native in PAIRS]
CASES += [Case("broadcast_div", {}, [b, Input(a, kind="away")], reference=np.divide,
               native=True, note="first operand") for a, b, _ in PAIRS[:2]]
CASES += [Case(name, {}, [a, b], reference=function, native=True, note="both operands")
          for name, function in ARITHMETIC.items() for a, b in BOTH]
CASES += [Case("broadcast_div", {}, [a, Input(b, kind="away")], reference=np.divide, native=True,
               note="both operands") for a, b in BOTH]
CASES += [Case(name, {}, [a, b], reference=function, native=False, note="no elements, or one")
          for name, function in list(ARITHMETIC.items())[::2] for a, b in NONE]
CASES += [Case(name, {}, [Input(a, kind="ints", low=-2, high=3),
                          Input(b, kind="ints", low=-2, high=3)], reference=as_input(function),
               dtypes=("float32", "int32", "uint8"))
          for name, function in STEPS.items()
          for a, b in (((2, 20, 3, 5), (1, 20, 1, 1)), ((3, 1), (4, 3, 5)))]
CASES += [Case(name, {}, [Input((4, 3), kind="bits"), Input((3,), kind="bits")],
               reference=logical(function), native=False, dtypes=("float32", "int32"))
          for name, function in LOGICAL.items()]
CASES += [
    Case("broadcast_mod", {}, [Input((2, 3, 4), low=-5, high=5), Input((3, 1), kind="away")],
         reference=np.mod, native=False, no_grad={1}),
    Case("broadcast_mod", {}, [[5.0, -7.0, 3.0], [[3.0], [2.0]]], reference=np.mod,
         gradients=lambda a, b, dy: (dy.sum(0), (dy * -np.floor(a / b)).sum(1, keepdims=True))),
    Case("broadcast_power", {}, [Input((2, 1, 4), kind="positive"), (3, 1)], reference=np.power,
         native=False),
    *(Case(name, {}, [Input((2, 20, 3), kind="distinct"),
                      Input((20, 1), kind="distinct", low=-0.9, high=1.3)],
           reference=function, native=False)
      for name, function in {"broadcast_maximum": np.maximum,
                             "broadcast_minimum": np.minimum}.items()),
    Case("broadcast_hypot", {}, [Input((2, 1, 4), kind="away"), Input((3, 1), kind="away")],
         reference=np.hypot, native=False),
]


def summed(like: tuple[int, ...]) -> Reference:
    """Sums to a shape, axis by axis."""
    def reference(x: Array, _: Array) -> Array:
        for axis, size in enumerate((1,) * (x.ndim - len(like)) + like):
            if size == 1:
                x = x.sum(axis=axis, keepdims=True)
        return x.reshape(like)
    return reference


SUMMED: Pairs = (
    ((2, 20, 3, 5), (1, 20, 1, 1), True), ((2, 20, 3, 5), (5,), True),
    ((2, 20, 3, 5), (2, 20, 1, 1), True), ((2, 20, 3, 5), (20, 3, 5), True),
    ((2, 20, 3, 5), (2, 20, 3, 5), True), ((2, 3, 4), (2, 1, 4), True),
    ((1, 2, 3), (2, 3), True), ((2, 3), (1, 3), True), ((2, 3), (2, 1), True),
    ((2, 3), (1,), False), ((2, 3), (), False), ((2, 0, 3), (1, 3), False),
    ((0, 3), (1, 3), False), ((2, 3, 4, 2), (1, 3, 1, 2), "auto"))
CASES += [Case("_broadcast_reduce", {}, [data, like], reference=summed(like), native=native,
               no_grad={1}, rtol={"float32": 1e-5}) for data, like, native in SUMMED]
CASES += [Case("broadcast_to", {"shape": shape}, [data], reference=lambda x, s=want:
               np.broadcast_to(x, s), native=native, dtypes=("float32", "float64", "int32"))
          for data, shape, want, native in (
              ((1, 3), (2, 3), (2, 3), True), ((1, 3), (2, 0), (2, 3), True),
              ((2, 1, 3, 1), (2, 4, 3, 2), (2, 4, 3, 2), True),
              ((2, 20, 1, 1), (0, 0, 3, 2), (2, 20, 3, 2), True), ((2, 3), (0, 0), (2, 3), True),
              ((0, 1), (0, 4), (0, 4), False))]
CASES += [Case("broadcast_axis", {"axis": axis, "size": size}, [data], native=True,
               reference=lambda x, s=want: np.broadcast_to(x, s))
          for data, axis, size, want in (
              ((1, 3, 1), (0, 2), (2, 4), (2, 3, 4)), ((2, 1), 1, 3, (2, 3)),
              ((2, 1), (-1,), (3,), (2, 3)))]
CASES += [Case("broadcast_like", params, [a, b], no_grad={1}, native=True,
               reference=lambda x, y, s=want: np.broadcast_to(x, s))
          for a, b, params, want in (
              ((1, 3), (5, 3), {}, (5, 3)),
              ((1, 3), (5, 1), {"lhs_axes": (0,), "rhs_axes": (-2,)}, (5, 3)),
              ((2, 20, 1, 1), (2, 20, 3, 2), {}, (2, 20, 3, 2)))]
