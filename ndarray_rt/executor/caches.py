"""How much the CPU's caches hold. Knows no graph."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

# where the system does not say, and at most so much: on large machines others use it too
USUAL = 32 << 20
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@lru_cache(maxsize=1)
def shared_cache_bytes() -> int:
    """Bytes of the last level of cache that the cores share."""
    found = []
    for index in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        try:
            level = int((index / "level").read_text(encoding="ascii"))
            size = (index / "size").read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            continue
        if size[:-1].isdigit() and size[-1] in _UNITS:
            found.append((level, int(size[:-1]) * _UNITS[size[-1]]))
    level, nbytes = max(found, default=(0, 0))
    return min(nbytes, USUAL) if level > 2 else USUAL
