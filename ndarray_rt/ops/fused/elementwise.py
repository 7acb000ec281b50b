"""_fused_elementwise: several functions of an array, element by element, in one pass over it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from ..._array.layout import AnyArray, get_data, get_data_reorder, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32
from ...errors import Unsupported
from ...native import lib
from ...op.calibration import SLOW_POST_OPS
from ...op.choose import first_supported
from ...op.context import OpContext
from ...op.elementwise import Chain
from ...op.infer import ShapeList, merge
from ...op.params import params_class
from ...op.registry import OpDef, Shape, register
from ...storage.desc import MemDesc, default_desc
from ...storage.primitive import (
    Arg,
    Kind,
    PostSpec,
    Primitive,
    binary_post,
    eltwise_post,
    make_primitive,
)
from ...storage.stream import Mem
from ..floats import same_float_type, wide
from ..tensor.functions import WORDS, function
from ..tensor.pointwise import axis_order, dense_like, unblocked, unpadded
from .params import PostOpParams
from .post_ops import BINARY, ELTWISE, apply_chain, infer_operands, operand_names

Dims = tuple[int, ...]
# over which groups of axes an operand may repeat, from the outermost in memory to the innermost
_REPEATS = {(), (False,), (True,), (True, False), (False, True), (True, False, True)}


@params_class
class FusedElementwiseParams(PostOpParams):
    """The functions, in their order."""


def infer_shape(p: FusedElementwiseParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[0], outs[0], "shapes of data and output")
    operands, data = infer_operands(p.chain, ins[1:], data)
    return [data, *operands], [data]


def compute(ctx: OpContext, p: FusedElementwiseParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    x, *operands = (wide(value) for value in ins)
    outs[0].write(apply_chain(p.chain, x, operands).astype(ins[0].dtype, copy=False))


def refuses(p: FusedElementwiseParams, ins: list[NDArray]) -> str | None:
    if not p.chain:
        return "there is nothing to do"
    return need_float32(*ins)


# ---- broadcasting -------------------------------------------------------------------------------


def one_pass(full: Dims, parts: list[Dims]) -> bool:
    """oneDNN has code for operands of these shapes, whichever usual layout the data is in: that of
    images may be channels-last."""
    repeated = {part for part in parts if part != full and any(dim != 1 for dim in part)}
    orders: list[Sequence[int]] = [range(len(full))]
    if len(full) > 3:
        orders.append((0, *range(2, len(full)), 1))
    return len(repeated) <= 1 and all(
        tuple(flag for _, flag in _groups(full, part, order)) in _REPEATS
        for part in repeated for order in orders)


def _groups(full: Dims, part: Dims, order: Sequence[int]) -> list[tuple[int, bool]]:
    """The axes in memory order as runs of (elements, does `part` repeat over them)."""
    found: list[tuple[int, bool]] = []
    for axis in order:
        size, repeats = full[axis], part[axis] == 1
        if size == 1:
            continue
        if found and found[-1][1] == repeats:
            size *= found.pop()[0]
        found.append((size, repeats))
    return found


def _views(desc: MemDesc, parts: list[Dims]) -> list[tuple[Dims, list[Dims]]]:
    """What oneDNN may be told that the data's and the operands' dims are, best first."""
    full = desc.dims
    repeated = [part for part in parts if part != full and any(dim != 1 for dim in part)]
    if not repeated:
        return [((desc.nelems,), [(desc.nelems,) if part == full else (1,) for part in parts])]
    if any(part != repeated[0] for part in repeated):
        raise Unsupported("operands repeat over different axes")
    runs = _groups(full, repeated[0], axis_order(desc))
    sizes = tuple(size for size, _ in runs)
    small = tuple(1 if repeats else size for size, repeats in runs)
    made = []
    for lead in ((), (1,)):
        seen = [(*lead, *(sizes if part == full else small if part == repeated[0]
                          else (1,) * len(sizes))) for part in parts]
        made.append(((*lead, *sizes), seen))
    return made


# ---- oneDNN -------------------------------------------------------------------------------------


class _Made(NamedTuple):
    """A primitive, the arrays' layout, and how the primitive sees the data and the operands."""

    layout: MemDesc
    seen: MemDesc
    operands: list[MemDesc]
    prim: Primitive


def _make(chain: Chain, data: MemDesc, operands: list[MemDesc]) -> Primitive:
    """A binary primitive for the first function, post-ops for the others: oneDNN's eltwise takes
    no post-ops. Before a function without an operand stands the maximum of x and x."""
    left = iter(operands)
    alg, second, rest = lib.NDRT_BINARY_MAX, data, chain
    if chain[0].has_operand:
        alg, second, rest = BINARY[chain[0].name][0], next(left), chain[1:]
    specs: list[PostSpec] = [
        binary_post(BINARY[op.name][0], next(left)) if op.has_operand
        else eltwise_post(ELTWISE[op.name][0], op.alpha, op.beta) for op in rest]
    return make_primitive(Kind.BINARY, alg=alg, srcs=(data, second), dst=data, post_ops=specs)


def compute_ex(ctx: OpContext, p: FusedElementwiseParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    out = outs[0]
    if not out.requested:
        return
    data, operands, stream, chain = ins[0], ins[1:], ctx.stream, p.chain
    if len(chain) == 1 and chain[0].name in SLOW_POST_OPS:
        function(ctx, WORDS[chain[0].name], data, out)
        return
    shapes = [operand.shape for operand in operands]
    plain = all(shape == data.shape or operand.size == 1
                for shape, operand in zip(shapes, operands, strict=True))
    given = unpadded((get_data(data, stream) if plain else unblocked(data, stream)).desc)

    def build() -> _Made:
        def one(layout: MemDesc, full: Dims, parts: list[Dims]) -> _Made:
            seen = default_desc(FLOAT32, full)
            descs = [default_desc(FLOAT32, part) for part in parts]
            return _Made(layout, seen, descs, _make(chain, seen, descs))
        layouts = dict.fromkeys((given, default_desc(FLOAT32, data.shape)))
        return first_supported(partial(one, layout, *view) for layout in layouts
                               for view in _views(layout, shapes))
    layout, seen, descs, prim = ctx.primitive(("elementwise", p, given.id, *shapes), build)
    x = get_data_reorder(data, layout, stream)
    mems: list[Mem] = []
    for operand, shape, desc in zip(operands, shapes, descs, strict=True):
        wanted = (layout if shape == data.shape else default_desc(FLOAT32, shape)
                  if operand.size == 1 else dense_like(layout, shape))
        mems.append(get_data_reorder(operand, wanted, stream).as_desc(desc))
    args: list[tuple[int, Any]] = [(Arg.SRC, x.as_desc(seen))]
    own = chain[0].has_operand
    args.append((Arg.SRC_1, mems.pop(0) if own else x.as_desc(seen)))
    for place, op in enumerate(chain[1:] if own else chain):
        if op.has_operand:
            args.append((Arg.POST_OP * (place + 1) + Arg.SRC_1, mems.pop(0)))
    with out.open(layout, stream, inplace_of=x) as y:
        ctx.run(prim, [*args, (Arg.DST, y.as_desc(seen))])


def input_names(p: FusedElementwiseParams) -> tuple[str, ...]:
    return ("data", *operand_names(p.chain))


def fits(full: Shape, part: Shape) -> bool:
    """An operand of this shape broadcasts to the data, rank for rank."""
    return len(full) == len(part) and all(a in (1, b) for a, b in zip(part, full, strict=True))


register(OpDef("_fused_elementwise", FusedElementwiseParams, inputs=input_names,
               infer_shape=infer_shape, infer_type=same_float_type, compute=compute,
               compute_ex=compute_ex, refuses=refuses, inplace={0: 0}, is_fused=True,
               no_gradient="it is for inference", per_sample=True,
               doc="A chain of functions, element by element.\n\n"
                   "data of any shape, then one operand for each function of two arguments: of "
                   "data's shape, or broadcast to it. Floats of any width. Made by passes. "
                   "Source: oneDNN binary with post-ops; a native kernel for "
                   "one function alone that is slow in oneDNN."))
