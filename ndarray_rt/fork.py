"""What a forked child must make anew: locks that threads may have held which it does not have.

The native layer does the same for its own (native/runtime/fork.c). Holds no lock itself.
"""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


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


def _renew_all() -> None:
    for owner in list(_enrolled):
        owner._renew_locks()


os.register_at_fork(after_in_child=_renew_all)
