"""random: seeding, the state of the generator, and the distributions of nd.random."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .context import Context
from .errors import ParameterError
from .imperative import distributions
from .op.random_state import random_state, seed_all
from .public import shows

# uniform, normal and the others whose operators there are
globals().update(distributions.FUNCTIONS)
if TYPE_CHECKING:
    def __getattr__(name: str) -> Any: ...

__all__ = ["get_state", "seed", "set_state"]
__all__ += sorted(distributions.FUNCTIONS)


def seed(seed_state: int, ctx: Any = "all") -> None:
    """Starts the generators anew: the same seed gives the same numbers.

    Each context has a generator of its own, and the same seed gives each other numbers. With a
    Context `ctx` only that one's starts anew, with the numbers that cpu(0) has by this seed.
    """
    if isinstance(seed_state, bool) or not hasattr(seed_state, "__index__"):
        raise ParameterError(f"random.seed: got {seed_state!r}, expected an int")
    if isinstance(ctx, str) and ctx == "all":
        seed_all(int(seed_state))
    else:
        random_state(Context(ctx).check()).seed(int(seed_state))


def get_state(ctx: Context | None = None) -> tuple[int, int]:
    """Seed and position of a context's generator (None: the current one's), for `set_state`."""
    return random_state(ctx).get_state()


def set_state(state: tuple[int, int], ctx: Context | None = None) -> None:
    """Goes on where `get_state` was called."""
    random_state(ctx).set_state(state)
__dir__ = shows(globals())
