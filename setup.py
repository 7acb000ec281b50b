"""The compiled part of the build; everything else stands in pyproject.toml."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from setuptools import setup
from setuptools.command.build_ext import build_ext


class BuildSourcesAtOnce(build_ext):
    """Compiles the sources of the extension at once, a compiler for each core.

    setuptools builds several extensions at once, but the sources of one behind each other, and
    here one extension is all there is. The first compiler that fails ends the build.
    """

    def build_extensions(self) -> None:
        compile_in_turn = self.compiler.compile

        def compile_at_once(sources: list[str], **options: Any) -> list[str]:
            with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
                compiled = pool.map(lambda source: compile_in_turn([source], **options), sources)
                return [name for names in compiled for name in names]

        self.compiler.compile = compile_at_once
        # some Pythons put the folder of their own library there, which is none of the user's
        self.compiler.linker_so = [flag for flag in self.compiler.linker_so
                                   if not flag.startswith("-Wl,-rpath")]
        super().build_extensions()


def elsewhere() -> dict[str, dict[str, str]]:
    """Options that let nothing be written to the source tree, where it can not be written to."""
    if os.access(Path(__file__).parent, os.W_OK):
        return {}
    folder = tempfile.mkdtemp(prefix="ndarray_rt-build-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return {"build": {"build_base": folder}, "egg_info": {"egg_base": folder}}


setup(
    cffi_modules=["native/build_ffi.py:ffi"],
    cmdclass={"build_ext": BuildSourcesAtOnce},
    # The extension uses the limited API only: one wheel serves every later Python.
    options={"bdist_wheel": {"py_limited_api": "cp310"}, **elsewhere()},
)
