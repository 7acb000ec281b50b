"""How many examples Hypothesis draws where a test needs another number than most."""

from __future__ import annotations

from hypothesis import settings

LEAST = 10


def examples(count: int) -> settings:
    """So many in a run of everything, and more or fewer where the profile of the run has them."""
    usual = settings.get_profile("ci").max_examples
    return settings(max_examples=max(LEAST, count * settings().max_examples // usual))
