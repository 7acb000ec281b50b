"""The level of the CPU: names, what each lets kernels use, what is refused."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ndarray_rt import cpu_level
from ndarray_rt.errors import ParameterError, Unsupported
from ndarray_rt.native import call, ffi, lib, text

# each level with what it has beside AVX2
LEVELS = {
    "avx2": 0,
    "avx2_vnni": lib.NDRT_HAS_AVX2_VNNI,
    "avx512": lib.NDRT_HAS_AVX512,
    "avx512_vnni": lib.NDRT_HAS_AVX512 | lib.NDRT_HAS_AVX512_VNNI,
    "avx512_bf16": lib.NDRT_HAS_AVX512 | lib.NDRT_HAS_AVX512_VNNI | lib.NDRT_HAS_AVX512_BF16,
}
LEVELS["avx512_fp16"] = (LEVELS["avx512_bf16"] | lib.NDRT_HAS_AVX2_VNNI
                         | lib.NDRT_HAS_AVX512_FP16)
LEVELS["amx"] = LEVELS["avx512_fp16"] | lib.NDRT_HAS_AMX
EVERYTHING = LEVELS["amx"] | lib.NDRT_HAS_AVX2
ONEDNN = {"avx2": "avx2", "avx2_vnni": "avx2_vnni", "avx512": "avx512_core",
          "avx512_vnni": "avx512_core_vnni", "avx512_bf16": "avx512_core_bf16",
          "avx512_fp16": "avx512_core_fp16", "amx": "avx512_core_amx"}


def resolved(machine: int, name: str) -> int:
    features = ffi.new("int *")
    call(lib.ndrt_cpu_resolve, machine, name.encode(), features, what="NDRT_CPU")
    return int(features[0])


@pytest.mark.parametrize("name", LEVELS)
def test_a_level_leaves_its_features(name: str) -> None:
    assert resolved(EVERYTHING, name) == LEVELS[name] | lib.NDRT_HAS_AVX2


def test_without_a_name_all_stay() -> None:
    for machine in (lib.NDRT_HAS_AVX2, EVERYTHING):
        assert resolved(machine, "") == machine


@pytest.mark.parametrize("name", [name for name in LEVELS if name != "avx2"])
def test_what_the_machine_lacks_is_refused(name: str) -> None:
    machine = (LEVELS[name] | lib.NDRT_HAS_AVX2) & ~max(
        getattr(lib, f"NDRT_HAS_{name.upper()}"), lib.NDRT_HAS_AVX2_VNNI)
    with pytest.raises(Unsupported, match="this CPU can not do that; the level below it is avx"):
        resolved(machine, name)


def test_a_machine_without_avx2() -> None:
    with pytest.raises(Unsupported, match="no AVX2 with FMA, which ndarray_rt needs"):
        resolved(0, "")
    with pytest.raises(Unsupported, match="no AVX2"):
        resolved(0, "avx2")


@pytest.mark.parametrize("name", ["AVX2", "avx", "avx512_core", "avx2 ", "0"])
def test_no_name_of_a_level(name: str) -> None:
    with pytest.raises(ParameterError, match=r"expected avx2, avx2_vnni, .* or amx"):
        resolved(EVERYTHING, name)


def test_it_is_chosen_once() -> None:
    with pytest.raises(ParameterError, match="once"):
        call(lib.ndrt_cpu_choose, b"avx2", what="NDRT_CPU")


def told(name: str) -> list[str]:
    """What a new process with this level says: of Python, of native code and of oneDNN."""
    program = ("try:\n"
               "    from ndarray_rt import cpu_level\n"
               "    from ndarray_rt.native import lib, text\n"
               "    print(cpu_level.level(), lib.ndrt_cpu_features(),\n"
               "          text(lib.ndrt_engine_isa()))\n"
               "except ImportError as error:\n"
               "    print(type(error).__name__, error)\n")
    environment = {key: value for key, value in os.environ.items() if key != "ONEDNN_MAX_CPU_ISA"}
    done = subprocess.run([sys.executable, "-c", program], env=environment | {"NDRT_CPU": name},
                          check=True, capture_output=True, text=True)
    return done.stdout.split()


@pytest.mark.parametrize("name", LEVELS)
def test_one_answer_for_all(name: str) -> None:
    said = told(name)
    if said[0] == "NativeImportError":
        assert said[1] == f"NDRT_CPU={name}:"
        assert name not in ("avx2", cpu_level.level())
        return
    assert said == [name, str(LEVELS[name] | lib.NDRT_HAS_AVX2), ONEDNN[name]]


def test_an_unknown_level_stops_the_import() -> None:
    assert told("sse2")[:2] == ["NativeImportError", "NDRT_CPU=sse2:"]


def test_levels_that_kernels_are_written_for() -> None:
    assert [level.value for level in cpu_level.Level] == list(LEVELS)
    for level in cpu_level.Level:
        assert level.is_here == (not LEVELS[level.value] & ~lib.ndrt_cpu_features())
    assert str(cpu_level.Level.AVX512_BF16) == "AVX-512 BF16"


def test_this_process() -> None:
    assert cpu_level.level() == text(lib.ndrt_cpu_level())
    assert cpu_level.has_avx512() == text(lib.ndrt_engine_isa()).startswith("avx512")
