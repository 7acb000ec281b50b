"""Fused layers on 8-bit numbers as layers that native kernels compute from end to end.

What depends on parameters alone, which is their weights and biases as whole numbers and the scales
between sums and outputs, is computed when a parameter changes, and not at each run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import FLOAT32, DType
from ..op.registry import find
from ..ops.fused.constant import ConstantParams
from ..ops.fused.round_layers import output_names
from ..ops.fused.rounded_layers import SUM as SUMMAND
from ..ops.quantization.whole_layers import scale_of
from ..ops.quantization.whole_sums import STRAIGHT, Bend
from ..symbol.node import Entry, Node
from .fuse_layers import CONV, DENSE
from .known_ranges import KnownRanges
from .rewrite import Facts, Heads, make, replace

NORM, SUM = "BatchNorm", "elemwise_add"
NORM_INPUTS = ("gamma", "beta", "mean", "var")
OPERATORS = {CONV: "_fused_rounded_conv", DENSE: "_fused_rounded_dense"}


def lower_fused_layers(heads: Sequence[Entry], facts: Facts) -> Heads:
    """The graph with such layers in place of those that know the range of their output, write
    floats, or are followed by nothing but sums and functions that layers do themselves."""
    ranges = KnownRanges(facts)

    def change(node: Node, now: Mapping[Entry, Entry]) -> list[Entry] | None:
        ranges.note(node)
        p: Any = node.params
        name = "" if node.op is None else node.op.name
        if name not in OPERATORS or not p.quantized:
            return None
        plan = _plan(p)
        return None if plan is None else _lowered(node, plan, _inputs(node, now, ranges), facts)
    return replace(heads, change)


def _inputs(node: Node, now: Mapping[Entry, Entry], ranges: KnownRanges) -> dict[str, Entry]:
    """By name; ends of ranges that are known are constants."""
    p: Any = node.params
    made = {}
    for name, entry in zip((*p.inputs, *p.ends), node.inputs, strict=True):
        value = ranges.of(entry)
        made[name] = now[entry] if value is None else _number(f"{node.name}_{name}", value)
    return made


def _number(name: str, value: np.float32) -> Entry:
    return Entry(make("_constant", ConstantParams.of(np.array([value], np.float32)), [], name), 0)


# ---- what follows the sums ----------------------------------------------------------------------


class _Plan(NamedTuple):
    """What a layer does with its sums: dtype of its output, what floats are multiplied by there
    (None: it gives int32 sums; bounds are then those of floats), and a function that is computed
    of floats behind it."""

    dtype: DType
    out_scale: np.float32 | None
    first: Bend
    last: Bend
    function: Node | None

    @property
    def is_bent(self) -> bool:
        """A function of floats that the layer does itself follows the sums."""
        return (self.first, self.last) != (STRAIGHT, STRAIGHT)


def _plan(p: Any) -> _Plan | None:
    """None for what has no such form."""
    followers = [node for node in p.nodes[1:] if node.op.name != NORM]
    dtype: DType = FLOAT32 if p.gives_floats else p.whole_dtype
    out_scale: np.float32 | None = np.float32(1)
    if not p.gives_floats:
        out_scale = None if p.calibrated is None else scale_of(dtype, *p.calibrated)
    function = None
    if out_scale is not None and followers and _is_computed_behind(followers[-1]):
        function = followers.pop()
        dtype, out_scale = FLOAT32, np.float32(1)
    bounds_scale = np.float32(1) if out_scale is None else out_scale
    first = last = STRAIGHT
    is_behind = not any(node.op.name == SUM for node in followers)
    for node in followers:
        bend = _bend(node, bounds_scale)
        if node.op.name == SUM:
            is_behind = True
        elif bend is None:
            return None
        elif is_behind:
            last = bend
        else:
            first = bend
    return _Plan(dtype, out_scale, first, last, function)


def _is_computed_behind(node: Node) -> bool:
    assert node.op is not None
    return node.op.name != SUM and _bend(node, np.float32(1)) is None


def _bend(node: Node, scale: np.float32) -> Bend | None:
    """What a function does to numbers that stand for floats times a scale, if it is one that a
    layer does itself."""
    p: Any = node.params
    name = "" if node.op is None else node.op.name
    if name == "Activation" and p.act_type == "relu":
        return Bend(low=0.0)
    if name == "LeakyReLU" and p.act_type == "leaky":
        return Bend(slope=float(p.slope))
    if name == "abs":
        return Bend(slope=-1.0)
    if name == "clip":
        with np.errstate(all="ignore"):
            return Bend(low=float(np.float32(p.a_min) * scale),
                        high=float(np.float32(p.a_max) * scale))
    return None


# ---- the new nodes ------------------------------------------------------------------------------


def _lowered(node: Node, plan: _Plan, given: Mapping[str, Entry], facts: Facts) -> list[Entry]:
    assert node.op is not None
    p: Any = node.params
    rounded = _rounded(node, plan, given, facts.types[node.inputs[0]])
    made_of: Any = rounded.params
    parts = dict(zip(output_names(made_of), rounded.outputs, strict=True))
    layer = [given["data"], parts["weight"], *([parts["bias"]] if made_of.has_bias else [])]
    summand = [given[name] for name in SUMMAND if name in given]
    attrs = {**p.layer.to_attrs(), "of": _told(node), "no_bias": not made_of.has_bias,
             "out_type": plan.dtype.name}
    behind = {"with_sum": bool(summand),
              **plan.first.named("first"), **plan.last.named("last")}
    if plan.out_scale is None:
        made = Entry(make(OPERATORS[node.op.name], attrs, layer, node.name), 0)
        if made_of.with_steps:
            made = Entry(make("_bend_sums", {"of": _told(node), **behind},
                              [made, parts["steps"], *summand], f"{node.name}_bent"), 0)
        return [made, parts["low"], parts["high"]]
    made = Entry(make(OPERATORS[node.op.name], {**attrs, **behind, "out_scale": plan.out_scale},
                      [*layer, parts["scale"], *summand], node.name), 0)
    if plan.function is not None:
        inner = plan.function
        made = Entry(Node(inner.op, inner.name, dict(inner.attrs), inner.params, [made]), 0)
    if p.gives_floats:
        return [made]
    if plan.function is not None:
        made = _quantized(node, made)
    return [made, *_ends(node)]


def _quantized(node: Node, floats: Entry) -> Entry:
    """Floats as 8-bit numbers of the range of a node."""
    p: Any = node.params
    low, high = p.calibrated
    return Entry(make("_contrib_quantize_v2", {
        "out_type": p.whole_dtype.name, "min_calib_range": low, "max_calib_range": high},
        [floats], node.name), 0)


def _ends(node: Node) -> list[Entry]:
    """The range of a node."""
    p: Any = node.params
    return [_number(f"{node.name}_{end}", value)
            for end, value in zip(("low", "high"), p.calibrated, strict=True)]


def _told(node: Node) -> str:
    """Operator and node as errors are to tell them."""
    assert node.op is not None
    assert node.params is not None
    return " ".join(part or "" for part in node.params.told(node.op.name, node.name))


def _rounded(node: Node, plan: _Plan, given: Mapping[str, Entry], data: DType) -> Node:
    """What makes whole numbers of the layer's parameters."""
    p: Any = node.params
    attrs: dict[str, object] = {"of": _told(node), "data_type": data.name,
                                "out_scale": plan.out_scale, "no_bias": p.layer.no_bias,
                                "with_steps": plan.out_scale is None and (
                                    plan.is_bent or "sum" in given)}
    if plan.out_scale is None:
        attrs["growth"] = p.growths[0]
    bias = () if p.layer.no_bias else ("bias",)
    name = f"{node.name}_rounded"
    if node.op is find(DENSE) and not p.channel_wise_quantize:
        names: tuple[str, ...] = ("min_data", "max_data", "weight", "min_weight", "max_weight")
        names += ("bias", "min_bias", "max_bias") if bias else ()
        return make("_round_dense", attrs, [given[name] for name in names], name)
    names = ("data_min", "data_max") if node.op is find(CONV) else ("min_data", "max_data")
    names += ("weight", *bias)
    if node.op is find(CONV):
        attrs["from_zero"] = True
        if p.with_bn:
            norm: Any = p.nodes[1].params
            attrs |= {"with_norm": True, "eps": norm.eps, "fix_gamma": norm.fix_gamma}
            names += NORM_INPUTS
    if plan.out_scale is None and "sum" in given:
        attrs |= {"with_sum": True, "sum_growth": p.growths[1]}
        names += SUMMAND[1:]
    return make("_round_layer", attrs, [given[name] for name in names], name)
