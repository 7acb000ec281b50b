"""Arrays in MXNet's .params files: what `nd.save` and `nd.load` write and read.

Written is MXNet 1.9.1's form, byte for byte; read are all forms of dense arrays since the first.
The layout of the bytes (little endian):

    u64 0x112, u64 0
    u64 count, then each array: u32 form, i32 storage type, i32 rank, i64 a dimension,
        i32 device type, i32 device number, i32 type flag, the elements
    u64 count of names (0: a list), then each: u64 length, UTF-8 text
"""

from __future__ import annotations

import io
import os
import stat
import struct
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, BinaryIO

import numpy as np

from .._array.copy import read_elements
from .._array.layout import elements
from .._array.ndarray import MAX_DIMS, NDArray, has_arrays, new_array
from ..context import cpu
from ..dtypes import FLAG_NAMES, FLOAT32, TYPE_FLAGS, DType, dtype_name, find_dtype
from ..errors import ModelFormatError, MXNetError, ParameterError, TypeMismatch
from ..np_shape import is_np_shape
from ..op.context import thread_context
from ..symbol.atomic_file import write_atomic
from .mapped import Image, map_privately

Arrays = list[NDArray] | dict[str, NDArray]

LIST_MAGIC = 0x112
BEGIN = struct.pack("<Q", LIST_MAGIC)
FORM_64BIT = 0xF993FAC8  # no storage type yet
FORM_STORAGE = 0xF993FAC9  # the form of today
FORM_NUMPY_SHAPE = 0xF993FACA  # the same, where rank 0 and dimension 0 are real
MAX_LEGACY_RANK = 32  # in the oldest form the first word is the rank
SPARSE = {1: "row_sparse", 2: "csr"}
# an array of few bytes in a file takes ARRAY_COST of memory: so many and one more for as many bytes
MOST_ARRAYS, ARRAY_COST = 1 << 15, 1024
LONGEST_NAME = 1 << 20
LEAST_MAPPED = 1 << 16  # bytes; smaller arrays are copied


# ---- writing ------------------------------------------------------------------------------------


def save(fname: str | os.PathLike[str], data: Any) -> None:
    """Writes an array, a list of arrays or a dict of them by name.

    The file is written as a whole or not at all. Raises TypeMismatch for anything else, MXNetError
    when the file can not be written.
    """
    if not isinstance(fname, (str, os.PathLike)):
        raise TypeMismatch(f"save: fname required to be a string, got {fname!r}")
    names, arrays = sorted_arrays(data)
    write_atomic(fname, lambda file: _write(file, names, arrays))


def save_tobuffer(data: Any) -> bytes:
    """The bytes that `save` writes."""
    names, arrays = sorted_arrays(data)
    file = io.BytesIO()
    _write(file, names, arrays)
    return file.getvalue()


def sorted_arrays(data: Any) -> tuple[list[str], list[NDArray]]:
    """(names, arrays) of what is to be written; without names but for a dict. Raises TypeMismatch
    for what is no array, list or dict of them."""
    if isinstance(data, NDArray):
        return [], [data]
    if isinstance(data, Mapping):
        names, arrays = list(data), list(data.values())
    elif isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        names, arrays = [], list(data)
    else:
        raise TypeMismatch("save: data needs to be an NDArray, a dict of str to NDArray or a list "
                           f"of NDArrays, got {type(data).__name__}")
    for name in names:
        if not isinstance(name, str):
            raise TypeMismatch(f"save: names are strings, got {name!r}")
        if any("\ud800" <= c <= "\udfff" for c in name):
            raise ParameterError(f"save: the name {name!r} has surrogates, which no file can hold")
    for i, value in enumerate(arrays):
        if not isinstance(value, NDArray):
            what = repr(names[i]) if names else f"item {i}"
            raise TypeMismatch(f"save: {what} is {type(value).__name__}, expected NDArray")
    return names, arrays


def _write(file: BinaryIO, names: Sequence[str], arrays: Sequence[NDArray]) -> None:
    # MXNet reads a file in one of two modes, so all arrays take the form that one of them needs
    form = (FORM_NUMPY_SHAPE if is_np_shape() or any(not x.shape for x in arrays)
            else FORM_STORAGE)
    file.write(struct.pack("<QQQ", LIST_MAGIC, 0, len(arrays)))
    for x in arrays:
        rank = len(x.shape)
        file.write(struct.pack(f"<Iii{rank}qiii", form, 0, rank, *x.shape,
                               x.context.device_typeid, x.context.device_id,
                               TYPE_FLAGS[dtype_name(x.dtype)]))
        file.write(_bytes_of(read_elements(x, thread_context().stream)))
    file.write(struct.pack("<Q", len(names)))
    for name in names:
        text = name.encode("utf-8")
        file.write(struct.pack("<Q", len(text)) + text)


def _bytes_of(value: np.ndarray[Any, Any]) -> memoryview:
    return np.ascontiguousarray(value).reshape(-1).view(np.uint8).data


# ---- reading ------------------------------------------------------------------------------------


def load(fname: str | os.PathLike[str], mapped: bool = False) -> Arrays:
    """The arrays of a file: a dict when they have names, else a list. They live on cpu(0).

    With `mapped` large arrays lie on the file's own bytes, which are read when they are first
    used; writing to an array never changes the file. Nobody may shorten the file meanwhile: the
    process would die of it. What does not lie at a multiple of its elements' size is copied.

    Raises MXNetError when the file can not be read, ModelFormatError when it is damaged or
    something else, or has sparse arrays.
    """
    if not isinstance(fname, (str, os.PathLike)):
        raise TypeMismatch(f"load: fname required to be a string, got {fname!r}")
    what = f"params file {os.fspath(fname)!r}"
    try:
        with open(fname, "rb") as file:
            found = os.fstat(file.fileno())
            if stat.S_ISREG(found.st_mode):
                image = map_privately(file) if mapped and found.st_size else None
                return _Reader(file, found.st_size, what, image).read_all()
            # what is endless begins like anything else
            start = file.read(len(BEGIN))
            whole = start + file.read() if start == BEGIN else start
    except MXNetError:
        raise
    except (OSError, ValueError) as error:
        raise MXNetError(f"{what}: {getattr(error, 'strerror', None) or error}") from None
    return _Reader(io.BytesIO(whole), len(whole), what).read_all()


def load_frombuffer(buf: bytes | bytearray | memoryview | str) -> Arrays:
    """The arrays in the bytes of such a file. Raises as `load` does."""
    if isinstance(buf, str):
        # MXNet takes text, too: each character is a byte
        try:
            buf = buf.encode("latin-1")
        except UnicodeEncodeError:
            raise TypeMismatch("load_frombuffer: this text has characters that are no bytes"
                               ) from None
    if not isinstance(buf, (bytes, bytearray, memoryview)):
        raise TypeMismatch(f"load_frombuffer: buf required to be bytes, got {buf!r}")
    data = bytes(buf)
    return _Reader(io.BytesIO(data), len(data), "params buffer").read_all()


def load_one(data: bytes) -> NDArray:
    """One array in the form it has inside such a file, without names, as MXNet pickles arrays.

    Raises as `load` does.
    """
    reader = _Reader(io.BytesIO(data), len(data), "bytes of one array")
    made = reader.array()
    if reader.left:
        raise reader.bad(f"{reader.left} bytes are left behind the array")
    return made


class _Reader:
    """Reads one file; never asks for more memory than the file has bytes."""

    def __init__(self, file: BinaryIO, size: int, what: str, image: Image | None = None) -> None:
        self.file = file
        self.image = image
        self.size = size
        self.left = size
        self.what = what
        self.part = "the header"
        self.forms: set[int] = set()

    def bad(self, text: str) -> ModelFormatError:
        return ModelFormatError(text, self.what, f"{self.part}, byte {self.size - self.left}")

    def need(self, nbytes: int) -> None:
        """ParameterError unless so many bytes are left."""
        if nbytes > self.left:
            raise self.bad(f"the file ends too early: {nbytes} bytes expected, "
                           f"{self.left} are left")

    def unpack(self, form: str) -> tuple[int, ...]:
        nbytes = struct.calcsize("<" + form)
        self.need(nbytes)
        data = self.file.read(nbytes)
        if len(data) != nbytes:
            raise self.bad("the file became shorter while it was read")
        made = struct.unpack("<" + form, data)
        self.left -= nbytes
        return made

    def count(self, of: str, each: int) -> int:
        """A count of things of at least `each` bytes."""
        number = self.unpack("Q")[0]
        if number * each > self.left:
            raise self.bad(f"{number} {of} can not be in the {self.left} bytes that are left")
        return number

    def read_all(self) -> Arrays:
        if self.size < 24 or self.unpack("QQ")[0] != LIST_MAGIC:
            raise ModelFormatError("this is no file of arrays "
                                   f"(it does not begin with {LIST_MAGIC:#x})", self.what)
        number = self.count("arrays", 4)
        if number > MOST_ARRAYS + self.size // ARRAY_COST:
            raise self.bad(f"{number} arrays in {self.size} bytes: so many small ones are not "
                           "read")
        arrays = []
        for i in range(number):
            self.part = f"array {i} of {number}"
            arrays.append(self.array())
        self.check_mode(arrays)
        self.part = "the names"
        number = self.count("names", 8)
        if number == 0:
            return arrays
        if number != len(arrays):
            raise self.bad(f"{number} names for {len(arrays)} arrays")
        made: dict[str, NDArray] = {}
        for array in arrays:
            name = self.name()
            if name in made:
                raise self.bad(f"two arrays have the name {name!r}")
            made[name] = array
        return made

    def check_mode(self, arrays: Sequence[NDArray]) -> None:
        """ModelFormatError when a dimension 0 was written in the other mode of np_shape.

        A file of the form for that mode is also written without it, when an array has rank 0.
        """
        if not any(0 in x.shape for x in arrays):
            return
        if is_np_shape():
            if self.forms != {FORM_NUMPY_SHAPE}:
                raise ModelFormatError("dimensions of 0 were written outside of np_shape: "
                                       "load it there, in a `with np_shape(False)`", self.what)
        elif FORM_NUMPY_SHAPE in self.forms and all(x.shape for x in arrays):
            raise ModelFormatError("dimensions of 0 were written under np_shape: load it "
                                   "there, in a `with np_shape()`", self.what)

    def name(self) -> str:
        length = self.count("bytes of a name", 1)
        if length > LONGEST_NAME:
            raise self.bad(f"a name of {length} bytes, expected at most {LONGEST_NAME}")
        data = self.file.read(length)
        self.left -= length
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.bad(f"a name is no text: {error}") from None

    def array(self) -> NDArray:
        form = self.unpack("I")[0]
        self.forms.add(form)
        if form in (FORM_STORAGE, FORM_NUMPY_SHAPE):
            storage = self.unpack("i")[0]
            if storage != 0:
                kind = SPARSE.get(storage, f"storage type {storage}")
                raise self.bad(f"it is {kind}; only dense arrays can be read: save it with "
                               "tostype('default')")
            shape = self.shape("i", "q")
        elif form == FORM_64BIT:
            shape = self.shape("i", "q")
        elif form <= MAX_LEGACY_RANK:
            shape = self.unpack(f"{form}I")
        else:
            raise self.bad(f"{form:#x} is no form of an array")
        if shape is None or (not shape and form != FORM_NUMPY_SHAPE):
            # MXNet's array without anything, which writes nothing further
            return new_array((0,), FLOAT32, cpu())
        self.unpack("ii")  # the device it was on
        return self.elements(shape, self.dtype())

    def shape(self, rank_form: str, dim_form: str) -> tuple[int, ...] | None:
        """The shape, None when it is unknown."""
        rank = self.unpack(rank_form)[0]
        if rank == -1:
            return None
        if not 0 <= rank <= MAX_DIMS:
            raise self.bad(f"rank {rank}, expected at most {MAX_DIMS}")
        dims = self.unpack(f"{rank}{dim_form}")
        if any(dim < -1 for dim in dims):
            raise self.bad(f"shape {dims} has a negative dimension")
        return None if -1 in dims else dims

    def dtype(self) -> DType:
        flag = self.unpack("i")[0]
        if flag not in FLAG_NAMES:
            raise self.bad(f"type flag {flag}, expected one of "
                           f"{', '.join(f'{f} ({n})' for f, n in FLAG_NAMES.items())}")
        return find_dtype(FLAG_NAMES[flag])

    def elements(self, shape: tuple[int, ...], dtype: DType) -> NDArray:
        if len(shape) > MAX_DIMS:
            raise self.bad(f"rank {len(shape)}, expected at most {MAX_DIMS}")
        nbytes = prod(shape) * dtype.itemsize
        if nbytes > self.left:
            raise self.bad(f"shape {shape} of {dtype} needs {nbytes} bytes, "
                           f"{self.left} are left")
        if not has_arrays(shape):
            raise self.bad(f"shape {shape}, which no array can have")
        begin = self.size - self.left
        if (self.image is not None and nbytes >= LEAST_MAPPED and begin % dtype.itemsize == 0
                and dtype != np.bool_):
            self.file.seek(nbytes, os.SEEK_CUR)
            self.left -= nbytes
            return self.image.array(shape, dtype, begin)
        made = new_array(shape, dtype, cpu())
        if nbytes:
            made._chunk.check_and_alloc(soon=True)
            target = elements(made).reshape(-1).view(np.uint8)
            made._chunk.wrote()
            if self.file.readinto(target.data) != nbytes:  # type: ignore[attr-defined]
                raise self.bad("the file became shorter while it was read")
            if dtype == np.bool_:
                # numpy's bool must be 0 or 1 in memory
                np.not_equal(target, 0, out=target.view(np.bool_))
        self.left -= nbytes
        return made
