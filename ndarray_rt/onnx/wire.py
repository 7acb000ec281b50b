"""Protocol Buffers' encoding: from the bytes of a file to messages.

A file is read in pieces, and the bytes of large tensors stay in it until their array is made, so
that weights are copied once. https://protobuf.dev/programming-guides/encoding
"""

from __future__ import annotations

import os
from array import array
from struct import unpack_from
from typing import Any

import numpy as np

from .messages import BYTES, DENSE, DOUBLE, FLOAT, INT32, MESSAGE, TEXT, UINT64, Field, Message

# what is read at once, and how much of it a tag and a length take at most
_WINDOW, _HEAD = 1 << 16, 30
# larger contents stay in the file
_KEPT = 1 << 12
# messages inside of messages, as many as protobuf allows
_DEEPEST = 100
_BLOCK = 1 << 16
_SIZES = {FLOAT: ("<f", 4), DOUBLE: ("<d", 8)}


class WrongBytes(ValueError):
    """The bytes are no message; says why."""


class FileBytes:
    """Bytes that are still in a file, while it is open."""

    __slots__ = ("_begin", "_file", "_length")

    def __init__(self, file: int, begin: int, length: int) -> None:
        self._file, self._begin, self._length = file, begin, length

    def __len__(self) -> int:
        return self._length

    def read_into(self, target: Any) -> None:
        """Fills memory of as many bytes. WrongBytes where the file has become shorter."""
        view = memoryview(target)
        done = 0
        while done < self._length:
            got = os.preadv(self._file, [view[done:]], self._begin + done)
            if not got:
                raise WrongBytes("the file became shorter while it was read")
            done += got

    def __bytes__(self) -> bytes:
        made = bytearray(self._length)
        self.read_into(made)
        return bytes(made)


def read_bytes(message: Message, data: bytes) -> None:
    """Fills a message from bytes, which stay alive where tensors are parts of them. WrongBytes for
    what is none."""
    _Decoder(data, None, len(data)).fill(message, 0, len(data), 0)


def read_file(message: Message, file: int, size: int) -> None:
    """Fills a message from an open file of so many bytes."""
    _Decoder(b"", file, size).fill(message, 0, size, 0)


class _Decoder:
    """Reads bytes from the front to the back. `data` are those from `base` on to `limit`."""

    def __init__(self, data: bytes, file: int | None, size: int) -> None:
        self.data = data
        self.file = file
        self.base = 0
        self.limit = len(data)
        self.size = size

    def move(self, begin: int, length: int) -> None:
        """Takes the bytes from `begin` on, at least `length`."""
        assert self.file is not None
        wanted = min(max(length, _WINDOW), self.size - begin)
        data = os.pread(self.file, wanted, begin)
        if len(data) < min(length, wanted):
            raise WrongBytes("the file became shorter while it was read")
        self.data, self.base, self.limit = data, begin, begin + len(data)

    def contents(self, begin: int, length: int) -> bytes:
        """Some bytes, which the caller has found to be there."""
        if begin < self.base or begin + length > self.limit:
            self.move(begin, length)
        at = begin - self.base
        return self.data[at:at + length]

    def varint(self, pos: int) -> tuple[int, int]:
        """A number and the place behind it."""
        data, base = self.data, self.base
        found = shift = 0
        try:
            for at in range(pos - base, pos - base + 10):
                byte = data[at]
                found |= (byte & 127) << shift
                if byte < 128:
                    return found & 0xFFFFFFFFFFFFFFFF, base + at + 1
                shift += 7
        except IndexError:
            raise WrongBytes("the bytes end too early") from None
        raise WrongBytes("a number has more than 10 bytes")

    def fill(self, into: Message, pos: int, end: int, depth: int) -> None:
        """Reads the fields of a message, which goes on to `end`."""
        if depth > _DEEPEST:
            raise WrongBytes(f"messages are nested more than {_DEEPEST} deep")
        fields, values = into.fields, into.__dict__
        while pos < end:
            if pos + _HEAD > self.limit and self.limit < self.size:
                self.move(pos, 0)
            tag, pos = self.varint(pos)
            field, wire = fields.get(tag >> 3), tag & 7
            if wire == 2:
                length, pos = self.varint(pos)
                if length > end - pos:
                    raise WrongBytes("the bytes end too early")
                if field is not None:
                    self._long(field, values, into, pos, length, depth)
                pos += length
            elif wire == 0:
                number, pos = self.varint(pos)
                if field is not None and field.kind not in (TEXT, BYTES, MESSAGE, FLOAT, DOUBLE):
                    _put(field, values, into, _whole(field.kind, number))
            elif wire in (1, 5):
                form, size = ("<d", 8) if wire == 1 else ("<f", 4)
                if size > end - pos:
                    raise WrongBytes("the bytes end too early")
                if field is not None and _SIZES.get(field.kind) == (form, size):
                    _put(field, values, into, unpack_from(form, self.contents(pos, size))[0])
                pos += size
            else:
                pos = self._skip(wire, tag, pos, end, depth)
            if tag < 8 or tag > 0xFFFFFFFF:
                raise WrongBytes(f"a field has the number {tag >> 3}")
        if pos > end:
            raise WrongBytes("the bytes end too early")

    def _long(self, field: Field, values: dict[str, Any], into: Message, pos: int, length: int,
              depth: int) -> None:
        """A field with a length before it."""
        kind = field.kind
        if kind == MESSAGE:
            assert field.message is not None
            if field.is_list:
                made = field.message()
                values.setdefault(field.name, []).append(made)
            else:
                # parts of one message may come one by one
                made = values.get(field.name) or field.message()
                _put(field, values, into, made)
            self.fill(made, pos, pos + length, depth + 1)
        elif kind == TEXT:
            _put(field, values, into, self.contents(pos, length).decode(
                "utf-8", "backslashreplace"))
        elif kind == BYTES:
            if length < _KEPT or field.is_list:
                _put(field, values, into, bytes(self.contents(pos, length)))
            elif self.file is None:
                _put(field, values, into, memoryview(self.data)[pos:pos + length])
            else:
                _put(field, values, into, FileBytes(self.file, pos, length))
        elif field.is_list:
            self._numbers(field, values, pos, length)

    def _numbers(self, field: Field, values: dict[str, Any], pos: int, length: int) -> None:
        """Numbers of one kind, one behind the other."""
        made: Any = values.get(field.name)
        if made is None:
            made = values[field.name] = array(DENSE[field.kind]) if field.dense else []
        size = _SIZES[field.kind][1] if field.kind in _SIZES else 0
        if size and length % size:
            raise WrongBytes(f"{length} bytes are no numbers of {size} bytes")
        end = pos + length
        while pos < end:
            piece = self.contents(pos, min(_BLOCK, end - pos))
            if size:
                found = np.frombuffer(piece, f"<f{size}")
            else:
                found, taken = _varints(piece, field.kind)
                if not taken:
                    raise WrongBytes("the bytes end too early")
                piece = piece[:taken]
            if field.dense:
                made.frombytes(found.tobytes())
            else:
                made.extend(found.tolist())
            pos += len(piece)

    def _skip(self, wire: int, tag: int, pos: int, end: int, depth: int) -> int:
        """The place behind a group, which no message here has."""
        if wire != 3:
            raise WrongBytes(f"a field has the unknown form {wire}")
        waiting = [tag >> 3]
        while waiting:
            if pos >= end:
                raise WrongBytes("the bytes end too early")
            if pos + _HEAD > self.limit and self.limit < self.size:
                self.move(pos, 0)
            tag, pos = self.varint(pos)
            wire = tag & 7
            if wire == 0:
                pos = self.varint(pos)[1]
            elif wire == 2:
                length, pos = self.varint(pos)
                pos += length
            elif wire in (1, 5):
                pos += 8 if wire == 1 else 4
            elif wire == 3:
                waiting.append(tag >> 3)
                if depth + len(waiting) > _DEEPEST:
                    raise WrongBytes(f"messages are nested more than {_DEEPEST} deep")
            elif wire != 4 or waiting.pop() != tag >> 3:
                raise WrongBytes("a group has no end")
        return pos


def _put(field: Field, values: dict[str, Any], into: Message, value: Any) -> None:
    name = field.name
    if field.is_list:
        made = values.get(name)
        if made is None:
            made = values[name] = array(DENSE[field.kind]) if field.dense else []
        made.append(value)
        return
    if name in into.one_of:
        for other in into.one_of.intersection(values):
            if other != name:
                del values[other]
    values[name] = value


def _whole(kind: int, number: int) -> int:
    """The whole number that 64 bits mean."""
    if kind == UINT64:
        return number
    if kind == INT32:
        number &= 0xFFFFFFFF
        return number - (1 << 32) if number >> 31 else number
    return number - (1 << 64) if number >> 63 else number


def _varints(piece: bytes, kind: int) -> tuple[Any, int]:
    """All whole numbers that end in these bytes, and how many bytes they are."""
    raw = np.frombuffer(piece, np.uint8)
    ends = np.flatnonzero(raw < 128)
    if not ends.size:
        return ends, 0
    begins = np.concatenate((ends[:1] * 0, ends[:-1] + 1))
    lengths = ends - begins + 1
    most = int(lengths.max())
    if most > 10:
        raise WrongBytes("a number has more than 10 bytes")
    made = np.zeros(ends.size, np.uint64)
    for place in range(most):
        longer = lengths > place
        bits = (raw[begins[longer] + place] & 127).astype(np.uint64)
        made[longer] |= bits << np.uint64(7 * place)
    if kind == INT32:
        return made.astype(np.uint32).view(np.int32), int(ends[-1]) + 1
    return (made if kind == UINT64 else made.view(np.int64)), int(ends[-1]) + 1
