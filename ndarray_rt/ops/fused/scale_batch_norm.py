"""_scale_batch_norm: gamma and beta of a batch norm that a factor or a summand follows."""

from __future__ import annotations

from math import prod

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, known, merge, merge_types, need_rank
from ...op.params import Params, boolean, choice, params_class
from ...op.registry import OpDef, register
from ..floats import need_float_types


@params_class
class ScaleBatchNormParams(Params):
    kind: str = choice("mul", "add", doc="what is done with the values: beta and, of a factor, "
                                         "gamma take them")
    fix_gamma: bool = boolean(True, doc="gamma counts as 1")


def infer_shape(p: ScaleBatchNormParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    gamma, beta, values = ins
    vector = outs[0]
    for shape in (gamma, beta, outs[1]):
        vector = merge(vector, shape, "lengths of gamma and beta")
    need_rank(vector, (1,), "gamma")
    if (values is not None and known(values) and vector is not None and known(vector)
            and prod(values) not in (1, vector[0])):
        raise ShapeError(f"values have shape {values}, expected {vector[0]} elements or one")
    return [vector, vector, values], [vector, vector]


def infer_type(p: ScaleBatchNormParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    one = merge_types([*ins, *outs])
    need_float_types([one])
    return [one] * 3, [one, one]


def compute(ctx: OpContext, p: ScaleBatchNormParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    gamma, beta, values = (v.astype(np.float64).reshape(-1) for v in ins)
    if p.fix_gamma:
        gamma = np.ones_like(gamma)
    made = (gamma * values, beta * values) if p.kind == "mul" else (gamma, beta + values)
    for out, value in zip(outs, made, strict=True):
        out.write(value.astype(ins[0].dtype))


register(OpDef("_scale_batch_norm", ScaleBatchNormParams, inputs=("gamma", "beta", "values"),
               outputs=("gamma", "beta"), infer_shape=infer_shape, infer_type=infer_type,
               compute=compute, is_fused=True, no_gradient="it is for inference",
               is_prologue=True,
               doc="The gamma and beta of one BatchNorm that does what a BatchNorm and a factor or "
                   "summand of each channel behind it do.\n\n"
                   "gamma and beta (channels,); values as many elements, or one. Computed in "
                   "float64. Made by passes."))
