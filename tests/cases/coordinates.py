"""gather_nd, scatter_nd, _split_v2, Crop, _slice_assign and their like, in loops or numpy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input

ALL = ("float32", "float64", "float16", "int32", "uint8", "int64")
SOME = ("float32", "float64", "int32")


def at(values: Any, dtype: str = "float32") -> Input:
    return Input(np.shape(values), dtype=dtype, values=values)


def gather(data: Array, indices: Array) -> Array:
    flat = indices.reshape(len(indices), -1).astype(np.int64)
    found = [data[tuple(column)] for column in flat.T]
    return np.array(found).reshape(indices.shape[1:] + data.shape[len(indices):])


def scatter(start: Array, data: Array, indices: Array) -> Array:
    made = start.copy()
    flat = indices.reshape(len(indices), -1).astype(np.int64)
    parts = data.reshape(flat.shape[1], *start.shape[len(indices):])
    for column, part in zip(flat.T, parts, strict=True):
        made[tuple(column)] = part
    return made


def native_for(indices: Input) -> Any:
    """Nothing copies int64 but numpy."""
    if 0 in indices.shape:
        return False
    return "auto" if indices.dtype == "int64" else True


def gather_case(shape: tuple[int, ...], indices: Input, dtypes: tuple[str, ...] = ("float32",),
                note: str = "") -> Case:
    native = native_for(indices)
    return Case("gather_nd", {}, [shape, indices], reference=gather, no_grad={1}, native=native,
                native_backward=native, dtypes=dtypes, note=note)


def scatter_case(data: tuple[int, ...], indices: Input, shape: tuple[int, ...],
                 dtypes: tuple[str, ...] = ("float32",), note: str = "") -> Case:
    def reference(x: Array, i: Array) -> Array:
        return scatter(np.zeros(shape, x.dtype), x, i)
    return Case("scatter_nd", {"shape": shape}, [data, indices], reference=reference, no_grad={1},
                native=native_for(indices), native_backward=native_for(indices), dtypes=dtypes,
                note=note)


def split(shape: tuple[int, ...], ends: Any, native: Any = True, note: str = "",
          dtypes: tuple[str, ...] = ("float32",), **params: Any) -> Case:
    """`ends`: what numpy.split takes."""
    axis = params.get("axis", 1)

    def reference(x: Array) -> tuple[Array, ...]:
        parts = np.split(x, ends, axis)
        return tuple(y.squeeze(axis) if params.get("squeeze_axis") else y for y in parts)
    params = ({"sections": ends, "indices": ()} if isinstance(ends, int)
              else {"indices": (0, *ends)}) | params
    return Case("_split_v2", params, [shape], reference=reference, native=native, dtypes=dtypes,
                note=note)


def crop(key: Any, *inputs: tuple[int, ...], **params: Any) -> Case:
    place = (..., *key)
    return Case("Crop", {"num_args": len(inputs), **params}, list(inputs),
                reference=lambda x, *_: x[place], native=True, native_backward=True,
                dtypes=("float32", "float64"))


def assign(key: Any, shape: tuple[int, ...], rhs: tuple[int, ...],
           dtypes: tuple[str, ...] = ("float32",), native: Any = True, **params: Any) -> Case:
    def reference(x: Array, y: Array) -> Array:
        made = x.copy()
        made[key] = y
        return made
    return Case("_slice_assign", params, [shape, rhs], reference=reference, native=native,
                dtypes=dtypes)


def assign_scalar(key: Any, shape: tuple[int, ...], value: float,
                  dtypes: tuple[str, ...] = ("float32",), native: Any = True,
                  **params: Any) -> Case:
    def reference(x: Array) -> Array:
        made = x.copy()
        made[key] = value
        return made
    return Case("_slice_assign_scalar", {**params, "scalar": value}, [shape], reference=reference,
                native=native, dtypes=dtypes)


def fill(lhs: Array, mhs: Array, rhs: Array) -> Array:
    made = lhs.copy()
    for row, (value, place) in enumerate(zip(mhs, rhs, strict=True)):
        made[row, min(max(int(place), 0), lhs.shape[1] - 1)] = value
    return made


s = np.s_
CASES = [
    gather_case((3, 4), at([[0, 2, 2], [1, 3, -1]]), ALL),
    *(gather_case((3, 4), at([[0, 1], [1, 2]], kind), note=f"{kind} indices")
      for kind in ("int32", "int64", "float64", "uint8", "float16")),
    gather_case((3, 4), at([[[0, 2, 2], [1, -3, 1]]])), gather_case((5,), at([[1.9, 0]])),
    gather_case((2, 3, 4, 2), at([[0, 0, 0], [1, 0, 1]]), SOME),
    gather_case((2, 3), at(np.zeros((2, 0)), "int32"), note="no places"),
    scatter_case((3,), at([[0, 2, 1], [1, 3, -1]]), (3, 4), ALL),
    scatter_case((2, 4), at([[3, 0]], "int32"), (5, 4), SOME),
    scatter_case((2, 2, 3), at([[[1, 0], [3, 2]]]), (4, 3)),
    Case("_scatter_set_nd", {"shape": (3, 4)}, [(3, 4), (2, 4), at([[2, 0]])], reference=scatter,
         native=True, dtypes=SOME),
    Case("_scatter_set_nd", {"shape": (3, 4)}, [(3, 4), (2,), at([[2, 0], [-1, 1]])],
         reference=scatter, native=True),
    split((2, 6), 3, dtypes=("float32", "int32", "float64")), split((2, 6), (1, 4)),
    split((2, 6), (2,), axis=-1), split((4, 3), 4, axis=0, squeeze_axis=True),
    split((2, 3), (1,), axis=0, squeeze_axis=True), split((2, 20, 3, 2), (8, 17)),
    split((2, 4), (), note="one part"), split((2, 4), (2, 2), native=False),
    split((3,), 3, native=False, axis=0, squeeze_axis=True),
    crop(s[1:3, 2:4], (2, 3, 4, 5), h_w=(2, 2), offset=(1, 2)),
    crop(s[1:3, 1:4], (1, 2, 4, 5), h_w=(2, 3), center_crop=True),
    crop(s[0:3, 1:3], (1, 2, 4, 5), (1, 1, 3, 2), offset=(0, 1)),
    crop(s[0:3, 1:3], (1, 20, 4, 5), (2, 7, 3, 2), center_crop=True),
    assign(s[0:1, 1:3], (3, 4), (1, 2), ALL, begin=(0, 1), end=(1, 3)),
    assign(s[:, ::-2], (3, 4), (3, 2), begin=(None, None), end=(None, None), step=(None, -2),
           native=False),
    assign(s[2:1], (3, 4), (0, 4), native=False, begin=2, end=1),
    assign_scalar(s[1:2], (3, 4), 7.0, ALL, begin=1, end=2),
    assign_scalar(s[..., ::3], (2, 3, 4), -1.5, begin=(None, None, None), end=(None, None, None),
                  step=(None, None, 3), native=False),
    assign(s[:, 2:10, ::2], (2, 20, 4), (2, 8, 2), begin=(0, 2, 0), end=(2, 10, 4),
           step=(1, 1, 2)),
    assign_scalar(s[:, 2:10], (2, 20, 3, 2), 2.5, begin=(0, 2), end=(2, 10)),
    Case("fill_element_0index", {}, [(4, 3), (4,), at([0, 2.9, -1, 9])], reference=fill,
         native=False, dtypes=SOME),
]
