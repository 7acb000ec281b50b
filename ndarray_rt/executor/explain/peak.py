"""The peak rate of multiply-adds that this machine reaches."""

from __future__ import annotations

from functools import lru_cache

from ...native import call, ffi, lib


@lru_cache(maxsize=64)
def peak_gflops(threads: int) -> float:
    """Float32 operations per second, in 1e9, of this many threads that only multiply and add.

    Measured in registers, with AVX-512 if there is one, at the first call for a number of threads;
    that takes some milliseconds. `peak_gflops.cache_clear()` forgets it.
    """
    found = ffi.new("double *")
    call(lib.ndrt_peak_measure, threads, found, what="measuring this machine's peak")
    return float(found[0])
