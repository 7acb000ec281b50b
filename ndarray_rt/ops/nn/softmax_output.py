"""SoftmaxOutput: softmax whose gradient is that of the cross entropy with a label."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, get_data_reorder, get_default, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32
from ...errors import ShapeError, Unsupported
from ...native import lib
from ...op.context import OpContext
from ...op.infer import ShapeList, known, merge
from ...op.params import Params, boolean, choice, number, params_class
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ...storage.desc import MemDesc, channels_last_desc, default_desc, strided_desc
from ...storage.primitive import Arg, Direction, Kind, Primitive, make_primitive
from ...storage.reorder import reorder_mem
from ...storage.stream import Mem
from ..constants import constant
from ..floats import same_float_type, wide
from ..tensor.functions import on_memory
from .softmax import forward_primitive, softmax_numpy


@params_class
class SoftmaxOutputParams(Params):
    grad_scale: float = number(1.0, doc="factor of the gradient")
    ignore_label: float = number(-1.0, doc="label of instances without a gradient")
    multi_output: bool = boolean(False, doc="classes are axis 1, whatever follows is instances")
    use_ignore: bool = boolean(False, doc="instances labelled ignore_label have no gradient")
    preserve_shape: bool = boolean(False, doc="classes are the last axis")
    normalization: str = choice("null", "batch", "valid", default="null",
                                doc="what the gradient is divided by: nothing, the number of "
                                    "labels, the number of labels that are not ignore_label")
    out_grad: bool = boolean(False, doc="the gradient is multiplied by that of the output")
    smooth_alpha: float = number(0.0, low=0.0, high=1.0,
                                 doc="share of the label given to all other classes")


def _label_shapes(p: SoftmaxOutputParams, data: Shape) -> list[Shape]:
    """Shapes that a label of classes may have, the usual one first."""
    if not p.multi_output:
        return [data[:-1]]
    return [(data[0], prod(data[2:])), (data[0], *data[2:]), (data[0], 1, *data[2:])]


def infer_shape(p: SoftmaxOutputParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data, label = merge(ins[0], outs[0], "shapes of data and output"), ins[1]
    if data is None:
        return [data, label], [data]
    if not data:
        raise ShapeError("data has shape (), expected at least two axes")
    if label is not None and len(label) == len(data) and not (
            p.multi_output and label[1:2] == (1,)):
        data = merge(data, label, "shapes of data and a label of probabilities")
        return [data, data], [data]
    if len(data) < 2:
        raise ShapeError(f"data has shape {data}, expected at least two axes")
    if p.multi_output:
        if known(data):
            shapes = _label_shapes(p, data)
            if label is None:
                label = shapes[0]
            elif known(label) and label not in shapes:
                raise ShapeError(f"label has shape {label}, expected {shapes[0]} or {shapes[1]} "
                                 f"from data {data}, multi_output=True")
    else:
        expected = _label_shapes(p, data)[0]
        try:
            label = merge(label, expected)
        except ShapeError:
            raise ShapeError(f"label has shape {label}, expected {expected} (classes) or {data} "
                             f"(probabilities) from data {data}") from None
        if label is not None and -1 in data:
            data = (*(max(a, b) for a, b in zip(data, label, strict=False)), data[-1])
    return [data, label], [data]


def _rows(p: SoftmaxOutputParams, shape: Shape) -> tuple[int, int]:
    """Instances and classes."""
    if p.multi_output:
        classes = shape[1] if len(shape) > 1 else 1
    elif p.preserve_shape:
        classes = shape[-1]
    else:
        classes = prod(shape[1:])
    return (prod(shape) // classes if classes else 0), classes


def _to_rows(p: SoftmaxOutputParams, x: AnyArray) -> AnyArray:
    """The array as (instances, classes)."""
    rows, classes = _rows(p, x.shape)
    if p.multi_output and x.ndim > 2:
        x = np.moveaxis(x, 1, -1)
    return x.reshape(rows, classes)


def _from_rows(p: SoftmaxOutputParams, rows: AnyArray, shape: Shape) -> AnyArray:
    if p.multi_output and len(shape) > 2:
        return np.moveaxis(rows.reshape(shape[0], *shape[2:], shape[1]), -1, 1)
    return rows.reshape(shape)


def compute(ctx: OpContext, p: SoftmaxOutputParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    rows = softmax_numpy(_to_rows(p, wide(ins[0])), 1)
    outs[0].write(_from_rows(p, rows, ins[0].shape).astype(ins[0].dtype, copy=False))


def refuses(p: SoftmaxOutputParams, ins: list[NDArray]) -> str | None:
    return need_float32(*ins)


def _rows_desc(p: SoftmaxOutputParams, data: NDArray) -> MemDesc:
    """The layout of data in which its bytes are (instances, classes)."""
    if p.multi_output and data.ndim > 2:
        if data.ndim <= 5:
            return channels_last_desc(data.dtype, data.shape)
        classes, places = data.shape[1], data.shape[2:]
        step = prod(places)
        strides = [classes * step, 1]
        for dim in places:
            step //= dim
            strides.append(classes * step)
        return strided_desc(data.dtype, data.shape, tuple(strides))
    return default_desc(data.dtype, data.shape)


def compute_ex(ctx: OpContext, p: SoftmaxOutputParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    data = ins[0]
    desc = _rows_desc(p, data)
    rows = default_desc(data.dtype, _rows(p, data.shape))
    prim = forward_primitive(ctx, rows, 1, lib.NDRT_SOFTMAX_ACCURATE)
    x = get_data_reorder(data, desc, ctx.stream)
    with outs[0].open(desc, ctx.stream, inplace_of=x) as y:
        ctx.run(prim, ((Arg.SRC, x.as_desc(rows)), (Arg.DST, y.as_desc(rows))))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    p: SoftmaxOutputParams = node.params
    reads = [node.outputs[0], node.inputs[1]]
    if p.out_grad:
        head = out_grads[0]
        reads.append(emit("ones_like", None, node.outputs[0])[0] if head is None else head)
    return [emit("_backward_SoftmaxOutput", p, *reads)[0], None]


def backward_inputs(p: SoftmaxOutputParams) -> tuple[str, ...]:
    return ("out", "label", "out_grad") if p.out_grad else ("out", "label")


def infer_shape_backward(p: SoftmaxOutputParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[0], outs[0])
    if p.out_grad:
        data = merge(data, ins[2])
    made: ShapeList = [data, ins[1]]
    return made + [data] * p.out_grad, [data]


def _static_scale(p: SoftmaxOutputParams, shape: Shape, label: Shape) -> float:
    """The factor of the gradient, as far as it does not depend on the labels' values."""
    scale = p.grad_scale
    if label == shape:
        return scale
    if p.multi_output and p.normalization != "valid":
        scale /= max(1, prod(shape[2:]))
    if p.normalization == "batch":
        scale /= max(1, shape[0] if p.multi_output else prod(label))
    return scale


def compute_backward(ctx: OpContext, p: SoftmaxOutputParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    y, label = wide(ins[0]), wide(ins[1])
    scale = y.dtype.type(_static_scale(p, y.shape, label.shape))
    if label.shape == y.shape:
        dx = (y - label) * scale
    else:
        rows, classes = _rows(p, y.shape)
        # MXNet cuts off the fraction
        numbers = np.trunc(label.reshape(-1))
        ignored = numbers == np.trunc(p.ignore_label)
        if p.normalization == "valid":
            scale = scale / y.dtype.type(max(1, numbers.size - np.count_nonzero(ignored)))
        numbers, ignored = numbers[:rows], ignored[:rows]
        grad = np.array(_to_rows(p, y))
        smooth = 0.0 if p.multi_output else p.smooth_alpha
        others = smooth / (classes - 1) if smooth and classes > 1 else 0.0
        if others:
            grad -= y.dtype.type(others)
        hit = np.flatnonzero((numbers >= 0) & (numbers < classes))
        grad[hit, numbers[hit].astype(np.int64)] -= y.dtype.type(1 - smooth - others)
        if p.use_ignore:
            grad[ignored] = 0
        dx = _from_rows(p, grad * scale, y.shape)
    if p.out_grad:
        dx = dx * wide(ins[2])
    outs[0].write(dx.astype(ins[0].dtype, copy=False))


def _binary(ctx: OpContext, alg: int, a: MemDesc, b: MemDesc) -> Primitive:
    """dst = a op b, b repeated where its dims are 1; dst may be the memory of a."""
    return ctx.primitive(("SoftmaxOutput.binary", alg, a.id, b.id), lambda: make_primitive(
        Kind.BINARY, alg=alg, srcs=(a, b), dst=a))


def _eltwise(ctx: OpContext, alg: int, desc: MemDesc, alpha: float = 0.0,
             beta: float = 0.0) -> Primitive:
    return ctx.primitive(("SoftmaxOutput.eltwise", alg, desc.id, alpha, beta),
                         lambda: make_primitive(Kind.ELTWISE, Direction.FORWARD_INFERENCE, alg=alg,
                                                alpha=alpha, beta=beta, src=desc, dst=desc))


class _Labels:
    """Labels of classes as (instances, 1), and what follows from them, in scratch memory.

    Everything is a primitive, so that a recorded run needs no Python.
    """

    def __init__(self, ctx: OpContext, label: NDArray, rows: int) -> None:
        self.ctx = ctx
        self.rows = rows
        self.column = default_desc(FLOAT32, (rows, 1))
        self.numbers = self._trunc(get_default(label, ctx.stream).as_desc(self.column))

    def _apply(self, alg: int, x: Mem, y: Mem, alpha: float = 0.0, beta: float = 0.0) -> Mem:
        self.ctx.run(_eltwise(self.ctx, alg, x.desc, alpha, beta), ((Arg.SRC, x), (Arg.DST, y)))
        return y

    def _combine(self, alg: int, a: Mem, b: Mem, y: Mem) -> Mem:
        self.ctx.run(_binary(self.ctx, alg, a.desc, b.desc),
                     ((Arg.SRC, a), (Arg.SRC_1, b), (Arg.DST, y)))
        return y

    def _trunc(self, x: Mem) -> Mem:
        """x without its fraction: rounded, one less where that went up, with the sign of x."""
        size, whole, up = (self.ctx.stream.scratch(self.column) for _ in range(3))
        self._apply(lib.NDRT_ELTWISE_ABS, x, size)
        self._apply(lib.NDRT_ELTWISE_ROUND, size, whole)
        self._combine(lib.NDRT_BINARY_GT, whole, size, up)
        self._combine(lib.NDRT_BINARY_SUB, whole, up, whole)
        self._combine(lib.NDRT_BINARY_GE, x, size, up)
        self._apply(lib.NDRT_ELTWISE_LINEAR, up, up, 2.0, -1.0)
        return self._combine(lib.NDRT_BINARY_MUL, whole, up, whole)

    def targets(self, classes: int, smooth: float) -> Mem:
        """What softmax should have given: (instances, classes)."""
        stream = self.ctx.stream
        dims = (self.rows, classes)
        made = stream.scratch(default_desc(FLOAT32, dims))
        reorder_mem(stream, self.numbers.as_desc(strided_desc(FLOAT32, dims, (1, 0))), made)
        row = default_desc(FLOAT32, (1, classes))
        equal = _binary(self.ctx, lib.NDRT_BINARY_EQ, made.desc, row)
        numbers = constant(self.ctx, equal, row, np.arange(classes))
        self.ctx.run(equal, ((Arg.SRC, made), (Arg.SRC_1, numbers), (Arg.DST, made)))
        if smooth:
            others = smooth / (classes - 1) if classes > 1 else 0.0
            self._apply(lib.NDRT_ELTWISE_LINEAR, made, made, 1.0 - smooth - others, others)
        return made

    def counted(self, ignored: float) -> Mem:
        """1 where a label is another than `ignored`, else 0."""
        one = default_desc(FLOAT32, (1, 1))
        made = self.ctx.stream.scratch(self.column)
        differs = self.ctx.primitive(
            ("SoftmaxOutput.differs", ignored, self.column.id), lambda: make_primitive(
                Kind.BINARY, alg=lib.NDRT_BINARY_NE, srcs=(self.column, one), dst=self.column))
        number = constant(self.ctx, differs, one, np.trunc(np.full(1, ignored, np.float32)))
        self.ctx.run(differs, ((Arg.SRC, self.numbers), (Arg.SRC_1, number), (Arg.DST, made)))
        return made

    def number_of(self, counted: Mem) -> Mem:
        """How many 1s there are, but at least 1, as (1, 1)."""
        one = default_desc(FLOAT32, (1, 1))
        made = self.ctx.stream.scratch(one)
        total = counted.as_desc(one)
        if self.rows > 1:
            row = default_desc(FLOAT32, (1, self.rows))
            add = self.ctx.primitive(("SoftmaxOutput.sum", row.id), lambda: make_primitive(
                Kind.REDUCTION, alg=lib.NDRT_REDUCTION_SUM, src=row, dst=one))
            total = made
            self.ctx.run(add, ((Arg.SRC, counted.as_desc(row)), (Arg.DST, made)))
        return self._apply(lib.NDRT_ELTWISE_CLIP, total, made, 1.0, 3e38)


def compute_ex_backward(ctx: OpContext, p: SoftmaxOutputParams, ins: list[NDArray],
                        outs: list[Output]) -> None:
    out, label = ins[0], ins[1]
    stream = ctx.stream
    desc = _rows_desc(p, out)
    instances, classes = _rows(p, out.shape)
    rows = default_desc(out.dtype, (instances, classes))
    y = get_data_reorder(out, desc, stream)
    # what y is multiplied or divided by after the target is subtracted
    factors: list[tuple[int, Mem]] = []
    if label.shape == out.shape:
        target = get_data_reorder(label, desc, stream).as_desc(rows)
    else:
        if label.size != instances:
            raise Unsupported(f"{label.size} labels for {instances} instances")
        labels = _Labels(ctx, label, instances)
        target = labels.targets(classes, 0.0 if p.multi_output else p.smooth_alpha)
        valid = p.normalization == "valid"
        if p.use_ignore or valid:
            counted = labels.counted(p.ignore_label)
            if p.use_ignore:
                factors.append((lib.NDRT_BINARY_MUL, counted))
            if valid:
                factors.append((lib.NDRT_BINARY_DIV, labels.number_of(counted)))
    if p.out_grad:
        factors.append((lib.NDRT_BINARY_MUL, get_data_reorder(ins[2], desc, stream).as_desc(rows)))
    subtract = _binary(ctx, lib.NDRT_BINARY_SUB, rows, rows)
    scale = _static_scale(p, out.shape, label.shape)
    steps = [(_binary(ctx, alg, rows, factor.desc), factor) for alg, factor in factors]
    with outs[0].open(desc, stream, inplace_of=y) as opened:
        dx = opened.as_desc(rows)
        ctx.run(subtract, ((Arg.SRC, y.as_desc(rows)), (Arg.SRC_1, target), (Arg.DST, dx)))
        if scale != 1.0:
            on_memory(ctx, lib.NDRT_FUNCTION_MUL, dx, dx, scale)
        for prim, factor in steps:
            ctx.run(prim, ((Arg.SRC, dx), (Arg.SRC_1, factor), (Arg.DST, dx)))


register(OpDef("SoftmaxOutput", SoftmaxOutputParams, inputs=("data", "label"),
               infer_shape=infer_shape, infer_type=same_float_type, compute=compute,
               compute_ex=compute_ex, refuses=refuses, gradient=gradient, inplace={0: 0},
               ignores=(1,), aliases=("Softmax",), is_loss=True,
               doc="softmax with the gradient of the cross entropy between it and a label.\n\n"
                   "data (N, ...): classes are everything behind axis 0; the last axis with "
                   "preserve_shape; axis 1 with multi_output. label: the number of the class of "
                   "each instance, or probabilities in the shape of data. The gradient of data "
                   "is (softmax - label) grad_scale, whatever the gradient of the output, unless "
                   "out_grad. Source: MXNet's SoftmaxOutput; oneDNN softmax and binary."))
register(OpDef("_backward_SoftmaxOutput", SoftmaxOutputParams, inputs=backward_inputs,
               infer_shape=infer_shape_backward, infer_type=same_float_type,
               compute=compute_backward, compute_ex=compute_ex_backward, refuses=refuses,
               inplace={0: 0}, is_backward=True,
               no_gradient="a loss has no gradient of second order"))
