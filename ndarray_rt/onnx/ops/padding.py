"""Pad and CenterCropPad."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...errors import ModelFormatError
from ..build import GraphBuilder
from ..graph import Array, Node
from ..table import axes_of, operator
from ..values import Value, need_bytes


def _pads(node: Node, rank: int, pads: Any, axes: Any) -> list[tuple[int, int]]:
    given = [int(p) for p in (node.attr("pads") if pads is None else pads)]
    found = range(rank) if axes is None else [int(a) % rank for a in axes]
    count = len(given) // 2
    if len(given) != 2 * len(found):
        raise ValueError(f"pads {given} of {len(found)} axes")
    made = [(0, 0)] * rank
    for i, axis in enumerate(found):
        made[axis] = given[i], given[i + count]
    return made


def _padded(x: Array, pads: list[tuple[int, int]], mode: str, value: Any) -> Any:
    cut = tuple(slice(max(-a, 0), d - max(-b, 0)) for (a, b), d in zip(pads, x.shape, strict=True))
    more = [(max(a, 0), max(b, 0)) for a, b in pads]
    x = x[cut]
    if mode == "constant":
        return np.pad(x, more, constant_values=value)
    if mode not in ("edge", "reflect", "wrap"):
        raise ModelFormatError(f"the mode {mode!r}")
    return np.pad(x, more, mode=mode)  # type: ignore[call-overload]


@operator("Pad", shape_from=(1, 3))
def pad(node: Node, x: Array, pads: Array | None = None, value: Array | None = None,
        axes: Array | None = None) -> Any:
    fill: Any = node.attr("value", 0.0) if node.opset < 11 else 0
    if value is not None and value.size:
        fill = value.reshape(-1)[0]
    return _padded(x, _pads(node, x.ndim, pads, axes), node.attr("mode", "constant"), fill)


@pad.sized
def pad_size(node: Node, x: Array, pads: Array | None = None, value: Array | None = None,
             axes: Array | None = None) -> tuple[list[int], Any]:
    return [d + a + b for d, (a, b) in zip(x.shape, _pads(node, x.ndim, pads, axes), strict=True)
            ], x.dtype


@pad.symbol
def pad_symbol(b: GraphBuilder, node: Node, x: Value, pads: Value | None = None,
               value: Value | None = None, axes: Value | None = None) -> Value | None:
    if not x.is_float or any(v is not None and v.const is None for v in (pads, value, axes)):
        return None
    found = _pads(node, x.rank, None if pads is None else pads.const,
                  None if axes is None else axes.const)
    mode = node.attr("mode", "constant")
    fill = float(node.attr("value", 0.0)) if node.opset < 11 else 0.0
    if value is not None and value.size:
        fill = value.number() or 0.0
    return padded(b, x, found, mode, fill)


def padded(b: GraphBuilder, x: Value, pads: list[tuple[int, int]], mode: str = "constant",
           fill: float = 0.0) -> Value | None:
    """More elements at the ends of axes; None where the engine's Pad does not do it."""
    if all(p == (0, 0) for p in pads):
        return x
    if any(a < 0 or c < 0 for a, c in pads) or mode not in ("constant", "edge", "reflect"):
        return None
    need_bytes([d + a + c for d, (a, c) in zip(x.shape, pads, strict=True)], x.dtype)
    if mode == "reflect" and any(max(p) >= d for p, d in zip(pads, x.shape, strict=True)
                                 if p != (0, 0)):
        return None
    first = next(i for i, p in enumerate(pads) if p != (0, 0))
    # the engine pads the last two axes of four, or the last three of five
    behind = x.rank - first
    if behind > 3:
        return None
    axes = max(behind, 2)
    ones = (1,) * max(axes - x.rank, 0)
    lead = x.shape[:max(x.rank - axes, 0)]
    shape = (*((lead[0], prod(lead[1:])) if lead else (1, 1)), *ones, *x.shape[len(lead):])
    widths = [0, 0, 0, 0, *(0 for _ in ones), *(0 for _ in ones)]
    for before, after in pads[len(lead):]:
        widths += [before, after]
    made = b.op("Pad", b.reshaped(x, shape), mode=mode, pad_width=tuple(widths),
                constant_value=fill)
    return b.reshaped(made, [d + a + c for d, (a, c) in zip(x.shape, pads, strict=True)])


@operator("CenterCropPad", shape_from=(1,))
def center_crop_pad(node: Node, x: Array, shape: Array) -> Array:
    axes = axes_of(node, None, x.ndim) or tuple(range(x.ndim))
    for axis, wanted in zip(axes, (int(d) for d in shape), strict=True):
        own = x.shape[axis]
        if wanted < own:
            start = (own - wanted) // 2
            x = x[(slice(None),) * axis + (slice(start, start + wanted),)]
        elif wanted > own:
            pads = [(0, 0)] * x.ndim
            pads[axis] = (wanted - own) // 2, (wanted - own) - (wanted - own) // 2
            x = np.pad(x, pads)
    return x


@center_crop_pad.sized
def center_crop_pad_size(node: Node, x: Array, shape: Array) -> tuple[list[int], Any]:
    dims = list(x.shape)
    for axis, wanted in zip(axes_of(node, None, x.ndim) or range(x.ndim), shape, strict=True):
        dims[axis] = int(wanted)
    return dims, x.dtype
