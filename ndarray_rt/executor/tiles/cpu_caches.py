"""Sizes of the CPU's caches. Knows no graph."""

from __future__ import annotations

import os
from functools import lru_cache

# default if the system does not say, and upper bound: on large machines others use the cache too
USUAL = 32 << 20
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_CACHES = "/sys/devices/system/cpu/cpu0/cache"


@lru_cache(maxsize=1)
def shared_cache_bytes() -> int:
    """Bytes of the last level of cache that the cores share."""
    found = []
    try:
        names = [name for name in os.listdir(_CACHES) if name.startswith("index")]
    except OSError:
        names = []
    for name in names:
        try:
            level, size = int(_word(name, "level")), _word(name, "size")
        except (OSError, ValueError):
            continue
        if size[:-1].isdigit() and size[-1] in _UNITS:
            found.append((level, int(size[:-1]) * _UNITS[size[-1]]))
    level, nbytes = max(found, default=(0, 0))
    return min(nbytes, USUAL) if level > 2 else USUAL


def _word(name: str, file: str) -> str:
    with open(os.path.join(_CACHES, name, file), encoding="utf-8") as lines:
        return lines.read().strip()
