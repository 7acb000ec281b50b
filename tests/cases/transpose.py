"""transpose and SwapAxis."""

from __future__ import annotations

import numpy as np

from ndarray_rt.testing.case import Case

ALL = ("float32", "float64", "float16", "int32", "uint8", "int8", "int64", "bool")

CASES = [Case("transpose", {"axes": axes} if axes else {}, [shape], exact=True,
              reference=lambda x, a=axes: np.transpose(x, a or None),
              native=0 not in shape and shape != (),
              dtypes=ALL if shape == (2, 3) else ("float32", "float64"))
         for shape, axes in (
             ((2, 3), ()), ((2, 3), (1, 0)), ((2, 3), (0, 1)), ((5,), ()), ((2, 3, 4), (1, 2, 0)),
             ((2, 3, 4), (0, 2, 1)), ((2, 20, 3, 5), (0, 2, 3, 1)), ((2, 3, 5, 20), (0, 3, 1, 2)),
             ((2, 20, 3, 5), (1, 0, 2, 3)), ((2, 20, 3, 5), ()), ((1, 3, 2, 4), (0, 1, 3, 2)),
             ((2, 3, 4), (-1, 0, 1)), ((1, 2, 3, 2, 2), (4, 2, 0, 1, 3)), ((1, 5, 1), (2, 1, 0)),
             ((2, 1, 3, 1, 2, 3), (5, 0, 4, 1, 3, 2)), ((0, 3), ()), ((), ()))]
CASES += [Case("SwapAxis", {"dim1": a, "dim2": b}, [shape], exact=True,
               reference=lambda x, a=a, b=b: np.swapaxes(x, a, b), native=0 not in shape,
               dtypes=ALL if shape == (2, 3) else ("float32",))
          for shape, a, b in (((2, 3), 0, 1), ((2, 3), 0, 0), ((2, 20, 3, 5), 1, 3),
                              ((2, 20, 3, 5), -1, 0), ((2, 3, 4), 1, -1), ((0, 3), 0, 1))]
