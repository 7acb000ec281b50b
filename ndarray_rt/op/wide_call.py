"""WideCall: runs an operator in float32 on arrays of float16 and bfloat16.

oneDNN and the native kernels support few operators in 16 bits, on many CPUs none. The
inputs are widened into scratch, the float32 implementation runs in the layouts that suit it, and
each result is rounded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .._array.ndarray import NDArray
from .._array.output import Output
from .._array.req import Req
from .._array.widened import Widened, round_into, wide_output, write_back
from ..dtypes import is_half
from ..errors import Unsupported
from ..precision import Precision, has_low_products
from .params import Params

if TYPE_CHECKING:
    from .context import OpContext
    from .registry import OpDef


class WideCall:
    """One call on float32 copies of 16-bit arrays."""

    __slots__ = ("_ctx", "_ins", "_op", "_params", "_wide")

    def __init__(self, op: OpDef, params: Params, ctx: OpContext, ins: list[NDArray]) -> None:
        self._op, self._params, self._ctx, self._ins = op, params, ctx, ins
        self._wide = [Widened(x, ctx.stream) if is_half(x.dtype) else x for x in ins]

    def refusal(self) -> str | None:
        """Why the native path can not run in float32 either."""
        return None if self._op.refuses is None else self._op.refuses(self._params, self._wide)

    def compute(self, outs: list[NDArray], reqs: Sequence[Req], mutated: Sequence[int]) -> None:
        """Runs `compute_ex` in the stream's transaction."""
        op, ctx = self._op, self._ctx
        assert op.compute_ex is not None
        stream = ctx.stream
        made = [wide_output(out, req, stream) if is_half(out.dtype) else out
                for out, req in zip(outs, reqs, strict=True)]
        rooms = [x._chunk._handle for x in made]
        # results kept for backward are found by the chunks of the arrays, which these copies lack
        kept, ctx.kept_runs = ctx.kept_runs, None
        mode = ctx.mode
        if (has_low_products() and mode.precision is not Precision.STRICT
                and all(x.dtype.name == "bfloat16" for x in self._ins if is_half(x.dtype))):
            # the operands are bfloat16 values: rounding them to bfloat16 again loses nothing
            ctx.mode = mode._replace(precision=Precision.MEDIUM)
        try:
            op.compute_ex(ctx, self._params, self._wide, [
                Output(x, Req.kWriteTo if x is not out and req == Req.kWriteInplace else req)
                for x, out, req in zip(made, outs, reqs, strict=True)])
        finally:
            ctx.kept_runs, ctx.mode = kept, mode
        for x, room, out, req in zip(made, rooms, outs, reqs, strict=True):
            if x is out or req == Req.kNullOp:
                continue
            if x._chunk._handle is not room:
                # a recording points to the scratch that the result began in
                raise Unsupported(f"the result's layout takes more room than {out.shape} has")
            round_into(out, x, stream)
        for i in mutated:
            wide = self._wide[i]
            if wide is not self._ins[i]:
                write_back(self._ins[i], wide, stream)


def wide_call(op: OpDef, params: Params, ctx: OpContext, ins: list[NDArray],
              ) -> WideCall | None:
    """The call in float32; None if the operator can not compute it that way either."""
    if op.compute_ex is None or not any(is_half(x.dtype) for x in ins):
        return None
    call = WideCall(op, params, ctx, ins)
    return call if call.refusal() is None else None
