"""Tensors of ONNX files as NumPy arrays: sizes are checked before anything is allocated."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from .._array.ndarray import has_arrays
from ..errors import ModelFormatError
from ..io.foreign import new_numpy
from .graph import Array
from .messages import TensorProto
from .package import onnx_package
from .wire import FileBytes

# the format's numbers of the dtypes that NumPy has
_KINDS = {1: "f4", 2: "u1", 3: "i1", 4: "u2", 5: "i2", 6: "i4", 7: "i8", 8: "O", 9: "?", 10: "f2",
          11: "f8", 12: "u4", 13: "u8", 14: "c8", 15: "c16"}
# where numbers of a dtype are that are no raw bytes, and as what: of the others int32_data
_FIELDS = {1: "float_data", 7: "int64_data", 11: "double_data", 12: "uint64_data",
           13: "uint64_data", 14: "float_data", 15: "double_data"}
# the fields that hold numbers one by one, and how many bits of each of them count
_COMPLEX = {14: 2, 15: 2}
# 4-bit numbers: two to a byte
_HALVES = {21, 22, 23}
_QUARTERS = {25, 26}
_MOST_AXES = 64
_DIGITS = re.compile("[0-9]{1,20}")


def dtype_of_kind(kind: int) -> np.dtype[Any]:
    """The dtype that a number of the format stands for; KeyError where there is none."""
    name = _KINDS.get(kind)
    if name is not None:
        return np.dtype(name)
    if not kind:
        raise KeyError(kind)
    # those that NumPy has not: the package has them from another one
    made: np.dtype[Any] = np.dtype(onnx_package().helper.tensor_dtype_to_np_dtype(kind))
    return made


class TensorReader:
    """Reads the tensors of one file. `folder` is where its external data may lie, None: nowhere."""

    def __init__(self, file: str, folder: Path | None) -> None:
        self.file = file
        self.folder = folder

    def read(self, tensor: Any, place: str) -> Array:
        """The array; ModelFormatError where the file does not hold what it says."""
        shape = tuple(tensor.dims)
        if len(shape) > _MOST_AXES or any(dim < 0 for dim in shape):
            raise self._error(f"has the shape {shape[:8]}, expected at most {_MOST_AXES} "
                              "dimensions, none below 0", place)
        if not has_arrays(shape):
            raise self._error(f"has the shape {shape[:8]}, which no array can have", place)
        count = prod(shape)
        kind = tensor.data_type
        if kind == 8:
            return self._strings(tensor, shape, count, place)
        try:
            dtype = dtype_of_kind(kind)
        except (KeyError, TypeError, ValueError):
            raise self._error(f"has the unknown data type {kind}", place) from None
        if kind in _HALVES:
            wanted = (count + 1) // 2
        elif kind in _QUARTERS:
            wanted = (count + 3) // 4
        else:
            wanted = count * dtype.itemsize
        if tensor.data_location == 1:
            return self._external(tensor, dtype, shape, wanted, kind, place)
        if tensor.HasField("raw_data"):
            self._check_length(len(tensor.raw_data), wanted, "bytes", shape, dtype, place)
        else:
            held = max(len(tensor.float_data), len(tensor.int32_data), len(tensor.int64_data),
                       len(tensor.double_data), len(tensor.uint64_data))
            numbers = count * _COMPLEX.get(kind, 1)
            if kind in _HALVES or kind in _QUARTERS:
                numbers = wanted
            self._check_length(held, numbers, "numbers", shape, dtype, place)
        try:
            if kind not in _KINDS:
                return _by_package(tensor)
            if tensor.HasField("raw_data"):
                return _from_bytes(tensor.raw_data, dtype, shape)
            return _from_numbers(tensor, kind, dtype, shape)
        except MemoryError:
            raise
        except Exception as error:  # whatever that package's code raises for what it can not read
            raise self._error(f"can not be read: {error}", place) from None

    def _check_length(self, held: int, wanted: int, what: str, shape: tuple[int, ...],
                      dtype: np.dtype[Any], place: str) -> None:
        if held != wanted:
            raise self._error(f"holds {held} {what}, expected {wanted} for the shape {shape} of "
                              f"{dtype}", place)

    def _strings(self, tensor: Any, shape: tuple[int, ...], count: int, place: str) -> Array:
        if len(tensor.string_data) != count:
            raise self._error(f"holds {len(tensor.string_data)} strings, expected {count} for the "
                              f"shape {shape}", place)
        made = np.empty(count, object)
        made[:] = [text.decode("utf-8", "replace") for text in tensor.string_data]
        return made.reshape(shape)

    # ---- data in other files -------------------------------------------------------------------

    def _external(self, tensor: Any, dtype: np.dtype[Any], shape: tuple[int, ...], wanted: int,
                  kind: int, place: str) -> Array:
        entries = {entry.key: entry.value for entry in tensor.external_data}
        path = self._data_file(entries.get("location", ""), place)
        offset = self._number(entries, "offset", 0, place)
        length = self._number(entries, "length", wanted, place)
        if length != wanted:
            raise self._error(f"has {length} bytes of external data, expected {wanted} for the "
                              f"shape {shape} of {dtype}", place)
        size = path.stat().st_size
        if offset + length > size:
            raise self._error(f"has its external data from byte {offset} to byte {offset + length} "
                              f"of a file that has {size} bytes", place)
        if kind in _HALVES or kind in _QUARTERS:
            copy = type(tensor)()
            copy.CopyFrom(tensor)
            copy.data_location = 0
            del copy.external_data[:]
            with open(path, "rb") as stream:
                stream.seek(offset)
                copy.raw_data = stream.read(length)
            return self.read(copy, place)
        made: Array = np.fromfile(path, dtype, count=prod(shape), offset=offset)
        if made.size != prod(shape):
            raise self._error("has external data that ended early", place)
        return made.reshape(shape)

    def _number(self, entries: Mapping[str, str], key: str, default: int, place: str) -> int:
        """A number of bytes: digits alone, no more than any file can need."""
        text = entries.get(key, "")
        if not text:
            return default
        if not _DIGITS.fullmatch(text):
            raise self._error(f"has external data with the {key} {text!r:.200}, expected digits",
                              place)
        return int(text)

    def _data_file(self, location: str, place: str) -> Path:
        """The file of external data: inside of the model's folder, no link on the way."""
        if self.folder is None:
            raise self._error("has external data, which a model that is no file can not have",
                              place)
        parts = Path(location).parts
        if (not parts or "\0" in location or os.path.isabs(location)
                or any(part in ("..", "/") for part in parts)):
            raise self._error(f"has external data in {location!r:.200}, expected a file in the "
                              "model's folder", place)
        path = self.folder
        for part in parts:
            path = path / part
            try:
                mode = path.lstat().st_mode
            except OSError as error:
                raise self._error(f"has external data in {location!r:.200}: "
                                  f"{error.strerror}", place) from None
            if stat.S_ISLNK(mode):
                raise self._error(f"has external data in {location!r:.200}, which is a link",
                                  place)
        if not stat.S_ISREG(mode):
            raise self._error(f"has external data in {location!r:.200}, which is no file", place)
        return path

    def _error(self, reason: str, place: str) -> ModelFormatError:
        return ModelFormatError(f"the tensor {reason}", self.file, place)


def _from_bytes(data: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    made: Array
    if isinstance(data, FileBytes):
        made = new_numpy(shape, dtype)
        data.read_into(made.reshape(-1).view(np.uint8).data)
    else:
        made = np.frombuffer(data, dtype).reshape(shape)
    if dtype == np.bool_:
        # numpy's bool must be 0 or 1 in memory
        made = made.view(np.uint8) != 0
    return made


def _from_numbers(tensor: Any, kind: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """Of numbers one by one, which float16 are as the 16 bits of each, and complex ones in pairs.
    """
    field = _FIELDS.get(kind, "int32_data")
    numbers = getattr(tensor, field)
    form = {"float_data": "f4", "int32_data": "i4", "int64_data": "i8", "double_data": "f8",
            "uint64_data": "u8"}[field]
    made: Array = np.array(numbers, form)
    if kind in _COMPLEX:
        made = made.view(dtype)
    elif kind == 10:
        made = made.astype(np.uint16).view(dtype)
    return made.astype(dtype, copy=False).reshape(shape)


def _by_package(tensor: Any) -> Array:
    onnx = onnx_package()
    if isinstance(tensor, TensorProto):
        found: Any = tensor
        given: dict[str, Any] = {"int32_data": list(found.int32_data)}
        if found.HasField("raw_data"):
            given = {"raw_data": bytes(found.raw_data)}
        tensor = onnx.TensorProto(dims=found.dims, data_type=found.data_type, **given)
    made: Array = onnx.numpy_helper.to_array(tensor)
    return made
