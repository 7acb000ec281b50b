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

# The files in folders below this are kernels: each is compiled for every level of CPUs, or for the
# one that its name ends with. All others run on every CPU, and find out which it is.
KERNELS = Path("native", "kernels")
# The same operations in the same order at each level: nothing is contracted to a multiply-add that
# does not say so.
EACH_LEVEL = ["-mavx2", "-mfma", "-mf16c", "-ffp-contract=off"]
LEVELS = {
    "avx2": EACH_LEVEL,
    "avx512": [*EACH_LEVEL, "-mavx512f", "-mavx512bw", "-mavx512cd", "-mavx512dq", "-mavx512vl",
               "-mprefer-vector-width=512"],
}


def levels_of(source: str) -> list[str]:
    """The levels that a source is compiled for; none: it is compiled once, for every CPU."""
    path = Path(source)
    if KERNELS not in path.parent.parents:
        return []
    named = [level for level in LEVELS if path.stem.endswith(f"_{level}")]
    return named or list(LEVELS)


class BuildSourcesAtOnce(build_ext):
    """Compiles the sources of the extension at once, a compiler for each core.

    setuptools builds several extensions at once, but the sources of one behind each other, and
    here one extension is all there is. The first compiler that fails ends the build.
    """

    def build_extensions(self) -> None:
        compile_in_turn = self.compiler.compile

        def compile_one(source: str, level: str | None, options: dict[str, Any]) -> list[str]:
            if level is None:
                return compile_in_turn([source], **options)
            return compile_in_turn([source], **options | {
                "output_dir": os.path.join(options["output_dir"], level),
                "macros": [*options["macros"], ("NDRT_LEVEL", level)],
                "extra_postargs": [*options["extra_postargs"], *LEVELS[level]],
            })

        def compile_at_once(sources: list[str], **options: Any) -> list[str]:
            jobs = [(source, level) for source in sources for level in levels_of(source) or [None]]
            with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
                compiled = pool.map(lambda job: compile_one(*job, options), jobs)
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
