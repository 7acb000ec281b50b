"""Compiles the bound benchmark against the installed oneDNN wheels and prints the program's path.

    python build.py [bound | channels] [FOLDER]

Needs onednn-cpu-gomp (the library) and onednn-devel-cpu-gomp (the headers) in the Python that runs
this, and a C compiler: $CC, else gcc. The result stays in FOLDER, which is build/ beside this file
where none is given.
"""

import importlib.metadata
import os
import shlex
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIBRARY = ("onednn-cpu-gomp", "libdnnl.so.3")
HEADER = ("onednn-devel-cpu-gomp", "oneapi/dnnl/dnnl.h")
# program: its sources
PROGRAMS = {"bound": sorted(HERE.glob("*.c")),
            "channels": [HERE / "channels" / "channels.c", HERE / "util.c"]}
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-O2", "-fopenmp", "-Wall", "-Wextra", "-Werror"]


def installed(package: str, name: str) -> Path:
    """The file of a package whose path ends in `name`.

    The wheels put their files outside site-packages and record them with leading `..`, so only the
    end of the path is to be relied upon.
    """
    try:
        files = importlib.metadata.distribution(package).files or []
    except importlib.metadata.PackageNotFoundError:
        sys.exit(f"{package} is not installed for {sys.executable}")
    for file in files:
        path = Path(str(file.locate()))
        if str(file).endswith("/" + name) and path.exists():
            return path.resolve()
    sys.exit(f"{package} is installed, but without {name}")


def build(name: str = "bound", folder: Path = HERE / "build") -> Path:
    """Compiles one of the programs into a folder and returns its path."""
    library = installed(*LIBRARY)
    include = installed(*HEADER).parents[2]
    program = folder / name
    folder.mkdir(exist_ok=True)
    command = [*shlex.split(os.environ.get("CC", "gcc")), *FLAGS, f"-I{include}"]
    command += [str(source) for source in PROGRAMS[name]]
    command += ["-o", str(program), f"-L{library.parent}", f"-l:{library.name}"]
    command += [f"-Wl,-rpath,{library.parent}", "-lm"]
    done = subprocess.run(command)
    if done.returncode:
        sys.exit(f"the compiler failed with status {done.returncode}")
    return program


if __name__ == "__main__":
    name = sys.argv[1] if len(sys.argv) > 1 else "bound"
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else HERE / "build"
    if name not in PROGRAMS:
        sys.exit(f"{name} is none of {', '.join(PROGRAMS)}")
    print(build(name, folder))
