"""Names of blocks: each scope counts its children by kind, and puts its prefix before theirs."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

from ...symbol.naming import Prefix, current_names
from ..parameter import ParameterDict


class _Current(threading.local):
    """The innermost scope of one thread, and those around it."""

    def __init__(self) -> None:
        self.value: BlockScope | None = None
        self.outer: list[tuple[BlockScope | None, Prefix, Any]] = []


_current = _Current()


class BlockScope:
    """The `with` block in which a block makes its children; they are named after it.

    A block with the prefix '' has none: names go on as outside of it.
    """

    def __init__(self, block: Any) -> None:
        self._ref: Callable[[], Any] = lambda: block
        self._counter: dict[str, int] = {}

    @classmethod
    def of(cls, block: Any) -> BlockScope:
        """The scope that a block has itself: it does not keep the block alive.

        So a block, and what it computed with, is gone as soon as nobody has it.
        """
        made = cls(None)
        made._ref = weakref.ref(block)
        return made

    @staticmethod
    def create(prefix: str | None, params: ParameterDict | None,
               hint: str) -> tuple[str, ParameterDict]:
        """(prefix, parameters) of a new block in this thread's scope.

        Without a `prefix` it is `hint` with the next number of its kind. With `params` the block
        uses those of another one, under that one's names.
        """
        scope = _current.value
        if prefix is None:
            prefix = (f"{current_names().get(None, hint)}_" if scope is None
                      else f"{hint}{scope._next(hint)}_")
        outer = "" if scope is None else scope._block.prefix
        if params is not None:
            made = ParameterDict(params.prefix, params)
        elif scope is None:
            made = ParameterDict(prefix)
        else:
            parent = scope._block.params
            made = ParameterDict(parent.prefix + prefix, parent._shared)
        return outer + prefix, made

    @property
    def _block(self) -> Any:
        return self._ref()

    def _next(self, hint: str) -> int:
        count = self._counter.get(hint, 0)
        self._counter[hint] = count + 1
        return count

    def __enter__(self) -> BlockScope:
        block = self._block
        if block is not None and not block._empty_prefix:
            names = Prefix(block.prefix)
            names.__enter__()
            _current.outer.append((_current.value, names, block))
            _current.value = self
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        block = self._block
        if block is not None and not block._empty_prefix:
            _current.value, names, _ = _current.outer.pop()
            names.__exit__(kind, error, trace)
