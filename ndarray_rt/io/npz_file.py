"""Arrays in NumPy's .npz files, as MXNet 2 writes parameters. No pickle is written or read."""

from __future__ import annotations

import io
import os
import struct
import zipfile
from collections.abc import Iterable, Mapping
from math import prod
from typing import Any, BinaryIO

import numpy as np

from .._array.copy import read_numpy
from .._array.ndarray import MAX_DIMS, NDArray, has_arrays
from ..context import cpu
from ..dtypes import TYPE_FLAGS, find_dtype
from ..errors import ModelFormatError, MXNetError, TypeMismatch
from ..op.context import thread_context
from ..symbol.atomic_file import write_atomic
from .foreign import over_numpy
from .params_file import sorted_arrays

SLACK = 64 << 20
MOST_ARRAYS, ARRAY_COST = 1 << 13, 4096
SUFFIX = ".npy"
ENTRY = b"PK\x01\x02"  # begins an entry of the list of what is in the file
PIECE = 1 << 20
LONGEST_HEADER = 10_000  # Python takes some hundred times the memory to read it
# version -> how the length of a header is written, and its reader
_VERSIONS: dict[Any, tuple[str, Any]] = {(1, 0): ("<H", np.lib.format.read_array_header_1_0),
                                         (2, 0): ("<I", np.lib.format.read_array_header_2_0)}


# ---- writing ------------------------------------------------------------------------------------


def save(fname: str | os.PathLike[str], data: Any) -> None:
    """Writes a dict of arrays, a list of them ("arr_0", "arr_1" ...), or one array.

    The file is written as a whole or not at all. Raises TypeMismatch for anything else and for
    bfloat16, which NumPy's files do not know, MXNetError when the file can not be written.
    """
    names, arrays = sorted_arrays(data)
    names = names or [f"arr_{i}" for i in range(len(arrays))]
    for name, array in zip(names, arrays, strict=True):
        if array.dtype.name == "bfloat16":
            raise TypeMismatch(f"save_npz: {name!r} is of bfloat16, which .npz files do not have: "
                               "use save_safetensors or save")
    write_atomic(fname, lambda file: _write(file, (
        (name, read_numpy(array, thread_context().stream))
        for name, array in zip(names, arrays, strict=True))))


def save_numpy(fname: str | os.PathLike[str], values: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """`save` of NumPy arrays by name."""
    write_atomic(fname, lambda file: _write(file, values.items()))


def _write(file: BinaryIO, arrays: Iterable[tuple[str, np.ndarray[Any, Any]]]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as made:
        for name, value in arrays:
            with made.open(name + SUFFIX, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, value, allow_pickle=False)


# ---- reading ------------------------------------------------------------------------------------


def load(fname: str | os.PathLike[str]) -> dict[str, NDArray]:
    """The arrays of a file by name, on cpu(0).

    Raises MXNetError when the file can not be read; ModelFormatError when it is damaged, has
    dtypes that arrays here can not have (also pickled objects), or would unfold to more than twice
    its size and 64 MiB.
    """
    what = f"npz file {os.fspath(fname)!r}"
    try:
        with open(fname, "rb") as file:
            return _read(file, os.fstat(file.fileno()).st_size, what)
    except MXNetError:
        raise
    except OSError as error:
        raise MXNetError(f"{what}: {error.strerror or error}") from None


def _read(file: BinaryIO, size: int, what: str) -> dict[str, NDArray]:
    entries = _count(file, ENTRY)
    if entries > MOST_ARRAYS + size // ARRAY_COST:
        raise ModelFormatError(f"{entries} members in {size} bytes: so many small ones are not "
                               "read", what)
    made: dict[str, NDArray] = {}
    left = 2 * size + SLACK
    place = "the list of its members"
    try:
        with zipfile.ZipFile(file) as archive:
            for member in archive.infolist():
                place = f"member {member.filename!r}"
                name = member.filename.removesuffix(SUFFIX)
                if name in made:
                    raise ModelFormatError("there are two of this name", what, place)
                left -= member.file_size
                if left < 0:
                    raise ModelFormatError(f"it unfolds to {member.file_size} bytes, too many "
                                           f"for a file of {size}", what, place)
                made[name] = _member(archive, member, what, place)
    except MXNetError:
        raise
    except Exception as error:
        # zipfile, zlib, tokenize and NumPy raise whatever they like for bytes that are damaged
        raise ModelFormatError(f"{type(error).__name__}: {error}", what, place) from None
    return made


def _count(file: BinaryIO, word: bytes) -> int:
    """How often a word is in a file."""
    count, kept = 0, b""
    while piece := file.read(PIECE):
        piece = kept + piece
        count += piece.count(word)
        kept = piece[len(piece) - len(word) + 1:]
    file.seek(0)
    return count


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, what: str,
            place: str) -> NDArray:
    def bad(text: str) -> ModelFormatError:
        return ModelFormatError(text, what, place)
    if not member.filename.endswith(SUFFIX):
        raise bad("it is no array: its name does not end in .npy")
    with archive.open(member) as file:
        shape, in_columns, found = _header(file, bad)
        if found.hasobject:
            raise bad("it holds pickled objects, which are not read")
        dtype = found.newbyteorder("=")
        if dtype.name not in TYPE_FLAGS:
            raise bad(f"dtype {found} is none of: {', '.join(TYPE_FLAGS)}")
        if len(shape) > MAX_DIMS or any(dim < 0 for dim in shape):
            raise bad(f"shape {shape}, expected at most {MAX_DIMS} dimensions from 0 up")
        nbytes = prod(shape) * dtype.itemsize
        if nbytes != member.file_size - file.tell():
            raise bad(f"shape {shape} of {found} needs {nbytes} bytes, there are "
                      f"{member.file_size - file.tell()}")
        if not has_arrays(shape):
            raise bad(f"shape {shape}, which no array can have")
        values = np.empty(prod(shape), found)
        _fill(file, values.view(np.uint8).data, bad)
    if found != dtype:
        values = values.astype(dtype)
    if dtype == np.bool_:
        # numpy's bool must be 0 or 1 in memory
        values = values.view(np.uint8) != 0
    values = values.reshape(shape[::-1]).T if in_columns else values.reshape(shape)
    return over_numpy(np.ascontiguousarray(values).reshape(shape), find_dtype(dtype), cpu())


def _header(file: Any, bad: Any) -> tuple[tuple[int, ...], bool, Any]:
    """Shape, whether columns come first, and dtype, out of what stands before the elements."""
    version = np.lib.format.read_magic(file)
    if version not in _VERSIONS:
        raise bad(f"it has version {version} of the .npy format, expected 1.0 or 2.0")
    form, read = _VERSIONS[version]
    start = file.read(struct.calcsize(form))
    length = struct.unpack(form, start)[0]
    if length > LONGEST_HEADER:
        raise bad(f"its header has {length} bytes, expected at most {LONGEST_HEADER}")
    made: tuple[tuple[int, ...], bool, Any] = read(io.BytesIO(start + file.read(length)))
    return made


def _fill(file: Any, target: memoryview, bad: Any) -> None:
    at = 0
    while at < len(target):
        piece = file.read(min(PIECE, len(target) - at))
        if not piece:
            raise bad("it ends too early")
        target[at:at + len(piece)] = piece
        at += len(piece)
    file.read(1)  # the checksum is compared at the end
