"""Reductions of row-major memory, one group of neighbouring axes after the other.

Knows layouts and primitives; which operator it serves is not its business.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from ...dtypes import FLOAT32
from ...native import lib
from ...op.context import OpContext
from ...storage.desc import MemDesc, default_desc
from ...storage.primitive import Arg, Kind, Primitive, make_primitive
from ...storage.stream import Mem
from ..constants import constant

FEW_ROWS = 64  # oneDNN's reduction takes 0.1 us a row, however short


class Run(NamedTuple):
    """Axes that lie side by side in memory and share one fate."""

    gone: bool
    size: int


def order_of(desc: MemDesc) -> list[int] | None:
    """Axes of more than one element, outermost first; None when bytes are in blocks."""
    if desc.inner_blks or desc.is_padded or desc.nbytes != desc.nelems * 4:
        return None
    return sorted((d for d in range(desc.ndims) if desc.dims[d] > 1),
                  key=lambda d: -desc.strides[d])


def runs_of(desc: MemDesc, order: list[int], gone: tuple[int, ...]) -> list[Run]:
    """The axes as runs, outermost first."""
    made: list[Run] = []
    for axis in order:
        run = Run(axis in gone, desc.dims[axis])
        if made and made[-1].gone == run.gone:
            run = Run(run.gone, run.size * made.pop().size)
        made.append(run)
    return made


class Step:
    """One reduction of (outer, middle, inner) over the middle; over no inner unless it is a sum."""

    def __init__(self, alg: int, ctx: OpContext, outer: int, middle: int, inner: int) -> None:
        self.middle, self.inner = middle, inner
        self.result = default_desc(FLOAT32, (outer * inner,))
        self.prim: Primitive | None = None
        self.ones: MemDesc | None = None
        if inner == 1 and (outer <= FEW_ROWS or alg != lib.NDRT_REDUCTION_SUM):
            self.source = default_desc(FLOAT32, (outer, middle))
            self.target = default_desc(FLOAT32, (outer, 1))
            self.prim = ctx.primitive(
                ("reduce.rows", alg, outer, middle), lambda: make_primitive(
                    Kind.REDUCTION, alg=alg, src=self.source, dst=self.target))
        elif outer > 1:
            # oneDNN has no good reduction there, but a product with ones
            self.ones, self.source, self.target = (default_desc(FLOAT32, dims) for dims in (
                (1, 1, middle), (outer, middle, inner), (outer, 1, inner)))
            if inner == 1:
                self.ones, self.source, self.target = (default_desc(FLOAT32, dims) for dims in (
                    (middle, 1), (outer, middle), (outer, 1)))
            src, weights = ((self.source, self.ones) if inner == 1
                            else (self.ones, self.source))
            self.prim = ctx.primitive(
                ("reduce.product", outer, middle, inner), lambda: make_primitive(
                    Kind.MATMUL, src=src, weights=weights, dst=self.target))

    def run(self, ctx: OpContext, x: Mem, y: Mem) -> None:
        if self.prim is None:
            ctx.kernel(lib.NDRT_KERNEL_BIAS_GRAD, (self.middle, self.inner), (y, x))
            return
        source, target = x.as_desc(self.source), y.as_desc(self.target)
        if self.ones is None:
            ctx.run(self.prim, ((Arg.SRC, source), (Arg.DST, target)))
            return
        ones = constant(ctx, self.prim, self.ones, 1.0)
        first, second = (source, ones) if self.inner == 1 else (ones, source)
        ctx.run(self.prim, ((Arg.SRC, first), (Arg.WEIGHTS, second), (Arg.DST, target)))


def steps_of(alg: int, ctx: OpContext, runs: list[Run]) -> list[Step]:
    """What takes the runs that go away, the innermost first."""
    made: list[Step] = []
    while any(run.gone for run in runs):
        at = max(i for i, run in enumerate(runs) if run.gone)
        outer, inner = (prod(run.size for run in part) for part in (runs[:at], runs[at + 1:]))
        made.append(Step(alg, ctx, outer, runs[at].size, inner))
        runs = runs[:at] + runs[at + 1:]
    return made
