"""Recipe: what a run did, to be done again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from ..storage.chunk import Chunk
from .recording import Recording


class Recipe(NamedTuple):
    """The steps of a run, and what doing them again does, as `Counters` tell.

    `names` are operator and node for each position of the stream that was recorded, `written_at`
    the first ones that write to a chunk.
    """

    recording: Recording
    counters: Mapping[str, int]
    names: Sequence[tuple[str, str | None]] = ()
    written_at: Mapping[Chunk, int] = MappingProxyType({})
