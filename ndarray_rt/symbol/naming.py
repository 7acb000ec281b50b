"""Automatic names of nodes, and attributes for all nodes made in a `with` block.

Both are per thread. Makes no node.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping
from types import TracebackType
from typing import Any, ClassVar


class _Current(threading.local):
    """The innermost manager and scope of one thread."""

    def __init__(self) -> None:
        self.names: NameManager | None = None
        self.attrs: AttrScope | None = None


_current = _Current()


class _HasCurrent(type):
    """Gives NameManager and AttrScope the class attribute `current` that MXNet's have."""

    @property
    def current(cls) -> Any:
        return current_attrs() if issubclass(cls, AttrScope) else current_names()

    @current.setter
    def current(cls, value: Any) -> None:
        if issubclass(cls, AttrScope):
            _current.attrs = value
        else:
            _current.names = value


class NameManager(metaclass=_HasCurrent):
    """Names each node that has no name by a hint and a counter. Usable in a `with`.

    >>> with NameManager():
    ...     current_names().get(None, "conv"), current_names().get(None, "conv")
    ('conv0', 'conv1')
    """

    def __init__(self) -> None:
        self._counter: dict[str, int] = {}
        self._outer: list[NameManager | None] = []

    def get(self, name: str | None, hint: str) -> str:
        """`name` itself; if it is None, the hint followed by its next number."""
        if name:
            return name
        count = self._counter.get(hint, 0)
        self._counter[hint] = count + 1
        return f"{hint}{count}"

    def __enter__(self) -> NameManager:
        self._outer.append(_current.names)
        _current.names = self
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        _current.names = self._outer.pop()


class Prefix(NameManager):
    """A NameManager that adds a prefix to all names, also to given ones.

    >>> with Prefix("left_"):
    ...     current_names().get("fc1", "fullyconnected")
    'left_fc1'
    """

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix

    def get(self, name: str | None, hint: str) -> str:
        return self._prefix + super().get(name, hint)


class AttrScope(metaclass=_HasCurrent):
    """Attributes (strings) for all nodes made in a `with` block; inner scopes win.

    >>> with AttrScope(ctx_group="a", __lr_mult__="2"), AttrScope(ctx_group="b"):
    ...     current_attrs().get(None)
    {'ctx_group': 'b', '__lr_mult__': '2'}
    """

    # how many graphs of each name control flow has made; MXNet's tests read and replace it
    _subgraph_names: ClassVar[dict[str, int]] = defaultdict(int)

    def __init__(self, **kwargs: str) -> None:
        for name, value in kwargs.items():
            if not isinstance(value, str):
                raise ValueError(f"AttrScope: attribute {name!r} needs to be a string, "
                                 f"got {value!r}")
        self._own: dict[str, str] = dict(kwargs)
        self._attr: dict[str, str] = self._own
        self._outer: list[tuple[AttrScope | None, dict[str, str]]] = []

    def get(self, attr: Mapping[str, str] | None) -> dict[str, str]:
        """The attributes of this scope, overridden by those in `attr`."""
        return {**self._attr, **(attr or {})}

    def __enter__(self) -> AttrScope:
        self._outer.append((_current.attrs, self._attr))
        self._attr = {**current_attrs()._attr, **self._own}
        _current.attrs = self
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        _current.attrs, self._attr = self._outer.pop()


def current_names() -> NameManager:
    """This thread's innermost NameManager."""
    if _current.names is None:
        _current.names = NameManager()
    return _current.names


def current_attrs() -> AttrScope:
    """This thread's innermost AttrScope."""
    if _current.attrs is None:
        _current.attrs = AttrScope()
    return _current.attrs
