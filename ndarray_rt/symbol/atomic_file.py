"""Atomic writing of files."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import BinaryIO

from ..errors import MXNetError


def write_atomic(fname: str | os.PathLike[str], write: Callable[[BinaryIO], None]) -> None:
    """Lets `write` fill a new file, which then replaces `fname`.

    On any error an existing file of that name stays as it was. Devices and pipes are written
    directly. Raises MXNetError if the file can not be written.
    """
    try:
        path = os.path.realpath(os.fspath(fname))
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "wb") as file:
                write(file)
        else:
            _replace(path, write)
    except MXNetError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise MXNetError(f"writing {os.fspath(fname)!r}: {reason}") from error


def _replace(path: str, write: Callable[[BinaryIO], None]) -> None:
    import secrets
    folder, base = os.path.split(path)
    temporary = os.path.join(folder, f".{base[:100]}.{secrets.token_hex(6)}.tmp")
    # unlike tempfile's, this mode respects the umask
    mode = os.stat(path).st_mode & 0o777 if os.path.exists(path) else 0o666
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    _sync_folder(folder)


def _sync_folder(folder: str) -> None:
    """Makes the new name durable; not every file system supports that."""
    try:
        handle = os.open(folder or ".", os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)
