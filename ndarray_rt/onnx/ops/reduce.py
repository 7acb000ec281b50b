"""Sums, means, extremes and norms along axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..build import GraphBuilder
from ..graph import Array, Node
from ..table import axes_of, operator
from ..values import Value

Reduction = Callable[[Array, tuple[int, ...], bool], Any]


def _axes(node: Node, rank: int, given: Array | None) -> tuple[int, ...]:
    axes = axes_of(node, given, rank)
    if axes:
        return axes
    return () if node.attr("noop_with_empty_axes", 0) else tuple(range(rank))


def _log_sum_exp(x: Array, axes: tuple[int, ...], keep: bool) -> Any:
    top = np.max(x, axes, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0).astype(x.dtype)
    total = np.log(np.sum(np.exp(x - top), axes, keepdims=True)) + top
    return total if keep else np.squeeze(total, axes)


def _as(function: Callable[..., Any]) -> Reduction:
    def reduction(x: Array, axes: tuple[int, ...], keep: bool) -> Any:
        return function(x, axis=axes, keepdims=keep, dtype=x.dtype)
    return reduction


def _extreme(function: Callable[..., Any], is_max: bool) -> Reduction:
    def reduction(x: Array, axes: tuple[int, ...], keep: bool) -> Any:
        if x.dtype == bool:
            least: Any = not is_max
        elif x.dtype.kind in "iu":
            info = np.iinfo(x.dtype)
            least = info.min if is_max else info.max
        else:
            least = -np.inf if is_max else np.inf
        return function(x, axis=axes, keepdims=keep, initial=least)
    return reduction


def mean(x: Array, axes: tuple[int, ...], keep: bool) -> Any:
    """The mean of floats; NaN, without a warning, where there is nothing."""
    if x.size == 0:
        return np.sum(x, axis=axes, keepdims=keep, dtype=x.dtype) / x.dtype.type(0)
    return np.mean(x, axis=axes, keepdims=keep, dtype=x.dtype)


def _mean(x: Array, axes: tuple[int, ...], keep: bool) -> Any:
    if x.dtype.kind in "iu":
        count = int(np.prod([x.shape[a] for a in axes]))
        total = np.sum(x, axis=axes, keepdims=keep, dtype=np.int64)
        return np.trunc(total / count).astype(x.dtype)
    return mean(x, axes, keep)


_SUM = _as(np.sum)
_REDUCTIONS: dict[str, Reduction] = {
    "ReduceSum": _SUM, "ReduceProd": _as(np.prod), "ReduceMean": _mean,
    "ReduceMax": _extreme(np.max, True), "ReduceMin": _extreme(np.min, False),
    "ReduceL1": lambda x, axes, keep: _SUM(np.abs(x), axes, keep),
    "ReduceL2": lambda x, axes, keep: np.sqrt(_SUM(x * x, axes, keep)),
    "ReduceLogSum": lambda x, axes, keep: np.log(_SUM(x, axes, keep)),
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceSumSquare": lambda x, axes, keep: _SUM(x * x, axes, keep),
}
# operators of the engine, in a row
_SYMBOLS = {
    "ReduceSum": ("sum",), "ReduceProd": ("prod",), "ReduceMean": ("mean",),
    "ReduceMax": ("max",), "ReduceMin": ("min",), "ReduceL1": ("abs", "sum"),
    "ReduceL2": ("square", "sum", "sqrt"), "ReduceLogSum": ("sum", "log"),
    "ReduceSumSquare": ("square", "sum"),
}
_ALONG = frozenset({"sum", "prod", "mean", "max", "min"})


def _add(name: str, reduction: Reduction) -> None:
    @operator(name, shape_from=(1,))
    def compute(node: Node, x: Array, axes: Array | None = None) -> Any:
        found = _axes(node, x.ndim, axes)
        made = reduction(x, found, bool(node.attr("keepdims", 1)))
        return np.asarray(made).astype(x.dtype, copy=False)

    if name not in _SYMBOLS:
        return

    @compute.symbol
    def symbol(b: GraphBuilder, node: Node, x: Value, axes: Value | None = None) -> Value | None:
        if not x.is_float or (axes is not None and axes.const is None) or not x.rank:
            return None
        found = sorted(_axes(node, x.rank, None if axes is None else axes.const))
        if not found:
            return x if _SYMBOLS[name][0] in _ALONG and len(_SYMBOLS[name]) == 1 else None
        keep = bool(node.attr("keepdims", 1))
        shape = tuple(1 if i in found else d for i, d in enumerate(x.shape))
        if not keep:
            shape = tuple(d for i, d in enumerate(x.shape) if i not in found)
        made = x
        for op in _SYMBOLS[name]:
            if op in _ALONG:
                made = b.op(op, made, axis=tuple(found), keepdims=keep)
            else:
                made = b.op(op, made)
        return b.shaped(made, shape)


for _name, _reduction in _REDUCTIONS.items():
    _add(_name, _reduction)
