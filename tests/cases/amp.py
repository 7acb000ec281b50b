"""amp_cast, amp_multicast, and _round_weight, a cast that is done once."""

from __future__ import annotations

from ndarray_rt.testing.case import Case, Input

X = Input((2, 3), values=[[1.5, -2.25, 3], [0, 7, -1]])

CASES = [Case("amp_cast", {"dtype": name}, [X], reference=lambda x: x,
              dtypes=("float32",), note="float to float",
              exempt={"gradient": "the cast itself is the finest step"})
         for name in ("float32", "float64")]
CASES += [
    *(Case("_round_weight", {"dtype": name}, [X], reference=lambda x: x, dtypes=("float32",),
           note="values that each dtype holds", exempt={"gradient": "it is for inference"})
      for name in ("float32", "float64")),
    Case("amp_cast", {"dtype": "float16"}, [Input((4,), dtype="int32")],
         reference=lambda x: x, note="integers stay"),
    Case("amp_multicast", {"num_outputs": 2}, [X, Input((3,), low=-1, high=1)],
         reference=lambda x, y: (x, y)),
]
