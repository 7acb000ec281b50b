"""Arrays in files of safetensors, through the package of that name."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from .._array.copy import read_numpy
from .._array.ndarray import MAX_DIMS, NDArray, has_arrays
from ..context import cpu
from ..dtypes import DType, find_dtype, need_numbers
from ..errors import MissingPackage, ModelFormatError, MXNetError, ParameterError, TypeMismatch
from ..op.context import thread_context
from ..symbol.atomic_file import write_atomic
from ..symbol.json_text import decode_json, parse_json
from .foreign import over_numpy
from .params_file import sorted_arrays

DTYPES = {"F32": "float32", "F64": "float64", "F16": "float16", "BF16": "bfloat16", "U8": "uint8",
          "I8": "int8", "I32": "int32", "I64": "int64", "BOOL": "bool"}
LONGEST_HEADER = 100_000_000  # what the package itself takes
MOST_TENSORS, TENSOR_COST = 1 << 15, 1024


def _package() -> Any:
    try:
        import safetensors
        import safetensors.numpy
    except ImportError:
        raise MissingPackage("files of safetensors need the package safetensors (pip install "
                             "'ndarray_rt[safetensors]')") from None
    return safetensors


def save(fname: str | os.PathLike[str], data: Any,
         metadata: Mapping[str, str] | None = None) -> None:
    """Writes a dict of arrays, with texts by name beside them.

    The file is written as a whole or not at all. Raises TypeMismatch for anything else,
    MXNetError when the file can not be written, MissingPackage without safetensors.
    """
    names, arrays = sorted_arrays(data)
    if len(names) != len(arrays):
        raise TypeMismatch("save_safetensors: data needs to be a dict of str to NDArray: arrays "
                           "have names in such files")
    if "__metadata__" in names:
        raise ParameterError("save_safetensors: '__metadata__' can be the name of no array")
    if metadata is not None and not all(isinstance(text, str) for pair in metadata.items()
                                        for text in pair):
        raise TypeMismatch("save_safetensors: metadata is a dict of str to str")
    package = _package()
    values = {name: np.ascontiguousarray(read_numpy(array, thread_context().stream))
              .reshape(array.shape) for name, array in zip(names, arrays, strict=True)}
    written = package.numpy.save(values, None if metadata is None else dict(metadata))
    write_atomic(fname, lambda file: (file.write(written), None)[1])


def load(fname: str | os.PathLike[str]) -> dict[str, NDArray]:
    """The arrays of a file by name, on cpu(0).

    Raises MXNetError when the file can not be read, ModelFormatError when it is damaged or has
    dtypes that arrays here can not have, MissingPackage without safetensors, or for bfloat16
    without ml_dtypes.
    """
    what = f"safetensors file {os.fspath(fname)!r}"
    package = _package()
    try:
        _check_header(os.fspath(fname), what)
        with package.safe_open(os.fspath(fname), framework="np") as file:
            return {name: _tensor(file, name, what) for name in file.keys()}  # noqa: SIM118
    except MXNetError:
        raise
    except OSError as error:
        raise MXNetError(f"{what}: {error.strerror or error}") from None
    except package.SafetensorError as error:
        raise ModelFormatError(str(error), what) from None


def load_metadata(fname: str | os.PathLike[str]) -> dict[str, str]:
    """The texts by name that stand beside the arrays. Raises as `load` does."""
    return _check_header(os.fspath(fname), f"safetensors file {os.fspath(fname)!r}")


def _check_header(fname: str, what: str) -> dict[str, str]:
    """The metadata, after a look at all that the file says of its arrays: the package believes
    some of it before it looks."""
    place = "the header"
    with open(fname, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        start = file.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
        if not 2 <= length <= min(size - 8, LONGEST_HEADER):
            raise ModelFormatError(f"a header of {length} bytes in a file of {size}", what, place)
        header = parse_json(decode_json(file.read(length), what), what)
    if not isinstance(header, dict):
        raise ModelFormatError(f"it is {type(header).__name__}, expected an object", what, place)
    metadata = header.pop("__metadata__", None) or {}
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise ModelFormatError("__metadata__ is no object of strings", what, place)
    if len(header) > MOST_TENSORS + size // TENSOR_COST:
        raise ModelFormatError(f"{len(header)} arrays in {size} bytes: so many small ones are "
                               "not read", what, place)
    spans = [_check_entry(name, entry, size - 8 - length, what) for name, entry in header.items()]
    at = 0
    for begin, end in sorted(spans):
        if begin != at:
            raise ModelFormatError(f"its arrays overlap, or leave bytes out, at byte {at}", what,
                                   place)
        at = end
    if at != size - 8 - length:
        raise ModelFormatError(f"its arrays have {at} bytes, {size - 8 - length} follow the "
                               "header", what)
    return metadata


def _check_entry(name: str, entry: Any, nbytes: int, what: str) -> tuple[int, int]:
    """Where an array's bytes are."""
    place = f"array {name[:200]!r}"
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise ModelFormatError("expected dtype, shape and data_offsets", what, place)
    shape, span = entry["shape"], entry["data_offsets"]
    if not _counts(shape) or len(shape) > MAX_DIMS:
        raise ModelFormatError(f"shape {shape!r:.80}, expected at most {MAX_DIMS} numbers from 0 "
                               "up", what, place)
    if not _counts(span) or len(span) != 2 or not span[0] <= span[1] <= nbytes:
        raise ModelFormatError(f"data_offsets {span!r:.80}, expected two within {nbytes} bytes",
                               what, place)
    dtype = _dtype(entry["dtype"], what, place)
    if prod(shape) * dtype.itemsize != span[1] - span[0]:
        raise ModelFormatError(f"shape {shape} of {dtype} needs {prod(shape) * dtype.itemsize} "
                               f"bytes, it has {span[1] - span[0]}", what, place)
    if not has_arrays(shape):
        raise ModelFormatError(f"shape {shape!r:.80}, which no array can have", what, place)
    return span[0], span[1]


def _counts(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(v, int) and not isinstance(v, bool) and 0 <= v < 1 << 62 for v in value)


def _dtype(name: Any, what: str, place: str) -> DType:
    if not isinstance(name, str) or name not in DTYPES:
        raise ModelFormatError(f"dtype {name!r:.80} is none of: {', '.join(DTYPES)}", what, place)
    return find_dtype(DTYPES[name])


def _tensor(file: Any, name: str, what: str) -> NDArray:
    dtype = _dtype(file.get_slice(name).get_dtype(), what, f"array {name[:200]!r}")
    need_numbers(dtype)
    values = np.ascontiguousarray(file.get_tensor(name))
    if dtype == np.bool_:
        # numpy's bool must be 0 or 1 in memory
        values = values.view(np.uint8) != 0
    shape = tuple(file.get_slice(name).get_shape())
    if not values.flags.writeable:
        values = values.copy()
    return over_numpy(values.reshape(shape), dtype, cpu())
