"""take, Embedding, one_hot and pick: elements chosen by their places, in loops written out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input

FLOATS = ("float32", "float64", "float16")
KINDS = ("float32", "int32", "int64", "float64", "uint8", "int8")


def place(value: Any, length: int, wrap: bool) -> int:
    at = int(value)  # towards zero
    return at % length if wrap else min(max(at, 0), length - 1)


def take(axis: int, wrap: bool = False) -> Callable[[Array, Array], Array]:
    def reference(a: Array, indices: Array) -> Array:
        moved = np.moveaxis(a, axis, 0)
        rows = [moved[place(v, len(moved), wrap)] for v in indices.ravel()]
        made = np.array(rows).reshape(indices.shape + moved.shape[1:])
        at = axis % a.ndim
        first = list(range(indices.ndim))
        return np.moveaxis(made, first, [at + i for i in first])
    return reference


def one_hot(depth: int, on: float = 1, off: float = 0) -> Callable[[Array], Array]:
    def reference(indices: Array) -> Array:
        made = np.full((indices.size, depth), off, np.float64)
        for row, value in zip(made, indices.ravel(), strict=True):
            if 0 <= int(value) < depth:
                row[int(value)] = on
        return made.reshape((*indices.shape, depth))
    return reference


def pick(axis: int, wrap: bool = False, keepdims: bool = False) -> Callable[[Array, Array], Array]:
    def reference(data: Array, index: Array) -> Array:
        moved = np.moveaxis(data, axis, -1)
        flat = moved.reshape(-1, moved.shape[-1])
        chosen = np.array([row[place(v, len(row), wrap)]
                           for row, v in zip(flat, index.ravel(), strict=True)])
        made = chosen.reshape(moved.shape[:-1] or (1,))
        return np.expand_dims(made, axis) if keepdims else made
    return reference


def case(op: str, params: dict[str, Any], inputs: list[Any], reference: Any, places: int,
         native: Any = True, dtypes: tuple[str, ...] = ("float32",), note: str = "",
         backward: Any = "auto") -> Case:
    if native is True and inputs[places].dtype == "int64":
        native = "auto"  # nothing copies int64 but numpy
    return Case(op, params, inputs, reference=reference, no_grad={places}, native=native,
                native_backward=backward, dtypes=dtypes, note=note)


def at(shape: tuple[int, ...], values: Any, dtype: str = "float32") -> Input:
    return Input(shape, dtype=dtype, values=values)


WILD = [-1.5, -0.5, 0.0, 1.9, 3.0, -9.0, 9.0, 1e12]

CASES = [
    case("Embedding", {"input_dim": 4, "output_dim": 3}, [at((2, 4), WILD), (4, 3)],
         lambda i, w: take(0)(w, i), 0, dtypes=FLOATS, note="beyond the rows", backward=True),
    *(case("Embedding", {"input_dim": 5, "output_dim": 20},
           [at((3, 2), [4, 0, 2, 2, 9, 2], kind), (5, 20)], lambda i, w: take(0)(w, i), 0,
           note=f"{kind} places", backward=True) for kind in KINDS),
    case("Embedding", {"input_dim": 3, "output_dim": 1}, [at((1,), [2]), (3, 1)],
         lambda i, w: take(0)(w, i), 0, backward=True),
    case("Embedding", {"input_dim": 3, "output_dim": 2}, [at((4,), [2, 0, 1, 7], "float16"),
                                                          (3, 2)],
         lambda i, w: take(0)(w, i), 0, note="half places", backward=False),
    case("Embedding", {"input_dim": 3, "output_dim": 2, "sparse_grad": True},
         [at((2,), [2, 2]), (3, 2)], lambda i, w: take(0)(w, i), 0, backward=True),
    case("Embedding", {"input_dim": 3, "output_dim": 2}, [at((0,), []), (3, 2)],
         lambda i, w: np.zeros((0, 2)), 0, native=False, note="no places", backward=False),
    *(case("take", {"axis": axis, "mode": mode}, [(2, 4, 3), at((2, 4), [*WILD[:7], 2])],
           take(axis, mode == "wrap"), 1, dtypes=FLOATS, note="beyond", backward=True)
      for axis in (0, 1, -1) for mode in ("clip", "wrap")),
    *(case("take", {}, [(5, 4), at((3,), [4, 0, 4], kind)], take(0), 1,
           dtypes=("float32", "float64", "int32", "int8"), note=f"{kind} places", backward=True)
      for kind in ("float32", "int64")),
    case("take", {}, [(7,), at((2, 1), [5, 1])], take(0), 1, note="rank 1", backward=True),
    case("take", {"axis": 1}, [(2, 20, 3, 3), at((5,), [0, 19, 7, 7, 3])], take(1), 1,
         note="channels", backward=True),
    case("take", {"mode": "raise"}, [(5, 4), at((3,), [4, 0, 4])], take(0), 1, native=False,
         backward=True),
    case("take", {}, [(5, 4), at((0,), [])], lambda a, i: np.zeros((0, 4)), 1, native=False,
         note="no places", backward=False),
    *(case("one_hot", {"depth": 3}, [at((2, 3), [-1, -0.5, 0, 1.9, 3, 4], kind)], one_hot(3), 0,
           note=f"{kind} places") for kind in ("float32", "int32", "int64", "float64")),
    case("one_hot", {"depth": 4, "on_value": 2.5, "off_value": -1}, [at((3,), [0, 3, 9])],
         one_hot(4, 2.5, -1), 0),
    case("one_hot", {"depth": 4, "on_value": 8, "off_value": 1.7, "dtype": "int32"},
         [at((3,), [0, 3, 9])], one_hot(4, 8, 1), 0, native="auto", note="int32 is not added"),
    *(case("one_hot", {"depth": 2, "dtype": dtype}, [at((3,), [0, 1, 9])], one_hot(2), 0,
           native=False) for dtype in ("float64", "float16", "uint8", "int64")),
    case("one_hot", {"depth": 0}, [at((3,), [0, 1, 9])], one_hot(0), 0, native=False),
    *(case("pick", {"axis": 1, "mode": mode}, [(2, 3, 4), at((2, 4), [0, 1, 9, -1, 2, 2, -5, 1.9])],
           pick(1, mode == "wrap"), 1, dtypes=FLOATS, note="beyond", backward=True)
      for mode in ("clip", "wrap")),
    case("pick", {}, [(2, 3, 4), at((2, 3), [0, 1, 2, 3, 2, 1], "int64")], pick(-1), 1,
         dtypes=("float32", "int32"), backward=True),
    case("pick", {"keepdims": True}, [(2, 3, 4), at((2, 3, 1), [0, 1, 2, 3, 2, 1])],
         pick(-1, keepdims=True), 1, backward=True),
    case("pick", {"axis": 0}, [(3, 4), at((1, 4), [0, 1, 2, 0])], pick(0), 1,
         note="index of data's rank", backward=True),
    case("pick", {"axis": 0}, [(5,), at((1,), [3])], pick(0), 1, note="rank 1", backward=True),
]
