"""tile, repeat, reverse, stack, Pad, diag, depth_to_space, space_to_depth, in loops or numpy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case

ALL = ("float32", "float64", "float16", "int32", "uint8", "int64")
SOME = ("float32", "float64", "int32")


def tile(shape: tuple[int, ...], reps: tuple[int, ...], dtypes: tuple[str, ...] = ("float32",),
         native: Any = True) -> Case:
    return Case("tile", {"reps": reps}, [shape], reference=lambda x: np.tile(x, reps),
                native=native, dtypes=dtypes)


def repeat(shape: tuple[int, ...], repeats: int, axis: int | None = None,
           dtypes: tuple[str, ...] = ("float32",), native: Any = True) -> Case:
    return Case("repeat", {"repeats": repeats, "axis": axis}, [shape],
                reference=lambda x: np.repeat(x, repeats, axis), native=native, dtypes=dtypes)


def stack(shape: tuple[int, ...], n: int, axis: int, dtypes: tuple[str, ...] = ("float32",),
          native: Any = True) -> Case:
    return Case("stack", {"num_args": n, "axis": axis}, [shape] * n,
                reference=lambda *xs: np.stack(xs, axis), native=native, dtypes=dtypes)


def flip(shape: tuple[int, ...], axis: Any, key: Any, dtypes: tuple[str, ...] = ("float32",),
         ) -> Case:
    return Case("reverse", {"axis": axis}, [shape], reference=lambda x: x[key],
                native=0 not in shape,
                native_backward=0 not in shape, dtypes=dtypes)


def pad(shape: tuple[int, ...], mode: str, width: tuple[int, ...], value: float = 0.0,
        dtypes: tuple[str, ...] = ("float32",), native: Any = True) -> Case:
    def reference(x: Array) -> Array:
        made = np.zeros([n + a + b for n, a, b in zip(shape, width[::2], width[1::2],
                                                      strict=True)])
        for place in np.ndindex(*made.shape):
            at = [i - before for i, before in zip(place, width[::2], strict=True)]
            if mode == "edge":
                at = [min(max(i, 0), n - 1) for i, n in zip(at, shape, strict=True)]
            elif mode == "reflect":
                at = [abs(i) if i < n else 2 * n - 2 - i for i, n in zip(at, shape, strict=True)]
            inside = all(0 <= i < n for i, n in zip(at, shape, strict=True))
            made[place] = x[tuple(at)] if inside else value
        return made
    params = {"mode": mode, "pad_width": width, "constant_value": value}
    return Case("Pad", params, [shape], reference=reference, native=native, native_backward=native,
                dtypes=dtypes)


def diag(shape: tuple[int, ...], dtypes: tuple[str, ...] = ("float32",), **params: int) -> Case:
    k = params.get("k", 0)
    axes = params.get("axis1", 0), params.get("axis2", 1)

    def reference(x: Array) -> Array:
        if x.ndim == 1:
            made = np.zeros((len(x) + abs(k),) * 2)
            for i, value in enumerate(x):
                made[i - min(k, 0), i + max(k, 0)] = value
            return made
        moved = np.moveaxis(x, axes, (0, 1))
        found = [moved[i - min(k, 0), i + max(k, 0)] for i in range(max(moved.shape))
                 if i - min(k, 0) < moved.shape[0] and i + max(k, 0) < moved.shape[1]]
        return np.stack(found, axis=-1)
    return Case("diag", params, [shape], reference=reference, native=False, native_backward=False,
                dtypes=dtypes)


def to_space(shape: tuple[int, ...], b: int) -> Case:
    def reference(x: Array) -> Array:
        n, c, h, w = shape
        made = np.zeros((n, c // (b * b), h * b, w * b))
        for i, j in np.ndindex(b, b):
            first = (i * b + j) * (c // (b * b))
            made[:, :, i::b, j::b] = x[:, first:first + c // (b * b)]
        return made
    return Case("depth_to_space", {"block_size": b}, [shape], reference=reference, native=True,
                native_backward=True, dtypes=ALL)


def to_depth(shape: tuple[int, ...], b: int) -> Case:
    def reference(x: Array) -> Array:
        parts = [x[:, :, i::b, j::b] for i, j in np.ndindex(b, b)]
        return np.concatenate(parts, axis=1)
    return Case("space_to_depth", {"block_size": b}, [shape], reference=reference, native=True,
                native_backward=True, dtypes=ALL)


s = np.s_
CASES = [
    tile((2, 3), (2, 2), ALL), tile((2, 3), (2,)), tile((3,), (2, 3)), tile((2, 3), (2, 1, 3)),
    tile((2, 3), ()), tile((2, 20, 3, 2), (1, 2, 1, 2)), tile((2, 3), (0, 2), native=False),
    tile((0, 3), (2,), native=False),
    repeat((2, 3), 2, dtypes=ALL), repeat((2, 3), 3, 0), repeat((2, 3), 2, -1, SOME),
    repeat((2, 20, 3, 2), 2, 1), repeat((2, 3), 1, 0), repeat((2, 3), 0, 0, native=False),
    stack((2, 3), 3, 0, ALL), stack((2, 3), 2, 1), stack((2, 3), 2, -1, SOME), stack((3,), 1, 0),
    stack((2, 20, 3, 2), 2, 2), stack((2, 3), 2, -3), stack((0, 3), 2, 1, native=False),
    flip((2, 3), 0, s[::-1], ALL), flip((2, 3, 4), (0, 2), s[::-1, :, ::-1]),
    flip((2, 3), -1, s[:, ::-1]), flip((2, 3), (), s[...]), flip((2, 3), (1, 1), s[...]),
    flip((2, 20, 3, 2), 1, s[:, ::-1]), flip((0, 3), 0, s[...]),
    *(pad((2, 3, 3, 4), mode, (0, 0, 0, 0, 2, 1, 1, 2), 2.0, ALL[:4])
      for mode in ("constant", "edge", "reflect")),
    *(pad((1, 2, 2, 3, 2), mode, (0, 0, 0, 0, 1, 1, 0, 2, 1, 0), 0.0, SOME)
      for mode in ("constant", "edge", "reflect")),
    pad((2, 20, 3, 2), "constant", (0, 0, 0, 0, 1, 0, 2, 2), -2.0),
    pad((1, 2, 4, 3), "constant", (0, 0, 0, 0, -1, -2, 1, -1), native=False),
    diag((3, 4), ALL), diag((3, 4), k=1), diag((3, 4), k=-2), diag((3,), SOME), diag((3,), k=2),
    diag((3,), k=-1), diag((2, 3, 4)), diag((2, 3, 4), axis1=-1, axis2=1, k=1),
    diag((2, 3, 3, 2), axis1=1, axis2=2),
    to_space((2, 8, 2, 3), 2), to_space((1, 9, 1, 2), 3), to_space((2, 3, 2, 2), 1),
    to_depth((2, 2, 4, 6), 2), to_depth((1, 1, 3, 6), 3),
]
