"""NDRT_VALIDATE: every oneDNN call is repeated in numpy and compared. Changes no result."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import MXNetError, where
from ..ndarray.copy import read_numpy
from ..ndarray.layout import AnyArray
from ..ndarray.ndarray import NDArray, new_array
from ..ndarray.output import NumpyOutput
from ..ndarray.req import Req
from ..storage.stream import ImmediateStream
from .context import OpContext
from .params import Params
from .registry import OpDef

# of the largest expected value; sums in another order differ by far less
TOLERANCE = 1e-3


class ValidationError(MXNetError):
    """oneDNN and numpy disagree: a bug in one of the two."""


def run_validated(op: OpDef, params: Params, ctx: OpContext, ins: list[NDArray],
                  outs: list[NDArray], reqs: list[Req], run: Callable[[], None]) -> None:
    """Runs `run`, which computes `outs` on oneDNN, and compares with the operator's numpy form.

    Raises ValidationError with operator, node and the worst element.
    """
    stream = ImmediateStream()
    arrays = [read_numpy(array, stream) for array in ins]
    before = [read_numpy(out, stream) if req == Req.kAddTo else None
              for out, req in zip(outs, reqs, strict=True)]
    run()
    expected = [NumpyOutput(new_array(out.shape, out.dtype),
                            Req.kNullOp if req == Req.kNullOp else Req.kWriteTo)
                for out, req in zip(outs, reqs, strict=True)]
    with np.errstate(all="ignore"):
        op.compute(ctx, params, arrays, expected)
        for i, (out, wanted) in enumerate(zip(outs, expected, strict=True)):
            if wanted.value is None:
                continue
            value = wanted.value.astype(out.dtype)
            old = before[i]
            _compare(op, ctx.node_name, f"output {i}", read_numpy(out, stream),
                     value if old is None else old + value)
        for position in op.mutated(params):
            _compare(op, ctx.node_name, f"input {position}, which it changes,",
                     read_numpy(ins[position], stream), arrays[position])


def _compare(op: OpDef, node: str | None, what: str, got: AnyArray, wanted: AnyArray) -> None:
    if not got.size:
        return
    a, b = got.astype(np.float64), wanted.astype(np.float64)
    scale = float(np.max(np.abs(b), where=np.isfinite(b), initial=1e-6))
    error = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b) / scale)
    error = np.where(np.isnan(error), np.inf, error)
    worst = np.unravel_index(int(np.argmax(error)), error.shape)
    if error[worst] > TOLERANCE:
        place = tuple(int(i) for i in worst)
        raise ValidationError(
            f"{where(op.name, node)}: {what} differs from numpy at {place}: got {got[worst]}, "
            f"expected {wanted[worst]} (largest value {scale:.6g})")
