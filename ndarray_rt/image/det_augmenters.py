"""Augmenters of images with boxes round objects.

A label is a NumPy array with a row an object: class, left, top, right, bottom as parts of the
image's width and height, perhaps further numbers. Draws come from `random`, in MXNet's order.
"""

from __future__ import annotations

import random
import warnings
from math import sqrt
from numbers import Number
from typing import Any

import numpy as np

from .. import nd
from ..errors import ParameterError, TypeMismatch
from ..nd import NDArray
from ..public import shows
from .augmenters import (
    MEAN,
    STD,
    Augmenter,
    Dumps,
    ForceResizeAug,
    ResizeAug,
    colours,
    statistics,
)
from .geometry import copyMakeBorder, fixed_crop

__all__ = ["CreateDetAugmenter", "CreateMultiRandCropAugmenter", "DetAugmenter", "DetBorrowAug",
           "DetHorizontalFlipAug", "DetRandomCropAug", "DetRandomPadAug", "DetRandomSelectAug"]
__dir__ = shows(globals())

AnyArray = np.ndarray[Any, Any]
Boxed = tuple[NDArray, AnyArray]

ISOLATED = 16  # OpenCV's kind of margin: numbers, whatever lies round the image in memory


class DetAugmenter(Dumps):
    """The base: a subclass hands its parameters to `__init__` and defines `__call__(src, label)`,
    which gives both."""

    def __call__(self, src: NDArray, label: AnyArray) -> Boxed:
        raise NotImplementedError(f"{type(self).__name__} has no __call__")


class DetBorrowAug(DetAugmenter):
    """An Augmenter that changes no places: the label stays."""

    def __init__(self, augmenter: Augmenter) -> None:
        if not isinstance(augmenter, Augmenter):
            raise TypeMismatch("DetBorrowAug: Borrowing from invalid Augmenter: "
                               f"{type(augmenter).__name__}")
        super().__init__(augmenter=augmenter.dumps())
        self.augmenter = augmenter

    def dumps(self) -> Any:
        """The class's name, and what the augmenter says."""
        return [self._kind, self.augmenter.dumps()]

    def __call__(self, src: NDArray, label: AnyArray) -> Boxed:
        return self.augmenter(src), label


class DetRandomSelectAug(DetAugmenter):
    """One of several augmenters, or with probability `skip_prob` none."""

    def __init__(self, aug_list: Any, skip_prob: float = 0) -> None:
        super().__init__(skip_prob=skip_prob)
        augmenters = list(aug_list) if isinstance(aug_list, (list, tuple)) else [aug_list]
        for each in augmenters:
            if not isinstance(each, DetAugmenter):
                raise ParameterError("DetRandomSelectAug: Allow DetAugmenter in list only, got "
                                     f"{type(each).__name__}")
        self.aug_list = augmenters
        self.skip_prob = skip_prob if augmenters else 1

    def dumps(self) -> Any:
        """The class's name, and what each augmenter says."""
        return [self._kind, [each.dumps() for each in self.aug_list]]

    def __call__(self, src: NDArray, label: AnyArray) -> Boxed:
        if random.random() < self.skip_prob:
            return src, label
        random.shuffle(self.aug_list)
        made: Boxed = self.aug_list[0](src, label)
        return made


class DetHorizontalFlipAug(DetAugmenter):
    """Left is right, with probability `p`; writes to the label."""

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: NDArray, label: AnyArray) -> Boxed:
        if random.random() < self.p:
            src = nd.flip(src, axis=1)
            label[:, [1, 3]] = 1.0 - label[:, [3, 1]]
        return src, label


# ---- parts of an image, and margins -------------------------------------------------------------


def _range(value: Any) -> tuple[float, float]:
    """Two limits, or one number that is both."""
    if isinstance(value, Number):
        return value, value  # type: ignore[return-value]
    return value  # type: ignore[no-any-return]


def _areas(boxes: AnyArray) -> AnyArray:
    """Areas of rows left, top, right, bottom."""
    made: AnyArray = (np.maximum(0, boxes[:, 3] - boxes[:, 1])
                      * np.maximum(0, boxes[:, 2] - boxes[:, 0]))
    return made


def _shared(boxes: AnyArray, left: float, top: float, right: float, bottom: float) -> AnyArray:
    """Areas of what boxes have in common with one."""
    made: AnyArray = (
        np.maximum(0, np.minimum(boxes[:, 3], bottom) - np.maximum(boxes[:, 1], top))
        * np.maximum(0, np.minimum(boxes[:, 2], right) - np.maximum(boxes[:, 0], left)))
    return made


class DetRandomCropAug(DetAugmenter):
    """A random part in which every object that is seen at all is seen well enough.

    Parameters
    ----------
    min_object_covered : float
        Each object in the part must show more than this share of its area.
    aspect_ratio_range, area_range : (float, float)
        Width by height of the part, and its share of the image's area.
    min_eject_coverage : float
        Objects that show less of their area are taken out of the label.
    max_attempts : int
        So many parts are tried; then the image stays as it is.

    Source: MXNet's DetRandomCropAug, Liu et al., SSD (2016).
    """

    def __init__(self, min_object_covered: float = 0.1,
                 aspect_ratio_range: Any = (0.75, 1.33), area_range: Any = (0.05, 1.0),
                 min_eject_coverage: float = 0.3, max_attempts: int = 50) -> None:
        aspect_ratio_range, area_range = _range(aspect_ratio_range), _range(area_range)
        super().__init__(min_object_covered=min_object_covered,
                         aspect_ratio_range=aspect_ratio_range, area_range=area_range,
                         min_eject_coverage=min_eject_coverage, max_attempts=max_attempts)
        self.min_object_covered = min_object_covered
        self.min_eject_coverage = min_eject_coverage
        self.max_attempts = max_attempts
        self.aspect_ratio_range = aspect_ratio_range
        self.area_range = area_range
        self.enabled = _is_possible(self, area_range[1] > 0)

    def __call__(self, src: NDArray, label: AnyArray) -> Boxed:
        height, width = src.shape[:2]
        found = self._part(label, height, width)
        if found is None:
            return src, label
        x, y, wide, high, label = found
        return fixed_crop(src, x, y, wide, high), label

    def _part(self, label: AnyArray, height: int, width: int) -> Any:
        """(x, y, width, height, label) of a part, None after so many attempts."""
        if not self.enabled or height <= 0 or width <= 0:
            return None
        least, most = (share * height * width for share in self.area_range)
        for _ in range(self.max_attempts):
            ratio = random.uniform(*self.aspect_ratio_range)
            if ratio <= 0:
                continue
            low, top = round(sqrt(least / ratio)), round(sqrt(most / ratio))
            if round(top * ratio) > width:
                top = int((width + 0.4999999) / ratio)
            top = min(top, height)
            high = random.randint(low, top) if low < top else top
            wide = round(high * ratio)
            # one row more or less, where the area was rounded out of its range
            if wide * high < least:
                high, wide = high + 1, round((high + 1) * ratio)
            if wide * high > most:
                high, wide = high - 1, round((high - 1) * ratio)
            if not (least <= wide * high <= most and 0 <= wide <= width and 0 <= high <= height):
                continue
            y, x = random.randint(0, height - high), random.randint(0, width - wide)
            if self._shows_enough(label, x, y, wide, high, height, width):
                kept = self._kept(label, x / width, y / height, wide / width, high / height)
                if kept is not None:
                    return x, y, wide, high, kept
        return None

    def _shows_enough(self, label: AnyArray, x: int, y: int, wide: int, high: int, height: int,
                      width: int) -> bool:
        if wide * high < 2:
            return False
        areas = _areas(label[:, 1:])
        seen = areas * width * height > 2
        if not seen.any():
            return False
        shares = _shared(label[seen, 1:], x / width, y / height, (x + wide) / width,
                         (y + high) / height) / areas[seen]
        shares = shares[shares > 0]
        return bool(shares.size and shares.min() > self.min_object_covered)

    def _kept(self, label: AnyArray, left: float, top: float, wide: float,
              high: float) -> AnyArray | None:
        """The label as seen from a part, without what hardly shows; None when nothing is left."""
        made = label.copy()
        made[:, [1, 3]] = (made[:, [1, 3]] - left) / wide
        made[:, [2, 4]] = (made[:, [2, 4]] - top) / high
        made[:, 1:5] = np.clip(made[:, 1:5], 0, 1)
        with np.errstate(divide="ignore", invalid="ignore"):  # objects without an area
            shares = _areas(made[:, 1:]) * wide * high / _areas(label[:, 1:])
        valid = ((made[:, 3] > made[:, 1]) & (made[:, 4] > made[:, 2])
                 & (shares > self.min_eject_coverage))
        return made[valid] if valid.any() else None


class DetRandomPadAug(DetAugmenter):
    """The image somewhere in a larger one of `pad_val`.

    `aspect_ratio_range` and `area_range` are for the larger image, as in DetRandomCropAug, whose
    area is measured by the image's; after `max_attempts` the image stays as it is. Source: MXNet's
    DetRandomPadAug.
    """

    def __init__(self, aspect_ratio_range: Any = (0.75, 1.33), area_range: Any = (1.0, 3.0),
                 max_attempts: int = 50, pad_val: Any = (128, 128, 128)) -> None:
        aspect_ratio_range, area_range = _range(aspect_ratio_range), _range(area_range)
        super().__init__(aspect_ratio_range=aspect_ratio_range, area_range=area_range,
                         max_attempts=max_attempts, pad_val=pad_val)
        self.pad_val = (pad_val,) * 3 if isinstance(pad_val, Number) else pad_val
        self.aspect_ratio_range = aspect_ratio_range
        self.area_range = area_range
        self.max_attempts = max_attempts
        self.enabled = _is_possible(self, area_range[1] > 1.0)

    def __call__(self, src: NDArray, label: AnyArray) -> Boxed:
        height, width = src.shape[:2]
        found = self._place(height, width)
        if found is None:
            return src, label
        x, y, wide, high = found
        made = label.copy()
        made[:, [1, 3]] = (label[:, [1, 3]] * width + x) / wide
        made[:, [2, 4]] = (label[:, [2, 4]] * height + y) / high
        return copyMakeBorder(src, y, high - y - height, x, wide - x - width, ISOLATED,
                              values=self.pad_val), made

    def _place(self, height: int, width: int) -> tuple[int, int, int, int] | None:
        """(x, y) of the image, and (width, height) of the larger one; None: no such was found."""
        if not self.enabled or height <= 0 or width <= 0:
            return None
        least, most = (share * height * width for share in self.area_range)
        for _ in range(self.max_attempts):
            ratio = random.uniform(*self.aspect_ratio_range)
            if ratio <= 0:
                continue
            low, top = round(sqrt(least / ratio)), round(sqrt(most / ratio))
            if round(low * ratio) < width:
                low = int((width + 0.499999) / ratio)
            low = min(max(low, height), top)
            high = random.randint(low, top) if low < top else low
            wide = round(high * ratio)
            if high - height < 2 or wide - width < 2:
                continue  # a margin of a pixel is of no use
            y, x = random.randint(0, high - height), random.randint(0, wide - width)
            return x, y, wide, high
        return None


def _is_possible(augmenter: Any, has_area: bool) -> bool:
    """Whether there are such areas and aspects; warns when there are not."""
    what = type(augmenter).__name__
    area, ratio = augmenter.area_range, augmenter.aspect_ratio_range
    if not has_area or area[0] > area[1]:
        warnings.warn(f"Skip {what} due to invalid area_range: {area}", stacklevel=3)
        return False
    if ratio[0] <= 0 or ratio[0] > ratio[1]:
        warnings.warn(f"Skip {what} due to invalid aspect_ratio_range: {ratio}", stacklevel=3)
        return False
    return True


# ---- lists of augmenters ------------------------------------------------------------------------


def CreateMultiRandCropAugmenter(min_object_covered: Any = 0.1,  # noqa: N802
                                 aspect_ratio_range: Any = (0.75, 1.33),
                                 area_range: Any = (0.05, 1.0), min_eject_coverage: Any = 0.3,
                                 max_attempts: Any = 50, skip_prob: float = 0,
                                 ) -> DetRandomSelectAug:
    """One of several DetRandomCropAug each time: lists of parameters have one for each of them.

    Raises ParameterError for lists of different lengths. Source: MXNet's function of this name.
    """
    given = [value if isinstance(value, list) else [value] for value in (
        min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts)]
    count = max(map(len, given))
    for values in given:
        if len(values) not in (1, count):
            raise ParameterError(f"CreateMultiRandCropAugmenter: lists of {len(values)} and of "
                                 f"{count} parameters")
    aligned = [values * (count // len(values)) for values in given]
    return DetRandomSelectAug([DetRandomCropAug(*each) for each in zip(*aligned, strict=True)],
                              skip_prob=skip_prob)


def CreateDetAugmenter(data_shape: tuple[int, ...], resize: int = 0,  # noqa: N802
                       rand_crop: float = 0, rand_pad: float = 0, rand_gray: float = 0,
                       rand_mirror: bool = False, mean: Any = None, std: Any = None,
                       brightness: float = 0, contrast: float = 0, saturation: float = 0,
                       pca_noise: float = 0, hue: float = 0, inter_method: int = 2,
                       min_object_covered: Any = 0.1, aspect_ratio_range: Any = (0.75, 1.33),
                       area_range: Any = (0.05, 3.0), min_eject_coverage: Any = 0.3,
                       max_attempts: Any = 50, pad_val: Any = (127, 127, 127),
                       ) -> list[DetAugmenter]:
    """The usual augmenters for detection, in their order, for images of `data_shape`.

    `rand_crop` and `rand_pad` are probabilities; `min_object_covered` to `max_attempts` are for
    CreateMultiRandCropAugmenter and DetRandomPadAug, the others as in CreateAugmenter, with mean
    and std as NumPy arrays. Images are resized to the shape whatever their aspect. Source: MXNet's
    CreateDetAugmenter.
    """
    made: list[DetAugmenter] = []
    if resize > 0:
        made.append(DetBorrowAug(ResizeAug(resize, inter_method)))
    if rand_crop > 0:
        made.append(CreateMultiRandCropAugmenter(
            min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts,
            skip_prob=1 - rand_crop))
    if rand_mirror > 0:
        made.append(DetHorizontalFlipAug(0.5))
    if rand_pad > 0:
        pad = DetRandomPadAug(aspect_ratio_range, (1.0, area_range[1]), max_attempts, pad_val)
        made.append(DetRandomSelectAug([pad], 1 - rand_pad))
    made.append(DetBorrowAug(ForceResizeAug((data_shape[2], data_shape[1]), inter_method)))
    mean = statistics(mean, MEAN, "CreateDetAugmenter: mean", np.ndarray, np.array)
    std = statistics(std, STD, "CreateDetAugmenter: std", np.ndarray, np.array)
    return made + [DetBorrowAug(each) for each in colours(
        brightness, contrast, saturation, hue, pca_noise, rand_gray, mean, std)]
