"""amp_cast, amp_multicast: the casts of mixed precision; what is no float passes as it is.

Files of converted models hold them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...dtypes import find_dtype, is_float
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, same_shape
from ...op.params import REQUIRED, Params, boolean, dtype, how_many, params_class
from ...op.registry import Emit, GradNode, OpDef, register
from .identity import compute_ex_cast


@params_class
class AmpCastParams(Params):
    dtype: str = dtype(REQUIRED, doc="dtype of the output where data is a float")


@params_class
class AmpMulticastParams(Params):
    num_outputs: int = how_many(doc="arrays in and out")
    cast_narrow: bool = boolean(False, doc="to the narrowest of the dtypes, not to the widest")


def infer_type_cast(p: AmpCastParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    data = ins[0]
    if data is None:
        return ins, outs
    return ins, [find_dtype(p.dtype) if is_float(data) else data]


def infer_type_multicast(p: AmpMulticastParams, ins: TypeList, outs: TypeList,
                         ) -> tuple[TypeList, TypeList]:
    # `None in ins` would be wrong: numpy takes None for float64
    known = [one for one in ins if one is not None]
    if len(known) < len(ins):
        return ins, outs
    floats = [one for one in known if is_float(one)]
    pick = min if p.cast_narrow else max
    return ins, [pick(floats, key=lambda found: found.itemsize) if is_float(one) else one
                 for one in known]


def infer_shape_multicast(p: AmpMulticastParams, ins: ShapeList, outs: ShapeList,
                          ) -> tuple[ShapeList, ShapeList]:
    each = [merge(a, b) for a, b in zip(ins, outs, strict=True)]
    return each, list(each)


def compute(ctx: OpContext, p: Params, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
    for array, out in zip(ins, outs, strict=True):
        out.write(array.astype(out.dtype))


def gradient_each(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return [emit("_backward_cast", None, grad, data)[0]
            for grad, data in zip(out_grads, node.inputs, strict=True)]


def numbered(prefix: str) -> Any:
    return lambda p: tuple(f"{prefix}{i}" for i in range(p.num_outputs))


register(OpDef("amp_cast", AmpCastParams, inputs=("data",), infer_shape=same_shape,
               infer_type=infer_type_cast, compute=compute, compute_ex=compute_ex_cast,
               gradient=gradient_each, identity=True,
               per_sample=True,
               doc="data in another float dtype; other dtypes stay.\n\n"
                   "Source: MXNet's amp_cast."))
register(OpDef("amp_multicast", AmpMulticastParams, inputs=numbered("data_"),
               outputs=numbered("output"), infer_shape=infer_shape_multicast,
               infer_type=infer_type_multicast, compute=compute, gradient=gradient_each,
               num_args="num_outputs",
               doc="All float arrays in the widest (or narrowest) of their dtypes.\n\n"
                   "Source: MXNet's amp_multicast."))
