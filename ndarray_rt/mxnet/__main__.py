"""python -m ndarray_rt.mxnet script.py arguments, or -m module arguments: see the package."""

from __future__ import annotations

import os
import runpy
import sys

from .. import config
from . import numpy_names
from .finder import PATH

USAGE = "usage: python -m ndarray_rt.mxnet (script.py | -m module) [arguments ...]"


def main() -> None:
    """Runs a program in which `import mxnet` gives this package."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        sys.exit(0 if arguments else 2)
    # processes that the program starts find it too
    paths = (config.get_variable("PYTHONPATH") or "").split(os.pathsep)
    if PATH not in paths:
        config.set_variable("PYTHONPATH", os.pathsep.join([*filter(None, paths), PATH]))
    numpy_names.restore()
    if arguments[0] == "-m":
        if len(arguments) < 2:
            print(USAGE, file=sys.stderr)
            sys.exit(2)
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return
    script = arguments[0]
    if not os.path.exists(script):
        print(f"ndarray_rt.mxnet: can't open file {script!r}", file=sys.stderr)
        sys.exit(2)
    sys.argv = arguments
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
