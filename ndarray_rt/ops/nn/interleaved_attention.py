"""_contrib_interleaved_matmul_...: attention's matrix products on projections kept together.

A projection (steps, batch, heads * parts * size) holds queries, keys and values of each head side
by side. Each of them is read, and its gradient written, where it lies, by strides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..._array.layout import AnyArray, get_default, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32
from ...errors import ShapeError
from ...native import lib
from ...op.context import OpContext
from ...op.infer import ShapeList, merge
from ...op.params import Params, integer, params_class
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ...storage.desc import MemDesc, default_desc, strided_desc
from ...storage.kernels import elementwise
from ...storage.primitive import Arg, Kind, eltwise_post, make_primitive
from ...storage.stream import Mem
from ..blas import uses_blas
from ..floats import same_float_type, wide
from ..tensor.pointwise import dtype_of, shifted
from ..terms import product_gradient


@params_class
class AttentionParams(Params):
    heads: int = integer(low=1, doc="number of heads")


class Part(NamedTuple):
    """Queries, keys or values: the `part`-th of `parts` in an input of the operator."""

    position: int
    parts: int
    part: int

    def size(self, p: AttentionParams, projection: Shape) -> int:
        """Numbers of a head."""
        return projection[2] // (p.heads * self.parts)

    def width(self, p: AttentionParams, projection: Shape) -> int:
        """Numbers of a step of a sample."""
        return p.heads * self.parts * self.size(p, projection)

    def split(self, p: AttentionParams, x: AnyArray) -> AnyArray:
        """(steps, batch * heads, parts, size) of a contiguous array, a view."""
        steps, batch, _ = x.shape
        begin = x.reshape(-1)[:steps * batch * self.width(p, x.shape)]
        return begin.reshape(steps, batch * p.heads, self.parts, self.size(p, x.shape))

    def of(self, p: AttentionParams, x: AnyArray) -> AnyArray:
        """(batch * heads, steps, size), a copy."""
        return np.ascontiguousarray(self.split(p, x)[:, :, self.part].transpose(1, 0, 2))

    def put(self, p: AttentionParams, into: AnyArray, value: AnyArray) -> None:
        """Writes what `of` would read."""
        self.split(p, into)[:, :, self.part] = value.transpose(1, 0, 2)

    def seen(self, p: AttentionParams, projection: Shape, mem: Mem, turned: bool = False) -> Mem:
        """The same memory as (batch * heads, steps, size), or its transpose, of the same dtype."""
        steps, batch, _ = projection
        size, width = self.size(p, projection), self.width(p, projection)
        dims, strides = (steps, size), (batch * width, 1)
        if turned:
            dims, strides = (size, steps), (1, batch * width)
        desc = strided_desc(dtype_of(mem.desc), (batch * p.heads, *dims),
                            (self.parts * size, *strides))
        return shifted(mem, self.part * size, desc)


class Product(NamedTuple):
    """One operator of the family: scores of queries and keys, or values weighted by attention."""

    name: str
    inputs: tuple[str, ...]
    query: Part | None  # of a score
    other: Part  # keys, or values

    @property
    def full_name(self) -> str:
        return f"_contrib_interleaved_matmul_{self.name}"


def _projection(op: Product, p: AttentionParams, part: Part, shape: Shape) -> None:
    if len(shape) != 3:
        raise ShapeError(f"{op.inputs[part.position]} has shape {shape}, expected rank 3: (steps, "
                         "batch, projection)")
    # MXNet's takes other widths: numbers that are left over lie at the end of the array
    takes_any = op.query is not None and len(op.inputs) == 1 and shape[2] >= p.heads * part.parts
    if shape[2] % (p.heads * part.parts) and shape[2] != -1 and not takes_any:
        raise ShapeError(f"{op.inputs[part.position]} has shape {shape}, expected a multiple of "
                         f"{part.parts} * heads = {part.parts * p.heads} along its last axis")


def _times(a: int, b: int) -> int:
    return -1 if -1 in (a, b) else a * b


def infer_shape_scores(op: Product, p: AttentionParams, ins: ShapeList, outs: ShapeList,
                       ) -> tuple[ShapeList, ShapeList]:
    assert op.query is not None
    queries, keys = ins[op.query.position], ins[op.other.position]
    if queries is None or keys is None:
        return ins, outs
    _projection(op, p, op.query, queries)
    _projection(op, p, op.other, keys)
    if len(ins) == 2:
        try:
            merge((queries[1], _times(queries[2], op.other.parts)), keys[1:])
        except ShapeError:
            raise ShapeError(f"{op.inputs[1]} has shape {keys}, expected (steps, {queries[1]}, "
                             f"{op.other.parts * queries[2]}) from {op.inputs[0]} {queries}"
                             ) from None
    return ins, [merge(outs[0], (_times(queries[1], p.heads), queries[0], keys[0]),
                       "output shapes")]


def infer_shape_values(op: Product, p: AttentionParams, ins: ShapeList, outs: ShapeList,
                       ) -> tuple[ShapeList, ShapeList]:
    values, attention = ins
    if values is None or attention is None:
        return ins, outs
    _projection(op, p, op.other, values)
    wanted = (_times(values[1], p.heads), values[0] if op.other.parts == 3 else -1, values[0])
    try:
        attention = merge(attention, wanted)
    except ShapeError:
        raise ShapeError(f"attention has shape {attention}, expected {wanted} from {op.inputs[0]} "
                         f"{values}, heads={p.heads}") from None
    assert attention is not None
    width = -1 if values[2] == -1 else values[2] // op.other.parts
    return [values, attention], [merge(outs[0], (attention[1], values[1], width),
                                       "output shapes")]


def _scale(op: Product, p: AttentionParams, projection: Shape) -> float:
    return 1.0 / math.sqrt(op.other.size(p, projection) or 1)


WHOLE = Part(0, 1, 0)  # an output of values: nothing lies between its heads


# ---- in numpy -----------------------------------------------------------------------------------


@uses_blas
def compute_scores(op: Product, ctx: OpContext, p: AttentionParams, ins: list[AnyArray],
                   outs: list[NumpyOutput]) -> None:
    assert op.query is not None
    q, k = (part.of(p, wide(ins[part.position])) for part in (op.query, op.other))
    y = q @ k.transpose(0, 2, 1) * q.dtype.type(_scale(op, p, ins[-1].shape))
    outs[0].write(y.astype(ins[0].dtype, copy=False))


@uses_blas
def compute_values(op: Product, ctx: OpContext, p: AttentionParams, ins: list[AnyArray],
                   outs: list[NumpyOutput]) -> None:
    made = np.empty(outs[0].shape, ins[0].dtype)
    WHOLE.put(p, made, wide(ins[1]) @ op.other.of(p, wide(ins[0])))
    outs[0].write(made)


@uses_blas
def backward_scores(op: Product, ctx: OpContext, p: AttentionParams, ins: list[AnyArray],
                    outs: list[NumpyOutput]) -> None:
    assert op.query is not None
    dy, *projections = ins
    q, k = (part.of(p, wide(projections[part.position])) for part in (op.query, op.other))
    dy = wide(dy) * q.dtype.type(_scale(op, p, projections[-1].shape))
    grads = [np.zeros(x.shape, x.dtype) for x in projections]
    op.query.put(p, grads[op.query.position], dy @ k)
    op.other.put(p, grads[op.other.position], dy.transpose(0, 2, 1) @ q)
    for out, grad in zip(outs, grads, strict=True):
        out.write(grad)


@uses_blas
def backward_values(op: Product, ctx: OpContext, p: AttentionParams, ins: list[AnyArray],
                    outs: list[NumpyOutput]) -> None:
    dy, values, attention = ins
    grad = WHOLE.of(p, wide(dy))
    into = np.zeros(values.shape, values.dtype)
    op.other.put(p, into, wide(attention).transpose(0, 2, 1) @ grad)
    outs[0].write(into)
    weights = grad @ op.other.of(p, wide(values)).transpose(0, 2, 1)
    outs[1].write(weights.astype(attention.dtype, copy=False))


# ---- on oneDNN ----------------------------------------------------------------------------------


def refuses(p: AttentionParams, ins: list[NDArray]) -> str | None:
    return need_float32(*ins)


def _multiply(ctx: OpContext, a: Mem, b: Mem, y: Mem, scale: float = 1.0,
              adds: bool = False) -> None:
    """y = scale a b, of batches of matrices of any strides; with `adds` scale (a b + y)."""
    prim = ctx.primitive(("interleaved", a.desc.id, b.desc.id, y.desc.id, scale, adds),
                         lambda: _product(a.desc, b.desc, y.desc, scale, adds))
    ctx.run(prim, ((Arg.SRC, a), (Arg.WEIGHTS, b), (Arg.DST, y)))


def _product(a: MemDesc, b: MemDesc, y: MemDesc, scale: float, adds: bool) -> Any:
    ops = [] if scale == 1.0 else [eltwise_post(lib.NDRT_ELTWISE_LINEAR, scale, 0.0)]
    return make_primitive(Kind.MATMUL, src=a, weights=b, dst=y, post_sum=adds, post_ops=ops)


def _turned(mem: Mem) -> Mem:
    return mem.as_desc(mem.desc.permuted((0, 2, 1)))


def compute_ex_scores(op: Product, ctx: OpContext, p: AttentionParams, ins: list[NDArray],
                      outs: list[Output]) -> None:
    assert op.query is not None
    mems = [get_default(x, ctx.stream) for x in ins]
    queries, keys = op.query.position, op.other.position
    q = op.query.seen(p, ins[queries].shape, mems[queries])
    k = op.other.seen(p, ins[keys].shape, mems[keys], turned=True)
    with outs[0].open(default_desc(FLOAT32, outs[0].shape), ctx.stream) as y:
        _multiply(ctx, q, k, y, _scale(op, p, ins[-1].shape))


def compute_ex_values(op: Product, ctx: OpContext, p: AttentionParams, ins: list[NDArray],
                      outs: list[Output]) -> None:
    values, attention = (get_default(x, ctx.stream) for x in ins)
    v = op.other.seen(p, ins[0].shape, values)
    with outs[0].open(default_desc(FLOAT32, outs[0].shape), ctx.stream) as y:
        _multiply(ctx, attention, v, WHOLE.seen(p, outs[0].shape, y))


def _zero(ctx: OpContext, mem: Mem) -> None:
    ctx.kernel(elementwise.zero(out=mem, nbytes=mem.desc.nbytes))


def backward_ex_scores(op: Product, ctx: OpContext, p: AttentionParams, ins: list[NDArray],
                       outs: list[Output]) -> None:
    assert op.query is not None
    dy, *projections = (get_default(x, ctx.stream) for x in ins)
    shapes = [x.shape for x in ins[1:]]
    scale = _scale(op, p, shapes[-1])
    # for each part its gradient's own, and what it is the product of
    for position, out in enumerate(outs):
        if not out.requested:
            continue
        with out.open(default_desc(FLOAT32, out.shape), ctx.stream) as grad:
            if op.other.position == position:
                _zero(ctx, grad)  # nothing comes back to values
            for part, other, left in ((op.query, op.other, dy), (op.other, op.query, _turned(dy))):
                if part.position == position:
                    source = other.seen(p, shapes[other.position], projections[other.position])
                    _multiply(ctx, left, source, part.seen(p, out.shape, grad), scale)


def backward_ex_values(op: Product, ctx: OpContext, p: AttentionParams, ins: list[NDArray],
                       outs: list[Output]) -> None:
    dy, values, attention = (get_default(x, ctx.stream) for x in ins)
    grad = WHOLE.seen(p, ins[0].shape, dy)
    if outs[0].requested:
        with outs[0].open(default_desc(FLOAT32, outs[0].shape), ctx.stream) as into:
            _zero(ctx, into)
            _multiply(ctx, _turned(attention), grad, op.other.seen(p, outs[0].shape, into))
    if outs[1].requested:
        v = op.other.seen(p, ins[1].shape, values, turned=True)
        with outs[1].open(default_desc(FLOAT32, outs[1].shape), ctx.stream) as weights:
            _multiply(ctx, grad, v, weights)


# ---- scores between two projections of self-attention -------------------------------------------

SELF = Product("selfatt_qk", ("queries_keys_values",), Part(0, 3, 0), Part(0, 3, 1))
CROSSED = "_backward_crossed_selfatt_qk"


def infer_shape_crossed(p: AttentionParams, ins: ShapeList, outs: ShapeList,
                        ) -> tuple[ShapeList, ShapeList]:
    both = merge(ins[0], ins[1], "shapes of left and right")
    return [both, both], infer_shape_scores(SELF, p, [both], outs)[1]


@uses_blas
def compute_crossed(ctx: OpContext, p: AttentionParams, ins: list[AnyArray],
                    outs: list[NumpyOutput]) -> None:
    assert SELF.query is not None
    queries, keys = ([part.of(p, wide(x)) for x in ins] for part in (SELF.query, SELF.other))
    y = queries[0] @ keys[1].transpose(0, 2, 1) + queries[1] @ keys[0].transpose(0, 2, 1)
    y *= y.dtype.type(_scale(SELF, p, ins[0].shape))
    outs[0].write(y.astype(ins[0].dtype, copy=False))


def compute_ex_crossed(ctx: OpContext, p: AttentionParams, ins: list[NDArray],
                       outs: list[Output]) -> None:
    assert SELF.query is not None
    shape = ins[0].shape
    left, right = (get_default(x, ctx.stream) for x in ins)
    scale = _scale(SELF, p, shape)
    with outs[0].open(default_desc(FLOAT32, outs[0].shape), ctx.stream) as y:
        for a, b, is_last in ((left, right, False), (right, left, True)):
            _multiply(ctx, SELF.query.seen(p, shape, a), SELF.other.seen(p, shape, b, turned=True),
                      y, scale if is_last else 1.0, adds=is_last)


def gradient_crossed(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    left, right = node.inputs
    backward = f"_backward_{SELF.name}"
    return [*emit(backward, node.params, out_grads[0], right),
            *emit(backward, node.params, out_grads[0], left)]


# ---- registration -------------------------------------------------------------------------------


def gradient(op: Product, emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit(f"_backward_{op.name}", node.params, out_grads[0], *node.inputs)


def gradient_backward(op: Product, emit: Emit, node: GradNode, out_grads: Sequence[Any],
                      ) -> list[Any]:
    backward, p = f"_backward_{op.name}", node.params
    if len(op.inputs) == 2:
        return product_gradient(op.full_name, emit, node, out_grads, backward)
    # queries and keys of one input: the scores of either's change with the other as it is
    dy, x = node.inputs
    change = out_grads[0]
    return [*emit(CROSSED, p, x, change), *emit(backward, p, dy, change)]


def infer_shape_backward(op: Product, p: AttentionParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    known = [merge(x, grad) for x, grad in zip(ins[1:], outs, strict=True)]
    rule = infer_shape_values if op.query is None else infer_shape_scores
    known, (out,) = rule(op, p, known, [ins[0]])
    return [out, *known], known


def _register(op: Product, doc: str) -> None:
    values = op.query is None
    register(OpDef(op.full_name, AttentionParams, inputs=op.inputs,
                   infer_shape=partial(infer_shape_values if values else infer_shape_scores, op),
                   infer_type=same_float_type,
                   compute=partial(compute_values if values else compute_scores, op),
                   compute_ex=partial(compute_ex_values if values else compute_ex_scores, op),
                   refuses=refuses, gradient=partial(gradient, op),
                   doc=f"{doc}\n\nOne float dtype. Source: MXNet's interleaved_matmul_{op.name}; "
                       "oneDNN matmul."))
    register(OpDef(f"_backward_{op.name}", AttentionParams, inputs=("out_grad", *op.inputs),
                   outputs=tuple(f"{name}_grad" for name in op.inputs),
                   infer_shape=partial(infer_shape_backward, op), infer_type=same_float_type,
                   compute=partial(backward_values if values else backward_scores, op),
                   compute_ex=partial(backward_ex_values if values else backward_ex_scores, op),
                   refuses=refuses, gradient=partial(gradient_backward, op),
                   is_backward=True))


_register(SELF,
          "Scores of self-attention: queries times keys, over the square root of their length.\n\n"
          "queries_keys_values (steps, batch, heads * 3 * size) has for each head its query, key "
          "and value side by side; the output is (batch * heads, steps, steps). Of another width "
          "the elements are read one behind the other as if there were no more than heads * 3 * "
          "size of a step, as in MXNet.")
_register(Product("selfatt_valatt", ("queries_keys_values", "attention"), None, Part(0, 3, 2)),
          "Values weighted by self-attention.\n\nqueries_keys_values (steps, batch, heads * 3 * "
          "size), attention (batch * heads, steps, steps); the output is (steps, batch, heads * "
          "size).")
_register(Product("encdec_qk", ("queries", "keys_values"), Part(0, 1, 0), Part(1, 2, 0)),
          "Scores of attention on another sequence: queries times keys, over the square root of "
          "their length.\n\nqueries (steps, batch, heads * size), keys_values (others, batch, "
          "heads * 2 * size) with key and value of each head side by side; the output is (batch * "
          "heads, steps, others).")
_register(Product("encdec_valatt", ("keys_values", "attention"), None, Part(0, 2, 1)),
          "Values of another sequence weighted by attention.\n\nkeys_values (others, batch, heads "
          "* 2 * size), attention (batch * heads, steps, others); the output is (steps, batch, "
          "heads * size).")

register(OpDef(CROSSED, AttentionParams, inputs=("left", "right"), infer_shape=infer_shape_crossed,
               infer_type=same_float_type, compute=compute_crossed, compute_ex=compute_ex_crossed,
               refuses=refuses, gradient=gradient_crossed, is_backward=True,
               doc="Queries of each of two projections times the keys of the other, summed, over "
                   "the square root of their length: the change of the scores of "
                   "interleaved_matmul_selfatt_qk with one of them, by the other."))
