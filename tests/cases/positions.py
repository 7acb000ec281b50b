"""shape_array and its like, index_copy, batch_take, khatri_rao, sequences' ends, im2col."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input

ALL = ("float32", "float64", "float16", "int32", "uint8", "int64")
SOME = ("float32", "float64", "int32")


def at(values: Any, dtype: str = "float32") -> Input:
    return Input(np.shape(values), dtype=dtype, values=values)


def case(op: str, inputs: list[Any], reference: Any, dtypes: tuple[str, ...] = ("float32",),
         no_grad: set[str | int] | None = None, note: str = "", native: Any = False,
         **params: Any) -> Case:
    return Case(op, params, inputs, reference=reference, native=native, native_backward=native,
                no_grad=no_grad or set(), dtypes=dtypes, note=note)


def copied(old: Array, index: Array, new: Array) -> Array:
    made = old.copy()
    for row, value in zip(index, new, strict=True):
        made[int(row)] = value
    return made


def khatri_rao(*matrices: Array) -> Array:
    columns = []
    for column in zip(*(m.T for m in matrices), strict=True):
        made = column[0]
        for other in column[1:]:
            made = np.kron(made, other)
        columns.append(made)
    return np.array(columns).T


def lengths(given: Array, steps: int) -> list[int]:
    return [min(max(int(n), 0), steps) for n in given]


def last(axis: int) -> Any:
    def reference(x: Array, *given: Array) -> Array:
        moved = np.moveaxis(x, axis, 0)
        ends = lengths(given[0], len(moved)) if given else [len(moved)] * moved.shape[1]
        return np.stack([moved[max(n - 1, 0), i] for i, n in enumerate(ends)])
    return reference


def turned(x: Array, *given: Array) -> Array:
    made = x.copy()
    ends = lengths(given[0], len(x)) if given else [len(x)] * x.shape[1]
    for i, n in enumerate(ends):
        made[:n, i] = x[:n, i][::-1]
    return made


def columns(kernel: tuple[int, ...], stride: tuple[int, ...] = (), dilate: tuple[int, ...] = (),
            pad: tuple[int, ...] = ()) -> Any:
    n = len(kernel)
    strides, dilates, pads = stride or (1,) * n, dilate or (1,) * n, pad or (0,) * n

    def reference(x: Array) -> Array:
        big = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in pads)])
        counts = [(size - d * (k - 1) - 1) // s + 1 for size, k, s, d in zip(
            big.shape[2:], kernel, strides, dilates, strict=True)]
        made = np.zeros((*x.shape[:2], *kernel, *counts))
        for place in np.ndindex(*kernel):
            for window in np.ndindex(*counts):
                pixel = (..., *(i * d + w * s for i, d, w, s in zip(
                    place, dilates, window, strides, strict=True)))
                to = (slice(None), slice(None), *place, *window)
                made[to] = big[pixel]
        return made.reshape(x.shape[0], x.shape[1] * int(np.prod(kernel)), -1)
    return reference


def images(size: tuple[int, ...], kernel: tuple[int, ...], **params: Any) -> Any:
    def reference(x: Array) -> Array:
        channels = x.shape[1] // int(np.prod(kernel))
        made = np.zeros((len(x), channels, *size))
        for place in np.ndindex(*made.shape):
            one = np.zeros(made.shape)
            one[place] = 1
            made[place] = (columns(kernel, **params)(one) * x).sum()
        return made
    return reference


def im2col(shape: tuple[int, ...], dtypes: tuple[str, ...] = ("float32",), **params: Any) -> Case:
    return case("im2col", [shape], columns(**params), dtypes, **params)


def col2im(shape: tuple[int, ...], size: tuple[int, ...], dtypes: tuple[str, ...] = ("float32",),
           **params: Any) -> Case:
    return case("col2im", [shape], images(size, **params), dtypes, output_size=size, **params)


def ravel(x: Array) -> Array:
    return np.array([int(a) * 4 + int(b) for a, b in x.T])


LENGTHS: dict[str, Any] = {"use_sequence_length": True, "native": True}
FLOATS = ("float32", "float64", "float16")
CASES = [
    case("shape_array", [(2, 3, 4)], lambda x: np.array([2, 3, 4]), ALL),
    case("size_array", [(2, 3, 4)], lambda x: np.array([24]), ALL),
    case("_contrib_index_array", [(2, 3)], lambda x: np.moveaxis(np.indices((2, 3)), 0, -1),
         SOME),
    case("_contrib_index_array", [(2, 3, 2)],
         lambda x: np.stack([np.indices((2, 3, 2))[i] for i in (2, 0)], -1), axes=(2, -3)),
    case("_ravel_multi_index", [at([[1.7, 0, 2], [3, 2.9, 1]])], ravel, no_grad={0}, shape=(3, 4)),
    case("_ravel_multi_index", [at([[1, 0, 2], [3, 2, 1]], "int64")], ravel, shape=(-1, 4)),
    *(case("_unravel_index", [at([7, 3, 20], kind)],
           lambda x: np.array([[int(v) // 4, int(v) % 4] for v in x]).T, no_grad={0},
           note=kind, shape=(3, 4)) for kind in ("float32", "int32", "int64", "uint8", "float16")),
    case("_unravel_index", [at([[7, 3], [11, 0]])], lambda x: np.array(np.unravel_index(
        x.astype(np.int64), (3, 4))), no_grad={0}, shape=(3, 4)),
    case("_contrib_index_copy", [(4, 3), at([2, 0]), (2, 3)], copied, ALL, {1}),
    case("_contrib_index_copy", [(4,), at([3, 1], "int32"), (2,)], copied, SOME, {1}),
    case("batch_take", [(3, 4), at([1, -1, 9], "int32")],
         lambda a, i: np.array([a[0, 1], a[1, 0], a[2, 3]]), ALL),
    case("khatri_rao", [(2, 3), (4, 3)], khatri_rao, SOME, num_args=2),
    case("khatri_rao", [(2, 2), (1, 2), (3, 2)], khatri_rao, num_args=3),
    case("khatri_rao", [(2, 3)], khatri_rao, num_args=1),
    case("SequenceLast", [(3, 2, 4)], last(0), ALL, native=True),
    case("SequenceLast", [(3, 4, 2), at([1.9, 3, 0, 7])], last(0), ALL, {1}, **LENGTHS),
    case("SequenceLast", [(3, 2), at([1, 2, 2], "int32")], last(1), no_grad={1}, axis=1, **LENGTHS),
    case("SequenceLast", [(4, 3, 20, 3)], last(1), SOME, axis=1, native=True),
    case("SequenceLast", [(3, 20, 3, 3), at([2] * 19 + [0])], last(0), no_grad={1}, **LENGTHS),
    case("SequenceReverse", [(3, 2, 4)], turned, ALL, native=True),
    case("SequenceReverse", [(3, 4, 2), at([1.9, 3, 0, 7])], turned, ALL, {1}, **LENGTHS),
    case("SequenceReverse", [(4, 2), at([2, 3], "int64")], turned, no_grad={1},
         use_sequence_length=True, native="auto"),
    case("SequenceReverse", [(3, 20, 3, 3), at([2] * 19 + [0], "uint8")], turned, no_grad={1},
         **LENGTHS),
    im2col((2, 3, 4, 5), FLOATS, kernel=(2, 3)),
    im2col((1, 2, 4, 4), kernel=(2, 2), stride=(2, 1), dilate=(1, 2), pad=(1, 2)),
    im2col((1, 2, 5), kernel=(3,), pad=(1,)),
    im2col((1, 1, 3, 3, 2), kernel=(2, 2, 1)),
    col2im((2, 6, 6), (3, 4), FLOATS, kernel=(3, 2), pad=(1, 0), stride=(2, 1)),
    col2im((1, 4, 4), (3, 3), kernel=(2, 2)),
]
