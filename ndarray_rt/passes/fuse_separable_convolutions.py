"""Fuses depthwise convolutions with the 1x1 convolutions around them, if images are large."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from ..cpu_level import has_avx512
from ..dtypes import FLOAT32
from ..op import calibration
from ..op.choose import BLOCK
from ..op.elementwise import Chain
from ..ops.fused.post_ops import chain_bounds, chain_text, num_operands, parse_chain
from ..ops.fused.run import chain_adds_first
from ..ops.fused.separable_convolution import STRIDES, WINDOW, scratch_of
from ..ops.nn.convolution import EPILOGUE as CONVOLUTION
from ..symbol.node import Entry, Node
from .rewrite import Facts, Heads, make, replace

SEPARABLE = "_fused_separable_Convolution"


def fuse_separable_convolutions(heads: Sequence[Entry], facts: Facts) -> Heads:
    """A 3x3 depthwise convolution, the 1x1 convolution after it, and one before it if there is one,
    become one node if the tensors between them exceed a near cache (float32; AVX-512). On other
    CPUs such nodes are split again."""
    if not has_avx512():
        return replace(heads, _taken_apart)

    def change(node: Node, now: Mapping[Entry, Entry]) -> list[Entry] | None:
        depthwise = _depthwise_before(node, facts)
        if depthwise is None:
            return None
        expansion = _expansion_before(depthwise, facts)
        data = (depthwise if expansion is None else expansion).inputs[0]
        if (not _adds_or_bounds(node, data, facts)
                or not _pays(node, depthwise, expansion, facts)):
            return None
        return _fused(node, depthwise, expansion, now)
    return replace(heads, change)


def _depthwise_before(node: Node, facts: Facts) -> Node | None:
    """The depthwise convolution that only this 1x1 convolution reads."""
    if not _is_pointwise(node, facts):
        return None
    before = node.inputs[0].node
    if not facts.used_once(node.inputs[0]) or not _is_layer(before, facts):
        return None
    params: Any = before.params
    channels = facts.shapes[before.inputs[0]][1]
    if (not params.num_filter == params.num_group == channels or channels % BLOCK
            or params.kernel != WINDOW or set(params.geometry().dilate) != {1}
            or params.geometry().stride not in STRIDES or chain_bounds(_chain(before)) is None):
        return None
    return before


def _expansion_before(depthwise: Node, facts: Facts) -> Node | None:
    before = depthwise.inputs[0].node
    if (not facts.used_once(depthwise.inputs[0]) or not _is_pointwise(before, facts)
            or chain_bounds(_chain(before)) is None):
        return None
    return before


def _is_layer(node: Node, facts: Facts) -> bool:
    return (node.op is not None and node.op.epilogue is CONVOLUTION
            and all(facts.types[entry] == FLOAT32 for entry in node.inputs)
            and 0 not in facts.shapes[node.inputs[0]])


def _is_pointwise(node: Node, facts: Facts) -> bool:
    if not _is_layer(node, facts):
        return False
    params: Any = node.params
    return (params.kernel == (1, 1) and params.num_group == 1
            and not set(params.stride) - {1} and not set(params.pad) - {0})


def _adds_or_bounds(node: Node, data: Entry, facts: Facts) -> bool:
    """The result is only added to something of its shape, possibly reshaped, and clipped. `data` is
    the input of the block."""
    chain = _chain(node)
    if chain_adds_first(chain):
        operand, out = node.inputs[-num_operands(chain)], facts.shapes[node.outputs[0]]
        if chain[0].alpha != 1 and not (operand == data and facts.shapes[data] == out):
            return False
        chain = chain[1:]
    return chain_bounds(chain) is not None


def _chain(node: Node) -> Chain:
    return parse_chain(getattr(node.params, "post_ops", ""))


def _pays(node: Node, depthwise: Node, expansion: Node | None, facts: Facts) -> bool:
    data, out = facts.shapes[depthwise.inputs[0]], facts.shapes[depthwise.outputs[0]]
    between = prod((out if expansion is None else data)[1:])
    at_a_time = scratch_of(data[1], data, out, _params(depthwise).geometry().stride)
    weights = sum(prod(facts.shapes[layer.inputs[1]])
                  for layer in (node, expansion) if layer is not None)
    return (4 * between >= calibration.LEAST_BETWEEN
            and 0 < 4 * at_a_time <= calibration.MOST_AT_A_TIME
            and 4 * weights <= calibration.MOST_SEPARABLE_WEIGHTS)


def _fused(node: Node, depthwise: Node, expansion: Node | None,
           now: Mapping[Entry, Entry]) -> list[Entry]:
    layers = [layer for layer in (expansion, depthwise, node) if layer is not None]
    own, windows = _params(node), _params(depthwise)
    attrs: dict[str, object] = {
        "num_filter": own.num_filter, "num_between": windows.num_filter,
        "stride": windows.geometry().stride, "pad": windows.geometry().pad,
        "no_bias": own.no_bias, "post_ops": chain_text(_chain(node)),
        "no_depthwise_bias": windows.no_bias, "depthwise_post_ops": chain_text(_chain(depthwise)),
        "is_expanded": expansion is not None}
    if expansion is not None:
        attrs["no_expansion_bias"] = _params(expansion).no_bias
        attrs["expansion_post_ops"] = chain_text(_chain(expansion))
    inputs = [layers[0].inputs[0]]
    for layer in layers:
        inputs += layer.inputs[1:]
    return make(SEPARABLE, attrs, [now[entry] for entry in inputs], node.name).outputs


def _params(node: Node) -> Any:
    return node.params


def _taken_apart(node: Node, now: Mapping[Entry, Entry]) -> list[Entry] | None:
    """The convolutions that such a node consists of."""
    if node.op is None or node.op.name != SEPARABLE:
        return None
    params: Any = node.params
    inputs = [now[entry] for entry in node.inputs]
    data, at = inputs[0], 1
    for stage in params.stages():
        end = at + len(stage.inputs)
        last = not stage.name
        attrs = {**stage.params.to_attrs(), "post_ops": chain_text(stage.chain)}
        name = node.name if last else f"{node.name}_{stage.name}"
        made = make("_fused_Convolution", attrs,
                    [data, *(inputs[at:] if last else inputs[at:end])], name)
        data, at = made.outputs[0], end
    return [data]
