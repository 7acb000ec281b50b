"""Sentences as numbers, and batches of sentences of like length. Source: MXNet's `mx.rnn.io`."""

from __future__ import annotations

import bisect
import logging
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import nd
from ..errors import ParameterError
from ..io import DataBatch, DataDesc, DataIter
from ..nd import NDArray
from ..public import shows
from .errors import CellError

__all__ = ["BucketSentenceIter", "encode_sentences"]
__dir__ = shows(globals())


def encode_sentences(sentences: Sequence[Sequence[str]], vocab: dict[str, int] | None = None,
                     invalid_label: int = -1, invalid_key: str = "\n", start_label: int = 0,
                     unknown_token: str | None = None) -> tuple[list[list[int]], dict[str, int]]:
    """(sentences as numbers, the vocabulary).

    Parameters
    ----------
    sentences : list of list of str
    vocab : dict of str to int
        Numbers of words, which `unknown_token` is added to; None: each new word gets the next one.
    invalid_label, invalid_key : int, str
        The number that no word gets, and what a new vocabulary calls it.
    start_label : int
        The first number that is given.
    unknown_token : str
        What a word that is not in the vocabulary counts as; None: a CellError.
    """
    is_new = vocab is None
    vocab = {invalid_key: invalid_label} if vocab is None else vocab
    upcoming = start_label
    coded = []
    for sentence in sentences:
        numbers = []
        for word in sentence:
            key = word
            if key not in vocab and unknown_token:
                key = unknown_token
            if key not in vocab:
                if not (is_new or unknown_token):
                    raise CellError(f"encode_sentences: Unknown token {word}")
                upcoming += upcoming == invalid_label
                vocab[key] = upcoming
                upcoming += 1
            numbers.append(vocab[key])
        coded.append(numbers)
    return coded, vocab


class BucketSentenceIter(DataIter):
    """Batches for language models: sentences of like length, and as labels the words that follow.

    Parameters
    ----------
    sentences : list of list of int
        As `encode_sentences` gives them.
    batch_size : int
    buckets : list of int
        Lengths that sentences are filled up to; None: each length that fills a batch. Sentences
        that are longer than all are left out.
    invalid_label : int
        What they are filled up with.
    data_name, label_name : str
    dtype : str
    layout : str
        'NT': (batch_size, length); 'TN': (length, batch_size).

    Each batch has the length of its bucket, and as `bucket_key`. `reset` shuffles by `random` and
    `numpy.random`. ParameterError for another layout, and where no bucket is left.
    """

    def __init__(self, sentences: Sequence[Sequence[int]], batch_size: int,
                 buckets: list[int] | None = None, invalid_label: int = -1,
                 data_name: str = "data", label_name: str = "softmax_label",
                 dtype: Any = "float32", layout: str = "NT") -> None:
        super().__init__()
        if layout not in ("NT", "TN"):
            raise ParameterError(f"BucketSentenceIter: Invalid layout {layout}: Must by NT (batch "
                                 "major) or TN (time major)")
        if not buckets:
            counts = np.bincount([len(sentence) for sentence in sentences])
            buckets = [length for length, count in enumerate(counts) if count >= batch_size]
        buckets.sort()
        rows: list[list[Any]] = [[] for _ in buckets]
        left_out = 0
        for sentence in sentences:
            place = bisect.bisect_left(buckets, len(sentence))
            if place == len(buckets):
                left_out += 1
                continue
            row = np.full((buckets[place],), invalid_label, dtype=dtype)
            row[:len(sentence)] = sentence
            rows[place].append(row)
        if left_out:
            logging.warning("BucketSentenceIter: discarded %d sentences longer than the largest "
                            "bucket.", left_out)
        self.buckets = [bucket for bucket, found in zip(buckets, rows, strict=True) if found]
        if not self.buckets:
            raise ParameterError(f"BucketSentenceIter: no bucket of {buckets} holds one of the "
                                 f"{len(sentences)} sentences")
        self.data = [np.asarray(found, dtype=dtype) for found in rows if found]
        self.batch_size = batch_size
        self.data_name = data_name
        self.label_name = label_name
        self.dtype = dtype
        self.invalid_label = invalid_label
        self.layout = layout
        self.major_axis = layout.find("N")
        self.default_bucket_key = max(self.buckets)
        self.nddata: list[NDArray] = []
        self.ndlabel: list[NDArray] = []
        shape = ((batch_size, self.default_bucket_key) if self.major_axis == 0
                 else (self.default_bucket_key, batch_size))
        self.provide_data = [DataDesc(data_name, shape, layout=layout)]
        self.provide_label = [DataDesc(label_name, shape, layout=layout)]
        self.idx = [(i, j) for i, found in enumerate(self.data)
                    for j in range(0, len(found) - batch_size + 1, batch_size)]
        self.curr_idx = 0
        self.reset()

    def reset(self) -> None:
        """Goes back to the beginning; batches and the sentences in them come in a new order."""
        self.curr_idx = 0
        random.shuffle(self.idx)
        self.nddata, self.ndlabel = [], []
        for rows in self.data:
            np.random.shuffle(rows)
            label = np.full_like(rows, self.invalid_label)
            label[:, :-1] = rows[:, 1:]
            self.nddata.append(nd.array(rows, dtype=self.dtype))
            self.ndlabel.append(nd.array(label, dtype=self.dtype))

    def next(self) -> DataBatch:
        """The next batch. Raises StopIteration at the end."""
        if self.curr_idx == len(self.idx):
            raise StopIteration
        bucket, first = self.idx[self.curr_idx]
        self.curr_idx += 1
        data, label = (arrays[bucket][first:first + self.batch_size]
                       for arrays in (self.nddata, self.ndlabel))
        if self.major_axis == 1:
            data, label = data.T, label.T
        return DataBatch([data], [label], pad=0, bucket_key=self.buckets[bucket],
                         provide_data=[DataDesc(self.data_name, data.shape, layout=self.layout)],
                         provide_label=[DataDesc(self.label_name, label.shape,
                                                 layout=self.layout)])
