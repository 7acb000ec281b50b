"""TfIdfVectorizer: how often each of a list of n-grams is in rows of words or numbers."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ..graph import Array, Node
from ..table import operator


def _pool(node: Node) -> list[tuple[Any, ...]]:
    """The n-grams of the attributes, shorter ones first."""
    words = node.attr("pool_int64s") or node.attr("pool_strings") or []
    starts = [*node.attr("ngram_counts"), len(words)]
    made = []
    for size, (begin, end) in enumerate(pairwise(starts), 1):
        if not 0 <= begin <= end <= len(words) or (end - begin) % size:
            raise ValueError(f"ngram_counts {starts[:-1]} for a pool of {len(words)}")
        made += [tuple(words[i:i + size]) for i in range(begin, end, size)]
    return made


def _counts(node: Node, pool: dict[tuple[Any, ...], int], row: list[Any], made: Array) -> None:
    """Adds to the counts of the n-grams that are in a row, with up to so many words skipped."""
    sizes = {len(gram) for gram in pool}
    least, most = int(node.attrs["min_gram_length"]), int(node.attrs["max_gram_length"])
    for size in (size for size in sizes if least <= size <= most):
        # n-grams of one word have nothing between their words
        # and of others the last word is in the row
        steps = min(int(node.attrs["max_skip_count"]) + 1, (len(row) - 1) // (size - 1)) if (
            size > 1) else 1
        for step in range(1, steps + 1):
            for begin in range(len(row) - (size - 1) * step):
                place = pool.get(tuple(row[begin:begin + (size - 1) * step + 1:step]))
                if place is not None:
                    made[place] += 1


@operator("TfIdfVectorizer")
def tf_idf_vectorizer(node: Node, x: Array) -> Array:
    grams, places = _pool(node), node.attr("ngram_indexes")
    if len(grams) != len(places) or x.ndim not in (1, 2) or min(places, default=0) < 0:
        raise ValueError(f"{len(grams)} n-grams with {len(places)} places, data of rank {x.ndim}")
    pool = dict(zip(grams, map(int, places), strict=True))
    rows = x.reshape(1, -1) if x.ndim == 1 else x
    made = np.zeros((len(rows), max(places, default=-1) + 1), np.float32)
    for row, counts in zip(rows.tolist(), made, strict=True):
        _counts(node, pool, row, counts)
    mode = node.attr("mode")
    if mode == "IDF":
        made = np.minimum(made, 1)
    if mode != "TF" and node.attr("weights"):
        weights = np.ones(made.shape[1], np.float32)
        weights[places] = node.attr("weights")
        made = made * weights
    return made[0] if x.ndim == 1 else made


@tf_idf_vectorizer.sized
def tf_idf_vectorizer_size(node: Node, x: Array) -> tuple[list[int], Any]:
    places = node.attr("ngram_indexes")
    return [1 if x.ndim == 1 else len(x), max(map(int, places), default=-1) + 1], (
        np.dtype(np.float32))
