"""add_n: any number of arrays."""

from __future__ import annotations

from ndarray_rt.testing.case import Case

CASES = [Case("add_n", {"num_args": count}, [shape] * count,
              reference=lambda *arrays: sum(arrays), native=count <= 34,
              dtypes=("float32", "float64", "float16", "int32", "uint8") if count == 5 else (
                  "float32", "float64"))
         for count in (1, 2, 3, 4, 5, 6, 9, 34, 35) for shape in ((2, 3), (1, 20, 2, 3))]
CASES += [Case("add_n", {"num_args": 3}, [shape] * 3, reference=lambda a, b, c: a + b + c,
               native=False) for shape in ((0, 3), ())]
