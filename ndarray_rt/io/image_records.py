"""Iterators over files of image records, read and changed in threads, ahead of the program."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple
from weakref import finalize

import numpy as np

from .. import nd
from ..dtypes import find_dtype
from ..errors import MXNetError, ParameterError, ShapeError
from ..image.codecs import decode
from ..nd import NDArray
from ..public import shows
from .daemon_threads import DaemonThreads
from .data import DataBatch, DataDesc, DataIter
from .image_augment import augment, checked
from .image_params import ImageRecordParams, RecordParams, parsed
from .image_source import ImageRecord, Orders, RecordSource
from .mx_data_iter import MXDataIter

__all__ = ["ImageRecordInt8Iter", "ImageRecordIter", "ImageRecordIter_v1", "ImageRecordUInt8Iter",
           "ImageRecordUInt8Iter_v1"]
__dir__ = shows(globals())

AnyArray = np.ndarray[Any, Any]

SUMMED = 256  # images that one thread adds up for the mean
FLAGS = {1: 0, 3: 1, 4: -1}  # channels -> how a file is decoded


class Place(NamedTuple):
    """Where an image stands: which record, in which pass, as which of its images."""

    record: int
    epoch: int
    position: int


class _Batch(NamedTuple):
    """A batch in the making."""

    data: AnyArray
    labels: AnyArray
    rows: list[Future[list[int]]]
    pad: int


def _called(task: tuple[Any, ...]) -> Any:
    """The result of a function and its arguments. Threads that are idle hold no iterator."""
    function, *arguments = task
    return function(*arguments)


class RecordIter(MXDataIter):
    """What iterators over image records share: the order of images, threads, batches.

    A subclass gives `label_shape` of one image, and says with `_image` what becomes of a record.
    """

    def __init__(self, p: RecordParams, dtype: Any, data_name: str, label_name: str,
                 label_shape: tuple[int, ...], source: RecordSource) -> None:
        DataIter.__init__(self, p.batch_size)
        self._p = p
        self._source = source
        self._dtype = find_dtype(dtype)
        if not len(source):
            raise ParameterError(f"{self._what}: {p.path_imgrec!r}: there are no records in this "
                                 "part")
        if p.round_batch and p.batch_size > len(source):
            raise ParameterError(f"{self._what}: number of input images must be bigger than the "
                                 f"batch size: there are {len(source)}, batch_size is "
                                 f"{p.batch_size}")
        self.provide_data = [DataDesc(data_name, (p.batch_size, *p.data_shape), self._dtype)]
        self.provide_label = [DataDesc(label_name, (p.batch_size, *label_shape), np.float32)]
        self._orders = Orders(len(source), p.shuffle, p.seed)
        self._epoch = 0
        self._wrapped = 0  # images of the next pass in the batch that was taken last
        self._mean: AnyArray | None = None
        self._ahead: deque[_Batch] = deque()
        self._places: Iterator[tuple[list[Place], int]] = iter(())
        self._threads: DaemonThreads | None = None
        self._pid = 0
        self._begin()

    @property
    def _what(self) -> str:
        return type(self).__name__

    # ---- passes ---------------------------------------------------------------------------------

    def _begin(self) -> None:
        for batch in self._ahead:
            for row in batch.rows:
                row.cancel()
        self._ahead.clear()
        self._places = self._plan(self._epoch, self._wrapped)
        self._wrapped = 0

    def _plan(self, epoch: int, skipped: int) -> Iterator[tuple[list[Place], int]]:
        """(images, how many of them only fill the batch) of the batches of a pass."""
        size = self.batch_size
        order = self._orders[epoch]
        for begin in range(skipped, len(order), size):
            places = [Place(int(record), epoch, begin + i)
                      for i, record in enumerate(order[begin:begin + size])]
            pad = size - len(places)
            if pad and self._p.round_batch:
                following = self._orders[epoch + 1][:pad]
                places += [Place(int(record), epoch + 1, i) for i, record in enumerate(following)]
            yield places, pad

    def reset(self) -> None:
        """Begins the next pass, behind images of it that filled the last batch of this one."""
        self._epoch += 1
        self._orders.forget(self._epoch)
        self._begin()

    def _advance(self) -> DataBatch | None:
        self._begin_batches()
        if not self._ahead:
            return None
        made = self._ahead.popleft()
        try:
            numbers = [number for rows in made.rows for number in rows.result()]
        except BaseException:
            for row in made.rows:
                row.cancel()
            raise
        self._begin_batches()
        if self._p.round_batch:
            self._wrapped = made.pad
        numbers += [0] * (self.batch_size - len(numbers))
        return DataBatch([nd.array(made.data, dtype=self._dtype)], [nd.array(made.labels)],
                         pad=made.pad, index=np.array(numbers, np.uint64))

    # ---- batches --------------------------------------------------------------------------------

    def _started(self) -> DaemonThreads:
        if self._threads is None or self._pid != os.getpid():
            # the threads of a forked child's parent are not in the child
            count = min(self._p.preprocess_threads, len(os.sched_getaffinity(0)))
            self._threads = DaemonThreads(count, _called)
            self._pid = os.getpid()
            finalize(self, self._threads.close)
        return self._threads

    def _begin_batches(self) -> None:
        if self._ahead and self._pid != os.getpid():
            self._ahead.clear()  # nobody makes them
            raise MXNetError(f"{self._what}: the process was forked in the midst of a pass; call "
                             "reset")
        threads = self._started()
        while len(self._ahead) < self._p.prefetch_buffer:
            found = next(self._places, None)
            if found is None:
                return
            places, pad = found
            data = np.zeros(self.provide_data[0].shape, self._dtype)
            labels = np.zeros(self.provide_label[0].shape, np.float32)
            each = -(-len(places) // self._p.preprocess_threads)
            rows = [threads.submit((self._fill, data[begin:], labels[begin:],
                                    places[begin:begin + each]))
                    for begin in range(0, len(places), each)]
            self._ahead.append(_Batch(data, labels, rows, pad))

    def _fill(self, data: AnyArray, labels: AnyArray, places: Sequence[Place]) -> list[int]:
        """Writes images and their labels to the first rows; gives their numbers."""
        return [self._fill_row(data, labels, row, place) for row, place in enumerate(places)]

    def _fill_row(self, data: AnyArray, labels: AnyArray, row: int, place: Place) -> int:
        record = self._source.read(place.record)
        try:
            labels[row], data[row] = self._image(record, self._rng(place))
        except MXNetError as error:
            raise MXNetError(f"{self._what}: the image of index {record.number}: {error}"
                             ) from error
        return record.number

    def _rng(self, place: Place) -> np.random.Generator:
        """Each image has draws of its own, whichever thread comes first."""
        return np.random.Generator(np.random.PCG64([self._p.seed % 2**32, place.epoch,
                                                    place.position]))

    def _decoded(self, record: ImageRecord) -> AnyArray:
        channels = self._p.data_shape[0]
        pixels = decode(record.content, FLAGS[channels])
        if pixels.shape[2] != channels:
            raise ShapeError(f"Expected {channels} channels, got {pixels.shape[2]}")
        return pixels

    def _image(self, record: ImageRecord, rng: np.random.Generator) -> tuple[AnyArray, AnyArray]:
        """(label, image with channels first) of a record."""
        raise NotImplementedError

    # ---- the mean -------------------------------------------------------------------------------

    def _column(self, name: str) -> AnyArray:
        """mean_r to mean_a, or std_r to std_a, beside the axes of an image."""
        channels = "rgba"[:self._p.data_shape[0]]
        return np.array([getattr(self._p, f"{name}_{channel}") for channel in channels],
                        np.float32)[:, None, None]

    def _load_mean(self) -> None:
        """The mean image in the file `mean_img`, which is written first where there is none."""
        path = self._p.mean_img
        if not path:
            return
        if not os.path.exists(path):
            nd.save(path, {"mean_img": nd.array(self._mean_of_all())})
        found = nd.load(path)
        arrays: Sequence[NDArray] = list(found.values()) if isinstance(found, dict) else found
        if len(arrays) != 1 or arrays[0].shape != self._p.data_shape:
            raise ParameterError(f"{self._what}: mean_img {path!r} has arrays of shapes "
                                 f"{[array.shape for array in arrays]}, expected one of "
                                 f"{self._p.data_shape}")
        self._mean = arrays[0].asnumpy().astype(np.float32)

    def _mean_of_all(self) -> AnyArray:
        count, threads = len(self._source), self._started()
        sums = [threads.submit((self._sum, begin, min(begin + SUMMED, count)))
                for begin in range(0, count, SUMMED)]
        total = np.sum([part.result() for part in sums], axis=0)
        mean: AnyArray = (total / count).astype(np.float32)
        return mean

    def _sum(self, begin: int, end: int) -> AnyArray:
        total = np.zeros(self._p.data_shape)
        for record in range(begin, end):
            total += self._raw(Place(record, 0, record))
        return total

    def _raw(self, place: Place) -> AnyArray:
        """An image with channels first, before the mean is taken off."""
        raise NotImplementedError


def _first(pixels: AnyArray) -> AnyArray:
    """An image with its channels first."""
    made: AnyArray = pixels.transpose(2, 0, 1)
    return made


class ImageRecordIter(RecordIter):
    """Batches (batch, channels, height, width) of the images in a file of records.

    Takes MXNet's keywords (numbers also as texts), most of all `path_imgrec`, `data_shape`
    (channels, height, width), `batch_size`, `shuffle`, `label_width`, `path_imgidx`, `num_parts`
    and `part_index`, `resize`, `rand_crop`, `rand_mirror`, `mean_r` and the like, `std_r`,
    `scale`, `preprocess_threads`, `dtype`; all are in `ImageRecordIter.parameters`. What is changed
    at random is the same for the same `seed` (or `seed_aug`), whatever the number of threads; the
    order of shuffled images is MXNet's.

    Labels are (batch,) or (batch, label_width); a batch's `index` has the numbers of its images.
    With `round_batch` the last batch of a pass is filled with images of the next one, which begins
    behind them; else its last rows are zeros. `pad` says how many they are.

    Needs Pillow. Raises ParameterError for parameters that can not be, MXNetError that names the
    image which can not be read. Source: MXNet's ImageRecordIter.
    """

    parameters = ImageRecordParams
    _fixed_dtype: str | None = None

    def __init__(self, *, data_name: str = "data", label_name: str = "softmax_label",
                 **kwargs: Any) -> None:
        p = parsed(self.parameters, self._what, kwargs)
        checked(p, self._what)
        dtype = self._fixed_dtype or ("float32" if p.dtype == "None" else p.dtype)
        width = p.label_width
        super().__init__(p, dtype, data_name, label_name, (width,) if width > 1 else (),
                         RecordSource(p, self._what))
        self._augments = p
        self._load_mean()
        numbers = np.concatenate([self._column("mean"), self._column("std") - 1]).ravel()
        # levels are the numbers; nothing is computed then
        self._is_plain = (self._mean is None and not numbers.any() and p.scale == 1
                          and p.max_random_contrast == p.max_random_illumination == 0)

    def _rng(self, place: Place) -> np.random.Generator:
        seed = self._augments.seed_aug
        if seed is None:
            return super()._rng(place)
        return np.random.Generator(np.random.PCG64([seed % 2**32, place.position]))

    def _raw(self, place: Place) -> AnyArray:
        record = self._source.read(place.record)
        return _first(augment(self._decoded(record), self._augments, self._rng(place)))

    def _image(self, record: ImageRecord, rng: np.random.Generator) -> tuple[AnyArray, AnyArray]:
        p = self._augments
        if record.label.size != p.label_width:
            raise ShapeError(f"has {record.label.size} labels, but label_width is set to "
                             f"{p.label_width}")
        pixels = _first(augment(self._decoded(record), p, rng))
        made = self._normalized(pixels, rng)
        if p.mirror or (p.rand_mirror and rng.random() < 0.5):
            made = made[:, :, ::-1]
        return record.label if p.label_width > 1 else record.label[0], made

    def _normalized(self, pixels: AnyArray, rng: np.random.Generator) -> AnyArray:
        p = self._augments
        if self._dtype == np.uint8 or (self._is_plain and self._dtype == np.float32):
            return pixels
        mean = self._column("mean") if self._mean is None else self._mean
        if self._dtype == np.int8:
            levels: AnyArray = np.clip(pixels - np.trunc(mean + np.copysign(0.5, mean)), -128, 127)
            return levels
        factor = (1 + rng.uniform(-1, 1) * p.max_random_contrast) * p.scale
        more = rng.uniform(-1, 1) * p.max_random_illumination * p.scale
        std = self._column("std")
        made: AnyArray = (pixels - mean) * (np.float32(factor) / std) + np.float32(more) / std
        return made


class ImageRecordUInt8Iter(ImageRecordIter):
    """ImageRecordIter of bytes: nothing is taken off or scaled."""

    _fixed_dtype = "uint8"


class ImageRecordInt8Iter(ImageRecordIter):
    """ImageRecordIter of bytes with a sign: levels less the mean, from -128 to 127."""

    _fixed_dtype = "int8"


class ImageRecordIter_v1(ImageRecordIter):  # noqa: N801
    """ImageRecordIter by its older name."""


class ImageRecordUInt8Iter_v1(ImageRecordUInt8Iter):  # noqa: N801
    """ImageRecordUInt8Iter by its older name."""
