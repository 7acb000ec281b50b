"""where, SequenceMask, _contrib_arange_like and _contrib_div_sqrt_dim."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input, Reference


def where(condition: Array, x: Array, y: Array) -> Array:
    made = np.empty(x.shape)
    for at in np.ndindex(*x.shape):
        made[at] = x[at] if condition[at if condition.ndim == x.ndim else at[0]] else y[at]
    return made


def choice(condition: tuple[int, ...], data: tuple[int, ...], kind: str = "float32",
           dtypes: tuple[str, ...] = ("float32",), native: Any = True) -> Case:
    return Case("where", {}, [Input(condition, dtype=kind, kind="bits"), data, data],
                reference=where, no_grad={0}, native=native, native_backward=native,
                dtypes=dtypes, note=f"{kind} condition")


def mask(axis: int, value: float) -> Reference:
    def reference(data: Array, lengths: Array) -> Array:
        made = np.array(data)
        for b, length in enumerate(lengths):
            made[(slice(None), b) if axis == 0 else (b,)][max(int(length), 0):] = value
        return made
    return reference


def masked(data: tuple[int, ...], lengths: list[float], axis: int = 0, value: float = 0.0,
           kind: str = "float32", dtypes: tuple[str, ...] = ("float32",)) -> Case:
    # nothing copies int64 but numpy
    native: Any = "auto" if kind == "int64" else True
    params = {"use_sequence_length": True, "axis": axis, "value": value}
    return Case("SequenceMask", params,
                [data, Input((len(lengths),), dtype=kind, values=lengths)],
                reference=mask(axis, value), no_grad={1}, native=native, native_backward=True,
                dtypes=dtypes, note=f"{kind} lengths")


def numbers(data: tuple[int, ...], out: tuple[int, ...], start: float = 0.0, step: float = 1.0,
            repeat: int = 1, **params: Any) -> Case:
    size = int(np.prod(out))
    values = np.repeat(start + step * np.arange(size), repeat)[:size].reshape(out)
    return Case("_contrib_arange_like", {"start": start, "step": step, "repeat": repeat, **params},
                [data], reference=lambda x: values, native=True,
                dtypes=("float32", "float64", "float16", "int32") if float(step).is_integer()
                and float(start).is_integer() else ("float32", "float64"))


CASES = [
    choice((2, 3), (2, 3), dtypes=("float32", "float64", "int32")),
    choice((4,), (4, 20, 3), dtypes=("float32", "float64")),
    choice((2, 20, 3, 3), (2, 20, 3, 3), "int32"),
    choice((5,), (5,), "int64", native="auto"),
    choice((2, 3), (2, 3), "float64"),
    choice((3,), (3, 2), "uint8"),
    choice((3,), (3, 2), "float16", native=False),
    Case("where", {}, [Input((4,), dtype="float32", values=[0.5, -0.0, np.nan, 0.0]), (4,), (4,)],
         reference=where, no_grad={0}, native=True, note="what is not zero"),
    masked((3, 2, 4), [1, 2], dtypes=("float32", "float64", "float16", "int32"), value=-1.0),
    masked((3, 2), [0, 9], value=3.5),
    masked((3, 2, 2), [1.9, -1.0]),
    masked((3, 5, 4), [5, 0, 2], axis=1, value=-1.0),
    masked((20, 3, 3, 3), [4, 17, 20], kind="int32"),
    masked((4, 2), [1, 3], kind="int64"),
    Case("SequenceMask", {}, [(3, 2, 4)], reference=lambda x: x, native=True,
         dtypes=("float32", "float64", "int32")),
    numbers((2, 3), (2, 3)),
    numbers((2, 3), (3,), axis=-1),
    numbers((2, 3), (2, 3), start=1.5, step=-2.0),
    numbers((2, 4), (4,), repeat=3, axis=1),
    *(Case("_contrib_div_sqrt_dim", {}, [shape], reference=lambda x: x / np.sqrt(x.shape[-1]),
           native=True, native_backward=True, dtypes=("float32", "float64", "float16"))
      for shape in ((2, 4), (2, 20, 3, 5), (7,))),
]
