"""SoftmaxOutput: forward is a softmax; backward a formula of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input, Native

Shape = tuple[int, ...]


def softmax(x: Array, axis: int) -> Array:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def forward(x: Array, params: dict[str, Any]) -> Array:
    if params.get("multi_output"):
        return softmax(x, 1)
    if params.get("preserve_shape"):
        return softmax(x, -1)
    return softmax(x.reshape(len(x), int(np.prod(x.shape[1:]))), 1).reshape(x.shape)


def backward(x: Array, label: Array, dy: Array, params: dict[str, Any]) -> Array:
    """One instance after the other, as MXNet's loops have it."""
    y = forward(x, params)
    scale = params.get("grad_scale", 1.0)
    if label.shape == x.shape:
        dx = (y - label) * scale
    else:
        multi = params.get("multi_output", False)
        lines = np.moveaxis(y, 1, -1) if multi else y
        shape = lines.shape
        flat = params.get("preserve_shape") or multi
        rows = lines.reshape((lines.size // max(1, shape[-1]), shape[-1]) if flat else (
            len(y), int(np.prod(shape[1:])))).copy()
        ignore, alpha = int(params.get("ignore_label", -1)), params.get("smooth_alpha", 0.0)
        numbers = [int(v) for v in label.reshape(-1)]
        for row, number in zip(rows, numbers, strict=False):
            if params.get("use_ignore") and number == ignore:
                row[:] = 0
                continue
            if alpha and not multi:
                row -= alpha / (len(row) - 1)
                if 0 <= number < len(row):
                    row[number] += alpha / (len(row) - 1) + alpha
            if 0 <= number < len(row):
                row[number] -= 1
        how = params.get("normalization", "null")
        if multi and how != "valid":
            scale /= y[0, 0].size
        if how == "batch":
            scale /= len(y) if multi else len(numbers)
        elif how == "valid":
            scale /= max(1, sum(number != ignore for number in numbers))
        dx = rows.reshape(shape) * scale
        dx = np.moveaxis(dx, -1, 1) if multi else dx
    return dx * dy if params.get("out_grad") else dx


def case(data: Shape, label: Shape | None = None, values: Any = None, native: Native = True,
         native_backward: Native | None = None, note: str = "", op: str = "SoftmaxOutput",
         **params: Any) -> Case:
    classes = data[1] if params.get("multi_output") else data[-1]
    if label is None:
        label = (data[0], *data[2:]) if params.get("multi_output") else data[:-1]
    return Case(op, params, [
        Input(data, low=-2, high=2),
        Input(label, values=values) if values is not None else Input(
            label, kind="ints", low=-1, high=classes + 1)],
        reference=lambda x, t: forward(x, params),
        gradients=lambda x, t, dy: (backward(x, t, dy, params), None),
        native=native, native_backward=native if native_backward is None else native_backward,
        is_train=True, note=note)


IGNORE: dict[str, Any] = {"use_ignore": True, "ignore_label": 1}
CASES = [
    case((4, 5)),
    case((4, 5), op="Softmax"),
    case((4, 5), **IGNORE, grad_scale=2.5),
    case((4, 5), normalization="batch"),
    case((6, 3), normalization="valid"),
    case((6, 3), normalization="valid", **IGNORE),
    case((3, 4), values=[2, 2, 2], normalization="valid", use_ignore=True, ignore_label=2,
         note="all ignored"),
    case((4, 5), smooth_alpha=0.1),
    case((4, 5), smooth_alpha=0.3, **IGNORE),
    case((4, 5), out_grad=True, grad_scale=0.5),
    case((7, 4), values=[0.9, 1.99, -0.5, -1.5, 3.2, 99, -99], note="labels between and beyond"),
    case((4, 5), values=np.arange(20) / 20, label=(4, 5), grad_scale=3.0, note="probabilities"),
    case((1, 5), values=[2], normalization="valid", note="one row"),
    case((3, 1), values=[0, 0, 0], note="one class"),
    case((2, 3, 4), preserve_shape=True),
    case((2, 3, 2, 4), preserve_shape=True, normalization="batch"),
    # labels of a flattened array: MXNet reads the first of them
    case((2, 3, 4), native_backward=False, note="flattened"),
    case((4, 5), (4, 1), multi_output=True),
    case((2, 3, 4), multi_output=True),
    case((2, 20, 3, 2), multi_output=True, **IGNORE),
    case((2, 20, 3, 2), (2, 6), multi_output=True, normalization="batch"),
    case((2, 3, 3, 2), (2, 1, 3, 2), multi_output=True, normalization="valid", **IGNORE),
    case((1, 3, 2, 2, 2), multi_output=True, out_grad=True),
    case((2, 3, 1, 2, 1, 2), (2, 4), multi_output=True, note="rank 6"),
    case((2, 20, 3, 2), (2, 20, 3, 2), values=np.arange(240) / 240, multi_output=True,
         note="probabilities"),
    case((0, 5), native=False, note="no rows"),
]
