"""Transforms of images as blocks. Images are (height, width, channels) unless a class says else.

The random ones draw from the operators' random streams (`mx.random.seed`), those of the whole
image's geometry from `random` and `numpy.random`, as in MXNet.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from numbers import Number
from typing import Any

import numpy as np

from ....errors import ParameterError, TypeMismatch
from ....image import geometry
from ....nd import NDArray
from ....public import shows
from ...block import Block, HybridBlock
from ...nn import HybridSequential, Sequential

__all__ = ["Cast", "CenterCrop", "Compose", "CropResize", "Normalize", "RandomApply",
           "RandomBrightness", "RandomColorJitter", "RandomContrast", "RandomFlipLeftRight",
           "RandomFlipTopBottom", "RandomHue", "RandomLighting", "RandomResizedCrop",
           "RandomRotation", "RandomSaturation", "Resize", "Rotate", "ToTensor"]
__dir__ = shows(globals())


def _pair(size: Any) -> tuple[int, int]:
    return (size, size) if isinstance(size, Number) else tuple(size)


def _need_float32(image: NDArray) -> None:
    """Raises TypeMismatch for other images."""
    if np.dtype(image.dtype) != np.float32:
        raise TypeMismatch("This transformation only supports float32. Consider calling it after "
                           "ToTensor")


class Compose(Sequential):
    """Transforms one after the other; neighbours that can be hybridized are, together."""

    def __init__(self, transforms: Sequence[Any]) -> None:
        super().__init__()
        together: list[Any] = []
        for block in [*transforms, None]:
            if isinstance(block, HybridBlock):
                together.append(block)
                continue
            if len(together) == 1:
                self.add(together[0])
            elif together:
                both = HybridSequential()
                both.add(*together)
                both.hybridize()
                self.add(both)
            together = []
            if block is not None:
                self.add(block)


class Cast(HybridBlock):
    """Another dtype."""

    def __init__(self, dtype: Any = "float32") -> None:
        super().__init__()
        self._dtype = dtype

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        return F.cast(x, dtype=self._dtype)


class ToTensor(HybridBlock):
    """Bytes in (H, W, C) or (N, H, W, C) to float32 from 0 to 1, channels before the rows."""

    def __init__(self) -> None:
        super().__init__()

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        return F.image.to_tensor(x)


class Normalize(HybridBlock):
    """(x - mean) / std for each channel of (C, H, W) or (N, C, H, W)."""

    def __init__(self, mean: Any = 0.0, std: Any = 1.0) -> None:
        super().__init__()
        self._mean = mean
        self._std = std

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        return F.image.normalize(x, mean=self._mean, std=self._std)


class Rotate(Block):
    """Float32 images (C, H, W) or (N, C, H, W) turned round their middle by some degrees."""

    def __init__(self, rotation_degrees: Any, zoom_in: bool = False,
                 zoom_out: bool = False) -> None:
        super().__init__()
        self._args = (rotation_degrees, zoom_in, zoom_out)

    def forward(self, x: NDArray) -> Any:
        _need_float32(x)
        return geometry.imrotate(x, *self._args)


class RandomRotation(Block):
    """As Rotate, by an angle between two limits, with a probability of `rotate_with_proba`."""

    def __init__(self, angle_limits: Any, zoom_in: bool = False, zoom_out: bool = False,
                 rotate_with_proba: float = 1.0) -> None:
        super().__init__()
        lower, upper = angle_limits
        if lower >= upper:
            raise ParameterError("`angle_limits` must be an ordered tuple")
        if not 0 <= rotate_with_proba <= 1:
            raise ParameterError("Probability of rotating the image should be between 0 and 1")
        self._limits = lower, upper
        self._zoom = zoom_in, zoom_out
        self._probability = rotate_with_proba

    def forward(self, x: NDArray) -> Any:
        if np.random.random() > self._probability:
            return x
        _need_float32(x)
        return geometry.random_rotate(x, self._limits, *self._zoom)


class RandomResizedCrop(Block):
    """A random part, resized: `scale` bounds its share of the area, `ratio` its aspect."""

    def __init__(self, size: Any, scale: Any = (0.08, 1.0), ratio: Any = (3.0 / 4.0, 4.0 / 3.0),
                 interpolation: int = 1) -> None:
        super().__init__()
        scale = (scale, 1.0) if isinstance(scale, Number) else scale
        self._args = (_pair(size), scale, ratio, interpolation)

    def forward(self, x: NDArray) -> Any:
        return geometry.random_size_crop(x, *self._args)[0]


class CropResize(HybridBlock):
    """The part of an image, or of a batch, that begins at (x, y); resized where `size` says so."""

    def __init__(self, x: int, y: int, width: int, height: int, size: Any = None,
                 interpolation: int | None = None) -> None:
        super().__init__()
        self._part = {"x": x, "y": y, "width": width, "height": height}
        self._size = size
        self._interpolation = 1 if interpolation is None else interpolation

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        part = F.image.crop(x, **self._part)
        if not self._size:
            return part
        return F.image.resize(part, size=self._size, interp=self._interpolation)


class CenterCrop(Block):
    """The middle of an image, `size` (width, height); a smaller image is resized."""

    def __init__(self, size: Any, interpolation: int = 1) -> None:
        super().__init__()
        self._args = (_pair(size), interpolation)

    def forward(self, x: NDArray) -> Any:
        return geometry.center_crop(x, *self._args)[0]


class Resize(HybridBlock):
    """Images in `size` (width, height); one length is both, or with `keep_ratio` the shorter."""

    def __init__(self, size: Any, keep_ratio: bool = False, interpolation: int = 1) -> None:
        super().__init__()
        self._args = {"size": size, "keep_ratio": keep_ratio, "interp": interpolation}

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        return F.image.resize(x, **self._args)


class RandomFlipLeftRight(HybridBlock):
    """Left is right, every other time."""

    def __init__(self) -> None:
        super().__init__()

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        return F.image.random_flip_left_right(x)


class RandomFlipTopBottom(HybridBlock):
    """Top is bottom, every other time."""

    def __init__(self) -> None:
        super().__init__()

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        return F.image.random_flip_top_bottom(x)


def _factors(strength: float) -> dict[str, float]:
    """The range of factors: 1 give or take the strength, but not below 0."""
    return {"min_factor": max(0, 1 - strength), "max_factor": 1 + strength}


class RandomBrightness(HybridBlock):
    """Brightness times a random factor from max(0, 1 - brightness) to 1 + brightness."""

    def __init__(self, brightness: float) -> None:
        super().__init__()
        self._args = _factors(brightness)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        return F.image.random_brightness(x, **self._args)


class RandomContrast(HybridBlock):
    """Contrast times a random factor from max(0, 1 - contrast) to 1 + contrast."""

    def __init__(self, contrast: float) -> None:
        super().__init__()
        self._args = _factors(contrast)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        return F.image.random_contrast(x, **self._args)


class RandomSaturation(HybridBlock):
    """Saturation times a random factor from max(0, 1 - saturation) to 1 + saturation."""

    def __init__(self, saturation: float) -> None:
        super().__init__()
        self._args = _factors(saturation)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        return F.image.random_saturation(x, **self._args)


class RandomHue(HybridBlock):
    """Hue turned by a random factor from max(0, 1 - hue) to 1 + hue."""

    def __init__(self, hue: float) -> None:
        super().__init__()
        self._args = _factors(hue)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        return F.image.random_hue(x, **self._args)


class RandomColorJitter(HybridBlock):
    """Random brightness, contrast, saturation and hue, in random order."""

    def __init__(self, brightness: float = 0, contrast: float = 0, saturation: float = 0,
                 hue: float = 0) -> None:
        super().__init__()
        self._args = {"brightness": brightness, "contrast": contrast, "saturation": saturation,
                      "hue": hue}

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        return F.image.random_color_jitter(x, **self._args)


class RandomLighting(HybridBlock):
    """Noise along the main directions of the colours of ImageNet, of deviation `alpha`."""

    def __init__(self, alpha: float) -> None:
        super().__init__()
        self._alpha = alpha

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        return F.image.random_lighting(x, alpha_std=self._alpha)


class RandomApply(Sequential):
    """A transform, or a list of them one after the other, with a probability of `p`."""

    def __init__(self, transforms: Any, p: float = 0.5) -> None:
        super().__init__()
        self.transforms = Compose(transforms) if isinstance(transforms, (list, tuple)) \
            else transforms
        self.p = p

    def forward(self, x: Any) -> Any:
        return x if self.p < random.random() else self.transforms(x)
