"""Augmenters: what is done to an image, mostly at random, before a network sees it.

Images are NDArrays (height, width, channels). Draws come from `random`, those of light from
`numpy.random`, in the order of MXNet's.
"""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np

from .. import nd
from ..errors import ParameterError
from ..nd import NDArray
from ..public import shows
from .geometry import (
    Size,
    center_crop,
    color_normalize,
    imresize,
    interpolation,
    only_area,
    random_crop,
    random_size_crop,
    resize_short,
)

__all__ = ["Augmenter", "BrightnessJitterAug", "CastAug", "CenterCropAug", "ColorJitterAug",
           "ColorNormalizeAug", "ContrastJitterAug", "CreateAugmenter", "ForceResizeAug",
           "HorizontalFlipAug", "HueJitterAug", "LightingAug", "RandomCropAug", "RandomGrayAug",
           "RandomOrderAug", "RandomSizedCropAug", "ResizeAug", "SaturationJitterAug",
           "SequentialAug"]
__dir__ = shows(globals())

# how bright red, green and blue look, and what ImageNet's pixels are like
BRIGHTNESS = np.array([[[0.299, 0.587, 0.114]]], np.float32)
MEAN, STD = (123.68, 116.28, 103.53), (58.395, 57.12, 57.375)
# deviations along the main directions of natural images' colours, and these (AlexNet)
LIGHT_DEVIATIONS = np.array([55.46, 4.794, 1.148])
LIGHT_DIRECTIONS = np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140],
                             [-0.5836, -0.6948, 0.4203]])
# red, green and blue to brightness and two differences, and back
_TO_YIQ = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.321], [0.211, -0.523, 0.311]])
_FROM_YIQ = np.array([[1.0, 0.956, 0.621], [1.0, -0.272, -0.647], [1.0, -1.107, 1.705]])


class Dumps:
    """What augmenters say of themselves: the class and the keywords given to this constructor."""

    def __init__(self, **kwargs: Any) -> None:
        def plain(value: Any) -> Any:
            value = value.asnumpy() if isinstance(value, NDArray) else value
            return value.tolist() if isinstance(value, np.ndarray) else value
        self._kwargs = {name: plain(value) for name, value in kwargs.items()}

    def dumps(self) -> Any:
        """The class's name and the parameters, as JSON; lists of those, where there are several
        augmenters in one."""
        return json.dumps([self._kind, self._kwargs])

    @property
    def _kind(self) -> str:
        return type(self).__name__.lower()


class Augmenter(Dumps):
    """The base: a subclass hands its parameters to `__init__` and defines `__call__(src)`."""

    def __call__(self, src: NDArray) -> NDArray:
        raise NotImplementedError(f"{type(self).__name__} has no __call__")


class _Several(Augmenter):
    def __init__(self, ts: list[Augmenter]) -> None:
        super().__init__()
        self.ts = ts

    def dumps(self) -> Any:
        """The class's name, and what each augmenter says."""
        return [self._kind, [each.dumps() for each in self.ts]]

    def __call__(self, src: NDArray) -> NDArray:
        for each in self.ts:
            src = each(src)
        return src


class SequentialAug(_Several):
    """Augmenters one after the other."""


class RandomOrderAug(_Several):
    """Augmenters one after the other, each time in another order."""

    def __call__(self, src: NDArray) -> NDArray:
        random.shuffle(self.ts)
        return super().__call__(src)


# ---- size and place -----------------------------------------------------------------------------


class ResizeAug(Augmenter):
    """The shorter side becomes `size`."""

    def __init__(self, size: int, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src: NDArray) -> NDArray:
        return resize_short(src, self.size, self.interp)


class ForceResizeAug(Augmenter):
    """The image becomes `size` (width, height), whatever its aspect."""

    def __init__(self, size: Size, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src: NDArray) -> NDArray:
        sizes = (*src.shape[:2], self.size[1], self.size[0])
        return imresize(src, *self.size, interp=interpolation(self.interp, sizes))


class RandomCropAug(Augmenter):
    """A part of `size` from anywhere."""

    def __init__(self, size: Size, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src: NDArray) -> NDArray:
        return random_crop(src, self.size, self.interp)[0]


class CenterCropAug(Augmenter):
    """The middle, of `size`."""

    def __init__(self, size: Size, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src: NDArray) -> NDArray:
        return center_crop(src, self.size, self.interp)[0]


class RandomSizedCropAug(Augmenter):
    """A part of random area and aspect, resized to `size` (random_size_crop)."""

    def __init__(self, size: Size, area: Any, ratio: tuple[float, float], interp: int = 2,
                 **kwargs: Any) -> None:
        super().__init__(size=size, area=area, ratio=ratio, interp=interp)
        self.size, self.ratio, self.interp = size, ratio, interp
        self.area = only_area(area, kwargs, type(self).__name__)

    def __call__(self, src: NDArray) -> NDArray:
        return random_size_crop(src, self.size, self.area, self.ratio, self.interp)[0]


class HorizontalFlipAug(Augmenter):
    """Left is right, with probability `p`."""

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: NDArray) -> NDArray:
        return nd.flip(src, axis=1) if random.random() < self.p else src


# ---- colours ------------------------------------------------------------------------------------


def _factor(most: float) -> float:
    return 1.0 + random.uniform(-most, most)


class BrightnessJitterAug(Augmenter):
    """Times a factor within 1 - `brightness` and 1 + `brightness`; writes to the image."""

    def __init__(self, brightness: float) -> None:
        super().__init__(brightness=brightness)
        self.brightness = brightness

    def __call__(self, src: NDArray) -> NDArray:
        src *= _factor(self.brightness)
        return src


class ContrastJitterAug(Augmenter):
    """Away from the image's mean grey by a factor as in BrightnessJitterAug; writes to it."""

    def __init__(self, contrast: float) -> None:
        super().__init__(contrast=contrast)
        self.contrast = contrast
        self.coef = nd.array(BRIGHTNESS)

    def __call__(self, src: NDArray) -> NDArray:
        factor = _factor(self.contrast)
        grey = src * self.coef
        grey = (3.0 * (1.0 - factor) / grey.size) * nd.sum(grey)
        src *= factor
        src += grey
        return src


class SaturationJitterAug(Augmenter):
    """Away from each pixel's grey by a factor as in BrightnessJitterAug; writes to the image."""

    def __init__(self, saturation: float) -> None:
        super().__init__(saturation=saturation)
        self.saturation = saturation
        self.coef = nd.array(BRIGHTNESS)

    def __call__(self, src: NDArray) -> NDArray:
        factor = _factor(self.saturation)
        grey = nd.sum(src * self.coef, axis=2, keepdims=True)
        grey *= 1.0 - factor
        src *= factor
        src += grey
        return src


class HueJitterAug(Augmenter):
    """Colours turned by up to `hue` of half a circle; brightness stays (in YIQ)."""

    def __init__(self, hue: float) -> None:
        super().__init__(hue=hue)
        self.hue = hue
        self.tyiq = _TO_YIQ
        self.ityiq = _FROM_YIQ

    def __call__(self, src: NDArray) -> NDArray:
        angle = random.uniform(-self.hue, self.hue) * np.pi
        cos, sin = np.cos(angle), np.sin(angle)
        turn = np.array([[1.0, 0.0, 0.0], [0.0, cos, -sin], [0.0, sin, cos]])
        # not by matrix products, for which BLAS would take a buffer in each thread
        both = np.einsum("ij,jk,kl->li", self.ityiq, turn, self.tyiq)
        made: NDArray = nd.dot(src, nd.array(both))
        return made


class ColorJitterAug(RandomOrderAug):
    """Brightness, contrast and saturation, those above 0, in random order."""

    def __init__(self, brightness: float, contrast: float, saturation: float) -> None:
        ts: list[Augmenter] = []
        for most, kind in ((brightness, BrightnessJitterAug), (contrast, ContrastJitterAug),
                           (saturation, SaturationJitterAug)):
            if most > 0:
                ts.append(kind(most))
        super().__init__(ts)


class LightingAug(Augmenter):
    """Adds noise along the main directions of colours; writes to the image.

    `alphastd` is the noise's deviation, `eigval` (3,) and `eigvec` (3, 3) are the deviations along
    the directions and those. Source: Krizhevsky et al., AlexNet (2012).
    """

    def __init__(self, alphastd: float, eigval: Any, eigvec: Any) -> None:
        super().__init__(alphastd=alphastd, eigval=eigval, eigvec=eigvec)
        self.alphastd, self.eigval, self.eigvec = alphastd, eigval, eigvec

    def __call__(self, src: NDArray) -> NDArray:
        alpha = np.random.normal(0, self.alphastd, size=(3,))
        src += nd.array((self.eigvec * alpha * self.eigval).sum(1))
        return src


class ColorNormalizeAug(Augmenter):
    """(image - mean) / std, written to the image; either may be None."""

    def __init__(self, mean: Any, std: Any) -> None:
        super().__init__(mean=mean, std=std)
        self.mean, self.std = (value if value is None or isinstance(value, NDArray)
                               else nd.array(value) for value in (mean, std))

    def __call__(self, src: NDArray) -> NDArray:
        return color_normalize(src, self.mean, self.std)


class RandomGrayAug(Augmenter):
    """Grey in all three channels, with probability `p`."""

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p
        self.mat = nd.array([[0.21] * 3, [0.72] * 3, [0.07] * 3])

    def __call__(self, src: NDArray) -> NDArray:
        return nd.dot(src, self.mat) if random.random() < self.p else src


class CastAug(Augmenter):
    """Another dtype."""

    def __init__(self, typ: Any = "float32") -> None:
        super().__init__(type=typ)
        self.typ = typ

    def __call__(self, src: NDArray) -> NDArray:
        made: NDArray = src.astype(self.typ)
        return made


# ---- lists of augmenters ------------------------------------------------------------------------


def statistics(value: Any, default: tuple[float, ...], what: str, kinds: Any,
               make: Any = nd.array) -> Any:
    """Numbers for channels: True is ImageNet's, None none. ParameterError for others than 1 or 3.
    """
    if value is True:
        return make(default)
    if value is not None and (not isinstance(value, kinds) or value.shape[:1] not in ((1,), (3,))):
        raise ParameterError(f"{what} is {value!r}, expected an array of 1 or 3 numbers, True or "
                             "None")
    return value


def colours(brightness: float, contrast: float, saturation: float, hue: float, pca_noise: float,
            rand_gray: float, mean: Any, std: Any) -> list[Augmenter]:
    """The augmenters of colours that these numbers ask for, behind a cast to float32."""
    made: list[Augmenter] = [CastAug()]
    if brightness or contrast or saturation:
        made.append(ColorJitterAug(brightness, contrast, saturation))
    if hue:
        made.append(HueJitterAug(hue))
    if pca_noise > 0:
        made.append(LightingAug(pca_noise, LIGHT_DEVIATIONS, LIGHT_DIRECTIONS))
    if rand_gray > 0:
        made.append(RandomGrayAug(rand_gray))
    if mean is not None or std is not None:
        made.append(ColorNormalizeAug(mean, std))
    return made


def CreateAugmenter(data_shape: tuple[int, ...], resize: int = 0,  # noqa: N802
                    rand_crop: bool = False, rand_resize: bool = False, rand_mirror: bool = False,
                    mean: Any = None, std: Any = None, brightness: float = 0, contrast: float = 0,
                    saturation: float = 0, hue: float = 0, pca_noise: float = 0,
                    rand_gray: float = 0, inter_method: int = 2) -> list[Augmenter]:
    """The usual augmenters, in their order, for images of `data_shape` (channels, height, width).

    Parameters
    ----------
    resize : int
        What the shorter side becomes first; 0: stays.
    rand_crop, rand_resize : bool
        The part may be anywhere, not only in the middle; of random area and aspect, too.
    rand_mirror : bool
        Every other image is mirrored.
    mean, std : arrays of 1 or 3 numbers, or True
        For (image - mean) / std; True is ImageNet's.
    brightness, contrast, saturation, hue, pca_noise : float
        How much colours may change.
    rand_gray : float
        The probability of grey.
    inter_method : int
        How pixels of another size are made (imresize; 9 by what happens, 10 at random).

    Raises ParameterError for arguments that do not go together. Source: MXNet's CreateAugmenter.
    """
    if rand_resize and not rand_crop:
        raise ParameterError("CreateAugmenter: rand_resize needs rand_crop=True")
    size = (data_shape[2], data_shape[1])
    made: list[Augmenter] = [ResizeAug(resize, inter_method)] if resize > 0 else []
    if rand_resize:
        made.append(RandomSizedCropAug(size, 0.08, (3.0 / 4.0, 4.0 / 3.0), inter_method))
    else:
        made.append((RandomCropAug if rand_crop else CenterCropAug)(size, inter_method))
    if rand_mirror:
        made.append(HorizontalFlipAug(0.5))
    kinds = (np.ndarray, NDArray)
    mean = statistics(mean, MEAN, "CreateAugmenter: mean", kinds)
    std = statistics(std, STD, "CreateAugmenter: std", kinds)
    return made + colours(brightness, contrast, saturation, hue, pca_noise, rand_gray, mean, std)
