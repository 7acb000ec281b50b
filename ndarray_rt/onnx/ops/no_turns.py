"""What a loop gathers that makes no turn: no rows, of the shape that its body would give them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import MissingPackage, ModelFormatError, NdrtError, OutOfMemory
from ..build import Constants, GraphBuilder
from ..graph import Array, Graph, Node
from ..planner import Planner
from ..values import SequenceValue, Value, constant, need_bytes

if TYPE_CHECKING:
    from ..loaded import Loaded

# nodes that are planned for it, those of functions and loops inside too
_MOST_TRIED = 1 << 14

_Facts = list[tuple[tuple[int, ...], np.dtype[Any]] | None]


class _Shapes(Planner):
    """Finds out shapes and dtypes. Its plan is never run, so that no graph of it is bound."""

    def __init__(self, session: Loaded, scope: dict[str, Any], body: Graph,
                 left: list[int]) -> None:
        super().__init__(session, scope, list(reversed(body.nodes)), ())
        # nothing of it is among the constants that plans keep
        self.builder = GraphBuilder(Constants())
        self.left = left

    def flush(self, wanted: Iterable[Any], keep_rest: bool = False, ends: bool = False) -> None:
        pass

    def inline(self, node: Node, graph: Graph, what: str, inputs: Sequence[Any] | None = None,
               outputs: Sequence[str] | None = None) -> None:
        self.left[0] -= len(graph.nodes)
        if self.left[0] < 0:
            raise ModelFormatError("too many nodes to find out what a turn would give")
        super().inline(node, graph, what, inputs, outputs)


def no_rows(session: Loaded, body: Graph, scope: Mapping[str, Any], first: int,
            outer: Planner | None = None) -> list[Array]:
    """Tensors of shape (0, *row) for the outputs of a body from number `first` on.

    `scope` has what is known of the body's inputs and of what it reads from outside; `outer` is
    the planner of the loop. Where the body does not tell, which it does not where shapes depend on
    data, what the file says about its outputs does, with 0 for dimensions that it leaves open.
    """
    names = body.outputs[first:]
    left = outer.left if isinstance(outer, _Shapes) else [_MOST_TRIED]
    facts = _facts(session, body, scope, names, left, 0) if names else []
    if None in facts:
        # of an input without rows no turn can take one: what it would be follows from others
        tries = [_facts(session, body, scope, names, left, length) for length in (2, 3)]
        facts = [known or _before(*more) for known, *more in zip(facts, *tries, strict=True)]
    made = []
    for known, info in zip(facts, body.infos[first:], strict=True):
        if known is None:
            known = (tuple(dim if isinstance(dim, int) else 0 for dim in info.shape or ()),
                     np.dtype(np.float32) if info.dtype is None else info.dtype)
        shape, dtype = known
        need_bytes([dim or 1 for dim in shape], dtype)
        made.append(np.zeros((0, *shape), dtype))
    return made


def _facts(session: Loaded, body: Graph, scope: Mapping[str, Any], names: Sequence[str],
           left: list[int], length: int) -> _Facts:
    """Shapes and dtypes of values of the body, None for those that can not be told; with lengths
    of 0 outside replaced by `length`."""
    left[0] -= len(body.nodes) + 1
    if left[0] < 0:
        return [None] * len(names)
    inner = {name: constant(array, True) for name, array in body.constants.items()}
    inner.update({name: _apart(value, f"outside:{name}", length)
                  for name, value in scope.items()})
    planner = _Shapes(session, inner, body, left)
    try:
        planner.run()
    except (MissingPackage, OutOfMemory):
        raise
    except NdrtError:
        # a turn would fail as well; there is none
        pass
    values = [planner.scope.get(name) for name in names]
    return [(value.shape, value.dtype) if isinstance(value, Value) else None for value in values]


def _apart(value: Any, slot: str, length: int) -> Any:
    """A value outside of any graph."""
    if isinstance(value, SequenceValue):
        return replace(value, items=tuple(_apart(item, f"{slot}:{i}", length)
                                          for i, item in enumerate(value.items)))
    if not isinstance(value, Value):
        return value
    if length and not value.size and not value.fixed:
        return Value(tuple(dim or length for dim in value.shape), value.dtype, slot=slot)
    return value if value.const is not None else Value(value.shape, value.dtype, slot=slot)


def _before(two: Any, three: Any) -> Any:
    """What facts for lengths of 2 and 3 are for a length of 0."""
    if two is None or three is None or len(two[0]) != len(three[0]):
        return None
    return tuple(max(3 * a - 2 * b, 0) for a, b in zip(two[0], three[0], strict=True)), two[1]
