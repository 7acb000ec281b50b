"""How far float32 can be trusted on a graph: rounding errors, and kinks that they may cross.

A relu, a maximum or a max pooling chooses; where two choices are nearer to each other than
rounding, two right computations may choose differently and their gradients have nothing in common.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..symbol.node import Node
from .naive import Array, NaiveExecutor

Kink = Callable[[Any, list[Array]], "Array | None"]
# A kink is safe when it is this many times farther away than float32 is wrong in numpy.
KINK_MARGIN = 4.0


def _around(*points: float) -> Callable[[Any, list[Array]], Array]:
    def distance(params: Any, ins: list[Array]) -> Array:
        found: Array = np.min([np.abs(ins[0] - point) for point in points], axis=0)
        return found
    return distance


def _clip(params: Any, ins: list[Array]) -> Array:
    return _around(params.a_min, params.a_max)(params, ins)


def _between(params: Any, ins: list[Array]) -> Array:
    distance: Array = np.abs(ins[0] - ins[1])
    return distance


def _pair_scalar(params: Any, ins: list[Array]) -> Array:
    return _around(params.scalar)(params, ins)


def _activation(params: Any, ins: list[Array]) -> Array | None:
    return np.abs(ins[0]) if params.act_type == "relu" else None


def _leaky(params: Any, ins: list[Array]) -> Array | None:
    return None if params.act_type == "gelu" else np.abs(ins[0])


def _top_two(x: Array) -> Array:
    """Distance of the two greatest along the last axis; infinite where there is one."""
    if x.shape[-1] < 2:
        return np.full(x.shape[:-1], np.inf)
    ordered = np.sort(x, axis=-1)
    with np.errstate(invalid="ignore"):
        gap: Array = ordered[..., -1] - ordered[..., -2]
    return np.where(np.isnan(gap), np.inf, gap)


def _reduce_gap(sign: float) -> Callable[[Any, list[Array]], Array]:
    def distance(params: Any, ins: list[Array]) -> Array:
        x, axis = ins[0], params.axis
        axes = range(x.ndim) if axis is None or axis == () else np.atleast_1d(axis)
        gone = sorted({int(a) % x.ndim for a in axes})
        if params.exclude:
            gone = [a for a in range(x.ndim) if a not in gone]
        kept = [a for a in range(x.ndim) if a not in gone]
        turned = x.transpose(*kept, *gone).reshape(*[x.shape[a] for a in kept], -1)
        return _top_two(sign * turned)
    return distance


def _max_pool(params: Any, ins: list[Array]) -> Array | None:
    if params.pool_type != "max":
        return None
    x = ins[0]
    if params.global_pool:
        return _top_two(x.reshape(*x.shape[:2], -1))
    n = x.ndim - 2
    # a window more than the operator may have does no harm
    pad = [(0, 0), (0, 0), *[(p, p + k) for p, k in zip(params.pad or (0,) * n, params.kernel,
                                                        strict=True)]]
    padded = np.pad(x, pad, constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(padded, params.kernel,
                                                       axis=tuple(range(2, x.ndim)))
    steps = tuple(slice(None, None, s) for s in (params.stride or (1,) * n))
    chosen = (slice(None), slice(None), *steps)
    windows = windows[chosen]
    return _top_two(windows.reshape(*windows.shape[:x.ndim], -1))


KINKS: dict[str, Kink] = {
    "relu": _around(0.0), "abs": _around(0.0), "sign": _around(0.0), "Activation": _activation,
    "LeakyReLU": _leaky, "clip": _clip, "_maximum_scalar": _pair_scalar,
    "_minimum_scalar": _pair_scalar, "_greater_scalar": _pair_scalar, "_maximum": _between,
    "_minimum": _between, "broadcast_maximum": _between, "broadcast_minimum": _between,
    "broadcast_greater": _between, "MAERegressionOutput": _between, "max": _reduce_gap(1.0),
    "min": _reduce_gap(-1.0), "Pooling": _max_pool,
}


def unsafe_kink(runs: Sequence[NaiveExecutor], exact: NaiveExecutor) -> str | None:
    """The node whose choice float32 may make wrongly, None when all are safe.

    `runs` in float32 and `exact` in float64 have run the same. Inputs without error (such as those
    of the graph) are always safe.
    """
    for node in exact.order:
        kink = KINKS.get(node.op.name) if node.op is not None else None
        if kink is not None and not all(_is_safe(node, kink, run, exact) for run in runs):
            return node.name
    return None


def _is_safe(node: Node, kink: Kink, run: NaiveExecutor, exact: NaiveExecutor) -> bool:
    near = [run.values[entry].astype(np.float64) for entry in node.inputs]
    right = [exact.values[entry] for entry in node.inputs]
    wrong = max(float(np.abs(a - b).max(initial=0.0)) for a, b in zip(near, right, strict=True))
    if wrong == 0.0:
        return True
    distance, seen = kink(node.params, right), kink(node.params, near)
    if distance is None or seen is None:
        return True
    # what float32 has exactly, such as the zeros behind a relu, is chosen as in exact arithmetic
    return bool(np.all((distance > KINK_MARGIN * wrong) | ((distance == 0) & (seen == 0))))


def rounding(runs: Sequence[Mapping[str, Array]], exact: Mapping[str, Array]) -> dict[str, float]:
    """The greatest error of float32 in each result."""
    return {name: max(float(np.abs(run[name].astype(np.float64) - value).max(initial=0.0))
                      for run in runs) for name, value in exact.items()}
