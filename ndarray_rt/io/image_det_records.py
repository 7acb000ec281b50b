"""ImageDetRecordIter: batches of images with boxes round objects, from files of records."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ParameterError, ShapeError
from ..public import shows
from .image_det_augment import augment, samplers
from .image_params import DetRecordParams, parsed
from .image_records import Place, RecordIter
from .image_source import ImageRecord, RecordSource

__all__ = ["ImageDetRecordIter"]
__dir__ = shows(globals())

AnyArray = np.ndarray[Any, Any]

BEFORE = 4  # numbers before an image's label: channels, height, width, length of the label


class ImageDetRecordIter(RecordIter):
    """Batches of images and their labels, in float32.

    A label is (batch, 4 + numbers): channels, height and width of the image as it stands in the
    upper left of its place, how many numbers follow, and those: a header, whose first two numbers
    are its own length and that of an object, then objects class, left, top, right, bottom as parts
    of the image. The rest is `label_pad_value`, to `label_pad_width` or the longest label.

    Takes MXNet's keywords; all are in `ImageDetRecordIter.parameters`. What is changed at random is
    the same for the same `seed`. Needs Pillow. Raises as ImageRecordIter does. Source: MXNet's
    ImageDetRecordIter.
    """

    parameters = DetRecordParams

    def __init__(self, *, data_name: str = "data", label_name: str = "label",
                 **kwargs: Any) -> None:
        kwargs.setdefault("path_imgrec", "./data/imgrec.rec")
        p = parsed(self.parameters, self._what, kwargs)
        source = RecordSource(p, self._what)
        longest = max((source.read(at).label.size for at in range(len(source))), default=0)
        if 0 < p.label_pad_width < longest:
            raise ParameterError(f"{self._what}: label_pad_width: {p.label_pad_width} smaller than "
                                 f"estimated width: {longest}")
        super().__init__(p, "float32", data_name, label_name,
                         (BEFORE + max(longest, p.label_pad_width),), source)
        self._augments = p
        self._samplers = samplers(p)
        self._load_mean()

    def _changed(self, record: ImageRecord, rng: np.random.Generator) -> tuple[AnyArray, AnyArray]:
        p = self._augments
        if p.label_width > 0 and record.label.size != p.label_width:
            raise ShapeError(f"has {record.label.size} labels, but label_width is set to "
                             f"{p.label_width}")
        pixels, label = augment(self._decoded(record), record.label, p, self._samplers, rng)
        return pixels.transpose(2, 0, 1), label

    def _placed(self, pixels: AnyArray) -> AnyArray:
        """An image in the upper left of data_shape."""
        made = np.zeros(self._p.data_shape, np.float32)
        made[:, :pixels.shape[1], :pixels.shape[2]] = pixels
        return made

    def _raw(self, place: Place) -> AnyArray:
        return self._placed(self._changed(self._source.read(place.record), self._rng(place))[0])

    def _image(self, record: ImageRecord, rng: np.random.Generator) -> tuple[AnyArray, AnyArray]:
        p = self._augments
        pixels, label = self._changed(record, rng)
        row = np.full(self.provide_label[0].shape[1], p.label_pad_value, np.float32)
        row[:BEFORE] = (*pixels.shape, label.size)
        row[BEFORE:BEFORE + label.size] = label
        std = self._column("std")
        made = self._placed(pixels) - (self._column("mean") if self._mean is None else self._mean)
        made *= np.float32(p.scale) / np.where(std > 0, std, 1)
        return row, made
