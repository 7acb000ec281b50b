"""Counters of the whole process: primitive cache and reorders. Runs nothing."""

from __future__ import annotations

from typing import TypedDict

from ..native import ffi, lib
from ..storage.desc import clear_desc_caches
from ..storage.reorder import REORDERS
from .prim_cache import CACHE


class CacheStats(TypedDict):
    """The result of `cache_stats`."""

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
    """Counters of the primitive cache, for the whole process.

    `hits` (including those that recorded calls save), `misses` and `evictions` (of groups) count
    since the start or `reset_counters`. `sessions`, `groups` (of input shapes, bounded by
    NDRT_CACHE_SHAPES), `entries` and `reorders` are held now. `primitives` and `layouts` are live
    oneDNN objects, whoever holds them. `kept` are convolutions with an activation that are in use,
    or kept for reuse (docs/memory.md).
    """
    held = CACHE.stats()
    return {"hits": held["hits"] + lib.ndrt_call_hits(), "misses": held["misses"],
            "evictions": held["evictions"],
            "sessions": held["sessions"], "groups": held["groups"], "entries": held["entries"],
            "reorders": len(REORDERS), "primitives": lib.ndrt_prim_count(),
            "kept": lib.ndrt_kept_count(), "layouts": lib.ndrt_desc_count()}


def clear_cache() -> None:
    """Drops all cached primitives, reorders and layouts; they are made again when needed.

    Recorded executors keep what they need, and unused convolutions stay for reuse (`kept`), as
    oneDNN would not free all of their memory.
    """
    CACHE.clear_released()
    CACHE.clear()
    REORDERS.clear()
    clear_desc_caches()


def reorder_stats() -> dict[str, int]:
    """`reorders` run between layouts, and the `reorder_bytes` they wrote, in the whole process.

    Counts since the start or `reset_counters`: imperative calls, conversions by users and all
    executors, including replayed runs. `Executor.counters` are those of one executor.
    """
    count, nbytes = ffi.new("int64_t *"), ffi.new("int64_t *")
    lib.ndrt_reorders_read(count, nbytes)
    return {"reorders": count[0], "reorder_bytes": nbytes[0]}


def reset_counters() -> None:
    """Resets the counters of `cache_stats` and `reorder_stats` to 0."""
    CACHE.reset_counters()
    lib.ndrt_call_hits_reset()
    lib.ndrt_reorders_reset()
