"""What dtypes do: numbers that do not fit, wrap around, are cut off."""

from __future__ import annotations

from ..call import Array, Call, Given

NAN, INF = float("nan"), float("inf")
WHOLE = ("int8", "uint8", "int32", "int64")
FLOATS = ("float16", "float32", "float64")
LEAST = {"int8": -(2**7), "uint8": 0, "int32": -(2**31), "int64": -(2**53)}
GREATEST = {"int8": 2**7 - 1, "uint8": 2**8 - 1, "int32": 2**31 - 1, "int64": 2**53}
CUT = [-3.7, -1.5, -0.5, 0.5, 1.5, 2.5, 7.25, 100.9]


def ends(dtype: str) -> Given:
    """The ends of a dtype, and what lies around 0."""
    small = [0, 1, 2, 3, 7, 100] + ([] if dtype == "uint8" else [-1, -2, -7, -100])
    return Given([LEAST[dtype], GREATEST[dtype], *small], dtype)


def small(dtype: str) -> Given:
    return Given([1, 2, 3, 5, 7, 11] if dtype == "uint8" else [-7, -2, 1, 3, 5, 11], dtype)


CALLS = [
    # functions of whole numbers are cut off; what is no number is the least one
    *(Call(name, [small(dtype)]) for dtype in WHOLE for name in (
        "exp", "log1p", "sqrt", "cbrt", "reciprocal", "sin", "arctan", "sigmoid", "tanh", "abs",
        "sign", "square", "negative", "relu", "round", "logical_not", "degrees", "erf")),
    Call("relu", [ends("int64")]),
    *(Call("log", [small(dtype)]) for dtype in ("int8", "int32")),
    *(Call("smooth_l1", [ends(dtype)], {"scalar": scalar}, (0,), head_scale=0)
      for dtype in WHOLE for scalar in (1.0, 2.0, 0.5)),
    *(Call("contrib.div_sqrt_dim", [small(dtype)], {}, (0,)) for dtype in WHOLE),
    # reductions stay in their dtype: sums wrap around, means are cut off
    *(Call(name, [ends(dtype)]) for dtype in WHOLE
      for name in ("sum", "mean", "max", "min", "argmax", "argmin")),
    *(Call(name, [small(dtype)]) for dtype in WHOLE for name in ("prod", "nansum", "nanprod")),
    *(Call("cumsum", [ends(dtype)], {"axis": 0}) for dtype in WHOLE),
    *(Call("moments", [Given([1, 2, 4, 5], dtype)], {"axes": (0,)}) for dtype in WHOLE[:3]),
    # casts: floats are cut off, and what does not fit goes through int
    *(Call("Cast", [ends(source)], {"dtype": target}) for source in WHOLE
      for target in (*WHOLE, *FLOATS, "bool")),
    *(Call("Cast", [Given(CUT, source)], {"dtype": target}) for source in FLOATS
      for target in (*WHOLE, *FLOATS, "bool")),
    *(Call("Cast", [Given([NAN, INF, -INF, -0.0, 300.7, -129.5, 3e9, -3e9, 6e4], source)],
           {"dtype": target}) for source in FLOATS
      for target in (*WHOLE, "bool", *(FLOATS[1:] if source == "float16" else FLOATS))),
    *(Call("Cast", [Given([True, False], "bool")], {"dtype": target})
      for target in (*WHOLE, *FLOATS)),
    # ends beyond the dtype
    *(Call("clip", [ends(dtype)], {"a_min": low, "a_max": high}) for dtype in WHOLE
      for low, high in ((-2.5, 3.75), (-1000, 1000), (0, 1e12), (3, 1), (2.9, 200.2))),
    *(Call("clip", [Given([NAN, -5, 5, 0.5, -1, 1, INF, -INF], dtype)], {"a_min": -1, "a_max": 1},
           (0,)) for dtype in FLOATS),
    # places in every dtype
    *(Call("topk", [Given([7, 1, 3, 9, 127, 0, 2, 5], dtype)],
           {"k": 3, "ret_typ": "both", "dtype": places})
      for dtype in (*WHOLE, *FLOATS) for places in ("uint8", "int32", "int64", *FLOATS)),
    *(Call("argsort", [Given([7, 1, 3, 9, 127, 0, 2, 5], dtype)], {"dtype": "int64"})
      for dtype in (*WHOLE, "float32", "float64")),
    *(Call("sort", [ends(dtype)], {"is_ascend": False}) for dtype in WHOLE),
    *(Call("take", [ends(dtype), Given([0, 3, 7, 11], places)], {"mode": mode})
      for dtype in ("int8", "int64") for places in (*WHOLE, *FLOATS) for mode in ("clip", "wrap")),
    *(Call("one_hot", [Given([0, 1, 3, 5], dtype)],
           {"depth": 4, "dtype": made, "on_value": 2.7, "off_value": -1})
      for dtype in ("int32", "uint8", "float32") for made in (*WHOLE, *FLOATS)),
    *(Call("pick", [Array((3, 4), 0, 99, dtype, whole=True), Given([0, 2, 7], places)],
           {"mode": mode})
      for dtype in ("int8", "int64") for places in ("int32", "uint8", "float32")
      for mode in ("clip", "wrap")),
    *(Call("where", [Given([0, 1, 2, 0], dtype), Given([1, 2, 3, 4], other),
                     Given([5, 6, 7, 8], other)])
      for dtype in ("int8", "int64", "float32") for other in WHOLE),
]
