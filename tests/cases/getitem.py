"""_index: a[...] with ints, slices, None, ... and index arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input


def indices(values: Any) -> Input:
    return Input(np.shape(values), dtype="int64", values=values)


def reference(key: tuple[Any, ...]) -> Any:
    """`key` holds "@" for each index array that follows data."""
    def compute(x: Array, *arrays: Array) -> Array:
        left = iter(arrays)
        full = tuple(next(left).astype(np.int64) if isinstance(k, str) else k for k in key)
        made = np.asarray(x[full])
        return made if made.shape else made.reshape(1)
    return compute


def case(shape: tuple[int, ...], text: str, key: tuple[Any, ...], *arrays: Any) -> Case:
    return Case("_index", {"key": text, "num_args": 1 + len(arrays)},
                [shape, *(indices(a) for a in arrays)],
                reference=reference(key), native=False, no_grad=set(range(1, 1 + len(arrays))),
                dtypes=("float32", "float64", "float16", "int32", "uint8"))


S = slice
CASES = [
    case((4, 3), "1", (1,)),
    case((4, 3), "-1,2", (-1, 2)),
    case((5,), "3", (3,)),
    case((4, 3), "::-1", (S(None, None, -1),)),
    case((4, 3), ":,1:", (S(None), S(1, None))),
    case((2, 3, 4), "...,0", (..., 0)),
    case((2, 3, 4), "None,0,None,::2", (None, 0, None, S(None, None, 2))),
    case((2, 3, 4), "", ()),
    case((2, 3, 4), "2:1", (S(2, 1),)),
    case((4, 3), "@", ("@",), [0, 0, 2, -1]),
    case((4, 3), ":,@", (S(None), "@"), [[0, 1], [2, 0]]),
    case((4, 3), "@,@", ("@", "@"), [0, 1, 1], [[2], [0]]),
    case((2, 3, 4), "@,:,@", ("@", S(None), "@"), [0, 1], [1, 2]),
    case((2, 3, 4), "0,:,@", (0, S(None), "@"), [1, 2]),
    case((2, 3, 4), "1:,@,None", (S(1, None), "@", None), [0, 1]),
    case((2, 16, 3, 3), "0,@", (0, "@"), [5, 3, 3]),
    case((0, 3), ":,@", (S(None), "@"), [1, 1]),
    case((3, 2), "@", ("@",), np.zeros((0,), np.int64)),
]
