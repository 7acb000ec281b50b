"""Kernels for each level of the CPU: the same bits, and no instructions but those of the level."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from ndarray_rt.cpu_level import has_avx512
from tests.native.level_bits import digests

ROOT = Path(__file__).resolve().parents[2]
NATIVE = ROOT / "native"
SOURCES = sorted(path.relative_to(ROOT) for path in NATIVE.rglob("*.c"))
KERNELS = [path for path in SOURCES if path.parts[1] == "kernels" and len(path.parts) > 3]
WIDE = [path for path in KERNELS if path.stem.endswith("_avx512")]
REGISTERS = {"common": "[yz]mm", "avx2": "zmm|%k[0-7]", "avx512": "tmm"}  # those that none may use


def at_level(name: str, *program: str) -> str:
    done = subprocess.run([sys.executable, *program], env=os.environ | {"NDRT_CPU": name}, cwd=ROOT,
                          check=True, capture_output=True, text=True)
    return done.stdout


@pytest.mark.skipif(not has_avx512(), reason="there is one level here")
def test_element_by_element_the_bits_are_those_of_avx2() -> None:
    here, there = digests(), json.loads(at_level("avx2", "-m", "tests.native.level_bits"))
    assert list(here) == list(there)
    assert not [name for name in here if here[name] != there[name]]


def test_what_is_for_avx512_alone_is_refused_below() -> None:
    program = ("from ndarray_rt.native import ffi, lib, text\n"
               "call = ffi.new('ndrt_kernel_call *')\n"
               "call.kernel = lib.NDRT_KERNEL_SEPARABLE\n"
               "status = lib.ndrt_kernel_run(call)\n"
               "print(status == lib.NDRT_UNSUPPORTED, text(lib.ndrt_last_error()))\n")
    assert re.fullmatch("True .*: this CPU has no AVX-512\n", at_level("avx2", "-c", program))


@cache
def objects() -> Path | None:
    """The folder of a build whose objects are those of the sources as they are."""
    newest = max((ROOT / path).stat().st_mtime for path in SOURCES)
    for folder in sorted((ROOT / "build").glob("*")):
        if all((folder / level / "native").exists() for level in ("", "avx2", "avx512")):
            built = [path.stat().st_mtime for path in folder.rglob("native/**/*.o")]
            if max(built, default=0) >= newest:
                return folder
    return None


def forms(source: Path) -> list[str]:
    if source in WIDE:
        return ["avx512"]
    return ["avx2", "avx512"] if source in KERNELS else ["common"]


def used(name: str, form: str, pattern: str) -> set[str]:
    folder = objects()
    assert folder is not None
    compiled = folder / ("" if form == "common" else form) / Path(name).with_suffix(".o")
    code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", compiled], check=True,
                          capture_output=True, text=True).stdout
    assert "file format" in code, compiled
    return set(re.findall(f"%(?:{pattern})", code))


needs_objects = pytest.mark.skipif(
    objects() is None or shutil.which("objdump") is None,
    reason="needs objdump and the objects of `make lint` or of setup.py build_ext in build/")


@needs_objects
@pytest.mark.parametrize("source", [path.as_posix() for path in SOURCES])
def test_registers_of_other_levels_are_not_used(source: str) -> None:
    for form in forms(Path(source)):
        assert not used(source, form, REGISTERS[form]), f"{source}, {form}"


@needs_objects
@pytest.mark.skipif("ASAN_OPTIONS" in os.environ, reason="such a build has no vectors in loops")
def test_each_level_uses_its_own() -> None:
    norms = "native/kernels/norm/norms.c"
    assert used(norms, "avx2", "[xyz]mm") >= {"%ymm"}
    assert used(norms, "avx512", "[xyz]mm") >= {"%zmm"}
    assert used(WIDE[0].as_posix(), "avx512", "zmm")


def test_headers_define_no_function_that_is_seen_elsewhere() -> None:
    """Else the linker would keep one form of it, of whichever level."""
    defined = re.compile(r"^(?!static\b|INLINED\b|#|typedef\b)[\w* ]+\w+\([^;{}]*\)\s*\{", re.M)
    headers = list(NATIVE.rglob("*.h"))
    assert len(headers) > 10
    for path in headers:
        text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
        assert not defined.findall(text), path.name


def test_digests_tell_what_differs() -> None:
    made = digests()
    assert len(set(made.values())) > len(made) * 0.9
    assert np.isin(["sgd", "exp", "NDRT_FUNCTION_LOG"], list(made)).all()
