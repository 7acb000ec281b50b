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
from ...storage.kernels.elementwise import bias_grad
from ...storage.primitive import Arg, Kind, Primitive, make_primitive
from ...storage.stream import Mem
from .axis_kernels import reduce_part


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
    """One reduction of (outer, middle, inner) over the middle; over no inner unless it is a sum.

    Sums go through kernels that add up in float64 what a float32 would lose digits in.
    """

    def __init__(self, alg: int, ctx: OpContext, outer: int, middle: int, inner: int) -> None:
        self.part = outer, middle, inner
        self.result = default_desc(FLOAT32, (outer * inner,))
        self.prim: Primitive | None = None
        if alg != lib.NDRT_REDUCTION_SUM:
            self.source = default_desc(FLOAT32, (outer, middle))
            self.target = default_desc(FLOAT32, (outer, 1))
            self.prim = ctx.primitive(
                ("reduce.rows", alg, outer, middle), lambda: make_primitive(
                    Kind.REDUCTION, alg=alg, src=self.source, dst=self.target))

    def run(self, ctx: OpContext, x: Mem, y: Mem) -> None:
        outer, middle, inner = self.part
        if self.prim is not None:
            ctx.run(self.prim, ((Arg.SRC, x.as_desc(self.source)),
                                (Arg.DST, y.as_desc(self.target))))
        elif outer == 1 and inner > 1:
            ctx.kernel(bias_grad(out=y, data=x, rows=middle, channels=inner))
        else:
            reduce_part(ctx, lib.NDRT_REDUCE_SUM, self.part, x, y, lib.NDRT_F32)


def steps_of(alg: int, ctx: OpContext, runs: list[Run]) -> list[Step]:
    """What takes the runs that go away, the innermost first."""
    made: list[Step] = []
    while any(run.gone for run in runs):
        at = max(i for i, run in enumerate(runs) if run.gone)
        outer, inner = (prod(run.size for run in part) for part in (runs[:at], runs[at + 1:]))
        made.append(Step(alg, ctx, outer, runs[at].size, inner))
        runs = runs[:at] + runs[at + 1:]
    return made
