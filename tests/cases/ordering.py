"""topk, sort, argsort, element by element in Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input

ALL = ("float32", "float64", "float16", "int32", "uint8", "int64")
SOME = ("float32", "float64", "int32")
NAN, INF = np.nan, np.inf


def order(row: Array, ascend: bool) -> list[int]:
    """Places in order: NaN is the greatest, ties by place."""
    def key(i: int) -> tuple[bool, Any]:
        return bool(row[i] != row[i]), 0.0 if row[i] != row[i] else row[i]
    keys = {i: key(i) for i in range(len(row))}
    made: list[int] = []
    for i in keys:
        at = next((j for j, other in enumerate(made)
                   if (keys[i] < keys[other] if ascend else keys[i] > keys[other])), len(made))
        made.insert(at, i)
    return made


def places_of(x: Array, axis: int | None, k: int, ascend: bool) -> Array:
    rows = x.reshape(-1) if axis is None else x
    return np.apply_along_axis(lambda row: np.array(order(row, ascend)[:k or len(row)], np.int64),
                               axis or 0 if axis is None else axis, rows)


def topk(data: Any, dtypes: tuple[str, ...] = ("float32",), native: Any = True, note: str = "",
         backward: Any = "auto", **params: Any) -> Case:
    axis, k = params.get("axis", -1), params.get("k", 1)
    ascend, kind = params.get("is_ascend", False), params.get("ret_typ", "indices")

    def reference(x: Array) -> Any:
        at = places_of(x, axis, k, ascend)
        rows, along = (x.reshape(-1), 0) if axis is None else (x, axis)
        if kind == "mask":
            made = np.zeros(rows.shape)
            np.put_along_axis(made, at, 1.0, along)
            return made.reshape(x.shape)
        values = np.take_along_axis(rows, at, along)
        return {"both": (values, at), "value": values, "indices": at}[kind]
    if kind == "value":
        native = native and "auto"  # its hidden places are int32, which nothing adds
    return Case("topk", params, [data], reference=reference, native=native,
                native_backward=backward, dtypes=dtypes, note=note, exempt={} if kind == "value"
                else {"gradient": "places have none"})


def ordered(op: str, data: Any, dtypes: tuple[str, ...] = ("float32",), native: Any = True,
            note: str = "", **params: Any) -> Case:
    axis, ascend = params.get("axis", -1), params.get("is_ascend", True)

    def reference(x: Array) -> Array:
        at = places_of(x, axis, 0, ascend)
        rows, along = (x.reshape(-1), 0) if axis is None else (x, axis)
        return np.take_along_axis(rows, at, along) if op == "sort" else at
    if op == "sort":
        native = native and "auto"  # as topk's values
    return Case(op, params, [data], reference=reference, native=native, dtypes=dtypes, note=note,
                exempt={"gradient": "places and NaN have none"} if op == "argsort" or note
                else {})


def distinct(*shape: int) -> Input:
    return Input(shape, kind="distinct")


def ties(*shape: int) -> Input:
    return Input(shape, kind="ints", low=0, high=4)


ODD = Input((2, 8), values=[[3, NAN, -0.0, 0.0, INF, -1, NAN, -INF],
                            [0.0, -0.0, 1, 1, NAN, INF, -INF, 1]])
CASES = [
    topk(distinct(3, 20), ALL, k=4), topk(distinct(3, 20), k=3, ret_typ="both"),
    topk(distinct(3, 20), SOME, ret_typ="value", k=5, backward=True),
    topk(distinct(3, 4, 5), ret_typ="value", k=2, axis=1), topk(distinct(3, 4), k=2, axis=0),
    topk(distinct(3, 4), axis=None, k=5, ret_typ="value"),
    topk(distinct(3, 4), k=2, ret_typ="mask", native=False),
    topk(distinct(3, 4), ALL, k=5, ret_typ="mask", native=False, axis=None, is_ascend=True),
    topk(distinct(3, 4), k=0, ret_typ="value", is_ascend=True),
    topk(ties(2, 300), SOME, k=70, note="ties"), topk(ties(2, 300), k=9, is_ascend=True),
    topk(distinct(2, 500), k=40), topk(distinct(2, 700), k=100, ret_typ="both", is_ascend=True),
    topk(ODD, k=5, note="nan"), topk(ODD, k=3, is_ascend=True, note="nan"),
    *(topk(distinct(2, 9), k=3, dtype=kind, native=kind == "int32" and "auto")
      for kind in ("int32", "int64", "uint8", "float16", "float64")),
    topk(distinct(2, 20, 3, 2), k=3, axis=1),
    topk(Input((1, 2048), values=np.arange(2048)), ret_typ="both", k=2, dtype="float16",
         native=False, note="as many places as float16 tells apart"),
    ordered("sort", distinct(3, 20), ALL), ordered("sort", distinct(3, 4), is_ascend=False, axis=0),
    ordered("sort", distinct(3, 4), axis=None), ordered("sort", distinct(2, 3, 100), SOME),
    ordered("sort", ODD, note="nan"), ordered("sort", ODD, note="nan", is_ascend=False),
    ordered("sort", Input((3, 90), dtype="float32", values=np.sin(np.arange(270) * 99) * 3e38),
            note="large"),
    ordered("argsort", distinct(3, 20), ALL), ordered("argsort", ties(2, 200), SOME),
    ordered("argsort", ties(2, 200), is_ascend=False), ordered("argsort", ODD, note="nan"),
    ordered("argsort", distinct(3, 4), axis=0), ordered("argsort", distinct(3, 4), axis=None),
    ordered("argsort", distinct(3, 4), dtype="int64", native=False),
]
