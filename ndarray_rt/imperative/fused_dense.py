"""_sg_mkldnn_fully_connected: a dense layer and an elementwise function behind it, fused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from .._array.layout import AnyArray
from .._array.output import NumpyOutput
from ..dtypes import FLOAT32, INT8
from ..errors import ParameterError
from ..op.context import OpContext
from ..op.infer import TypeList
from ..op.params import boolean, optional_boolean, params_class
from ..op.registry import OpDef, find, register
from ..ops.quantization.ranges import (
    BYTES,
    floats_type,
    need_dtype,
    value_of,
    zero_gradients,
)
from ..ops.quantization.whole_layers import (
    Headroom,
    Whole,
    extent,
    rescaled_layer,
    scale_of,
    whole_layer,
)
from . import fused_layers as layers
from .fused_layers import FusedLayerParams
from .subgraph_ops import types_inside

FUNCTIONS = frozenset(("Activation", "LeakyReLU", "clip", "square", "sqrt", "exp", "abs"))


@params_class
class FusedDenseParams(FusedLayerParams):
    """A dense layer and what follows it."""

    enable_float_output: bool = boolean(False, doc="the output is float32 and has no range")
    with_eltwise: bool = boolean(False, doc="an elementwise function follows")
    channel_wise_quantize: bool | None = optional_boolean(
        doc="weights are float32, and have a scale for each row")

    RENAMED: ClassVar[Mapping[str, str]] = {"with_relu": "with_eltwise"}
    LAYER = "FullyConnected"
    FOLLOWERS: ClassVar[Sequence[frozenset[str]]] = (FUNCTIONS,)
    OUTPUT_ENDS = ("min_output", "max_output")

    def _read(self, owner: str) -> list[Any]:
        nodes = super()._read(owner)
        if self.with_eltwise != (len(nodes) > 1):
            raise ParameterError(f"{owner}: with_eltwise got {self.with_eltwise}, expected "
                                 f"{len(nodes) > 1} from the graph inside")
        return nodes

    @property
    def inputs(self) -> tuple[str, ...]:
        return ("data", "weight") if self.layer.no_bias else ("data", "weight", "bias")

    @property
    def ends(self) -> tuple[str, ...]:
        if not self.quantized:
            return ()
        names = ("data",) if self.channel_wise_quantize else self.inputs
        return tuple(f"{end}_{name}" for name in names for end in ("min", "max"))

    @property
    def gives_floats(self) -> bool:
        return not self.quantized or self.enable_float_output


def infer_type(p: FusedDenseParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    if not p.quantized:
        return types_inside(p, ins, outs)
    names = layers.input_names(p)
    kind = FLOAT32 if p.channel_wise_quantize else INT8
    made = [need_dtype(ins[0], BYTES, "data"),
            *(need_dtype(dtype, (kind,), name)
              for dtype, name in zip(ins[1:p.count], names[1:], strict=False)),
            *floats_type(ins[p.count:], p.ends)]
    whole = FLOAT32 if p.gives_floats else p.whole_dtype
    return made, [need_dtype(outs[0], (whole,), "the output"),
                  *floats_type(outs[1:], p.OUTPUT_ENDS)]


def compute(ctx: OpContext, p: FusedDenseParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    if not p.quantized:
        layers.compute_floats(ctx, p, ins, outs)
        return
    given = dict(zip(layers.input_names(p), ins, strict=True))
    data, ranges = given["data"], p.calibrated
    data_scale = scale_of(data.dtype, *ends_of(given, "data"))
    whole = whole_numbers(p, given, data_scale)
    out_scale = scale_of(p.whole_dtype, *ranges) if ranges else None
    if p.gives_floats:
        out_scale = np.float32(1)
    sums = layers.summed(find("_contrib_quantized_fully_connected"),
                         replace(p.layer, no_bias=True), data, whole.weight)
    steps = layers.first_steps(sums, whole, data_scale, out_scale, axis=-1)
    for node in p.nodes[1:]:
        steps = steps.followed(node)
    if p.gives_floats:
        outs[0].write(steps.y)
        return
    if ranges is None:
        ranges = whole.ends(data.dtype, [given["min_data"], given["max_data"],
                                         *weight_range(given)])
    layers.finish(steps, outs, *ranges)


def whole_numbers(p: FusedDenseParams, given: Mapping[str, AnyArray], data_scale: np.float32,
                  ) -> Whole:
    """The layer on whole numbers, of its inputs by name."""
    by_rows = p.calibrated is not None or p.gives_floats
    growth = 1.0 if by_rows else p.growths[0]
    if p.channel_wise_quantize:
        return whole_layer(given["weight"], given.get("bias"), data_scale, by_rows,
                           Headroom(growth))
    bias_ends = None if p.layer.no_bias else ends_of(given, "bias")
    return rescaled_layer(given["weight"], ends_of(given, "weight"), given.get("bias"), bias_ends,
                          data_scale, growth)


def ends_of(given: Mapping[str, AnyArray], name: str) -> tuple[np.float32, np.float32]:
    """The range of an input."""
    return value_of(given[f"min_{name}"]), value_of(given[f"max_{name}"])


def weight_range(given: Mapping[str, AnyArray]) -> tuple[AnyArray, AnyArray]:
    """Ends of the range of the weights."""
    if "min_weight" in given:
        return given["min_weight"], given["max_weight"]
    return extent(given["weight"])


register(OpDef(
    "_sg_mkldnn_fully_connected", FusedDenseParams, inputs=layers.input_names,
    outputs=layers.output_names, takes_any=True, infer_shape=layers.infer_shape,
    infer_type=infer_type, compute=compute, gradient=zero_gradients, mutates=lambda p: p.aux,
    pure=False,
    doc="Linear transformation, and an elementwise function behind it if the graph inside has "
        "one.\n\n"
        "data, weight and bias as in FullyConnected. On 8-bit numbers data is int8 or uint8, "
        "weight and bias are int8, min and max (1,) of each follow; with channel_wise_quantize "
        "weight and bias are float32 without ranges, and are rounded with a scale for each row. "
        "The output is int8, uint8 behind what is never below 0, and stands for the calibrated "
        "range, which follows, (1,), (1,); int32 without calibration; float32 and alone with "
        "enable_float_output. Made by Symbol.get_backend_symbol. For inference: gradients are 0. "
        "Source: MXNet's _sg_mkldnn_fully_connected."))
