"""`mx.libinfo`: where the native library of this package lies."""

from __future__ import annotations

from pathlib import Path

from .errors import NativeError
from .native import extension_file
from .public import shows

__all__ = ["find_include_path", "find_lib_path"]
__dir__ = shows(globals())

# the release of MXNet whose names and meaning these are
__version__ = "1.9.1"


def find_lib_path(prefix: str = "libmxnet") -> list[str]:
    """The path of the extension module, alone in a list, whatever the prefix."""
    return [extension_file()]


def find_include_path() -> str:
    """The folder of the C headers, which a checkout has and a wheel has not.

    NativeError where it is not there.
    """
    path = Path(__file__).parents[1] / "include"
    if not (path / "ndrt.h").exists():
        raise NativeError(f"the headers are not at {path}: only a checkout of the source has them")
    return str(path)
