"""Recipe: what a run did, so that it can be repeated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from ..storage.chunk import Chunk
from .recording import Recording


class Recipe(NamedTuple):
    """The recorded steps of a run, and what one replay adds to the `Counters`.

    `names` are operator and node for each position of the recorded stream. `written_at` maps a
    chunk to the first position that writes to it.
    """

    recording: Recording
    counters: Mapping[str, int]
    names: Sequence[tuple[str, str | None]] = ()
    written_at: Mapping[Chunk, int] = MappingProxyType({})
