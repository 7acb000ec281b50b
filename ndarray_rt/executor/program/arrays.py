"""PlanArrays: the arrays that a plan's values live in. Decides nothing."""

from __future__ import annotations

from collections.abc import Mapping

from ..._array.ndarray import NDArray, new_array
from ...context import Context
from ...dtypes import UINT8
from ...storage.chunk import Chunk
from ...storage.handle import Handle
from ...symbol.node import Entry
from .plan import Kind, Plan, Value


class PlanArrays:
    """The arrays of one program: the user's and the outputs by reference, the others its own.

    Each storage of the plan is a Chunk over its span of the arena, and each value an array that
    reuses it (`_as_array`). A span that must grow leaves the arena. `arena`: one to share with a
    program that never runs at the same time, if it is large enough.
    """

    __slots__ = ("__weakref__", "arena", "arrays", "storages")

    def __init__(self, plan: Plan, given: Mapping[Entry, NDArray], ctx: Context,
                 arena: Handle | None = None) -> None:
        total = plan.arena_bytes
        if arena is None or arena.nbytes < total:
            arena = Handle(total) if total else None
        self.arena = arena
        self.storages: list[NDArray] = []
        for storage in plan.storages:
            assert arena is not None
            span = Handle.span(arena, storage.offset, storage.nbytes)
            chunk = Chunk((storage.nbytes,), UINT8, handle=span)
            self.storages.append(NDArray(chunk, chunk.storage_shape, UINT8, ctx=ctx))
        self.arrays: list[NDArray] = [self._array(v, given, ctx) for v in plan.values]

    def _array(self, value: Value, given: Mapping[Entry, NDArray], ctx: Context) -> NDArray:
        if value.kind in (Kind.EXTERNAL, Kind.OUTPUT):
            return given[value.entry]
        if value.kind is Kind.UNUSED:
            # only its shape is used: nothing computes it, and it has no memory
            return NDArray(Chunk(value.shape, value.dtype), value.shape, value.dtype, ctx=ctx)
        if value.kind is Kind.CONSTANT:
            found = given.get(value.entry)
            return new_array(value.shape, value.dtype, ctx) if found is None else found
        return self.storages[value.storage]._as_array(value.shape, value.dtype)
