"""Counters of the whole process: the store of primitives, and reorders. Runs nothing."""

from __future__ import annotations

from typing import TypedDict

from ..native import ffi, lib
from ..storage.desc import clear_desc_caches
from ..storage.reorder import REORDERS
from .prim_cache import CACHE


class CacheStats(TypedDict):
    """What `cache_stats` gives."""

    hits: int
    misses: int
    evictions: int
    sessions: int
    groups: int
    entries: int
    reorders: int
    primitives: int
    kept: int
    layouts: int


def cache_stats() -> CacheStats:
    """The store of primitives, in the whole process.

    `hits` (with those that recorded calls spare), `misses` and `evictions` (of groups) count since
    the start or `reset_counters`. `sessions`, `groups` (of input shapes, bounded by
    NDRT_CACHE_SHAPES) and `entries` are held now, and `reorders` beside them. `primitives` and
    `layouts` are what lives of oneDNN's, whoever holds it. `kept` are the convolutions with an
    activation that are used, or rest to be taken again (docs/memory.md).
    """
    held = CACHE.stats()
    return {"hits": held["hits"] + lib.ndrt_call_hits(), "misses": held["misses"],
            "evictions": held["evictions"],
            "sessions": held["sessions"], "groups": held["groups"], "entries": held["entries"],
            "reorders": len(REORDERS), "primitives": lib.ndrt_prim_count(),
            "kept": lib.ndrt_kept_count(), "layouts": lib.ndrt_desc_count()}


def clear_cache() -> None:
    """Drops all primitives, reorders and layouts that are kept; they are made again when needed.

    What a recorded executor needs stays with it, and so do the convolutions that rest (`kept`), of
    which oneDNN would not give all memory back.
    """
    CACHE.clear_released()
    CACHE.clear()
    REORDERS.clear()
    clear_desc_caches()


def reorder_stats() -> dict[str, int]:
    """`reorders` run between layouts, and the `reorder_bytes` they wrote, in the whole process.

    Counted since the start or `reset_counters`: of imperative calls, of users' own conversions, of
    all executors, replayed runs included. `Executor.counters` are those of one executor.
    """
    count, nbytes = ffi.new("int64_t *"), ffi.new("int64_t *")
    lib.ndrt_reorders_read(count, nbytes)
    return {"reorders": count[0], "reorder_bytes": nbytes[0]}


def reset_counters() -> None:
    """Lets the counters of `cache_stats` and `reorder_stats` start again from 0."""
    CACHE.reset_counters()
    lib.ndrt_call_hits_reset()
    lib.ndrt_reorders_reset()
