"""_zeros, _ones, _full, _arange, _linspace, _eye: no inputs at all."""

from __future__ import annotations

import numpy as np

from ndarray_rt.testing.case import Array, Case, Native

DTYPES = ("float32", "float64", "float16", "uint8", "int8", "int32", "int64", "bool")


def case(op: str, want: Array, native: Native = False, **params: object) -> Case:
    return Case(op, params, [], reference=lambda: want, exact=True, native=native,
                dtypes=("float32",))


CASES = [case(op, np.full((2, 3), value, dtype), shape=(2, 3), dtype=dtype, native="auto")
         for op, value in (("_zeros", 0), ("_ones", 1)) for dtype in DTYPES]
CASES += [case("_full", np.full((2, 3), value, dtype), shape=(2, 3), dtype=dtype, value=value,
               native=dtype == "float32")
          for value in (0, 3) for dtype in DTYPES]
CASES += [
    case("_zeros", np.zeros(4, np.float32), shape=4, ctx="cpu(0)", native=True),
    case("_ones", np.ones((2, 20, 3, 2), np.float32), shape=(2, 20, 3, 2), ctx="gpu(0)",
         native=True),
    case("_full", np.full((1,), 2, np.int32), shape=(1,), value=2.9, dtype="int32"),
    case("_full", np.full((1,), np.inf, np.float32), shape=(1,), value="inf", native=True),
    case("_linspace", np.array([0, 0.25, 0.5, 0.75, 1], np.float32), start=0, stop=1, num=5),
    case("_linspace", np.array([1, 0.5, 0, -0.5]), start=1, stop=-1, num=4, endpoint=False,
         dtype="float64"),
    case("_linspace", np.array([0, 3, 6, 10], np.int32), start=0, stop=10, num=4, dtype="int32"),
    case("_linspace", np.array([2], np.float32), start=2, stop=9, num=1),
    case("_arange", np.arange(5, dtype=np.float32), start=5, native=True),
    case("_arange", np.arange(5, dtype=np.float32), start=0, stop=5, ctx="cpu(0)",
         native=True),
    case("_arange", np.array([5, 5, 3, 3, 1, 1], np.float32), start=5, stop=0, step=-2, repeat=2,
         native=True),
    case("_arange", np.array([0, 1, 2, 3], np.int32), start=0.5, stop=5.5, step=1.5,
         dtype="int32"),
    case("_arange", np.array([1, 1.25, 1.5, 1.75]), start=1, stop=2, step=0.25, dtype="float64"),
    case("_arange", np.array([3, 3, 3], np.uint8), start=3, stop=4, repeat=3, dtype="uint8"),
    case("_arange", np.array([-1.5, -0.5], np.float16), start=-1.5, stop=0, dtype="float16"),
    case("_eye", np.eye(3, dtype=np.float32), N=3), case("_eye", np.eye(
        2, 3, 1, dtype=np.float32), N=2, M=3, k=1),
    case("_eye", np.eye(3, k=-1, dtype=np.int32), N=3, k=-1, dtype="int32"),
    case("_eye", np.eye(2, 3, 5), N=2, M=3, k=5, dtype="float64", ctx="cpu(0)"),
    case("_eye", np.zeros((0, 0), np.float32), N=0),
]
