"""Iterators over files of numbers: CSV, LibSVM, MNIST's. Each file is read whole, at once."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterable, Sequence
from inspect import signature
from math import prod
from typing import Any

import numpy as np

from .. import nd
from ..dtypes import find_dtype
from ..errors import MXNetError, ParameterError
from ..public import shows
from .data import DataBatch, DataDesc, DataIter, warn_unknown
from .mx_data_iter import MXDataIter

Shape = tuple[int, ...]


def _shape(what: str, value: Any) -> Shape:
    """A shape, from text too, as MXNet's parameters are."""
    if isinstance(value, str):
        value = [int(part) for part in value.strip("()[] ").split(",") if part.strip()]
    if isinstance(value, int):
        value = (value,)
    shape = tuple(int(dim) for dim in value)
    if any(dim < 1 for dim in shape):
        raise ParameterError(f"{what} is {shape}, expected numbers from 1 up")
    return shape


class _WholeFiles(MXDataIter):
    """Batches of two NumPy arrays with a row a sample.

    With `round_batch` the last batch of a pass is filled with the first samples, and the next pass
    begins behind those; else its rows that are left over repeat the batch before, and `pad` says
    how many they are.
    """

    def __init__(self, data: Any, label: Any, batch_size: Any, round_batch: bool, data_name: str,
                 label_name: str) -> None:
        DataIter.__init__(self, int(batch_size))
        what = type(self).__name__
        if self.batch_size < 1:
            raise ParameterError(f"{what}: batch_size is {batch_size!r}, expected a number from 1 "
                                 "up")
        if len(data) == 0:
            raise ParameterError(f"{what}: the file has no samples")
        if len(data) != len(label):
            raise ParameterError(f"{what}: {len(data)} samples, but {len(label)} labels")
        self._data, self._label, self._round_batch = data, label, round_batch
        self._first = self._next = 0
        self._last_rows = np.zeros(self.batch_size, np.int64)
        self.provide_data = [DataDesc(data_name, (self.batch_size, *data.shape[1:]), data.dtype)]
        self.provide_label = [DataDesc(label_name, (self.batch_size, *label.shape[1:]),
                                       label.dtype)]

    def reset(self) -> None:
        self._next = self._first
        self._first = 0

    def _advance(self) -> DataBatch | None:
        count, size = len(self._data), self.batch_size
        if self._next >= count:
            return None
        rows = np.arange(self._next, self._next + size)
        pad = max(0, int(rows[-1]) + 1 - count)
        if pad and self._round_batch:
            rows %= count
            self._first = pad % count
        elif pad:
            rows[size - pad:] = self._last_rows[size - pad:]
        self._next += size
        self._last_rows = rows
        return DataBatch([nd.array(self._data[rows], dtype=self._data.dtype)],
                         [nd.array(self._label[rows], dtype=self._label.dtype)], pad=pad,
                         index=rows.astype(np.uint64))


def _tell(kind: type[DataIter], unknown: Iterable[str]) -> None:
    for name in unknown:
        warn_unknown(kind.__name__, name, signature(kind).parameters)


def _part(what: str, rows: Any, num_parts: Any, part_index: Any) -> Any:
    """The part of the rows that one of several workers reads."""
    parts, index = int(num_parts), int(part_index)
    if not 0 <= index < parts:
        raise ParameterError(f"{what}: part_index is {index}, expected 0 to {parts - 1}")
    size = len(rows) // parts if parts > 1 else len(rows)
    return rows[index * size:(index + 1) * size if index + 1 < parts else len(rows)]


# ---- CSV ----------------------------------------------------------------------------------------


class CSVIter(_WholeFiles):
    """Batches of a CSV file with a sample a line, and labels of another one, zeros without it.

    `data_shape` and `label_shape` are those of one sample. Raises MXNetError for a file that can
    not be read, ParameterError for a line that has another number of values. Source: MXNet's
    CSVIter; `prefetch_buffer` and `ctx` have no effect.
    """

    def __init__(self, *, data_csv: str, data_shape: Any, label_csv: str | None = None,
                 label_shape: Any = (1,), batch_size: int = 1, round_batch: bool = True,
                 dtype: Any = None, num_parts: int = 1, part_index: int = 0,
                 prefetch_buffer: int = 4, ctx: str = "cpu", data_name: str = "data",
                 label_name: str = "softmax_label", **unknown: Any) -> None:
        _tell(type(self), unknown)
        number = find_dtype("float32" if dtype is None else dtype)
        data = _csv(data_csv, _shape("CSVIter: data_shape", data_shape), number)
        of_label = _shape("CSVIter: label_shape", label_shape)
        label = (np.zeros((len(data), *of_label), number) if label_csv in (None, "NULL", "")
                 else _csv(str(label_csv), of_label, number))
        data, label = (_part("CSVIter", rows, num_parts, part_index) for rows in (data, label))
        if of_label == (1,):
            label = label.reshape(-1)
        super().__init__(data, label, batch_size, round_batch, data_name, label_name)


def _csv(fname: str, shape: Shape, dtype: Any) -> Any:
    try:
        with _opened(fname) as file:
            found = np.loadtxt(file, delimiter=",", dtype=dtype, ndmin=2)
    except OSError as error:
        raise MXNetError(f"CSVIter: {fname!r}: {error.strerror or error}") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise ParameterError(f"CSVIter: {fname!r}: {error}") from None
    if found.size and found.shape[1] != prod(shape):
        raise ParameterError(f"CSVIter: {fname!r}: {found.shape[1]} values a line, expected "
                             f"{prod(shape)} for shape {shape}")
    return found.reshape(-1, *shape)


def _opened(fname: str) -> Any:
    """A file, uncompressed where it is gzip's."""
    return gzip.open(fname, "rb") if os.fspath(fname).endswith(".gz") else open(fname, "rb")


# ---- LibSVM -------------------------------------------------------------------------------------


class LibSVMIter(_WholeFiles):
    """Batches of a file of lines `label place:value place:value ...`, as dense arrays.

    Labels come from the same file, or from `label_libsvm`, whose values are of `label_shape`.
    Source: MXNet's LibSVMIter, which gives sparse arrays; `prefetch_buffer` and `ctx` have no
    effect.
    """

    def __init__(self, *, data_libsvm: str, data_shape: Any, label_libsvm: str | None = None,
                 label_shape: Any = (1,), num_parts: int = 1, part_index: int = 0,
                 batch_size: int = 1, round_batch: bool = True, dtype: Any = None,
                 prefetch_buffer: int = 4, ctx: str = "cpu", data_name: str = "data",
                 label_name: str = "softmax_label", **unknown: Any) -> None:
        _tell(type(self), unknown)
        number = find_dtype("float32" if dtype is None else dtype)
        shape = _shape("LibSVMIter: data_shape", data_shape)
        label, data = _libsvm(data_libsvm, shape, number)
        if label_libsvm not in (None, "NULL", ""):
            _, label = _libsvm(str(label_libsvm), _shape("LibSVMIter: label_shape", label_shape),
                               number)
        data, label = (_part("LibSVMIter", rows, num_parts, part_index) for rows in (data, label))
        super().__init__(data, label, batch_size, round_batch, data_name, label_name)


def _libsvm(fname: str, shape: Shape, dtype: Any) -> tuple[Any, Any]:
    """(the first number of each line, the others at their places)."""
    if len(shape) != 1:
        raise ParameterError(f"LibSVMIter: shape {shape}, expected one dimension")
    labels: list[float] = []
    rows: list[Any] = []
    try:
        with open(fname, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                words = line.split()
                if not words:
                    continue
                labels.append(float(words[0]))
                row = np.zeros(shape, dtype)
                for word in words[1:]:
                    place, _, value = word.partition(":")
                    if not 0 <= int(place) < shape[0]:
                        raise ParameterError(f"LibSVMIter: {fname!r}, line {number}: place {place} "
                                             f"is not below {shape[0]}")
                    row[int(place)] = float(value)
                rows.append(row)
    except OSError as error:
        raise MXNetError(f"LibSVMIter: {fname!r}: {error.strerror or error}") from None
    except ParameterError:
        raise
    except ValueError as error:
        raise ParameterError(f"LibSVMIter: {fname!r}: {error}") from None
    return np.array(labels, dtype), np.array(rows, dtype).reshape(-1, *shape)


# ---- MNIST --------------------------------------------------------------------------------------


class MNISTIter(_WholeFiles):
    """Batches of MNIST's files, grey levels divided by 256: (n, 1, 28, 28), or `flat` (n, 784).

    The last samples that fill no batch are left out. Files may be compressed by gzip. Raises
    MXNetError for a file that can not be read, ParameterError for one of another form. Source:
    MXNet's MNISTIter; `silent`, `prefetch_buffer` and `ctx` have no effect.
    """

    def __init__(self, *, image: str, label: str, batch_size: int = 128, shuffle: bool = True,
                 flat: bool = False, seed: int = 0, silent: bool = False, num_parts: int = 1,
                 part_index: int = 0, dtype: Any = None, prefetch_buffer: int = 4,
                 ctx: str = "cpu", input_shape: Sequence[int] | None = None,
                 data_name: str = "data", label_name: str = "softmax_label",
                 **unknown: Any) -> None:
        _tell(type(self), unknown)
        pixels = read_idx(image, 3)
        labels = read_idx(label, 1)
        if len(pixels) != len(labels):
            raise ParameterError(f"MNISTIter: {len(pixels)} images in {image!r}, but {len(labels)} "
                                 f"labels in {label!r}")
        if shuffle:
            order = np.random.RandomState(int(seed)).permutation(len(pixels))
            pixels, labels = pixels[order], labels[order]
        pixels, labels = (_part("MNISTIter", rows, num_parts, part_index)
                          for rows in (pixels, labels))
        whole = len(pixels) // int(batch_size) * int(batch_size)
        if not whole:
            raise ParameterError(f"MNISTIter: batch_size is {batch_size}, but there are "
                                 f"{len(pixels)} images")
        number = find_dtype("float32" if dtype is None else dtype)
        data = (pixels[:whole].astype(np.float32) / 256).astype(number)
        data = data.reshape(whole, -1) if flat else data[:, None]
        super().__init__(data, labels[:whole].astype(np.float32), batch_size, False, data_name,
                         label_name)


def read_idx(fname: str, rank: int) -> Any:
    """The bytes of a file of the form idx, as an array of `rank` dimensions.

    Raises MXNetError for a file that can not be read, ParameterError for one of another form.
    """
    try:
        with _opened(fname) as file:
            data = file.read()
    except OSError as error:
        raise MXNetError(f"{fname!r}: {error.strerror or error}; expected a file of the form idx "
                         f"with {rank} dimension(s), perhaps compressed by gzip") from None
    begin = 4 + 4 * rank
    if data[:4] != bytes([0, 0, 8, rank]) or len(data) < begin:
        raise ParameterError(f"{fname!r}: this is no idx file of bytes with {rank} dimension(s)")
    shape = tuple(int(dim) for dim in np.frombuffer(data[4:begin], ">u4"))
    if len(data) - begin != prod(shape):
        raise ParameterError(f"{fname!r}: {len(data) - begin} bytes, expected {prod(shape)} for "
                             f"shape {shape}")
    return np.frombuffer(data, np.uint8, offset=begin).reshape(shape)


__all__ = ["CSVIter", "LibSVMIter", "MNISTIter", "read_idx"]
__dir__ = shows(globals())
