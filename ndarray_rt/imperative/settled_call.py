"""Calls of a CachedOp that are similar to the last one and skip most checks.

As long as parameters are the same arrays with the same places on the tape, which one check shows, a
call with data of the same shapes and dtypes is run by the same group of instances.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Any, NamedTuple

from .._array.ndarray import NDArray
from ..dtypes import DType
from ..symbol.node import Entry
from .cached_call import CachedCall, Facts, Held
from .cached_instance import Group
from .function import operator_of, record_like
from .tape import GradState, TapeNode, TapeVariable, constant

if TYPE_CHECKING:
    from .backward_of_calls import Route
    from .cached_op import CachedOp

_place = attrgetter("_entry")


class _Data(NamedTuple):
    """An input that is another array at each call; `wanted`: something recorded computed it."""

    position: int
    shape: tuple[int, ...]
    dtype: DType
    wanted: bool


class Settled:
    """Describes a recorded call in training mode, for those that follow it."""

    def __init__(self, op: CachedOp, group: Group, facts: list[Facts], data: list[_Data],
                 args: Sequence[NDArray]) -> None:
        self.group = group
        self.data = data
        # inputs computed by something recorded, whose gradients are wanted
        self.recorded = [one.position for one in data if one.wanted]
        # the route of backward from calls of this kind, and where their gradients go
        self.route: Route | None = None
        self.leaves: list[GradState] = [args[i]._entry[0].grad for i in group.targets]
        self._facts = facts
        self._count = len(args)
        taken = {one.position for one in data}
        self._fixed = [i for i in range(len(args)) if i not in taken]
        self._arrays = [args[i] for i in self._fixed]
        # entries of those, which live as long as this, and where the arrays hold them
        self._entries = [constant(x) if x._entry.__class__ is not Entry else x._entry for x in args]
        for one in data:
            self._entries[one.position] = _NOWHERE
        self._places = list(map(_place, self._arrays))
        self._operator = operator_of(op.name, len(group.symbol.entries))

    def call(self, op: CachedOp, args: tuple[Any, ...], is_train: bool) -> Any:
        """The outputs, recorded, like the op's own call. Returns None and does nothing if the call
        is not similar. The tape is recording."""
        if not is_train or len(args) != self._count:
            return None
        entries = self._entries[:]
        for i, shape, dtype, wanted in self.data:
            x = args[i]
            if x.__class__ is not NDArray or x._shape != shape or x._dtype != dtype:
                return None
            found: Any = x._entry
            node: Any = found[0] if found.__class__ is Entry else None
            if (node is not None and node.needs_grad) is not wanted or (
                    wanted and node.__class__ is not TapeNode):
                return None
            entries[i] = constant(x) if node is None or node.cleared else found
        if not all(map(is_, map(args.__getitem__, self._fixed), self._arrays)) or not all(
                map(is_, map(_place, self._arrays), self._places)):
            return None
        try:
            instance = self.group.idle.pop()
        except IndexError:
            return None
        held = Held(self.group, instance)
        by_value, feed, drawn = self.group.by_value, instance.feed, None
        for k, i in enumerate(by_value):
            feed.give(k, args[i])
        if instance.draws is not None or not instance.executor._trainer.forward_fed(feed):
            instance.load(args, by_value)
            drawn = instance.run_kept(True)
        outs = instance.results(args[0]._ctx)
        record_like(self._operator, CachedCall(op, held, drawn, self._facts, entries, self),
                    entries, outs)
        return outs[0] if len(outs) == 1 else outs


_NOWHERE: Any = None


def settle(op: CachedOp, args: Sequence[NDArray], facts: list[Facts], held: Held,
           ) -> Settled | None:
    """Describes a call that was just recorded; None if later ones need all checks."""
    group, instance = held.group, held.instance
    if not group.is_train or group.read or instance.refusal is not None or not instance.is_apart:
        return None
    data = []
    for i, (x, b) in enumerate(zip(args, group.bound, strict=True)):
        if b.array is None:
            if b.wanted and x._entry[0].__class__ is not TapeNode:
                return None
            data.append(_Data(i, x.shape, x.dtype, b.wanted))
        elif (b.wanted and i not in group.targets) or (
                x._entry.__class__ is Entry and x._entry[0].__class__ is not TapeVariable):
            return None
    return Settled(op, group, facts, data, args)
