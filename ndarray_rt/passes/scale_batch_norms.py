"""Folds factors and summands per channel after a batch norm into its gamma and beta."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ..dtypes import FLOAT32
from ..op.elementwise import X, Y
from ..symbol.node import Entry, Node
from .match import number_of
from .prologue import is_parameter
from .rewrite import Facts, Heads, make, rewrite


def scale_batch_norms(heads: Sequence[Entry], facts: Facts) -> Heads:
    """`BatchNorm(x) * a + b` becomes a BatchNorm with another gamma and beta if a and b are
    parameters of one number, or one per channel, as of a Scale layer (float32)."""
    def change(node: Node, inputs: list[Entry]) -> list[Entry] | None:
        op, params = node.op, node.params
        said = None if op is None or params is None else op.elementwise_of(params)
        if said is None or said.word not in ("mul", "add") or said.args != (X, Y) or (
                facts.types[Entry(node, 0)] != FLOAT32):
            return None
        for at in (0, 1):
            norm, values = inputs[at].node, node.inputs[1 - at]
            if _may_scale(norm, node, at, values, facts):
                return [_scaled(norm, said.word, inputs[1 - at], node.name)]
        return None
    return rewrite(heads, change)


def _may_scale(norm: Node, node: Node, at: int, values: Entry, facts: Facts) -> bool:
    if norm.op is None or norm.op.name != "BatchNorm":
        return False
    params: Any = norm.params
    shape, own = facts.shapes[Entry(node, 0)], facts.shapes[values]
    axis = params.axis % len(shape)
    full = (1,) * (len(shape) - len(own)) + own
    return (facts.used_once(node.inputs[at]) and not params.output_mean_var
            and facts.shapes[node.inputs[at]] == shape and is_parameter(values)
            and number_of(values) is None and prod(own) in (1, shape[axis])
            and all(size == 1 or (i == axis and size == shape[axis])
                    for i, size in enumerate(full)))


def _scaled(norm: Node, kind: str, values: Entry, name: str) -> Entry:
    params: Any = norm.params
    assert norm.op is not None
    data, gamma, beta, *statistics = norm.inputs
    scale = make("_scale_batch_norm", {"kind": kind, "fix_gamma": params.fix_gamma},
                 [gamma, beta, values], f"{name}_scaled")
    attrs = {**params.to_attrs(), "fix_gamma": "False"}
    return Entry(make("BatchNorm", attrs, [data, *scale.outputs, *statistics], name), 0)
