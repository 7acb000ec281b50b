"""What a fork waits for, and what the child makes anew: locks of threads that it does not have.

The native layer does the same for its own (native/runtime/fork.c).
"""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Protocol
from weakref import WeakSet

# packages whose modules this one imports inside of functions, and which do so themselves
_NEEDED = frozenset({__package__, *sys.stdlib_module_names, "numpy", "ml_dtypes", "PIL", "cv2",
                     "onnx", "safetensors"})


class HasLocks(Protocol):
    """An object with locks, or with state that a thread may be in the midst of changing."""

    def _renew_locks(self) -> None:
        """Makes locks anew, and drops what was half done when somebody held one.

        Called in a forked child by its only thread, before anything else runs there.
        """


_enrolled: WeakSet[HasLocks] = WeakSet()


def renew_in_child(owner: HasLocks) -> None:
    """Calls `owner._renew_locks()` in each forked child, as long as it lives."""
    _enrolled.add(owner)


class _Imports:
    """Which threads import a module of this package; a fork waits until no other thread does.

    Python keeps a lock for each module that is being imported, and does not renew it in a child:
    the child would wait for ever for a module that a thread of the parent was importing.
    """

    def __init__(self) -> None:
        self._threads: Counter[int] = Counter()
        self._changed = threading.Condition()

    def begin(self) -> None:
        with self._changed:
            self._threads[threading.get_ident()] += 1

    def end(self) -> None:
        me = threading.get_ident()
        with self._changed:
            self._threads[me] -= 1
            if not self._threads[me]:
                del self._threads[me]
                self._changed.notify_all()

    def before_fork(self) -> None:
        """Waits for the imports of others; from here to the fork, none of them begins another."""
        self._wait_for_statements()
        me = threading.get_ident()
        self._changed.acquire()
        # a thread that forks while it imports itself may be what the others wait for
        while self._threads and me not in self._threads:
            self._changed.wait()

    def _wait_for_statements(self) -> None:
        """Waits for modules that `import` statements inside functions are executing: those of this
        package, and what it needs. A user's may fork in a thread and wait for that."""
        for name, module in list(sys.modules.items()):
            if (name.partition(".")[0] in _NEEDED
                    and getattr(getattr(module, "__spec__", None), "_initializing", False)):
                with suppress(Exception):  # whose import fails is told where it began
                    import_module(name)

    def in_parent(self) -> None:
        self._changed.release()

    def in_child(self) -> None:
        me = threading.get_ident()
        self._threads = Counter({me: self._threads[me]} if me in self._threads else {})
        self._changed = threading.Condition()


_imports = _Imports()


@contextmanager
def importing() -> Iterator[None]:
    """A fork in another thread waits for the end of this block, which imports a module."""
    _imports.begin()
    try:
        yield
    finally:
        _imports.end()


def _in_child() -> None:
    _imports.in_child()
    for owner in list(_enrolled):
        owner._renew_locks()


os.register_at_fork(before=_imports.before_fork, after_in_parent=_imports.in_parent,
                    after_in_child=_in_child)
