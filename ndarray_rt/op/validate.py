"""NDRT_VALIDATE: repeats every native call in NumPy and compares. Changes no result."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from .._array.copy import read_numbers
from .._array.layout import AnyArray
from .._array.ndarray import NDArray, new_array
from .._array.output import NumpyOutput
from .._array.req import Req
from ..dtypes import is_float, precision
from ..errors import MXNetError, where
from ..storage.stream import Stream
from .params import Params
from .random_state import RandomState
from .registry import OpDef

if TYPE_CHECKING:
    from .context import OpContext

# roundings per element besides those of its sums, relative to the largest element
ROUNDINGS = 32


class ValidationError(MXNetError):
    """The native path and NumPy disagree: a bug in one of the two."""


class Validation:
    """Copies of what one call reads, made before it runs, so that `compare` can repeat it in NumPy.

    The reference is computed in float64 if inputs are floats. The tolerance is the rounding of the
    dtype, times the root of the number of products in a sum, plus the error of NumPy's own result
    in that dtype: where terms cancel, every method loses digits.
    """

    def __init__(self, op: OpDef, params: Params, ctx: OpContext, ins: list[NDArray],
                 outs: list[NDArray], reqs: list[Req]) -> None:
        stream = Stream()
        self._call = (op, params, ctx, ins, outs, reqs)
        self._arrays = [read_numbers(array, stream) for array in ins]
        self._before = [read_numbers(out, stream) if req == Req.kAddTo else None
                        for out, req in zip(outs, reqs, strict=True)]
        self._random = ctx.random.get_state()

    def compare(self) -> None:
        """ValidationError with operator, node and the worst element if the results differ."""
        op, params, _, ins, outs, reqs = self._call
        stream = Stream()
        narrow, changed = self._compute(wide=False)
        exact, exactly = self._compute(wide=True)
        for i, (out, old) in enumerate(zip(outs, self._before, strict=True)):
            value, truth = narrow[i], exact[i]
            if not reqs[i] or value is None or truth is None:
                continue
            if old is not None:
                value = old + value.astype(out.dtype)
                truth = old + truth
            self._check(f"output {i}", read_numbers(out, stream), value, truth)
        for position in op.mutated(params):
            self._check(f"input {position}, which it changes,",
                        read_numbers(ins[position], stream), changed[position], exactly[position])

    def _compute(self, wide: bool) -> tuple[list[AnyArray | None], list[AnyArray]]:
        """Outputs and inputs after the call, computed in NumPy with the same random bits."""
        op, params, ctx, _, outs, reqs = self._call
        arrays = [a.astype(np.float64) if wide and is_float(a.dtype) else a.copy()
                  for a in self._arrays]
        expected = [NumpyOutput(new_array(out.shape, out.dtype),
                                Req.kWriteTo if req else Req.kNullOp)
                    for out, req in zip(outs, reqs, strict=True)]
        state, ctx.random = ctx.random, RandomState()
        ctx.random.set_state(self._random)
        try:
            with np.errstate(all="ignore"):
                op.compute(ctx, params, arrays, expected)
        finally:
            ctx.random = state
        return [output.value for output in expected], arrays

    def _terms(self, size: int) -> float:
        """Upper estimate of the number of products that one element sums."""
        sizes = [a.size for a in self._arrays]
        if not sizes:
            return 1.0
        largest = sorted(sizes)[-2:]
        return max(1.0, max(largest) / size, sqrt(float(np.prod(largest)) / size))

    def _check(self, what: str, got: AnyArray, narrow: AnyArray, exact: AnyArray) -> None:
        if not got.size:
            return
        op, _, ctx, *_ = self._call
        a, b, c = (array.astype(np.float64) for array in (got, exact, narrow))
        with np.errstate(all="ignore"):
            b = np.where(np.isfinite(c), b, c)  # overflows in the dtype
            scale = float(np.max(np.abs(b), where=np.isfinite(b), initial=0.0))
            difference = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
            off = np.abs(c - b)
            lost = float(np.max(off, where=np.isfinite(off), initial=0.0))
        difference = np.where(np.isnan(difference), np.inf, difference)
        bound = lost * 16
        if is_float(got.dtype):
            eps, tiny = precision(got.dtype)
            bound += eps * scale * (ROUNDINGS + 4 * sqrt(self._terms(got.size)))
            bound += tiny
        worst = np.unravel_index(int(np.argmax(difference)), difference.shape)
        if difference[worst] > bound:
            place = tuple(int(i) for i in worst)
            raise ValidationError(
                f"{where(op.name, ctx.node_name)}: {what} differs from numpy at {place}: got "
                f"{a[worst]:.9g}, expected {b[worst]:.9g} (largest value {scale:.6g}, "
                f"{difference[worst]:.3g} apart, at most {bound:.3g})")
