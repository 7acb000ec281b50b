"""What 0 and () mean in shapes of symbols and files: unknown, or, under np_shape, as in NumPy.

Without it a dimension 0 and a shape () are unknown, as MXNet 1.x has them. Under it they are real,
and -1 and None are unknown. The mode is kept per thread.
"""

from __future__ import annotations

import threading
from types import TracebackType

from .errors import TypeMismatch, shown


class _Mode(threading.local):
    """What one thread has asked for; None: what holds for all threads."""

    active: bool | None = None


class _Shared:
    """What holds in threads that have not asked for anything."""

    active = False


_mode = _Mode()
_shared = _Shared()


def is_np_shape() -> bool:
    """Whether 0 and () are real in this thread."""
    active = _mode.active
    return _shared.active if active is None else active


def set_np_shape(active: bool | int) -> bool:
    """Turns the mode on or off in this thread, with 2 on in all threads; what it was before.

    Turning it off ends what 2 began, too.
    """
    if not hasattr(active, "__index__") or not 0 <= (value := active.__index__()) <= 2:
        raise TypeMismatch(f"set_np_shape: active got {shown(active)}, expected a bool")
    before = is_np_shape()
    if value != 1:
        _shared.active = value == 2
    _mode.active = None if value == 2 else value == 1
    return before


class NumpyShapeScope:
    """The mode of one `with` block; None leaves it as it is."""

    def __init__(self, active: bool | None) -> None:
        if active not in (None, False, True):
            raise TypeMismatch(f"np_shape: active got {shown(active)}, expected a bool")
        self._active = active
        self._outer: list[bool | None] = []

    def __enter__(self) -> None:
        self._outer.append(_mode.active)
        if self._active is not None:
            _mode.active = bool(self._active)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        _mode.active = self._outer.pop()


def np_shape(active: bool | None = True) -> NumpyShapeScope:
    """A `with` block in which 0 and () in shapes are real (or, with False, unknown)."""
    return NumpyShapeScope(active)
