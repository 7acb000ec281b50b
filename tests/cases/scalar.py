"""_plus_scalar and its family: an array and a number."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input, Kind

Function = Callable[[Array, float], Array]
FORMULAS: dict[str, Function] = {
    "_plus_scalar": lambda x, s: x + s, "_minus_scalar": lambda x, s: x - s,
    "_rminus_scalar": lambda x, s: s - x, "_mul_scalar": lambda x, s: x * s,
    "_div_scalar": lambda x, s: x / s, "_rdiv_scalar": lambda x, s: s / x,
    "_mod_scalar": np.mod, "_rmod_scalar": lambda x, s: np.mod(s, x),
    "_power_scalar": np.power, "_rpower_scalar": lambda x, s: np.power(s, x),
    "_maximum_scalar": np.maximum, "_minimum_scalar": np.minimum, "_hypot_scalar": np.hypot,
}
STEPS = {
    "_equal_scalar": np.equal, "_not_equal_scalar": np.not_equal, "_greater_scalar": np.greater,
    "_greater_equal_scalar": np.greater_equal, "_lesser_scalar": np.less,
    "_lesser_equal_scalar": np.less_equal,
    "_logical_and_scalar": lambda x, s: (x != 0) & (s != 0),
    "_logical_or_scalar": lambda x, s: (x != 0) | (s != 0),
    "_logical_xor_scalar": lambda x, s: (x != 0) ^ (s != 0),
}
OF_WHOLE = {"_plus_scalar", "_minus_scalar", "_rminus_scalar", "_mul_scalar", "_maximum_scalar",
            "_minimum_scalar", *STEPS}
POSITIVE = {"_power_scalar", "_rpower_scalar", "_rmod_scalar"}


def case(name: str, shape: tuple[int, ...], number: float) -> Case:
    kind: Kind = "positive" if name in POSITIVE else "away"
    return Case(name, {"scalar": number}, [Input(shape, kind=kind)], native=True,
                reference=lambda x: FORMULAS[name](x, np.float64(number)),
                dtypes=("float32", "float64", "float16"))


CASES = [case(name, shape, 2.5) for name in FORMULAS for shape in ((2, 3), (2, 20, 3, 5))]
CASES += [case(name, (1, 3, 2, 4), number)
          for name in ("_div_scalar", *sorted(OF_WHOLE - set(STEPS)))
          for number in (-0.75, 3.0)]
CASES += [case(name, (2, 20, 3, 3), 0.0) for name in ("_plus_scalar", "_mul_scalar",
                                                      "_maximum_scalar", "_minimum_scalar")]
CASES += [case("_power_scalar", (2, 20, 3, 3), 2.0), case("_rminus_scalar", (7,), 1e-40)]
CASES[-1] = Case("_rminus_scalar", {"scalar": 1e-40}, [(7,)], reference=lambda x: 1e-40 - x,
                 native=False, note="too small for oneDNN")
CASES += [Case(name, {"scalar": number}, [Input((3, 4), kind="ints", low=-2, high=3)],
               reference=lambda x, f=function, s=number: f(x, s).astype(x.dtype), native=True,
               dtypes=("float32", "int32", "uint8") if number == 1 else ("float32",))
          for name, function in STEPS.items() for number in (1, 0, 0.5)]
# an integer array cuts the number off: 2.7 is 2, and the result stays an integer
CASES += [Case(name, {"scalar": number}, [Input((2, 3), dtype="int32",
                                                values=[-7, -3, 1, 2, 5, 100])],
               reference=reference, dtypes=("float32",), note="integers",
               # what is added to whole numbers is added by NumPy
               native="auto" if name in OF_WHOLE else False)
          for name, number, reference in (
              ("_plus_scalar", 2.7, lambda x: x + 2), ("_mul_scalar", -2.7, lambda x: x * -2),
              ("_div_scalar", 2.7, lambda x: np.trunc(x / 2)),
              ("_rdiv_scalar", 5.5, lambda x: np.trunc(5 / x)),
              ("_rminus_scalar", 2.7, lambda x: 2 - x), ("_mod_scalar", -3.5,
                                                         lambda x: np.mod(x, -3)),
              ("_rmod_scalar", 7.7, lambda x: np.mod(7, x)),
              ("_power_scalar", 2.7, lambda x: x * x),
              ("_maximum_scalar", 2.7, lambda x: np.maximum(x, 2)),
              ("_minimum_scalar", -2.7, lambda x: np.minimum(x, -2)),
              ("_hypot_scalar", 2.7, lambda x: np.trunc(np.hypot(x, 2))),
              ("_equal_scalar", 2.7, lambda x: (x == 2).astype(np.int32)),
              ("_greater_scalar", 2.7, lambda x: (x > 2).astype(np.int32)))]
CASES += [Case("_plus_scalar", {"scalar": 1.5, "is_int": False},
               [Input((3,), dtype="int32", values=[-7, 0, 5])], reference=lambda x: x + 1.5,
               dtypes=("float32",), exempt={"gradient": "an integer has no slope"},
               note="a float result"),
          Case("_plus_scalar", {"scalar": 2}, [Input((3,), dtype="bool", values=[1, 0, 1])],
               reference=lambda x: x + 2, dtypes=("float32",),
               exempt={"gradient": "a bool has no slope"}, note="bool")]
CASES += [Case(name, {"scalar": 0.5}, [Input((2, 3), values=[np.nan, 1, -1, np.inf, -np.inf, 0])],
               reference=lambda x, f=FORMULAS[name]: f(x, 0.5), native=True,
               exempt={"gradient": "not where it is infinite"}, note="NaN and infinity")
          for name in ("_maximum_scalar", "_minimum_scalar", "_plus_scalar", "_rdiv_scalar",
                       "_mul_scalar")]
CASES += [Case("_mul_scalar", {"scalar": 2.0}, [shape], reference=lambda x: x * 2, native=False)
          for shape in ((0, 3), ())]
