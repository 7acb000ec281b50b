"""ImageDetIter: batches of images with boxes round their objects."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import MXNetError, ParameterError, ShapeError
from ..nd import NDArray
from ..public import shows
from .augmenters import MEAN, STD, statistics
from .det_augmenters import CreateDetAugmenter
from .det_labels import LEAST_OBJECT, parsed_label
from .iterator import ImageIter

__all__ = ["ImageDetIter"]
__dir__ = shows(globals())

AnyArray = np.ndarray[Any, Any]

NOTHING = -1  # in rows of a label that have no object


class ImageDetIter(ImageIter):
    """Batches of images and labels (batch, objects, numbers): a row an object, -1 in the others.

    A label in a file or list is `h w ... class left top right bottom ...`: `h` numbers come before
    the objects, each of which has `w` numbers. Places are parts of the width and height. Images
    without a valid object are left out. Parameters are those of ImageIter, `aug_list` is of
    DetAugmenter, further keywords are for CreateDetAugmenter. Source: MXNet's ImageDetIter.
    """

    def __init__(self, batch_size: int, data_shape: tuple[int, ...],
                 path_imgrec: str | None = None, path_imglist: str | None = None,
                 path_root: str | None = None, path_imgidx: str | None = None,
                 shuffle: bool = False, part_index: int = 0, num_parts: int = 1,
                 aug_list: list[Any] | None = None, imglist: list[Any] | None = None,
                 data_name: str = "data", label_name: str = "label",
                 last_batch_handle: str = "pad", **kwargs: Any) -> None:
        super().__init__(batch_size, data_shape, path_imgrec=path_imgrec,
                         path_imglist=path_imglist, path_root=path_root, path_imgidx=path_imgidx,
                         shuffle=shuffle, part_index=part_index, num_parts=num_parts, aug_list=[],
                         imglist=imglist, data_name=data_name, label_name=label_name,
                         last_batch_handle=last_batch_handle)
        self.auglist = CreateDetAugmenter(data_shape, **kwargs) if aug_list is None else aug_list
        self.label_shape = self._widest_label()
        self.provide_label = [(label_name, (batch_size, *self.label_shape))]

    def _widest_label(self) -> tuple[int, int]:
        """The most objects of an image, and how many numbers an object has."""
        most = width = 0
        self.reset()
        while True:
            try:
                label, _ = self.next_sample()
            except StopIteration:
                break
            rows, width = self._parse_label(label).shape
            most = max(most, rows)
        self.reset()
        return most, width

    def _parse_label(self, label: Any) -> AnyArray:
        """Rows of valid objects. Raises MXNetError (RuntimeError) for a label that has none."""
        raw = np.ravel(label.asnumpy() if isinstance(label, NDArray) else label)
        _, rows = parsed_label(raw)
        if not len(rows):
            raise MXNetError("ImageDetIter: Encounter sample with no valid label.")
        return rows

    def _check_valid_label(self, label: AnyArray) -> None:
        if label.ndim != 2 or label.shape[1] < LEAST_OBJECT:
            raise ShapeError(f"ImageDetIter: Label with shape (1+, 5+) required, {label.shape} "
                             "received.")
        if not ((label[:, 0] >= 0) & (label[:, 3] > label[:, 1])
                & (label[:, 4] > label[:, 2])).any():
            raise MXNetError("ImageDetIter: Invalid label occurs.")

    # ---- batches --------------------------------------------------------------------------------

    def _empty(self) -> tuple[Any, Any]:
        data, labels = super()._empty()
        labels[:] = NOTHING
        return data, labels

    def _changed(self) -> Iterator[tuple[NDArray, AnyArray]]:
        """Images and their labels behind all augmenters, without those that are not valid."""
        while True:
            try:
                raw, content = self.next_sample()
            except StopIteration:
                return
            image = self.imdecode(content)
            try:
                self.check_valid_image([image])
                image, label = self.augmentation_transform(image, self._parse_label(raw))
                self._check_valid_label(label)
            except RuntimeError as error:
                logging.debug("Invalid image, skipping: %s", error)
                continue
            yield image, label

    def _batchify(self, data: Any, labels: Any, begin: int = 0) -> int:
        row = begin
        for image, label in self._changed():
            data[row] = self._fits(image)
            labels[row] = NOTHING
            labels[row, :len(label)] = label
            row += 1
            if row == self.batch_size:
                return row
        if row == begin:
            raise StopIteration
        return row

    def augmentation_transform(self, data: NDArray,  # type: ignore[override]
                               label: AnyArray) -> tuple[NDArray, AnyArray]:
        """(image, label) behind all augmenters."""
        augmenters: list[Any] = self.auglist
        for augment in augmenters:
            data, label = augment(data, label)
        return data, label

    # ---- shapes ---------------------------------------------------------------------------------

    def reshape(self, data_shape: tuple[int, ...] | None = None,
                label_shape: tuple[int, int] | None = None) -> None:
        """Other shapes of an image, and of a label, which may become longer only."""
        if data_shape is not None:
            self.check_data_shape(data_shape)
            self.provide_data = [(self.provide_data[0][0], (self.batch_size, *data_shape))]
            self.data_shape = tuple(data_shape)
        if label_shape is not None:
            self.check_label_shape(label_shape)
            self.provide_label = [(self.provide_label[0][0], (self.batch_size, *label_shape))]
            self.label_shape = (label_shape[0], label_shape[1])

    def check_label_shape(self, label_shape: tuple[int, ...]) -> None:
        """Raises ShapeError (ValueError) for a shape that can not take the labels."""
        if len(label_shape) != 2:
            raise ShapeError(f"label_shape should have length 2, got {label_shape}")
        if label_shape[0] < self.label_shape[0]:
            raise ShapeError(f"Attempts to reduce label count from {self.label_shape[0]} to "
                             f"{label_shape[0]}, not allowed.")
        if label_shape[1] != self.label_shape[1]:
            raise ShapeError(f"label_shape object width inconsistent: {self.label_shape[1]} vs "
                             f"{label_shape[1]}.")

    def sync_label_shape(self, it: ImageDetIter, verbose: bool = False) -> ImageDetIter:
        """Makes the labels of both iterators as long as those of the one with more objects; gives
        the other one. Raises ParameterError where objects have different numbers."""
        if not isinstance(it, ImageDetIter):
            raise ParameterError("sync_label_shape: Synchronize with invalid iterator: "
                                 f"{type(it).__name__}")
        if it.label_shape[1] != self.label_shape[1]:
            raise ParameterError("sync_label_shape: object width mismatch: "
                                 f"{self.label_shape[1]} and {it.label_shape[1]}")
        most = max(self.label_shape[0], it.label_shape[0])
        for each in (self, it):
            if each.label_shape[0] < most:
                each.reshape(None, (most, each.label_shape[1]))
                if verbose:
                    logging.info("Resized label_shape to (%d, %d).", *each.label_shape)
        return it

    # ---- pictures -------------------------------------------------------------------------------

    def draw_next(self, color: Any = None, thickness: int = 2, mean: Any = None, std: Any = None,
                  clip: bool = True, waitKey: int | None = None,  # noqa: N803
                  window_name: str = "draw_next",
                  id2labels: dict[int, str] | None = None) -> Iterator[AnyArray]:
        """Images with their boxes drawn, one by one: (height, width, 3) of uint8, blue first.

        `color` (red, green, blue) of the boxes, else random ones; `thickness` in pixels; `mean`
        and `std` (True: ImageNet's) are undone; `clip` cuts to 0 to 255; `id2labels` has texts for
        classes. With `waitKey` each is shown in a window for so many milliseconds, which needs
        OpenCV; drawing needs Pillow.
        """
        from .drawing import draw_boxes, show
        scale = statistics(std, STD, "draw_next: std", np.ndarray, np.array)
        shift = statistics(mean, MEAN, "draw_next: mean", np.ndarray, np.array)
        for image, label in self._changed():
            pixels = image.asnumpy().astype(np.float32)
            pixels = pixels * (1 if scale is None else scale) + (0 if shift is None else shift)
            if clip:
                pixels = np.clip(pixels, 0, 255)
            drawn = draw_boxes(pixels.astype(np.uint8), label, color, thickness, id2labels)
            if waitKey is not None:
                show(window_name, drawn, waitKey)
            yield drawn
