"""The state machine itself: all rules over all invariants."""

from __future__ import annotations

from .exports import Exports
from .invariants import Invariants
from .layouts import Layouts
from .operators import Operators
from .reads import Reads
from .views import Views
from .writes import Writes


class StorageMachine(Views, Reads, Writes, Layouts, Exports, Operators, Invariants):
    """Storages under everything that users, operators, planners and the system do to them."""
