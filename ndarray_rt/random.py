"""random: seeding, the state of the generator, and the distributions of nd.random."""

from __future__ import annotations

from typing import Any

from .errors import ParameterError
from .imperative import distributions
from .op.random_state import default_random_state

# uniform, normal and the others whose operators there are
globals().update(distributions.available())

__all__ = ["get_state", "seed", "set_state"]
__all__ += sorted(distributions.available())


def seed(seed_state: int, ctx: Any = "all") -> None:
    """Starts the generator anew: the same seed gives the same numbers.

    There is one generator for all CPUs; `ctx` is accepted for MXNet's sake.
    """
    if isinstance(seed_state, bool) or not hasattr(seed_state, "__index__"):
        raise ParameterError(f"random.seed: got {seed_state!r}, expected an int")
    default_random_state().seed(int(seed_state))


def get_state() -> tuple[int, int]:
    """The generator's seed and position, for `set_state`."""
    return default_random_state().get_state()


def set_state(state: tuple[int, int]) -> None:
    """Goes on where `get_state` was called."""
    default_random_state().set_state(state)
