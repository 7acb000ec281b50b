"""slice, slice_axis, slice_like and reshape_like."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input

ALL = ("float32", "float64", "float16", "int32")


def cut(params: dict[str, Any], key: Any, data: tuple[int, ...], native: Any = True,
        dtypes: tuple[str, ...] = ("float32",), note: str = "") -> Case:
    return Case("slice", params, [data], reference=lambda x: x[key], native=native,
                native_backward=native, dtypes=dtypes, note=note)


def cut_axis(axis: int, begin: int, end: int | None, key: Any, data: tuple[int, ...]) -> Case:
    return Case("slice_axis", {"axis": axis, "begin": begin, "end": end}, [data],
                reference=lambda x: x[key], native=True, native_backward=True, dtypes=ALL)


def cut_like(data: tuple[int, ...], like: tuple[int, ...], key: Any, **params: Any) -> Case:
    return Case("slice_like", params, [data, like], reference=lambda x, _: x[key], native=True,
                native_backward=True, dtypes=("float32", "float64"))


def like(lhs: tuple[int, ...], rhs: tuple[int, ...], target: tuple[int, ...],
         **params: int) -> Case:
    def reference(x: Array, _: Array) -> Array:
        return x.reshape(target)
    return Case("reshape_like", params, [lhs, rhs], reference=reference, native=True,
                native_backward=True, dtypes=ALL)


s = np.s_
CASES = [
    cut({"begin": (0, 1), "end": (2, 3)}, s[0:2, 1:3], (4, 5, 6), dtypes=ALL),
    cut({"begin": (None, -2), "end": (None, None)}, s[:, -2:], (2, 3, 4)),
    cut({"begin": (0, 2, None), "end": (2, 18, 3), "step": (None, 3, 2)}, s[0:2, 2:18:3, :3:2],
        (2, 20, 4, 3)),
    cut({"begin": (None, 1), "end": (None, None), "step": (None, 2)}, s[:, 1::2], (2, 20, 3)),
    cut({"begin": (None, None), "end": (None, None), "step": (None, 2)}, s[:, ::2], (2, 3, 4),
        note="steps that do not divide"),
    cut({"begin": 1, "end": 9}, s[1:9], (5, 20, 3), note="beyond the end"),
    cut({"begin": (), "end": ()}, s[...], (2, 3)),
    cut({"begin": -100, "end": 1}, s[:1], (3, 4)),
    cut({"begin": 3, "end": 4}, s[3:4], (5,)),
    cut({"begin": (0, 2), "end": (2, 0), "step": (1, -1)}, s[:, 2:0:-1], (2, 3, 4),
        dtypes=("float32", "int32")),
    cut({"begin": (0, None), "end": (2, None), "step": (1, -2)}, s[:, ::-2], (2, 3, 4),
        dtypes=("float32", "float16")),
    cut({"begin": 2, "end": 1}, s[2:1], (3, 4), native=False, note="nothing"),
    cut_axis(1, 0, 2, s[:, :2], (2, 3, 4)),
    cut_axis(-1, -3, -1, s[..., -3:-1], (2, 3, 4)),
    cut_axis(1, 3, None, s[:, 3:], (2, 20, 3, 3)),
    cut_axis(0, 1, 2, s[1:2], (3, 4)),
    cut_like((2, 3, 4), (1, 2, 3), s[:1, :2, :3]),
    cut_like((2, 20, 3, 3), (1, 7), s[:1, :7], axes=(0, 1)),
    cut_like((2, 3, 4), (1, 2, 9), s[:1, :2], axes=(-3, -2)),
    like((2, 3, 4), (4, 6), (4, 6)),
    like((30, 7), (15, 2, 4), (15, 2, 7), lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=2),
    like((2, 12), (7, 3, 4), (2, 3, 4), lhs_begin=-1, rhs_begin=1),
    like((2, 3, 4), (6,), (6, 4), lhs_begin=0, lhs_end=-1),
    Case("slice", {"begin": 0, "end": 2}, [Input((3, 4), dtype="int64", kind="ints")],
         reference=lambda x: x[:2], native=False, note="int64"),
]
