"""Files of arrays, whichever form they have: it is told by how they begin."""

from __future__ import annotations

import os

from . import params_file
from .params_file import Arrays

ZIP = b"PK\x03\x04", b"PK\x05\x06"


def load(fname: str | os.PathLike[str], mapped: bool = False) -> Arrays:
    """The arrays of a .params, .npz or safetensors file; those of the two latter have names.

    `mapped` is for .params files. Raises as the readers do: MXNetError when the file can not be
    read, ModelFormatError when it is damaged or something else.
    """
    start = _start(fname)
    if start.startswith(ZIP):
        from .npz_file import load as load_npz
        return load_npz(fname)
    # the length of a header, which is a JSON object
    if len(start) == 9 and start[8:] == b"{" and not start.startswith(params_file.BEGIN):
        from .safetensors_file import load as load_safetensors
        return load_safetensors(fname)
    return params_file.load(fname, mapped)


def _start(fname: object) -> bytes:
    """The first bytes of a regular file; none of anything else, which can be read once only."""
    if not isinstance(fname, (str, os.PathLike)):
        return b""
    try:
        if not os.path.isfile(fname):
            return b""
        with open(fname, "rb") as file:
            return file.read(9)
    except (OSError, ValueError):
        return b""  # the reader says why
