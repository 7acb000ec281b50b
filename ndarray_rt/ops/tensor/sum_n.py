"""add_n: the sum of any number of arrays of one shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, get_data, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...native import lib
from ...op.context import OpContext
from ...op.infer import same_shape, same_type
from ...op.params import Params, how_many, params_class
from ...op.registry import Emit, GradNode, OpDef, register
from ...storage.desc import MemDesc
from ...storage.primitive import Arg, Kind, Primitive, binary_post, make_primitive
from .numeric import convert, wide
from .pointwise import pointwise, put


@params_class
class SumParams(Params):
    num_args: int = how_many(doc="how many arrays are added")


def input_names(p: SumParams) -> tuple[str, ...]:
    return tuple(f"arg{i}" for i in range(p.num_args))


def compute(ctx: OpContext, p: SumParams, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
    dtype = ins[0].dtype
    if dtype.kind in "iub":
        total = ins[0].copy()
        for array in ins[1:]:
            total += array
    else:
        total = wide(ins[0]).copy()
        for array in ins[1:]:
            np.add(total, wide(array), out=total)
    outs[0].write(convert(total, dtype))


def refuses(p: SumParams, ins: list[NDArray]) -> str | None:
    # oneDNN's own sum is plain C; a binary adds the third array and the following as post-ops
    if len(ins) > lib.NDRT_MAX_POST_OPS + 2:
        return f"oneDNN adds at most {lib.NDRT_MAX_POST_OPS + 2} arrays at once"
    return need_float32(*ins)


def compute_ex(ctx: OpContext, p: SumParams, ins: list[NDArray], outs: list[Output]) -> None:
    if len(ins) == 1:
        put(ctx, get_data(ins[0], ctx.stream), outs[0])
        return

    def make(desc: MemDesc) -> Primitive:
        more = [binary_post(lib.NDRT_BINARY_ADD, desc)] * (len(ins) - 2)
        return make_primitive(Kind.BINARY, alg=lib.NDRT_BINARY_ADD, srcs=(desc, desc), dst=desc,
                              post_ops=more)
    # every result is written after all of its terms are read: in place is right for any number
    args = [(Arg.SRC, 0), (Arg.SRC_1, 1),
            *((Arg.POST_OP * (i - 1) + Arg.SRC_1, i) for i in range(2, len(ins)))]
    pointwise(ctx, ("add_n", len(ins)), ins, outs[0], args, make)


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return [out_grads[0]] * len(node.inputs)


register(OpDef("add_n", SumParams, inputs=input_names, infer_shape=same_shape,
               infer_type=same_type, compute=compute, compute_ex=compute_ex, refuses=refuses,
               gradient=gradient, inplace={0: 0}, num_args="num_args",
               aliases=("ElementWiseSum",),
               doc="The sum of all inputs, element by element.\n\n"
                   "num_args arrays of one shape and dtype, which the output has too. Source: "
                   "MXNet's add_n; oneDNN binary with further binaries as post-ops."))
