"""Prologue: values that a program computes from parameters alone, again only when they change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..._array.layout import get_default
from ..._array.ndarray import NDArray, new_array
from ...dtypes import find_dtype
from ...op.context import OpContext
from ...op.dispatch import dispatch_planned
from ...storage.chunk import Chunk
from ...storage.desc import default_desc
from ...storage.lease import Leases
from ...storage.reorder import reorder_mem
from ...storage.stream import Mem
from .step import BoundStep


class Prologue:
    """The steps that fold weights, and the state of their sources at the last run (I11).

    A step runs again only where something that it reads has changed.

    The results belong to the program. Once a layer has converted one to the layout that it wants,
    later results are put into that layout too, in the same memory, so that recorded runs stay
    valid. Executors of other input shapes, and clones, share them.
    """

    def __init__(self, steps: Sequence[BoundStep]) -> None:
        self.steps = steps
        self.made: list[Chunk] = list(dict.fromkeys(
            array._chunk for step in steps for array in step.outs))
        made = set(self.made)
        self.sources: list[Chunk] = list(dict.fromkeys(
            array._chunk for step in steps for array in step.ins if array._chunk not in made))
        self._changes: list[int] | None = None

    def is_current(self) -> bool:
        """No source was written to since it ran."""
        return not self.steps or self._changes == [chunk.changes for chunk in self.sources]

    def is_true(self) -> bool:
        """No source has changed; one that users can write to unnoticed counts as changed."""
        return not self.steps or (
            self.is_current() and not any(chunk.native.writable_pins for chunk in self.sources))

    def settle(self, ctx: OpContext) -> None:
        """Runs the steps if needed; the caller holds no leases."""
        if self.is_true():
            return
        own, ctx.own_leases = ctx.own_leases, False
        try:
            # leases are made anew, as executors that share this may run here at the same time
            with Leases(self.sources, self.made):
                if not self.is_true():
                    self._run(ctx)
        finally:
            ctx.own_leases = own

    def _run(self, ctx: OpContext) -> None:
        before, self._changes = self._changes, None
        changes = [chunk.changes for chunk in self.sources]
        # what differs from what the last run read; the first one runs all steps
        changed = None if before is None else {
            chunk for chunk, then, now in zip(self.sources, before, changes, strict=True)
            if then != now or chunk.native.writable_pins}
        for chunk in self.made:
            chunk.check_and_alloc(soon=True)
        for step in self.steps:
            if changed is not None:
                if changed.isdisjoint(array._chunk for array in step.ins):
                    continue
                changed.update(array._chunk for array in step.outs)
            outs = [new_array(out.shape, out.dtype, out.ctx) if out.is_special else out
                    for out in step.outs]
            dispatch_planned(step.op, step.params, ctx, step.ins, outs, step.reqs, step.name)
            for made, out in zip(outs, step.outs, strict=True):
                if made is not out:
                    _put(made, out, ctx)
        self._changes = changes

    def computed_from(self) -> Mapping[Chunk, int]:
        """The sources, and their `changes` at the last run."""
        return dict(zip(self.sources, self._changes or [], strict=bool(self._changes)))


def _put(made: NDArray, out: NDArray, ctx: OpContext) -> None:
    """Copies a value into an array, in the layout that the array has."""
    layout, stream, chunk = out._chunk.mkl_mem, ctx.stream, out._chunk
    assert layout is not None
    stream.begin_operator()
    # an operator may return its input's layout, with other dims than those of `out`
    plain = default_desc(find_dtype(layout.dtype_name), layout.dims)
    source = get_default(made, stream).as_desc(plain)
    chunk.wrote()
    reorder_mem(stream, source, Mem(layout, chunk.handle.ptr, chunk.handle, stream.epoch))
