"""softmax, log_softmax, softmin over every axis."""

from __future__ import annotations

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input


def softmax(x: Array, axis: int = -1, temperature: float = 1.0) -> Array:
    e = np.exp((x - x.max(axis, keepdims=True)) / temperature)
    return e / e.sum(axis, keepdims=True)


NUMPY_OF = {
    "softmax": softmax,
    "softmin": lambda x, *more: softmax(-x, *more),
    "log_softmax": lambda x, *more: np.log(softmax(x, *more)),
}
AXES = (((7,), 0), ((4, 5), 1), ((4, 5), 0), ((4, 5), -2), ((2, 3, 4), 0), ((2, 3, 4), 1),
        ((2, 3, 4), -1), ((2, 20, 3, 2), 1), ((2, 3, 4, 5), 0), ((2, 3, 4, 5), 2),
        ((2, 16, 3, 5), 3), ((1, 3, 2, 2, 3), 1), ((1, 3, 2, 2, 3), 2), ((3, 1), 1))


def masked(x: Array, length: Array, axis: int, log: bool = False, temperature: float = 1.0,
           ) -> Array:
    """One line after the other."""
    y = np.zeros_like(x)
    lines, out = np.moveaxis(x, axis, -1), np.moveaxis(y, axis, -1)
    for at in np.ndindex(lines.shape[:-1]):
        n = int(length[at] if lines.ndim > 1 else length[0])
        if n:
            made = softmax(lines[at][:n], -1, temperature)
            out[at][:n] = np.log(made) if log else made
    return y


def by_length(op: str, shape: tuple[int, ...], axis: int, lengths: list[int], dtype: str = "int32",
              **params: float) -> Case:
    left = shape[:axis] + shape[axis + 1:] or (1,)
    return Case(op, {"axis": axis, "use_length": True, **params},
                [shape, Input(left, dtype=dtype, values=lengths)],
                reference=lambda x, n: masked(x, n, axis, op == "log_softmax",
                                              params.get("temperature", 1.0)),
                native=False, native_backward=False)


CASES = [
    Case(op, {"axis": axis}, [Input(shape, low=-4, high=4)],
         reference=lambda x, op=op, axis=axis: NUMPY_OF[op](x, axis),
         native=True, native_backward=True)
    for op in NUMPY_OF for shape, axis in AXES
]
CASES += [
    Case(op, {"temperature": t, "axis": axis}, [Input((2, 3, 2, 4), low=-4, high=4)],
         reference=lambda x, op=op, t=t, axis=axis: NUMPY_OF[op](x, axis, t),
         native=True, native_backward=True)
    for op in NUMPY_OF for t, axis in ((2.5, -1), (0.5, 1), (-1.5, 0))
]
CASES += [
    by_length("softmax", (3, 4), 1, [0, 4, 2]),
    by_length("softmax", (2, 3, 4), 1, [0, 1, 2, 3, 3, 2, 1, 0], "int64"),
    by_length("softmax", (2, 3, 2, 2), 0, [0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 2], temperature=2.0),
    by_length("softmax", (5,), 0, [3]),
    by_length("log_softmax", (3, 4), 1, [1, 4, 2]),
    # computed in the dtype of data, as MXNet does
    Case("softmax", {"dtype": "float64"}, [(3, 4)], reference=softmax, native=False,
         native_backward=False, rtol=1e-6),
    Case("softmax", {"dtype": "float32"}, [(3, 4)], reference=softmax, native=True,
         native_backward=True, dtypes=("float32", "float16"),
         exempt={"gradient": "differences need the output in float64"}),
    Case("softmax", {}, [(3, 4)], reference=softmax, native=True, native_backward=True,
         dtypes=("float32", "float64", "float16"), note="float16"),
    Case("softmax", {}, [(0, 4)], reference=lambda x: x, native=False, native_backward=False,
         note="no rows"),
    Case("log_softmax", {}, [(3, 0)], reference=lambda x: x, native=False, native_backward=False,
         note="no columns"),
    Case("softmax", {}, [Input((2, 4), values=[1000, -1000, 0, 1000, -1e30, 0, 3e38, -np.inf])],
         reference=lambda x: np.array([[0.5, 0, 0, 0.5], [0, 0, 1, 0]]), native=True,
         exempt={"gradient": "differences of infinity"}, note="far apart"),
]
