"""Strings."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph import Array, Node
from ..pattern import Pattern
from ..table import operator
from ..values import need_bytes
from .math import broadcast_size


def _texts(values: list[str], shape: tuple[int, ...]) -> Array:
    made = np.empty(len(values), object)
    made[:] = values
    return made.reshape(shape)


@operator("StringConcat")
def string_concat(node: Node, a: Array, b: Array) -> Array:
    a, b = np.broadcast_arrays(a, b)
    # doubled often enough, a word is as long as one likes
    need_bytes([sum(map(len, a.reshape(-1))) + sum(map(len, b.reshape(-1)))], np.dtype(np.uint8))
    return _texts([x + y for x, y in zip(a.reshape(-1), b.reshape(-1), strict=True)], a.shape)


string_concat.sized(broadcast_size)


@operator("RegexFullMatch")
def regex_full_match(node: Node, x: Array) -> Any:
    pattern = Pattern(node.attrs["pattern"])
    return np.array([pattern.matches(text) for text in x.reshape(-1)],
                    bool).reshape(x.shape)


@operator("StringNormalizer", data_dependent=True)
def string_normalizer(node: Node, x: Array) -> Array:
    stop = list(node.attr("stopwords") or ())
    cased = bool(node.attr("is_case_sensitive", 0))
    change = {"LOWER": str.lower, "UPPER": str.upper}.get(
        node.attr("case_change_action", "NONE"), str)
    refused = set(stop) if cased else {word.lower() for word in stop}
    rows = []
    for row in x.reshape(-1, x.shape[-1]):
        kept = [word for word in row if (word if cased else word.lower()) not in refused]
        rows.append([change(word) for word in kept] or [""])
    made = _texts([word for row in rows for word in row], (len(rows), -1))
    return made if x.ndim == 2 else made.reshape(-1)


@operator("StringSplit", data_dependent=True)
def string_split(node: Node, x: Array) -> tuple[Array, Array]:
    delimiter = node.attr("delimiter") or None
    most = int(node.attr("maxsplit", -1))
    parts = [text.split(delimiter, most) if text else [] for text in x.reshape(-1)]
    width = max(map(len, parts), default=0)
    need_bytes([*x.shape, width], np.dtype(object))
    texts = [word for row in parts for word in [*row, *[""] * (width - len(row))]]
    counts = np.array([len(row) for row in parts], np.int64).reshape(x.shape)
    return _texts(texts, (*x.shape, width)), counts
