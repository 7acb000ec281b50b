"""ImageIter: batches of images out of record files, lists of files, or folders."""

from __future__ import annotations

import logging
import os
import random
from numbers import Number
from typing import Any

import numpy as np

from .. import nd, recordio
from ..errors import MXNetError, ParameterError, ShapeError
from ..io.data import DataBatch, DataIter
from ..nd import NDArray
from ..public import shows
from .augmenters import CreateAugmenter
from .read import imdecode

__all__ = ["ImageIter"]
__dir__ = shows(globals())

LABELS = ("int32", "float32", "int64", "float64")
LAST_BATCHES = ("pad", "discard", "roll_over")


class _WrongSource(ParameterError, AssertionError):
    """Arguments that contradict each other. MXNet asserts them."""


class ImageIter(DataIter):
    """Batches of images with their labels, read and changed one by one.

    Parameters
    ----------
    batch_size : int
    data_shape : tuple of int
        (3, height, width) of one image.
    label_width : int
        How many numbers a label has.
    path_imgrec, path_imgidx : str
        A file of records, and its index, which is needed for `shuffle` and parts.
    path_imglist, path_root : str
        A file of lines `number TAB label ... TAB path`, and the folder that paths are seen from.
    imglist : list
        The same without a file: lists `[label, ..., path]`.
    shuffle : bool
        Takes images in another order each time, by `random`.
    part_index, num_parts : int
        Which of so many equal parts of the images to read.
    aug_list : list of Augmenter
        What is done to each image; else what CreateAugmenter makes of further keywords.
    data_name, label_name, dtype : str
        Names of the arrays, and the dtype of labels.
    last_batch_handle : {'pad', 'discard', 'roll_over'}
        What becomes of the last images, when they are too few for a batch: the first ones follow
        them, they are left out, or they begin the next pass.

    Raises ParameterError for arguments that contradict each other, MXNetError (RuntimeError) that
    names the image which can not be read. Source: MXNet's ImageIter.
    """

    def __init__(self, batch_size: int, data_shape: tuple[int, ...], label_width: int = 1,
                 path_imgrec: str | None = None, path_imglist: str | None = None,
                 path_root: str | None = None, path_imgidx: str | None = None,
                 shuffle: bool = False, part_index: int = 0, num_parts: int = 1,
                 aug_list: list[Any] | None = None, imglist: list[Any] | None = None,
                 data_name: str = "data", label_name: str = "softmax_label",
                 dtype: str = "float32", last_batch_handle: str = "pad", **kwargs: Any) -> None:
        super().__init__(batch_size)
        what = type(self).__name__
        if not path_imgrec and not path_imglist and not isinstance(imglist, list):
            raise _WrongSource(f"{what}: needs one of path_imgrec, path_imglist and imglist")
        if dtype not in LABELS:
            raise _WrongSource(f"{what}: {dtype} label not supported, expected one of "
                               f"{', '.join(LABELS)}")
        if last_batch_handle not in LAST_BATCHES:
            raise ParameterError(f"{what}: last_batch_handle is {last_batch_handle!r}, expected "
                                 f"one of {', '.join(LAST_BATCHES)}")
        self.imgrec: Any = None
        self.imgidx: list[Any] | None = None
        if path_imgrec:
            if path_imgidx:
                self.imgrec = recordio.MXIndexedRecordIO(path_imgidx, path_imgrec, "r")
                self.imgidx = list(self.imgrec.keys)
            else:
                self.imgrec = recordio.MXRecordIO(path_imgrec, "r")
        self.imglist: dict[Any, tuple[NDArray, str]] | None = None
        if path_imglist:
            self.imglist = _list_of_file(path_imglist, dtype, what)
        elif isinstance(imglist, list):
            self.imglist = _list_of_rows(imglist, dtype)
        self.path_root = path_root
        self.check_data_shape(data_shape)
        self.provide_data = [(data_name, (batch_size, *data_shape))]
        label_shape = (batch_size, label_width) if label_width > 1 else (batch_size,)
        self.provide_label = [(label_name, label_shape)]
        self.data_shape = tuple(data_shape)
        self.label_width = label_width
        self.shuffle = shuffle
        self.seq = self._part(self._order(shuffle or num_parts > 1), part_index, num_parts)
        self.num_image = None if self.seq is None else len(self.seq)
        self.auglist: list[Any] = (CreateAugmenter(data_shape, **kwargs)
                                   if aug_list is None else aug_list)
        self.last_batch_handle = last_batch_handle
        self.cur = 0
        self._allow_read = True
        # (data, labels, how many) of images that begin the next pass
        self._kept: tuple[Any, Any, int] | None = None
        self.reset()

    def _order(self, needs_index: bool) -> list[Any] | None:
        """Keys of the images, None where records are read as they come."""
        if self.imgrec is None:
            assert self.imglist is not None
            return list(self.imglist)
        if needs_index and self.imgidx is None:
            raise _WrongSource(f"{type(self).__name__}: shuffle and num_parts need path_imgidx, "
                               "the index of the record file")
        return self.imgidx

    def _part(self, keys: list[Any] | None, part_index: int, num_parts: int) -> list[Any] | None:
        if num_parts <= 1:
            return keys
        if not 0 <= part_index < num_parts:
            raise _WrongSource(f"{type(self).__name__}: part_index is {part_index}, expected 0 to "
                               f"{num_parts - 1}")
        assert keys is not None
        each = len(keys) // num_parts
        return keys[part_index * each:(part_index + 1) * each]

    # ---- passes ---------------------------------------------------------------------------------

    def reset(self) -> None:
        """Goes to the beginning, or to the images that roll over."""
        if self.seq is not None and self.shuffle:
            random.shuffle(self.seq)
        if self.last_batch_handle != "roll_over" or self._kept is None:
            self._begin()

    def hard_reset(self) -> None:
        """Goes to the beginning; nothing rolls over."""
        if self.seq is not None and self.shuffle:
            random.shuffle(self.seq)
        self._kept = None
        self._begin()

    def _begin(self) -> None:
        if self.imgrec is not None:
            self.imgrec.reset()
        self.cur = 0
        self._allow_read = True

    def next_sample(self) -> tuple[Any, bytes]:
        """(label, bytes of the image) of the next one. Raises StopIteration at the end."""
        if not self._allow_read:
            raise StopIteration
        if self.seq is None:
            record = self.imgrec.read()
            if record is None:
                if self.last_batch_handle != "discard":
                    self.imgrec.reset()
                raise StopIteration
            header, image = recordio.unpack(record)
            return header.label, image
        if self.cur >= len(self.seq):
            if self.last_batch_handle != "discard":
                self.cur = 0
            raise StopIteration
        key = self.seq[self.cur]
        self.cur += 1
        if self.imgrec is None:
            assert self.imglist is not None
            label, path = self.imglist[key]
            return label, self.read_image(path)
        header, image = recordio.unpack(self.imgrec.read_idx(key))
        return (header.label if self.imglist is None else self.imglist[key][0]), image

    def next(self) -> DataBatch:
        if self._kept is not None:
            data, labels, count = self._kept
        else:
            data, labels = self._empty()
            count = self._batchify(data, labels)
        pad = self.batch_size - count
        if pad:
            if self.last_batch_handle == "discard":
                raise StopIteration
            if self.last_batch_handle == "roll_over" and self._kept is None:
                self._kept = data, labels, count
                raise StopIteration
            while count < self.batch_size:
                count = self._batchify(data, labels, count)
            if self.last_batch_handle == "pad":
                self._allow_read = False
            else:
                self._kept = None
        return DataBatch([nd.array(data)], [nd.array(labels)], pad=pad)

    def _empty(self) -> tuple[Any, Any]:
        return (np.zeros((self.batch_size, *self.data_shape), np.float32),
                np.zeros(self.provide_label[0][1], np.float32))

    def _batchify(self, data: Any, labels: Any, begin: int = 0) -> int:
        """Fills rows from `begin` on; gives the row where it ended. StopIteration for none."""
        row = begin
        while row < self.batch_size:
            try:
                label, content = self.next_sample()
            except StopIteration:
                if row == begin:
                    raise
                break
            image = self.imdecode(content)
            try:
                self.check_valid_image(image)
            except RuntimeError as error:
                logging.debug("Invalid image, skipping: %s", error)
                continue
            data[row] = self._fits(self.augmentation_transform(image))
            labels[row] = self._label(label, labels.shape[1:])
            row += 1
        return row

    def _fits(self, image: NDArray) -> Any:
        """An image as a row of a batch."""
        made = self.postprocess_data(image)
        if made.shape != self.data_shape:
            raise ShapeError(f"{type(self).__name__}: the augmenters give an image of shape "
                             f"{made.shape}, expected {self.data_shape}")
        return made.asnumpy()

    def _label(self, label: Any, shape: tuple[int, ...]) -> Any:
        values = np.asarray(label.asnumpy() if isinstance(label, NDArray) else label)
        if values.size != int(np.prod(shape)):
            raise ShapeError(f"{type(self).__name__}: an image has {values.size} labels, expected "
                             f"label_width={self.label_width}")
        return values.reshape(shape)

    # ---- what subclasses may change -------------------------------------------------------------

    def check_data_shape(self, data_shape: tuple[int, ...]) -> None:
        """Raises ShapeError (ValueError) for other shapes than (3, height, width)."""
        if len(data_shape) != 3:
            raise ShapeError("data_shape should have length 3, with dimensions CxHxW, got "
                             f"{data_shape}")
        if data_shape[0] != 3:
            raise ShapeError(f"This iterator expects inputs to have 3 channels, got {data_shape}")

    def check_valid_image(self, data: Any) -> None:
        """Raises RuntimeError for an image without rows, which is left out then."""
        if len(data[0].shape) == 0:
            raise MXNetError("Data shape is wrong")

    def imdecode(self, s: bytes) -> NDArray:
        """The image of a file's bytes. Raises MXNetError that names the image."""
        try:
            return imdecode(s)
        except MXNetError as error:
            raise MXNetError(f"Broken image {self._place()}: {error}") from error

    def _place(self) -> str:
        """Which image was read last."""
        if self.seq is None:
            return f"in {self.imgrec.uri!r}"
        key = self.seq[self.cur - 1]
        return f"index: {key}" if self.imglist is None else f"filename: {self.imglist[key][1]}"

    def read_image(self, fname: str) -> bytes:
        """The bytes of a file in `path_root`."""
        path = os.path.join(self.path_root or "", fname)
        try:
            with open(path, "rb") as file:
                return file.read()
        except OSError as error:
            raise MXNetError(f"{type(self).__name__}: {path!r}: {error.strerror or error}"
                             ) from None

    def augmentation_transform(self, data: NDArray) -> NDArray:
        """The image behind all augmenters."""
        for augment in self.auglist:
            data = augment(data)
        return data

    def postprocess_data(self, datum: NDArray) -> NDArray:
        """The image as it stands in a batch: channels first."""
        made: NDArray = nd.transpose(datum, axes=(2, 0, 1))
        return made


def _list_of_file(path: str, dtype: str, what: str) -> dict[Any, tuple[NDArray, str]]:
    """{number: (label, path)} of an image list."""
    found = {}
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                words = line.strip().split("\t")
                try:
                    if len(words) < 3:
                        raise ValueError("expected a number, labels and a path between tabs")
                    label = nd.array([float(word) for word in words[1:-1]], dtype=dtype)
                    found[int(words[0])] = label, words[-1]
                except ValueError as error:
                    raise ParameterError(f"{what}: {path!r}, line {number}: {error}") from None
    except OSError as error:
        raise MXNetError(f"{what}: {path!r}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise ParameterError(f"{what}: {path!r}: this is no list of images: {error}") from None
    return found


def _list_of_rows(rows: list[Any], dtype: str) -> dict[Any, tuple[NDArray, str]]:
    """{'1', '2', ...: (label, path)} of lists [label, ..., path]."""
    found = {}
    for number, row in enumerate(rows, 1):
        label = row[:-1] if len(row) > 2 or isinstance(row[0], Number) else row[0]
        found[str(number)] = nd.array(label, dtype=dtype), row[-1]
    return found
