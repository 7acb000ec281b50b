"""State: the arrays that a plan's values live in. Decides nothing."""

from __future__ import annotations

from collections.abc import Mapping

from ..context import Context
from ..dtypes import UINT8
from ..ndarray.ndarray import NDArray
from ..storage.chunk import Chunk
from ..storage.handle import Handle
from ..symbol.node import Entry
from .plan import Kind, Plan, Value


class State:
    """Arrays of one executor: the user's by reference, its own on one arena.

    Each storage of the plan is a Chunk over its own span of the arena, and each value an array that
    reuses it (`as_array`). A span that must grow leaves the arena by itself.
    """

    __slots__ = ("arena", "arrays", "storages")

    def __init__(self, plan: Plan, external: Mapping[Entry, NDArray], ctx: Context) -> None:
        total = sum(plan.storage_bytes)
        self.arena: Handle | None = Handle(total) if total else None
        self.storages: list[NDArray] = []
        offset = 0
        for nbytes in plan.storage_bytes:
            assert self.arena is not None
            span = Handle.span(self.arena, offset, nbytes)
            chunk = Chunk((nbytes,), UINT8, handle=span)
            self.storages.append(NDArray(chunk, (nbytes,), UINT8, ctx=ctx))
            offset += nbytes
        self.arrays: list[NDArray] = [self._array(v, external, ctx) for v in plan.values]

    def _array(self, value: Value, external: Mapping[Entry, NDArray], ctx: Context) -> NDArray:
        if value.kind is Kind.EXTERNAL:
            return external[value.entry]
        if value.kind is Kind.UNUSED:
            # a shape only: nothing is ever computed for it, and no memory taken
            return NDArray(Chunk(value.shape, value.dtype), value.shape, value.dtype, ctx=ctx)
        return self.storages[value.storage].as_array(value.shape, value.dtype)

    @property
    def nbytes(self) -> int:
        """Bytes of the arena, and of what left it."""
        own = 0 if self.arena is None else self.arena.nbytes
        return own + sum(s.chunk.nbytes for s in self.storages if s.chunk.handle.is_own)
