"""What was dispatched in a run, for tests of what runs where."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ndarray_rt.op.dispatch import Dispatched, observe


@dataclass(frozen=True)
class Call:
    """One operator call."""

    op: str
    node: str
    kernel: str  # oneDNN's implementation names, or numpy with the reason

    @property
    def is_numpy(self) -> bool:
        return self.kernel.startswith("numpy")

    @property
    def is_reference(self) -> bool:
        return self.kernel.startswith(("ref", "simple"))


def _call(told: Dispatched) -> Call:
    kernel = ("+".join(dict.fromkeys(told.impls)) or "memory only" if told.reason is None
              else f"numpy: {told.reason}")
    return Call(told.op.name, told.node or told.op.name, kernel)


def observe_run(run: Callable[[], object]) -> list[Call]:
    """Runs `run`, and gives each operator call in it."""
    told: list[Dispatched] = []
    stop = observe(told.append)
    try:
        run()
    finally:
        stop()
    return [_call(one) for one in told]
