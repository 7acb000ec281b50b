"""The shape codes of MXNet's reshape. Touches no data."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ..errors import ShapeError

Shape = tuple[int, ...]


def reshaped(shape: Shape, codes: Sequence[int], reverse: bool = False) -> Shape:
    """The shape that `codes` make of `shape`; ShapeError when they do not fit.

    0 keeps a dimension, -1 is inferred, -2 keeps all that are left, -3 merges two, -4 splits one
    into the two that follow. `reverse` reads both from the right.

    >>> reshaped((2, 3, 4), (0, -3)), reshaped((8, 3), (-4, 2, -1, 0))
    ((2, 12), (2, 4, 3))
    """
    source = list(reversed(shape)) if reverse else list(shape)
    wanted = list(reversed(codes)) if reverse else list(codes)
    reader = _Reader(source, f"reshape: shape {shape} can not become {tuple(codes)}")
    made: list[int] = []
    inferred = -1
    i = 0
    while i < len(wanted):
        code = wanted[i]
        if code == 0:
            made.append(reader.take())
        elif code == -1:
            if inferred >= 0:
                raise ShapeError(f"{reader.what}: only one dimension can be inferred")
            inferred = len(made)
            made.append(1)
            reader.skip()
        elif code == -2:
            made += reader.rest()
        elif code == -3:
            made.append(reader.take() * reader.take())
        elif code == -4:
            made += _split(reader, wanted[i + 1:i + 3])
            i += 2
        elif code > 0:
            made.append(code)
            reader.skip()
        else:
            raise ShapeError(f"{reader.what}: there is no code {code}")
        i += 1
    if inferred >= 0:
        others = prod(made)
        made[inferred] = prod(shape) // others if others else 0
    if reverse:
        made.reverse()
    if prod(made) != prod(shape):
        raise ShapeError(f"Cannot reshape array of size {prod(shape)} into shape {tuple(codes)}")
    return tuple(made)


class _Reader:
    """Iterates over the dimensions of the source."""

    def __init__(self, dims: list[int], what: str) -> None:
        self._dims = dims
        self._next = 0
        self.what = what

    def take(self) -> int:
        if self._next >= len(self._dims):
            raise ShapeError(f"{self.what}: there are not so many dimensions to keep")
        self._next += 1
        return self._dims[self._next - 1]

    def skip(self) -> None:
        self._next += 1

    def rest(self) -> list[int]:
        found = self._dims[self._next:]
        self._next = max(self._next, len(self._dims))
        return found


def _split(reader: _Reader, parts: list[int]) -> list[int]:
    if len(parts) < 2:
        raise ShapeError(f"{reader.what}: -4 needs two dimensions behind it")
    whole = reader.take()
    first, second = parts
    if first == -1 and second == -1:
        raise ShapeError(f"{reader.what}: only one of the dimensions behind -4 can be -1")
    if first == -1 and second > 0:
        first = whole // second
    elif second == -1 and first > 0:
        second = whole // first
    if first < 0 or second < 0 or first * second != whole:
        raise ShapeError(f"{reader.what}: {whole} can not be split into {parts[0]} and {parts[1]}")
    return [first, second]
