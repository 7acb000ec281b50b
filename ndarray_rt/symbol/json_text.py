"""Reads JSON text of untrusted files, with memory bounded by their size. Knows nothing of its
meaning."""

from __future__ import annotations

import os
import sys
from typing import Any

from ..errors import ModelFormatError, MXNetError

# memory that reading a file may take in addition to twice its size
SLACK = 64 << 20
MOST_BYTES = SLACK
MOST_BYTES_WIDE = SLACK >> 2  # of a text whose characters take four bytes each in memory
# the most bytes of memory that one character of JSON can take
_COSTS = {"[": 90, "{": 240, '"': 30, ",": 40}


def read_json_bytes(fname: str | os.PathLike[str], what: str) -> str:
    """The text of a JSON file that holds an object.

    MXNetError when the file can not be read, ModelFormatError when it is no text, begins with
    something else than an object, or is larger than such files are; `what` names it in both.
    """
    try:
        with open(fname, "rb") as file:
            start = file.read(64)
            if start.strip()[:1] not in (b"{", b""):  # checked first, as a device can be endless
                raise ModelFormatError("this is no JSON object: it begins with "
                                       f"{start[:8]!r}", what)
            data = start + file.read(MOST_BYTES)
    except MXNetError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise MXNetError(f"{what}: {reason}") from None
    return decode_json(data, what)


def decode_json(data: bytes, what: str) -> str:
    """Decodes bytes; ModelFormatError if they are not text, or too many."""
    most = MOST_BYTES if data.isascii() else MOST_BYTES_WIDE
    if len(data) > most:
        raise ModelFormatError(f"the text has more than {most} bytes", what)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ModelFormatError(f"this is no text: {error}", what) from None


def parse_json(text: str, what: str) -> Any:
    """Parses JSON text. ModelFormatError if it is not JSON, or if its objects could take more
    memory than twice the text and 64 MiB."""
    import json  # imported only when files are read
    most = 2 * len(text) + SLACK
    needed = 2 * sys.getsizeof(text)
    if needed + 90 * len(text) > most:  # counting takes as long as parsing
        needed += sum(cost * text.count(character) for character, cost in _COSTS.items())
        if needed > most:
            raise ModelFormatError(f"its {len(text)} characters could take {needed} bytes of "
                                   f"memory, at most {most} are allowed", what)
    try:
        return json.loads(text, strict=False)  # MXNet writes control characters unescaped
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"this is no JSON: {error}", what) from None
