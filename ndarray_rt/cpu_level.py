"""What kernels may use of this CPU: the one answer that native code has, lowered by NDRT_CPU."""

from __future__ import annotations

from .native import lib, text

_FEATURES = lib.ndrt_cpu_features()  # of this process, once and for all


def has_avx512() -> bool:
    """Whether kernels written for AVX-512 can run, oneDNN's and ours."""
    return bool(_FEATURES & lib.NDRT_HAS_AVX512)


def level() -> str:
    """The CPU's level, by the names of NDRT_CPU."""
    return text(lib.ndrt_cpu_level())
