"""What kernels may use of this CPU: the one answer that native code has, lowered by NDRT_CPU."""

from __future__ import annotations

from enum import Enum

from .native import call, ffi, lib, text

_FEATURES = lib.ndrt_cpu_features()  # of this process, once and for all
_EVERYTHING = -1


class Level(Enum):
    """A level of CPUs, by its name in NDRT_CPU. `is_here`: kernels written for it can run, else
    `lack` says why not.
    """

    AVX2 = "avx2"
    AVX2_VNNI = "avx2_vnni"
    AVX512 = "avx512"
    AVX512_VNNI = "avx512_vnni"
    AVX512_BF16 = "avx512_bf16"
    AVX512_FP16 = "avx512_fp16"
    AMX = "amx"

    def __init__(self, word: str) -> None:
        features = ffi.new("int *")
        call(lib.ndrt_cpu_resolve, _EVERYTHING, word.encode(), features, what="NDRT_CPU")
        self.is_here = not features[0] & ~_FEATURES
        self.lack = f"the CPU has no {self}"

    def __str__(self) -> str:
        return self.value.upper().replace("AVX512", "AVX-512").replace("_", " ")


def has_avx512() -> bool:
    """Whether kernels written for AVX-512 can run, oneDNN's and ours."""
    return Level.AVX512.is_here


def lanes() -> int:
    """Floats in a register of the kernels that run here."""
    return 16 if has_avx512() else 8


def level() -> str:
    """The CPU's level, by the names of NDRT_CPU."""
    return text(lib.ndrt_cpu_level())
