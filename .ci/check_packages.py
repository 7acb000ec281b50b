"""Builds sdist and wheel, installs each into fresh environments and uses it from an empty folder.

A package at the top level shadows the installed one, so nothing here runs in the source tree.
Every CPython from 3.10 to 3.13 that starts is tried with the wheel.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
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


def run(*command: object, cwd: Path) -> str:
    done = subprocess.run([str(part) for part in command], cwd=cwd, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def pythons() -> list[str]:
    """Each CPython from 3.10 to 3.13 that starts, from the path and from pyenv."""
    candidates = [f"python3.{minor}" for minor in range(10, 14)]
    if shutil.which("pyenv"):
        root = Path(run("pyenv", "root", cwd=Path.cwd()).strip())
        for minor in range(10, 14):
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
    print(package.suffix, run(venv / "bin/python", "-c", CHECK, cwd=empty).strip(), flush=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "source"
        run("git", "clone", "--quiet", ROOT, source, cwd=folder)
        tools = folder / "tools"
        run(sys.executable, "-m", "venv", tools, cwd=folder)
        run(tools / "bin/python", "-m", "pip", "install", "--quiet", "build", cwd=folder)
        run(tools / "bin/python", "-m", "build", "--outdir", folder / "dist", source, cwd=folder)
        sdist, = (folder / "dist").glob("*.tar.gz")
        wheel, = (folder / "dist").glob("*.whl")
        try_package(sys.executable, sdist, folder / "from-sdist")
        for number, python in enumerate(pythons()):
            try_package(python, wheel, folder / f"wheel{number}")


if __name__ == "__main__":
    main()
