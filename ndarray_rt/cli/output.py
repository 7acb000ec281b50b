"""How commands tell what they found: text for people, one JSON object for programs, and progress
where somebody watches."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import isfinite
from typing import Any, TypeVar

T = TypeVar("T")


def note(text: str) -> None:
    """Tells what a command chose by itself, beside its output."""
    print(text, file=sys.stderr)


def show_json(found: Any) -> None:
    """The one object of `--json`; numbers that JSON does not have are "nan", "inf" and "-inf"."""
    try:
        text = json.dumps(found, indent=1, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(found), indent=1, allow_nan=False)
    print(text)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(one) for one in value]
    return value if not isinstance(value, float) or isfinite(value) else str(value)


def table(rows: Sequence[Sequence[object]], right: Sequence[int] = ()) -> str:
    """Rows in columns; those in `right` end at the same place."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in texts) for i in range(len(texts[0]))] if texts else []
    return "\n".join("  ".join(
        cell.rjust(width) if i in right else cell.ljust(width)
        for i, (cell, width) in enumerate(zip(row, widths, strict=True))).rstrip()
        for row in texts)


def size_text(nbytes: float) -> str:
    """A number of bytes as people read it."""
    for unit in ("bytes", "KiB", "MiB"):
        if nbytes < 1024:
            return f"{nbytes:.0f} {unit}" if unit == "bytes" else f"{nbytes:.1f} {unit}"
        nbytes /= 1024
    return f"{nbytes:.1f} GiB"


def shape_text(shape: Sequence[int | str | None] | None) -> str:
    """A shape, in which ? is unknown."""
    if shape is None:
        return "of unknown shape"
    inside = ", ".join("?" if dim is None else str(dim) for dim in shape)
    return f"({inside}{',' if len(shape) == 1 else ''})"


def progress(items: Iterable[T], what: str, total: int) -> Iterator[T]:
    """The items; meanwhile a bar on the standard error, where that is a terminal."""
    if not sys.stderr.isatty():
        yield from items
        return
    width = 30
    try:
        for i, item in enumerate(items):
            done = min(width, width * i // max(total, 1))
            sys.stderr.write(f"\r{what} [{'#' * done}{'.' * (width - done)}] {i}/{total}")
            sys.stderr.flush()
            yield item
    finally:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


@contextmanager
def busy(what: str) -> Iterator[None]:
    """Says what takes so long, on the standard error, where that is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    sys.stderr.write(f"\r{what} ...")
    sys.stderr.flush()
    try:
        yield
    finally:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
