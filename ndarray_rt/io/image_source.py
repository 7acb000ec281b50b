"""Records of images by their number, from one file or several, for many threads."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import MXNetError, ParameterError
from ..fork import renew_in_child
from ..recordio import MXIndexedRecordIO, RecordReader, unpack
from .image_params import RecordParams

AnyArray = np.ndarray[Any, Any]

_MAGIC_OF_ORDER = 111  # MXNet adds it to the seed


class ImageRecord(NamedTuple):
    """A record of an image: its number, its labels, the bytes of its file."""

    number: int
    label: AnyArray
    content: bytes


class RecordSource:
    """The records of a part of the files, in the files' order.

    Parts are equal numbers of records where there is an index, else equal numbers of bytes, as in
    MXNet. Any thread may read.
    """

    def __init__(self, p: RecordParams, what: str) -> None:
        self._what = what
        self._paths = _files(p.path_imgrec)
        self._renew_locks()
        renew_in_child(self)
        self._places = self._indexed(p) if p.path_imgidx else self._found(p)
        self._labels = _labels(p.path_imglist, what) if p.path_imglist else None

    def _renew_locks(self) -> None:
        self._lock = threading.Lock()
        # a forked child that reads its parent's files would move the parent's place in them
        self._readers = [RecordReader(path) for path in self._paths]

    def __len__(self) -> int:
        return len(self._places)

    def read(self, at: int) -> ImageRecord:
        """One record. Raises ParameterError for one that is damaged, or has no label."""
        file, place = self._places[at]
        with self._lock:
            reader = self._readers[file]
            reader.seek(place)
            record = reader.read()
        assert record is not None  # a record begins where `seek` went
        header, content = unpack(record)
        number = int(header.id)
        label = np.atleast_1d(np.asarray(header.label, np.float32))
        if self._labels is not None:
            if number not in self._labels:
                raise ParameterError(f"{self._what}: fail to find imagelabel for id {number}")
            label = self._labels[number]
        return ImageRecord(number, label, content)

    def close(self) -> None:
        """Closes the files."""
        for reader in self._readers:
            reader.close()

    def _indexed(self, p: RecordParams) -> list[tuple[int, int]]:
        if len(self._paths) != 1:
            raise ParameterError(f"{self._what}: path_imgidx is for one file of records, got "
                                 f"{len(self._paths)}")
        index = MXIndexedRecordIO(p.path_imgidx, self._paths[0], "r")
        places = sorted(index.idx.values())
        index.close()
        each = -(-len(places) // p.num_parts)
        return [(0, place) for place in places[p.part_index * each:(p.part_index + 1) * each]]

    def _found(self, p: RecordParams) -> list[tuple[int, int]]:
        """Records that begin in a part of all bytes."""
        total = sum(reader.size for reader in self._readers)
        each = -(-total // p.num_parts)
        each += -each % 4
        first, end = p.part_index * each, min((p.part_index + 1) * each, total)
        found, before = [], 0
        for file, reader in enumerate(self._readers):
            place = 0
            while before + place < end and reader.skip():
                if before + place >= first:
                    found.append((file, place))
                place = reader.tell()
            before += reader.size
        return found


def _files(path: str) -> list[str]:
    """Paths with ; between, folders as the files in them."""
    found = []
    for one in path.split(";"):
        if os.path.isdir(one):
            found += sorted(str(entry) for entry in Path(one).iterdir() if entry.is_file())
        else:
            found.append(one)
    return found


def _labels(path: str, what: str) -> dict[int, AnyArray]:
    """Labels by the numbers of images, from a list of images."""
    found = {}
    try:
        with open(path, encoding="utf-8") as file:
            for line, text in enumerate(file, 1):
                words = text.rstrip("\n").split("\t")
                try:
                    if len(words) < 3:
                        raise ValueError("expected a number, labels and a path between tabs")
                    found[int(words[0])] = np.array(words[1:-1], np.float32)
                except ValueError as error:
                    raise ParameterError(f"{what}: {path!r}, line {line}: Bad ImageList format: "
                                         f"{error}") from None
    except OSError as error:
        raise MXNetError(f"{what}: {path!r}: {error.strerror or error}") from None
    return found


class Orders:
    """The order of records in each pass; shuffled as MXNet shuffles for the same seed."""

    def __init__(self, count: int, shuffle: bool, seed: int) -> None:
        self._count = count
        self._random = np.random.RandomState((_MAGIC_OF_ORDER + seed) % 2**32) if shuffle else None
        self._made: list[AnyArray] = []

    def __getitem__(self, epoch: int) -> AnyArray:
        while len(self._made) <= epoch:
            order = np.arange(self._count)
            if self._random is not None:
                _shuffle(order, self._random)
            self._made.append(order)
        return self._made[epoch]

    def forget(self, epoch: int) -> None:
        """Passes before this one will not be asked for."""
        for old in range(min(epoch, len(self._made))):
            self._made[old] = self._made[old][:0]


def _shuffle(order: AnyArray, random: np.random.RandomState) -> None:
    """std::shuffle of libstdc++ with a generator of 32 bits: each place with one up to it."""
    draws = random.randint(0, 2**32, max(len(order) - 1, 0), dtype=np.uint32)
    used = 0
    for place in range(1, len(order)):
        share = (2**32 - 1) // (place + 1)
        while True:
            draw = int(draws[used]) if used < len(draws) else int(
                random.randint(0, 2**32, dtype=np.uint32))
            used += 1
            if draw < share * (place + 1):
                break
        other = draw // share
        order[place], order[other] = order[other], order[place]
