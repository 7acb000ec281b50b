"""Builds sdist and wheel, looks at what is in them, and uses them installed, from an empty folder.

A package at the top level shadows the installed one, so nothing here runs in the source tree. Every
CPython from 3.10 on that starts is tried with the wheel. The sdist is installed where it can not be
written to, and has the tests.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from build_wheel import PLATFORM, build

ROOT = Path(__file__).resolve().parent.parent
MINORS = range(10, 15)
LARGEST = 3_000_000  # bytes of the extension, which has the kernels for two levels of CPUs
CHECK = """
import numpy as np, ndarray_rt as mx, os, sys
assert "site-packages" in mx.__file__, mx.__file__
x = mx.nd.array(np.random.rand(2, 3, 8, 8))
w = mx.nd.array(np.random.rand(20, 3, 3, 3))
y = mx.nd.Convolution(x, w, kernel=(3, 3), num_filter=20, no_bias=True)
assert y.shape == (2, 20, 6, 6) and y.is_mkldnn, y.layout
expected = np.einsum("ncijkl,ockl->noij", np.lib.stride_tricks.sliding_window_view(
    x.asnumpy(), (3, 3), (2, 3)), w.asnumpy())
assert np.allclose(y.asnumpy(), expected, rtol=1e-4)
print("ok", sys.version.split()[0], y.layout)
"""
# what an sdist must have beside what the wheel is made of
IN_SDIST = ("tests/conftest.py", "tests/test_ops.py", "tests/oracle/answers", "tests/data",
            "docs/testing.md", "examples/train_digits.py", "Makefile", "native/build_ffi.py",
            "include/ndrt.h", "LICENSE")


def run(*command: object, cwd: Path) -> str:
    done = subprocess.run([str(part) for part in command], cwd=cwd, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def expect(holds: bool, what: str) -> None:
    if not holds:
        sys.exit(f"failed: {what}")


def pythons() -> list[str]:
    """Each CPython from 3.10 on that starts, from the path and from pyenv."""
    candidates = [f"python3.{minor}" for minor in MINORS]
    if shutil.which("pyenv"):
        root = Path(run("pyenv", "root", cwd=Path.cwd()).strip())
        for minor in MINORS:
            candidates += map(str, sorted(root.glob(f"versions/3.{minor}.*/bin/python")))
    found: dict[str, str] = {}
    for python in candidates:
        if shutil.which(python) is None:
            continue
        told = subprocess.run(
            [python, "-c", "import venv, ensurepip, sys; print(*sys.version_info[:2])"],
            capture_output=True, text=True)
        if told.returncode == 0:
            found.setdefault(told.stdout.strip(), python)
    return list(found.values())


def try_package(python: str, package: Path, folder: Path) -> None:
    """Installs a package into an environment of its own and computes a convolution with it."""
    venv, empty = folder / "venv", folder / "empty"
    empty.mkdir(parents=True)
    run(python, "-m", "venv", venv, cwd=empty)
    run(venv / "bin/python", "-m", "pip", "install", "--quiet", package, cwd=empty)
    what = "wheel" if package.suffix == ".whl" else "source"
    print(what, run(venv / "bin/python", "-c", CHECK, cwd=empty).strip(), flush=True)
    extension, = venv.glob("lib/python*/site-packages/ndarray_rt/_native.abi3.so")
    check_extension(extension)


def check_extension(file: Path) -> None:
    """Small, without symbols for debuggers, with no path of the machine that built it."""
    size = file.stat().st_size
    expect(size <= LARGEST, f"the extension has {size} bytes, expected {LARGEST} at most")
    sections = run("readelf", "--sections", "--wide", file, cwd=file.parent)
    kept = re.findall(r"\.(?:symtab|debug_\w+)", sections)
    expect(not kept, f"the extension is not stripped: it has {kept}")
    found = re.findall(r"R(?:UN)?PATH.*\[(.*)\]", run("readelf", "-d", file, cwd=file.parent))
    expect(found == ["$ORIGIN/../../.."], f"the extension looks for libraries in {found}")


def check_wheel(wheel: Path) -> None:
    """One wheel for each CPython, as an index takes it, with nothing of oneDNN in it."""
    expect("-cp310-abi3-" in wheel.name and PLATFORM in wheel.name,
           f"{wheel.name} is not for {PLATFORM}")
    names = zipfile.ZipFile(wheel).namelist()
    expect(not [name for name in names if "dnnl" in name or "gomp" in name],
           "the wheel has a library of others")
    expect(not [name for name in names if name.startswith("tests/")], "the wheel has the tests")


def check_sdist(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    missing = [wanted for wanted in IN_SDIST if wanted not in names]
    expect(not missing, f"the sdist lacks {missing}")


def try_read_only(source: Path, folder: Path) -> None:
    """`pip install .` of a checkout that can not be written to."""
    if os.geteuid():
        run("chmod", "-R", "a-w", source, cwd=folder)
        try_package(sys.executable, source, folder / "read-only")
        run("chmod", "-R", "u+w", source, cwd=folder)
        return
    # permissions do not hold root back, a mount does
    inside = [sys.executable, __file__, "--install", source, folder / "read-only"]
    script = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
    print(run("unshare", "-m", "sh", "-c", script, source, *inside, cwd=folder).strip(), flush=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "source"
        run("git", "clone", "--quiet", ROOT, source, cwd=folder)
        tools = folder / "tools"
        run(sys.executable, "-m", "venv", tools, cwd=folder)
        run(tools / "bin/python", "-m", "pip", "install", "--quiet", "build", cwd=folder)
        run(tools / "bin/python", "-m", "build", "--sdist", "--outdir", folder / "dist", source,
            cwd=folder)
        sdist, = (folder / "dist").glob("*.tar.gz")
        check_sdist(sdist)
        shutil.unpack_archive(sdist, folder / "unpacked")
        unpacked, = (folder / "unpacked").iterdir()
        try_read_only(unpacked, folder)
        wheel = build(unpacked, folder / "dist")
        check_wheel(wheel)
        print(wheel.name, flush=True)
        for number, python in enumerate(pythons()):
            try_package(python, wheel, folder / f"wheel{number}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--install"]:
        try_package(sys.executable, Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        main()
