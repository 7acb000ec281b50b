"""Functions of two arrays, broadcast or not."""

from __future__ import annotations

from ..call import Array, Call, Given

ARITHMETIC = ("add", "sub", "mul", "div", "mod", "power", "maximum", "minimum", "hypot")
LOGIC = ("equal", "not_equal", "greater", "greater_equal", "lesser", "lesser_equal",
         "logical_and", "logical_or", "logical_xor")
FLOATS = ("float32", "float64", "float16")
SHAPES = (((2, 3), (2, 3)), ((2, 3), (1, 3)), ((2, 1), (1, 3)), ((1, 3, 1), (2, 1, 4)))
NAN, INF = float("nan"), float("inf")
ODD_A = [NAN, 1, INF, -INF, 0, -0.0, 2, NAN, 1, 0]
ODD_B = [1, NAN, INF, INF, 0, 0, -3, NAN, 0, 2]
WHOLE_A, WHOLE_B = [-7, 7, 5, 0, 3, 2], [2, -2, 3, 4, 3, 3]


def pair(a: tuple[int, ...], b: tuple[int, ...], dtype: str, whole: bool = False) -> list[Array]:
    low, high = (0, 3) if whole else (0.3, 3)
    return [Array(a, low, high, dtype, 1, whole), Array(b, low, high, dtype, 2, whole)]


CALLS = [
    Call(f"broadcast_{name}", pair(a, b, dtype), {}, (0, 1), head_scale=4)
    for name in ARITHMETIC for dtype in FLOATS for a, b in SHAPES
    # the seeds put one quotient beside a whole number
    if dtype != "float16" or (name != "mod" and len(a) == 2)
]
CALLS += [Call(f"broadcast_{name}", pair(a, b, "float32", True)) for name in LOGIC
          for a, b in SHAPES[1:3]]
CALLS += [Call(f"broadcast_{name}", [Given(ODD_A), Given(ODD_B)]) for name in (
    *(n for n in ARITHMETIC if n not in ("maximum", "minimum")), *LOGIC)]
CALLS += [Call(f"broadcast_{name}", [Given(WHOLE_A, dtype), Given(WHOLE_B, dtype)])
          for name in (*ARITHMETIC, *LOGIC) for dtype in ("int32", "int64", "int8")
          if name != "power"]
CALLS += [Call(f"elemwise_{name}", pair((3, 2), (3, 2), dtype), {}, (0, 1), grad_req=request)
          for name in ("add", "sub", "mul", "div") for dtype in FLOATS
          for request in ("write", "add")]
CALLS += [Call(f"_internal.{name}", pair((3, 2), (3, 2), "float32"), {}, (0, 1))
          for name in ("_power", "_maximum", "_minimum", "_hypot")]
CALLS += [Call(f"_internal.{name}", pair((3, 2), (3, 2), "float32", True))
          for name in ("_equal", "_not_equal", "_greater", "_greater_equal", "_lesser",
                       "_lesser_equal", "_logical_and", "_logical_or", "_logical_xor")]
