"""Functions of an array and a number, and sums of many arrays."""

from __future__ import annotations

from ..call import Array, Call, Given

WHOLE_A, WHOLE_B = [-7, 7, 5, 0, 3, 2], [2, -2, 3, 4, 3, 3]

SCALAR = ("_plus", "_minus", "_rminus", "_mul", "_div", "_rdiv", "_mod", "_rmod", "_power",
          "_rpower", "_maximum", "_minimum", "_hypot")
SCALAR_LOGIC = ("_equal", "_not_equal", "_greater", "_greater_equal", "_lesser",
                "_lesser_equal", "_logical_and", "_logical_or", "_logical_xor")
CALLS = [Call(f"_internal.{name}_scalar", [Array((2, 3), 0.3, 3, dtype)], {"scalar": scalar},
               (0,))
          for name in SCALAR for dtype in ("float32", "float64") for scalar in (2.0, 0.75)]
CALLS += [Call(f"_internal.{name}_scalar", [Array((2, 3), 0.3, 3, "float16")], {"scalar": 2.0})
          for name in SCALAR]
CALLS += [Call(f"_internal.{name}_scalar", [Given(WHOLE_A, "int32")], {"scalar": 3})
          for name in (*SCALAR, *SCALAR_LOGIC) if name != "_rdiv"]
CALLS += [Call(f"_internal.{name}_scalar", [Given(WHOLE_A, "int32")],
               {"scalar": 2.5, "is_int": False}) for name in ("_plus", "_mul", "_rminus")]
CALLS += [Call(f"_internal.{name}_scalar", [Array((2, 4), 0, 3, whole=True)], {"scalar": 1})
          for name in SCALAR_LOGIC]
CALLS += [Call("add_n", [Array((2, 3), seed=i, dtype=dtype) for i in range(count)], {},
               tuple(range(count)), grad_req=request)
          for count, dtype, request in ((1, "float32", "write"), (3, "float32", "add"),
                                        (6, "float64", "write"), (4, "float16", "write"))]
CALLS += [Call("add_n", [Given(WHOLE_A, "int32"), Given(WHOLE_B, "int32")])]
