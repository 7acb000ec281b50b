"""khatri_rao: the Kronecker product column by column."""

from __future__ import annotations

from math import prod

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...op.context import OpContext
from ...op.infer import ShapeList, merge, need_rank, same_type
from ...op.params import Params, how_many, params_class
from ...op.registry import OpDef, Shape, register
from ..floats import wide


@params_class
class KhatriRaoParams(Params):
    num_args: int = how_many(doc="how many matrices")


def input_names(p: KhatriRaoParams) -> tuple[str, ...]:
    return tuple(f"arg{i}" for i in range(p.num_args))


def infer_shape(p: KhatriRaoParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    columns: Shape | None = None
    for i, given in enumerate([*ins, outs[0]]):
        need_rank(given, (2,), f"matrix {i}" if i < len(ins) else "the output")
        if given is not None:
            columns = merge(columns, (-1, given[1]), "columns of the matrices")
    if columns is None:
        return ins, outs
    made = [merge(given, columns, "columns of the matrices") for given in ins]
    rows = [given[0] for given in made if given is not None]
    total = -1 if -1 in rows else prod(rows)
    return made, [merge(outs[0], (total, columns[1]), "output shapes")]


def compute(ctx: OpContext, p: KhatriRaoParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    made = wide(ins[0])
    for matrix in ins[1:]:
        pairs = made[:, None, :] * wide(matrix)[None, :, :]
        made = pairs.reshape(len(made) * len(matrix), made.shape[1])
    outs[0].write(made.astype(ins[0].dtype, copy=False))


register(OpDef("khatri_rao", KhatriRaoParams, inputs=input_names, infer_shape=infer_shape,
               infer_type=same_type, compute=compute, num_args="num_args",
               no_gradient="MXNet has none",
               doc="The Kronecker products of the columns of matrices with equally many.\n\n"
                   "(n1, k), (n2, k), ... give (n1 n2 ..., k); one dtype. Source: MXNet's "
                   "khatri_rao."))
