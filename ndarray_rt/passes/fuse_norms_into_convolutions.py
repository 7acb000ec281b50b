"""Lets a 1x1 convolution concatenate, normalize and rectify its input, as in dense blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dtypes import FLOAT32
from ..ops.fused.post_ops import chain_text, num_operands, parse_chain
from ..ops.nn.batch_norm import EPILOGUE as BATCH_NORM
from ..ops.nn.convolution import EPILOGUE as CONVOLUTION
from ..symbol.node import Entry, Node, topological
from .rewrite import Facts, Heads, make, rewrite


def fuse_norms_into_convolutions(heads: Sequence[Entry], facts: Facts) -> Heads:
    """Concat, BatchNorm, relu and a 1x1 convolution become one node, so that the concatenated
    tensor is never materialized; nested Concats are flattened (float32)."""
    def change(node: Node, inputs: list[Entry]) -> list[Entry] | None:
        if node.op is None or node.op.epilogue is not CONVOLUTION:
            return None
        norm = inputs[0].node
        if (norm.op is None or norm.op.epilogue is not BATCH_NORM
                or not facts.used_once(node.inputs[0]) or not _is_pointwise(node, facts)):
            return None
        act = _activation(norm)
        parts = _parts(norm.inputs[0])
        if act is None or len(parts) < 2:
            return None
        return [_fused(node, inputs, norm, parts, act)]
    return _flat(rewrite(heads, change))


def _is_pointwise(node: Node, facts: Facts) -> bool:
    params: Any = node.params
    chain = parse_chain(params.post_ops) if hasattr(params, "post_ops") else ()
    data = facts.shapes[node.inputs[0]]
    return (set(params.kernel) == {1} and not set(params.stride) - {1} and params.num_group == 1
            and not set(params.pad) - {0} and num_operands(chain) == 0
            and len(data) in (3, 4, 5) and 0 not in data
            and all(facts.types[entry] == FLOAT32 for entry in node.inputs))


def _activation(norm: Node) -> str | None:
    """The activation of the normalized values, "" or "relu"; None for any other."""
    params: Any = norm.params
    if params.axis != 1 or params.output_mean_var:
        return None
    text = getattr(params, "post_ops", "")
    return {"": "none", "relu": "relu"}.get(text)


def _parts(entry: Entry) -> list[Entry]:
    """The parts that are concatenated along the channels to an entry."""
    if not _is_concat(entry.node):
        return [entry]
    return [part for source in entry.node.inputs for part in _parts(source)]


def _fused(node: Node, inputs: list[Entry], norm: Node, parts: list[Entry], act: str) -> Entry:
    params: Any = node.params
    facts: Any = norm.params
    affine = make("_affine_batch_norm", {"eps": facts.eps, "fix_gamma": facts.fix_gamma},
                  norm.inputs[1:], f"{norm.name}_affine")
    chain = parse_chain(getattr(params, "post_ops", ""))
    attrs = {**params.to_attrs(), "post_ops": chain_text(chain), "num_args": len(parts),
             "act_type": act}
    made = make("_fused_normed_Convolution", attrs, [*parts, *affine.outputs, *inputs[1:]],
                node.name)
    return Entry(made, 0)


def _flat(heads: Heads) -> Heads:
    """Flattens each Concat that only another Concat reads into that one."""
    others: set[Entry] = set(heads)
    for node in topological(heads):
        if not _is_concat(node):
            others.update(node.inputs)

    def change(node: Node, inputs: list[Entry]) -> list[Entry] | None:
        if not _is_concat(node):
            return None
        parts = [part for own, now in zip(node.inputs, inputs, strict=True)
                 for part in (now.node.inputs if own not in others and _is_concat(now.node)
                              else [now])]
        if parts == inputs:
            return None
        params: Any = node.params
        return make("Concat", {**params.to_attrs(), "num_args": len(parts)}, parts,
                    node.name).outputs
    return rewrite(heads, change)


def _is_concat(node: Node) -> bool:
    op = node.op
    return op is not None and op.joins_axis is not None and op.joins_axis(node.params) == 1
