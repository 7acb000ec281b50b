"""Builds ndarray_rt._native: the headers in include/ for cffi, native/**/*.c for the compiler.

docs/building.md has the environment variables that change how.
"""

from __future__ import annotations

import os
from importlib import metadata
from pathlib import Path

from cffi import FFI

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = "libdnnl.so.3"
HEADERS = ("ndrt.h", "ndrt_exports.h", "ndrt_kernel_ids.h", "ndrt_kernels.h", "ndrt_plans.h")


def declarations() -> str:
    """The parts of the headers that cffi reads: what stands between the two marks of each."""
    made = []
    for name in HEADERS:
        text = (ROOT / "include" / name).read_text(encoding="utf-8")
        made.append(text.split("/* cdef-begin */", 1)[1].split("/* cdef-end */", 1)[0])
    return "\n".join(made)


def files(folder: str, pattern: str) -> list[str]:
    """Files in a folder and those below it, relative to the project's root."""
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob(pattern))


def located(package: str, wanted: str) -> Path:
    """The file of an installed package whose path ends with `wanted`.

    Under build isolation the package lies in an overlay, not under sys.prefix, and RECORD has
    paths relative to site-packages: only the ending of a path can be relied upon.
    """
    try:
        files = metadata.distribution(package).files or []
    except metadata.PackageNotFoundError:
        raise SystemExit(
            f"building ndarray_rt needs the package {package}, or NDRT_ONEDNN_PREFIX naming a "
            "directory with oneDNN's include/ and lib/"
        ) from None
    for file in files:
        if file.as_posix().endswith(wanted):
            path = Path(os.fspath(file.locate())).resolve()
            if path.exists():
                return path
    raise SystemExit(f"package {package} is installed but has no {wanted}")


def onednn() -> tuple[Path, Path]:
    """Directories of oneDNN's headers and of its library."""
    prefix = os.environ.get("NDRT_ONEDNN_PREFIX")
    if prefix:
        for lib in ("lib", "lib64"):
            if (Path(prefix) / lib / LIBRARY).exists():
                return Path(prefix) / "include", Path(prefix) / lib
        raise SystemExit(f"NDRT_ONEDNN_PREFIX={prefix} has no lib/{LIBRARY}")
    header = located("onednn-devel-cpu-gomp", "oneapi/dnnl/dnnl.h")
    library = located("onednn-cpu-gomp", LIBRARY)
    return header.parents[2], library.parent


def flags() -> tuple[list[str], list[str]]:
    """Compiler and linker flags."""
    compile_args = [
        "-std=c11",
        "-D_GNU_SOURCE",
        "-O3",
        # sqrtf in a loop sets errno otherwise, and is not vectorised; results stay the same.
        "-fno-math-errno",
        "-fno-trapping-math",
        "-Wall",
        "-Wextra",
        "-fopenmp",
        "-fvisibility=hidden",
    ]
    link_args = ["-lgomp", "-Wl,-rpath,$ORIGIN/../../.."]
    if is_set("NDRT_WERROR"):
        compile_args.append("-Werror")
    if is_set("NDRT_SANITIZE"):
        sanitize = ["-fsanitize=address,undefined", "-fno-omit-frame-pointer", "-g"]
        compile_args += sanitize
        link_args += sanitize
    elif is_set("NDRT_DEBUG"):
        compile_args.append("-g")
    else:
        # Python's own flags ask for debugging information, which is four fifths of the file
        compile_args.append("-g0")
        link_args.append("-Wl,--strip-all")
    return compile_args, link_args


def is_set(name: str) -> bool:
    return os.environ.get(name) == "1"


def make_ffi() -> FFI:
    """The FFI whose set_source describes the extension."""
    include, lib = onednn()
    compile_args, link_args = flags()
    builder = FFI()
    builder.cdef(declarations())
    builder.set_source(
        "ndarray_rt._native",
        "\n".join(f'#include "{name}"' for name in HEADERS),
        # setuptools wants sources relative to the project's root, from where it runs.
        sources=files("native", "*.c"),
        depends=[*files("include", "*.h"), *files("native", "*.h")],
        # oneDNN's headers are not ours to warn about: -isystem silences them.
        include_dirs=["include", "native"],
        library_dirs=[str(lib)],
        libraries=[f":{LIBRARY}"],
        define_macros=[("Py_LIMITED_API", "0x030A0000")],
        py_limited_api=True,
        extra_compile_args=[*compile_args, "-isystem", str(include)],
        extra_link_args=link_args,
    )
    return builder


ffi = make_ffi()
