"""Files of records, one after the other, and records of images with their labels.

A record is written in one part or in several: where its bytes contain the word that begins a part,
at a multiple of four, they are split there, and the word itself is left out.

    word  0xced7230a | 3 bits: which part, 29 bits: length | bytes, up to a multiple of four

Source: MXNet's `mx.recordio` and dmlc-core's RecordIO; files are the same byte for byte.
"""

from __future__ import annotations

import os
import struct
import threading
from collections import namedtuple
from collections.abc import Callable
from io import BufferedReader, FileIO
from numbers import Number
from typing import Any, NoReturn

import numpy as np

from .errors import (
    ModelFormatError,
    MXNetError,
    NameMismatch,
    OutOfBounds,
    ParameterError,
    TypeMismatch,
    shown,
)
from .fork import renew_in_child
from .public import shows

__all__ = ["IRHeader", "MXIndexedRecordIO", "MXRecordIO", "pack", "pack_img", "unpack",
           "unpack_img"]
__dir__ = shows(globals())

MAGIC = 0xCED7230A
MAGIC_BYTES = struct.pack("<I", MAGIC)
HEAD = struct.Struct("<II")
LENGTH_BITS = 29
MOST_BYTES = 1 << LENGTH_BITS  # a length is below it
WHOLE, FIRST, MIDDLE, LAST = range(4)  # which part of a record


class _WrongMode(MXNetError, AssertionError):
    """A file that is open for the other direction. MXNet asserts this."""


def framed(record: bytes | bytearray | memoryview) -> list[bytes | memoryview]:
    """The pieces of which a record is made in a file.

    Raises ParameterError for 2**29 bytes and more in one part.
    """
    view = memoryview(record).cast("B")
    whole = bytes(record) if not isinstance(record, bytes) else record
    pieces: list[bytes | memoryview] = []
    begin, is_first = 0, True
    at = whole.find(MAGIC_BYTES)
    while at >= 0:
        if at % 4 == 0:
            pieces += _part(view[begin:at], FIRST if is_first else MIDDLE)
            begin, is_first = at + 4, False
            at = whole.find(MAGIC_BYTES, begin)
        else:
            at = whole.find(MAGIC_BYTES, at + 1)
    pieces += _part(view[begin:], WHOLE if is_first else LAST)
    return pieces


def _part(data: memoryview, which: int) -> list[bytes | memoryview]:
    if data.nbytes >= MOST_BYTES:
        raise ParameterError(f"a record has a part of {data.nbytes} bytes, expected less than "
                             "2**29")
    head = HEAD.pack(MAGIC, which << LENGTH_BITS | data.nbytes)
    return [head, data, bytes(-data.nbytes % 4)]


def _reason(error: OSError | ValueError) -> str:
    """Why a file was not opened, in the system's words where it has been asked."""
    return getattr(error, "strerror", None) or str(error)


class RecordReader:
    """Reads records of a file from any place where one begins.

    Raises MXNetError when the file can not be opened, ModelFormatError for one that is damaged or
    something else.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self._file = BufferedReader(FileIO(path, "r"), 1 << 16)
        except (OSError, ValueError) as error:  # the latter for a NUL in the path
            raise MXNetError(f"{path!r}: {_reason(error)}; expected a file of records"
                             ) from None
        self.size = os.fstat(self._file.fileno()).st_size

    def close(self) -> None:
        """Closes the file; reading is over."""
        self._file.close()

    def tell(self) -> int:
        """Where the next record begins."""
        return self._file.tell()

    def seek(self, place: int) -> None:
        """Goes to a record that begins at `place`. Raises OutOfBounds beyond the end."""
        if not 0 <= place < self.size:
            raise OutOfBounds(f"{self.path!r}: there is no record at byte {place}, the file has "
                              f"{self.size}")
        self._file.seek(place)

    def rewind(self) -> None:
        """Goes to the first record."""
        self._file.seek(0)

    def read(self) -> bytes | None:
        """The next record, None at the end."""
        parts = self._parts(self._read_part)
        return None if parts is None else MAGIC_BYTES.join(parts)

    def skip(self) -> bool:
        """Goes behind the next record; False at the end."""
        return self._parts(self._skip_part) is not None

    def _parts(self, next_part: Callable[[], tuple[int | None, bytes]]) -> list[bytes] | None:
        which, data = next_part()
        if which is None:
            return None
        if which not in (WHOLE, FIRST):
            self._bad(f"a record begins with part {which}, expected {WHOLE} or {FIRST}")
        parts = [data]
        while which not in (WHOLE, LAST):
            which, data = next_part()
            if which not in (MIDDLE, LAST):
                self._bad("the file ends, or another record begins, before a record's last part")
            parts.append(data)
        return parts

    def _bad(self, text: str) -> NoReturn:
        raise ModelFormatError(text, repr(self.path), f"byte {self._file.tell()}")

    def _head(self) -> tuple[int | None, int]:
        """Which part comes, and its length."""
        head = self._file.read(HEAD.size)
        if not head:
            return None, 0
        if len(head) < HEAD.size:
            self._bad("the file ends in the midst of a record's header")
        magic, word = HEAD.unpack(head)
        if magic != MAGIC:
            self._bad(f"no record begins here: found {magic:#010x}, expected {MAGIC:#010x}")
        which, length = word >> LENGTH_BITS, word & (MOST_BYTES - 1)
        if which > LAST:
            self._bad(f"a record's part is {which}, expected 0 to {LAST}")
        if length > self.size - self._file.tell():
            self._bad(f"the file ends too early: a record's part has {length} bytes, "
                      f"{self.size - self._file.tell()} are left")
        return which, length

    def _read_part(self) -> tuple[int | None, bytes]:
        which, length = self._head()
        if which is None:
            return None, b""
        padded = length + -length % 4
        data = self._file.read(padded)
        if len(data) != padded:
            self._bad("the file ends too early: a record is not filled up to a multiple of 4 bytes")
        return which, data[:length]

    def _skip_part(self) -> tuple[int | None, bytes]:
        which, length = self._head()
        if which is not None:
            self._file.seek(length + -length % 4, os.SEEK_CUR)
        return which, b""


class MXRecordIO:
    """A file of records that is read or written from its beginning to its end.

    `flag` is 'r' or 'w'. A child process that was forked while the file was open can neither read
    nor write on: RuntimeError, until `reset`. Pickled or copied, it is opened anew. Raises
    MXNetError for a file that can not be opened, ModelFormatError for one that is damaged.
    """

    def __init__(self, uri: str | os.PathLike[str], flag: str) -> None:
        self.uri = os.fspath(uri)
        self.flag = flag
        self.pid: int | None = None
        self.is_open = False
        self.writable = False
        self._reader: RecordReader | None = None
        self._writer: FileIO | None = None
        self.open()

    def open(self) -> None:
        """Opens the file at its beginning; a file to write to is empty then."""
        if self.flag not in ("r", "w"):
            raise ParameterError(f"Invalid flag {self.flag}: expected 'r' or 'w'")
        self.writable = self.flag == "w"
        if self.writable:
            try:
                # not buffered, so that a forked child has nothing left to write
                self._writer = FileIO(self.uri, "w")
            except (OSError, ValueError) as error:
                raise MXNetError(f"{self.uri!r}: {_reason(error)}") from None
        else:
            self._reader = RecordReader(self.uri)
        self.pid = os.getpid()
        self.is_open = True

    def close(self) -> None:
        """Closes the file. Further calls do nothing."""
        if not self.__dict__.get("is_open"):
            return
        for file in (self._reader, self._writer):
            if file is not None:
                file.close()
        self._reader = self._writer = None
        self.is_open = False
        self.pid = None

    def reset(self) -> None:
        """Goes back to the beginning; a file to write to is emptied."""
        self.close()
        self.open()

    def __del__(self) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        if self.is_open and self.writable:
            raise TypeMismatch(f"{self.uri!r}: is open for writing and can be neither pickled nor "
                               "copied: the copy would begin the file anew")
        return {**self.__dict__, "_reader": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self.is_open:
            self.is_open = False
            self.open()

    def _check_pid(self, allow_reset: bool = False) -> None:
        if self.pid == os.getpid():
            return
        if not self.is_open and not allow_reset:
            raise MXNetError(f"{self.uri!r}: the file of records is closed")
        if not allow_reset:
            raise MXNetError(f"{self.uri!r}: Forbidden operation in multiple processes: the file "
                             "was opened by another one; call reset in this one")
        self.reset()

    def write(self, buf: bytes | bytearray | memoryview) -> None:
        """Writes one record. Raises TypeMismatch for what is no bytes."""
        if not self.writable:
            raise _WrongMode(f"{self.uri!r}: is open for reading, flag is {self.flag!r}")
        if not isinstance(buf, (bytes, bytearray, memoryview)):
            raise TypeMismatch(f"write: buf got {shown(buf)}, expected bytes")
        self._check_pid()
        assert self._writer is not None
        pieces = framed(buf)
        data = b"".join(pieces)
        done = self._writer.write(data)
        while done < len(data):
            done += self._writer.write(memoryview(data)[done:])

    def read(self) -> bytes | None:
        """The next record, None at the end."""
        if self.writable:
            raise _WrongMode(f"{self.uri!r}: is open for writing")
        self._check_pid()
        assert self._reader is not None
        return self._reader.read()


class MXIndexedRecordIO(MXRecordIO):
    """A file of records with a second file that says where each one is.

    The index has a line `key TAB byte` for each record; `key_type` makes keys of its text. `keys`
    lists them in the order of the file, `idx` maps them to places. Reading by key opens the file
    anew where it is closed, or belongs to the parent of a forked child. Raises as MXRecordIO does.
    """

    def __init__(self, idx_path: str | os.PathLike[str], uri: str | os.PathLike[str], flag: str,
                 key_type: Callable[[Any], Any] = int) -> None:
        self.idx_path = os.fspath(idx_path)
        self.idx: dict[Any, int] = {}
        self.keys: list[Any] = []
        self.key_type = key_type
        self.fidx: Any = None
        self._renew_locks()
        renew_in_child(self)
        super().__init__(uri, flag)

    def _renew_locks(self) -> None:
        # going to a record and reading it are one thing to other threads
        self._lock = threading.RLock()

    def open(self) -> None:
        super().open()
        self.idx = {}
        self.keys = []
        try:
            # line by line, so that a forked child has nothing left to write
            self.fidx = open(self.idx_path, self.flag,  # noqa: SIM115 - closed by `close`
                             buffering=1 if self.writable else -1)
        except (OSError, ValueError) as error:
            super().close()
            raise MXNetError(f"{self.idx_path!r}: {_reason(error)}; expected an index of "
                             f"the records in {self.uri!r}") from None
        if not self.writable:
            for number, line in enumerate(self.fidx, 1):
                self._add(number, line.strip().split("\t"))

    def _add(self, number: int, words: list[str]) -> None:
        try:
            key, place = self.key_type(words[0]), int(words[1])
        except (IndexError, ValueError, TypeError) as error:
            raise ModelFormatError(f"expected a key, a tab and a place in the file, got {words}",
                                   repr(self.idx_path), f"line {number}") from error
        self.idx[key] = place
        self.keys.append(key)

    def close(self) -> None:
        """Closes both files. Further calls do nothing."""
        super().close()
        if self.__dict__.get("fidx") is not None:
            self.fidx.close()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items()
                if name != "_lock"} | {"fidx": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._renew_locks()
        renew_in_child(self)
        super().__setstate__(state)

    def seek(self, idx: Any) -> None:
        """Goes to the record of a key. Raises NameMismatch (KeyError) for an unknown one,
        OutOfBounds where the index points beyond the end of the file."""
        if self.writable:
            raise _WrongMode(f"{self.uri!r}: is open for writing")
        self._check_pid(allow_reset=True)
        assert self._reader is not None
        try:
            place = self.idx[idx]
        except (KeyError, TypeError):
            raise NameMismatch(f"{self.idx_path!r}: has no record of key {shown(idx)}") from None
        self._reader.seek(place)

    def tell(self) -> int:
        """Where the next record will be written."""
        if not self.writable:
            raise _WrongMode(f"{self.uri!r}: is open for reading, flag is {self.flag!r}")
        self._check_pid()
        assert self._writer is not None
        return self._writer.tell()

    def read_idx(self, idx: Any) -> bytes | None:
        """The record of a key; any thread may ask. Raises as `seek` does."""
        with self._lock:
            self.seek(idx)
            return self.read()

    def write_idx(self, idx: Any, buf: bytes | bytearray | memoryview) -> None:
        """Writes one record, and its key and place to the index."""
        key = self.key_type(idx)
        place = self.tell()
        self.write(buf)
        self.fidx.write(f"{key}\t{place}\n")
        self.idx[key] = place
        self.keys.append(key)


# ---- records of images ------------------------------------------------------------------------

HEADER = namedtuple("HEADER", ["flag", "label", "id", "id2"])
IRHeader = HEADER  # pickle finds the class by its own name
IRHeader.__doc__ = """What stands before an image in its record.

`label` is a number or an array of them, `flag` how many numbers the array has and 0 for a single
one, `id` and `id2` the lower and upper half of the image's number. Source: MXNet's IRHeader.
"""

_IR = struct.Struct("<IfQQ")


def pack(header: Any, s: bytes) -> bytes:
    """A record of an image's bytes `s` behind its header; `flag` is set by the label.

    Raises ParameterError for numbers that the header's fields do not hold.
    """
    header = IRHeader(*header)
    labels = b""
    if isinstance(header.label, Number):
        header = header._replace(flag=0)
    else:
        values = np.asarray(header.label, dtype=np.float32)
        header = header._replace(flag=values.size, label=0)
        labels = values.tobytes()
    try:
        return _IR.pack(*header) + labels + s
    except (struct.error, OverflowError) as error:
        raise ParameterError(f"pack: {header}: {error}") from None


def unpack(s: bytes) -> tuple[IRHeader, bytes]:
    """(header, what follows it) of a record; a label of several numbers is a float32 array.

    Raises ModelFormatError for a record that is too short.
    """
    if len(s) < _IR.size:
        raise ModelFormatError(f"unpack: the record has {len(s)} bytes, expected at least the "
                               f"{_IR.size} of a header")
    header = IRHeader(*_IR.unpack(s[:_IR.size]))
    rest = s[_IR.size:]
    if header.flag > 0:
        if len(rest) < 4 * header.flag:
            raise ModelFormatError(f"unpack: the header tells of {header.flag} labels, but only "
                                   f"{len(rest)} bytes follow it")
        header = header._replace(label=np.frombuffer(rest, np.float32, header.flag))
        rest = rest[4 * header.flag:]
    return header, rest


def unpack_img(s: bytes, iscolor: int = -1) -> tuple[IRHeader, Any]:
    """(header, image) of a record: a NumPy array of uint8, (height, width, channels) in the order
    blue, green, red, alpha, or (height, width).

    `iscolor` 1 gives three channels, 0 grey, -1 what the file has. Needs Pillow. Raises
    ParameterError for bytes that are no image.
    """
    from .image.codecs import decode
    header, rest = unpack(s)
    return header, decode(rest, iscolor, to_rgb=False, grey_axis=False)


def pack_img(header: Any, img: Any, quality: int = 95, img_fmt: str = ".jpg") -> bytes:
    """A record of an image, encoded: (height, width) or (height, width, channels) of uint8 in the
    order blue, green, red, alpha.

    `quality` is JPEG's (1 to 100), or PNG's compression (0 to 9, larger numbers count as 9).
    Needs Pillow. Raises ParameterError for another format or another kind of array.
    """
    from .image.codecs import encode
    return pack(header, encode(img, quality, img_fmt))
