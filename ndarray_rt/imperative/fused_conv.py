"""_sg_mkldnn_conv: a convolution with batch normalization, a sum and activations, fused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from .._array.layout import AnyArray
from .._array.output import NumpyOutput
from ..dtypes import FLOAT32, UINT8
from ..errors import ParameterError
from ..op.context import OpContext
from ..op.infer import TypeList
from ..op.params import boolean, params_class
from ..op.registry import OpDef, find, register
from ..ops.quantization.ranges import (
    BYTES,
    floats_type,
    need_dtype,
    value_of,
    widest,
    zero_gradients,
)
from ..ops.quantization.whole_layers import (
    Headroom,
    Whole,
    extent,
    folded,
    scale_of,
    whole_layer,
)
from . import fused_layers as layers
from .fused_layers import FusedLayerParams, Steps
from .subgraph_ops import types_inside

ACTIVATIONS = frozenset(("Activation", "LeakyReLU", "clip"))
NORM_INPUTS = ("gamma", "beta", "mean", "var")
NORM, SUM = "BatchNorm", "elemwise_add"


@params_class
class FusedConvParams(FusedLayerParams):
    """A convolution and what follows it."""

    with_bn: bool = boolean(False, doc="batch normalization follows")
    with_act: bool = boolean(False, doc="an activation follows, before a sum")
    with_sum: bool = boolean(False, doc="a summand is added")
    with_postsum_act: bool = boolean(False, doc="an activation follows the sum")

    RENAMED: ClassVar[Mapping[str, str]] = {"with_relu": "with_act",
                                            "with_postsum_relu": "with_postsum_act"}
    LAYER = "Convolution"
    FOLLOWERS: ClassVar[Sequence[frozenset[str]]] = (
        frozenset((NORM,)), ACTIVATIONS, frozenset((SUM,)), ACTIVATIONS)
    OUTPUT_ENDS = ("output_min", "output_max")

    def _read(self, owner: str) -> list[Any]:
        nodes = super()._read(owner)
        names = [node.op.name for node in nodes if node.op is not None]
        place = names.index(SUM) if SUM in names else len(names)
        found = {"with_bn": NORM in names, "with_sum": SUM in names,
                 "with_act": any(name in ACTIVATIONS for name in names[:place]),
                 "with_postsum_act": any(name in ACTIVATIONS for name in names[place:])}
        for flag, value in found.items():
            if getattr(self, flag) != value:
                raise ParameterError(f"{owner}: {flag} got {not value}, expected {value} from the "
                                     f"graph inside, of {', '.join(names)}")
        return nodes

    @property
    def inputs(self) -> tuple[str, ...]:
        return ("data", "weight", *(() if self.layer.no_bias else ("bias",)),
                *(NORM_INPUTS if self.with_bn else ()),
                *(("sum",) if self.with_sum else ()))

    @property
    def ends(self) -> tuple[str, ...]:
        if not self.quantized:
            return ()
        return ("data_min", "data_max", *(("sum_min", "sum_max") if self.with_sum else ()))


def infer_type(p: FusedConvParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    if not p.quantized:
        return types_inside(p, ins, outs)
    names = layers.input_names(p)
    made = [need_dtype(dtype, BYTES if name in ("data", "sum") else (FLOAT32,), name)
            for dtype, name in zip(ins, names, strict=True)]
    return made, [need_dtype(outs[0], (p.whole_dtype,), "the output"),
                  *floats_type(outs[1:], p.OUTPUT_ENDS)]


def compute(ctx: OpContext, p: FusedConvParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    if not p.quantized:
        layers.compute_floats(ctx, p, ins, outs)
        return
    given = dict(zip(layers.input_names(p), ins, strict=True))
    data, ranges = given["data"], p.calibrated
    low, high = value_of(given["data_min"]), value_of(given["data_max"])
    if data.dtype == UINT8 and low < 0:
        raise ParameterError(f"data is uint8 and has a range from {low}, expected one from 0: int8 "
                             "stands for numbers below 0")
    data_scale = scale_of(data.dtype, low, high)
    whole = whole_numbers(p, given, data_scale)
    sums = layers.summed(find("_contrib_quantized_conv"), replace(p.layer, no_bias=True), data,
                         whole.weight)
    out_scale = None if ranges is None else scale_of(p.whole_dtype, *ranges)
    steps = layers.first_steps(sums, whole, data_scale, out_scale, axis=1)
    for node in p.nodes[1:]:
        name = node.op.name if node.op else ""
        if name == SUM:
            steps = plus(steps, given)
        elif name in ACTIVATIONS:
            steps = steps.followed(node)
    if ranges is None:
        ranges = whole.ends(data.dtype, [given["data_min"], given["data_max"],
                                         *extent(float_layer(p, given)[0])])
    layers.finish(steps, outs, *ranges)


def float_layer(p: FusedConvParams, given: Mapping[str, AnyArray],
                ) -> tuple[AnyArray, AnyArray | None]:
    """Weight and bias, with batch normalization in them."""
    weight, bias = given["weight"], given.get("bias")
    if not p.with_bn:
        return weight, bias
    norm: Any = p.nodes[1].params
    return folded(weight, bias, norm, *(given[name] for name in NORM_INPUTS))


def whole_numbers(p: FusedConvParams, given: Mapping[str, AnyArray], data_scale: np.float32,
                  ) -> Whole:
    """The layer on whole numbers, of its inputs by name."""
    layer = float_layer(p, given)
    if p.calibrated is not None:
        return whole_layer(*layer, data_scale, by_rows=True)
    bias, summand = p.growths
    most = np.float32(0)
    if p.with_sum:
        most = widest(*(value_of(given[end]) for end in ("sum_min", "sum_max")))
    return whole_layer(*layer, data_scale, by_rows=False,
                       behind=Headroom(bias, most * np.float32(summand)))


def plus(steps: Steps, given: Mapping[str, AnyArray]) -> Steps:
    """The summand, brought to the same steps, added."""
    summand = given["sum"]
    low, high = value_of(given["sum_min"]), value_of(given["sum_max"])
    ratio = np.float32(steps.scale / scale_of(summand.dtype, low, high))
    with np.errstate(all="ignore"):
        return Steps(steps.y + summand.astype(steps.y.dtype) * ratio, steps.scale)


register(OpDef(
    "_sg_mkldnn_conv", FusedConvParams, inputs=layers.input_names, outputs=layers.output_names,
    takes_any=True, infer_shape=layers.infer_shape, infer_type=infer_type, compute=compute,
    gradient=zero_gradients, mutates=lambda p: p.aux, pure=False,
    doc="Convolution, and batch normalization, an activation, a sum and another activation behind "
        "it, as far as the graph inside has them.\n\n"
        "data (N, C, *spatial), weight (num_filter, C / num_group, *kernel), bias, gamma, beta, "
        "mean and var (num_filter,), sum of the output's shape. The output is (N, num_filter, "
        "*out). On 8-bit numbers data and sum are int8 or uint8, min and max (1,) of each follow; "
        "the output is int8, uint8 behind what is never below 0, and stands for the calibrated "
        "range, which follows, (1,), (1,). Weights are rounded to int8, with a scale for each "
        "filter. Without calibration they have one scale, and the output is int32. Made by "
        "Symbol.get_backend_symbol. For inference: gradients are 0. Source: MXNet's "
        "_sg_mkldnn_conv."))
