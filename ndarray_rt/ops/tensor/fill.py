"""Outputs that are one value everywhere, by native kernels. Registers no operator."""

from __future__ import annotations

from ..._array.layout import need_float32
from ..._array.ndarray import NDArray
from ..._array.output import Output
from ..._array.req import Req
from ...errors import Unsupported
from ...op.context import OpContext
from ...storage.desc import default_desc
from ...storage.kernels import elementwise


def fill_zero(ctx: OpContext, params: object, ins: list[NDArray], outs: list[Output]) -> None:
    """The whole `compute_ex` of what gives zeros; inputs are not read."""
    out = outs[0]
    if out.req in (Req.kNullOp, Req.kAddTo):
        return
    desc = default_desc(out.array.dtype, out.shape)
    with out.open(desc, ctx.stream) as y:
        ctx.kernel(elementwise.zero(out=y, nbytes=desc.nbytes))


def fill_value(ctx: OpContext, value: float, out: Output) -> None:
    """Gives a float32 output one value; Unsupported for other dtypes."""
    refusal = need_float32(out.array)
    if refusal is not None:
        raise Unsupported(refusal)
    desc = default_desc(out.array.dtype, out.shape)
    with out.open(desc, ctx.stream) as y:
        ctx.kernel(elementwise.fill(out=y, n=desc.nelems, value=value))


def fill_one(ctx: OpContext, params: object, ins: list[NDArray], outs: list[Output]) -> None:
    """The whole `compute_ex` of what gives ones; inputs are not read."""
    fill_value(ctx, 1.0, outs[0])
