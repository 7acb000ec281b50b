"""_sg_mkldnn_selfatt_qk and _sg_mkldnn_selfatt_valatt: attention's products, also of 8-bit numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from .._array.layout import AnyArray, get_default
from .._array.ndarray import NDArray
from .._array.output import NumpyOutput, Output
from ..dtypes import FLOAT32, INT8
from ..errors import ParameterError, Unsupported
from ..native import lib
from ..op.context import OpContext
from ..op.infer import TypeList
from ..op.params import boolean, integer, params_class
from ..op.registry import FCompute, FComputeEx, OpDef, Shape, register
from ..ops.blas import uses_blas
from ..ops.nn.interleaved_attention import WHOLE as JOINED
from ..ops.nn.interleaved_attention import Part
from ..ops.quantization import native
from ..ops.quantization.ranges import (
    BYTES,
    WHOLE,
    floats_type,
    need_dtype,
    product_range,
    value_of,
    zero_gradients,
)
from ..ops.quantization.whole_layers import scale_of
from ..ops.tensor.places import can_add
from ..ops.tensor.pointwise import dtype_of
from ..storage.desc import default_desc
from ..storage.kernels.bytes import product_factor
from ..storage.kernels.bytes import product_range as write_product_range
from ..storage.kernels.gemm import byte_products
from ..storage.stream import Mem
from . import fused_layers as layers
from .fused_layers import FusedLayerParams, Steps
from .subgraph_ops import types_inside

QUERIES, KEYS, VALUES = (Part(0, 3, part) for part in range(3))


@params_class
class FusedAttentionParams(FusedLayerParams):
    """One of attention's products, in the only graph."""

    heads: int = integer(low=1, doc="number of heads")
    enable_float_output: bool = boolean(False, doc="the output is float32 and has no range")

    OUTPUT_ENDS = ("min_output", "max_output")
    INPUTS: ClassVar[tuple[str, ...]] = ()

    def _read(self, owner: str) -> list[Any]:
        nodes: list[Any] = super()._read(owner)
        inner = nodes[0].params.heads
        if self.heads != inner:
            raise ParameterError(f"{owner}: heads got {self.heads}, expected {inner} from the "
                                 "graph inside")
        return nodes

    @property
    def inputs(self) -> tuple[str, ...]:
        return self.INPUTS

    @property
    def ends(self) -> tuple[str, ...]:
        if not self.quantized:
            return ()
        short = ("qkv", *self.INPUTS[1:])
        return tuple(f"{end}_{name}" for name in short for end in ("min", "max"))

    @property
    def gives_floats(self) -> bool:
        return not self.quantized or self.enable_float_output


@params_class
class ScoreParams(FusedAttentionParams):
    """Scores of queries and keys."""

    LAYER = "_contrib_interleaved_matmul_selfatt_qk"
    INPUTS: ClassVar[tuple[str, ...]] = ("queries_keys_values",)


@params_class
class WeightedParams(FusedAttentionParams):
    """Values weighted by attention."""

    LAYER = "_contrib_interleaved_matmul_selfatt_valatt"
    INPUTS: ClassVar[tuple[str, ...]] = ("queries_keys_values", "attention")


def infer_type(p: FusedAttentionParams, ins: TypeList, outs: TypeList,
               ) -> tuple[TypeList, TypeList]:
    if not p.quantized:
        return types_inside(p, ins, outs)
    made = [need_dtype(dtype, BYTES, name)
            for dtype, name in zip(ins[:p.count], p.inputs, strict=True)]
    whole = FLOAT32 if p.gives_floats else p.whole_dtype
    return ([*made, *floats_type(ins[p.count:], p.ends)],
            [need_dtype(outs[0], (whole,), "the output"), *floats_type(outs[1:], p.OUTPUT_ENDS)])


@uses_blas
def score_sums(p: FusedAttentionParams, given: Mapping[str, AnyArray], shape: Shape) -> AnyArray:
    """Products of queries and keys, exactly."""
    x = given["queries_keys_values"].astype(np.float64)
    made: AnyArray = QUERIES.of(p.layer, x) @ KEYS.of(p.layer, x).transpose(0, 2, 1)
    return made


@uses_blas
def weighted_sums(p: FusedAttentionParams, given: Mapping[str, AnyArray], shape: Shape,
                  ) -> AnyArray:
    """Values weighted, exactly."""
    values = VALUES.of(p.layer, given["queries_keys_values"].astype(np.float64))
    made = np.empty(shape)
    JOINED.put(p.layer, made, given["attention"].astype(np.float64) @ values)
    return made


def compute_scores(ctx: OpContext, p: ScoreParams, ins: list[AnyArray], outs: list[NumpyOutput],
                   ) -> None:
    if not p.quantized:
        layers.compute_floats(ctx, p, ins, outs)
        return
    given = dict(zip(layers.input_names(p), ins, strict=True))
    x, ends = ins[0], ins[1:]
    size = QUERIES.size(p.layer, x.shape) or 1
    step = scale_of(x.dtype, *map(value_of, ends))
    _finish(p, score_sums(p, given, outs[0].shape), np.float32(step * step), _factor(size),
            product_range(x.dtype, [*ends, *ends], x.dtype), outs)


def compute_weighted(ctx: OpContext, p: WeightedParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    if not p.quantized:
        layers.compute_floats(ctx, p, ins, outs)
        return
    given = dict(zip(layers.input_names(p), ins, strict=True))
    values, attention, *ends = ins
    step = np.float32(scale_of(values.dtype, *map(value_of, ends[:2]))
                      * scale_of(attention.dtype, *map(value_of, ends[2:])))
    _finish(p, weighted_sums(p, given, outs[0].shape), step, np.float32(1),
            product_range(attention.dtype, [*ends[2:], *ends[:2]], values.dtype), outs)


def _factor(size: int) -> np.float32:
    """What scores of queries of that length are multiplied by."""
    made: np.float32 = np.float32(1 / np.sqrt(np.float32(size)))
    return made


def _finish(p: FusedAttentionParams, sums: AnyArray, step: np.float32, factor: np.float32,
            ends: tuple[np.float32, np.float32], outs: list[NumpyOutput]) -> None:
    """Writes sums, which stand for sums / step, times a factor."""
    with np.errstate(all="ignore"):
        if p.gives_floats:
            outs[0].write(sums.astype(FLOAT32) * np.float32(factor / step))
            return
        if p.calibrated is None:
            layers.finish(Steps(sums * factor, step), outs, *ends)
            return
        scale = np.float32(scale_of(p.whole_dtype, *p.calibrated) / step * factor)
        layers.finish(Steps(sums.astype(FLOAT32) * scale, step), outs, *p.calibrated)


# ---- native -------------------------------------------------------------------------------------


def refuses(p: FusedAttentionParams, ins: list[NDArray]) -> str | None:
    if not p.quantized:
        return "the graph inside computes floats"
    if any(0 in array.shape for array in ins):
        return "an array without elements"
    depth = _depth(p, ins)
    return f"sums of {depth} products" if depth > lib.NDRT_BYTE_PRODUCTS_MOST else None


def _depth(p: FusedAttentionParams, ins: list[NDArray]) -> int:
    """Of how many products each element is the sum."""
    projection = ins[0].shape
    return projection[0] if len(p.inputs) > 1 else QUERIES.size(p.layer, projection)


def compute_ex_scores(ctx: OpContext, p: ScoreParams, ins: list[NDArray], outs: list[Output],
                      ) -> None:
    can_add(outs[0])
    out, shape = outs[0], ins[0].shape
    x = get_default(ins[0], ctx.stream)
    left, right = QUERIES.seen(p.layer, shape, x), KEYS.seen(p.layer, shape, x, turned=True)
    ends = [*native.ends_of(ins[1:], ctx)] * 2
    with out.open(default_desc(out.array.dtype, out.shape), ctx.stream) as y:
        _multiply(ctx, p, left, right, y, ends, _factor(_depth(p, ins)))
    _write_ends(ctx, p, left, right, ends, outs)


def compute_ex_weighted(ctx: OpContext, p: WeightedParams, ins: list[NDArray], outs: list[Output],
                        ) -> None:
    can_add(outs[0])
    out = outs[0]
    values, left = (get_default(array, ctx.stream) for array in ins[:2])
    right = VALUES.seen(p.layer, ins[0].shape, values)
    ends = native.ends_of([*ins[4:], *ins[2:4]], ctx)
    with out.open(default_desc(out.array.dtype, out.shape), ctx.stream) as y:
        _multiply(ctx, p, left, right, JOINED.seen(p.layer, out.shape, y), ends, np.float32(1))
    _write_ends(ctx, p, left, right, ends, outs)


def _multiply(ctx: OpContext, p: FusedAttentionParams, left: Mem, right: Mem, y: Mem,
              ends: Sequence[Mem], factor: np.float32) -> None:
    """y = left right times a factor, of batches of matrices, as numbers of the output. `ends` are
    those of left, then of right."""
    (batches, rows, depth), columns = left.desc.dims, right.desc.dims[2]
    left_signed, right_signed = (mem.desc.dtype_code == lib.NDRT_S8 for mem in (left, right))
    scale = None
    if y.desc.dtype_code != lib.NDRT_S32:
        scale = native.number(ctx)
        wanted, times = factor, np.float32(1)
        if p.calibrated is not None and not p.gives_floats:
            wanted, times = scale_of(p.whole_dtype, *p.calibrated), factor
        ctx.kernel(product_factor(
            scale=scale, left_low=ends[0], left_high=ends[1], right_low=ends[2],
            right_high=ends[3], left_signed=left_signed, right_signed=right_signed,
            wanted=float(wanted), times=float(times)))
    slots = lib.ndrt_threads_get()
    nbytes = slots * lib.ndrt_byte_products_scratch(columns, depth)
    if nbytes >= 1 << 31:
        raise Unsupported(f"{columns} columns of {depth}")
    scratch = ctx.stream.scratch(default_desc(INT8, (nbytes,)))
    right_batch, right_row, right_column = right.desc.strides
    ctx.kernel(byte_products(
        out=y, left=left, right=right, scratch=scratch, scale=scale, batches=batches, rows=rows,
        columns=columns, depth=depth, left_batch=left.desc.strides[0],
        left_row=left.desc.strides[1], right_batch=right_batch, right_row=right_row,
        right_column=right_column, out_batch=y.desc.strides[0], out_row=y.desc.strides[1],
        left_signed=left_signed, right_signed=right_signed, kind=y.desc.dtype_code, slots=slots,
        factor=float(factor)))


def _write_ends(ctx: OpContext, p: FusedAttentionParams, left: Mem, right: Mem,
                ends: Sequence[Mem], outs: list[Output]) -> None:
    """The range of the output, if it has one."""
    if p.gives_floats:
        return
    if p.calibrated is not None:
        native.fill_range(ctx, outs, p.calibrated)
        return
    most = [float(WHOLE[dtype_of(mem.desc)]) for mem in (left, right)]
    with outs[1].open(native.END, ctx.stream) as low, outs[2].open(native.END, ctx.stream) as high:
        ctx.kernel(write_product_range(
            low=low, high=high, data_low=ends[0], data_high=ends[1], weight_low=ends[2],
            weight_high=ends[3], data_most=most[0], weight_most=most[1]))


def _register(name: str, params: type[FusedAttentionParams], compute: FCompute,
              compute_ex: FComputeEx, doc: str) -> None:
    register(OpDef(
        name, params, inputs=layers.input_names, outputs=layers.output_names, takes_any=True,
        infer_shape=layers.infer_shape, infer_type=infer_type, compute=compute,
        compute_ex=compute_ex, refuses=refuses, gradient=zero_gradients,
        mutates=lambda p: p.aux, pure=False,
        doc=f"{doc} On 8-bit numbers, int8 or uint8, min and max (1,) of each input follow; the "
            "output is int8 and stands for the calibrated range, which follows, (1,), (1,); int32 "
            "without calibration; float32 and alone with enable_float_output. Made by "
            "Symbol.get_backend_symbol. For inference: gradients are 0. Source: MXNet's "
            f"{name}."))


_register("_sg_mkldnn_selfatt_qk", ScoreParams, compute_scores, compute_ex_scores,
          "Scores of self-attention, by the graph inside.\n\n"
          "queries_keys_values as in _contrib_interleaved_matmul_selfatt_qk.")
_register("_sg_mkldnn_selfatt_valatt", WeightedParams, compute_weighted,
          compute_ex_weighted,
          "Values weighted by self-attention, by the graph inside.\n\n"
          "queries_keys_values and attention as in _contrib_interleaved_matmul_selfatt_valatt.")
