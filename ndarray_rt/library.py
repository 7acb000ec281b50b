"""`mx.library`: libraries of operators that MXNet loads."""

from __future__ import annotations

import os

from .errors import SEE_PORTING, MXNetError, Unsupported, shown
from .public import shows

__all__ = ["load"]
__dir__ = shows(globals())


def load(path: str, verbose: bool = True) -> None:
    """Always raises: a library of MXNet's needs MXNet's own C++ interface.

    MXNetError where `path` is no absolute path of a library file that is there, Unsupported, which
    says what to do, where it is.
    """
    if not os.path.exists(path):
        raise MXNetError(f"load path {shown(path)} does NOT exist")
    if not os.path.isabs(path):
        raise MXNetError(f"load path {shown(path)} is not an absolute path")
    if os.path.splitext(path)[1] not in (".so", ".dll"):
        raise MXNetError(f"load path {shown(path)} is NOT a library file")
    raise Unsupported(f"library.load: {path} is built for MXNet's C++ API, which is not here; "
                      f"docs/own_operators.md tells how operators are added, {SEE_PORTING}")
