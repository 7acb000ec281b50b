"""How the command line ends after an error: one line, and an exit code of its own. Holds from the
start of the import on."""

from __future__ import annotations

import os
import re
import sys

from .errors import shortened

NAME = "ndarray-rt"
FAILED = 2


def tell(error: BaseException) -> int:
    """Tells an error in one line on the standard error; the exit code."""
    text = " ".join(shortened(str(error) or type(error).__name__).split())
    print(f"{NAME}: {text}", file=sys.stderr)
    return FAILED


def end_if_started(error: BaseException) -> None:
    """Ends the process with that line where the package is imported as the command line, not by a
    program of somebody's, which gets the exception."""
    if _started():
        sys.exit(tell(error))


def _started() -> bool:
    started = sys.argv[0] if sys.argv else ""
    if started != "-m":
        return os.path.splitext(os.path.basename(started))[0] == NAME
    # `python -m`: the module's name is before its arguments, alone or behind the letter m
    before = sys.orig_argv[:len(sys.orig_argv) - len(sys.argv) + 1]
    return re.fullmatch(r"(-\w*m)?ndarray_rt", before[-1]) is not None
