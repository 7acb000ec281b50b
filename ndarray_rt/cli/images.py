"""Pictures from files as a network's input."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import MXNetError, ParameterError
from .arguments import divisors, finite, numbers
from .model_file import Array, Slot, regular
from .output import note, shape_text

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm")
LAYOUTS = ("NCHW", "NHWC")
STRETCH, CROP, PAD = "stretch", "crop", "pad"
USUAL_SIZE = 224
_CHANNELS = (1, 3)


def add_image_arguments(parser: argparse.ArgumentParser) -> None:
    """How pictures become an input."""
    group = parser.add_argument_group(
        "pictures", "what is not given follows from the input's shape and dtype, and is told")
    group.add_argument("--layout", choices=LAYOUTS)
    group.add_argument("--size", metavar="HxW", help="such as 224, or 480x640")
    group.add_argument("--resize", choices=(STRETCH, CROP, PAD), default=STRETCH,
                       help="to that size: both sides by themselves, the middle of the picture, "
                            "or all of it with black borders (default: stretch)")
    group.add_argument("--scale", type=finite, help="bytes are multiplied by it: 1/255 for floats")
    group.add_argument("--mean", type=numbers, metavar="R,G,B", help="is subtracted then")
    group.add_argument("--std", type=divisors, metavar="R,G,B", help="and this divided by")
    group.add_argument("--bgr", action="store_true", help="blue comes first")


@dataclass(frozen=True)
class Way:
    """How a picture becomes an input."""

    layout: str
    channels: int
    size: tuple[int, int]
    resize: str
    scale: float
    mean: tuple[float, ...]
    std: tuple[float, ...]
    bgr: bool
    dtype: np.dtype[Any]

    def __str__(self) -> str:
        height, width = self.size
        return (f"{self.layout}, {self.channels} channel(s)"
                f"{' with blue first' if self.bgr else ''}, {height}x{width} by {self.resize}, "
                f"(x * {self.scale:g} - {_text(self.mean)}) / {_text(self.std)}, {self.dtype}")


def _text(of_channels: Sequence[float]) -> str:
    return ",".join(f"{x:g}" for x in of_channels)


def way_of(slot: Slot, given: argparse.Namespace) -> Way:
    """The way for an input, out of the arguments and of its shape. ParameterError where it can take
    no pictures, or where numbers do not go with its channels."""
    shape = slot.shape if slot.shape is not None else (None, 3, None, None)
    if len(shape) == 3:
        shape = (None, *shape)
    if len(shape) != 4:
        raise ParameterError(f"input {slot.name!r} has shape {shape_text(slot.shape)}: a picture "
                             "needs one of 4 dimensions, or 3")
    layout = given.layout or ("NHWC" if shape[3] in _CHANNELS and shape[1] not in _CHANNELS
                              else "NCHW")
    channels, height, width = ((shape[1], shape[2], shape[3]) if layout == "NCHW"
                               else (shape[3], shape[1], shape[2]))
    dtype = np.dtype(np.float32) if slot.dtype is None else slot.dtype
    size = (height if isinstance(height, int) else USUAL_SIZE,
            width if isinstance(width, int) else USUAL_SIZE)
    channels = channels if isinstance(channels, int) else 3
    if channels not in _CHANNELS:
        raise ParameterError(f"input {slot.name!r} has {channels} channels in {layout}: pictures "
                             "have 1 or 3 (--layout for the other one)")
    scale = given.scale if given.scale is not None else 1 / 255 if dtype.kind == "f" else 1.0
    made = Way(layout, channels, _size(given.size) or size, given.resize, scale,
               _for_channels(given.mean or (0.0,), channels, "--mean"),
               _for_channels(given.std or (1.0,), channels, "--std"), given.bgr, dtype)
    note(f"input {slot.name!r}: pictures are {made}")
    return made


def _size(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    words = text.lower().split("x")
    if len(words) > 2 or not all(re.fullmatch("[0-9]{1,5}", word) and 0 < int(word) < 1 << 15
                                 for word in words):
        raise ParameterError(f"--size got {text!r}, expected a number or HxW, such as 480x640")
    return int(words[0]), int(words[-1])


def _for_channels(given: tuple[float, ...], channels: int, what: str) -> tuple[float, ...]:
    if len(given) == 1:
        return given * channels
    if len(given) != channels:
        raise ParameterError(f"{what} has {len(given)} numbers for {channels} channels")
    return given


def read_picture(path: str, way: Way) -> Array:
    """A picture as one sample, (1, C, H, W) or (1, H, W, C)."""
    from ..image.codecs import COLOUR, GREY, decode
    regular(path)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise MXNetError(f"{path!r}: {error.strerror or error}") from None
    pixels = decode(data, COLOUR if way.channels == 3 else GREY, to_rgb=not way.bgr, what=path)
    values = _resized(pixels, way).astype(np.float32)
    mean, std = np.array(way.mean, np.float32), np.array(way.std, np.float32)
    values = (values * np.float32(way.scale) - mean) / std
    if way.layout == "NCHW":
        values = values.transpose(2, 0, 1)
    if way.dtype.kind in "ui":
        limits = np.iinfo(way.dtype)
        values = np.clip(np.rint(values), limits.min, limits.max)
    return np.ascontiguousarray(values[np.newaxis]).astype(way.dtype)


def _resized(pixels: Array, way: Way) -> Array:
    height, width = way.size
    high, wide = pixels.shape[:2]
    if way.resize == STRETCH or (high, wide) == way.size:
        return _to(pixels, height, width)
    factors = height / high, width / wide
    factor = max(factors) if way.resize == CROP else min(factors)
    sizes = max(1, round(high * factor)), max(1, round(wide * factor))
    pixels = _to(pixels, *sizes)
    if way.resize == CROP:
        top, left = (sizes[0] - height) // 2, (sizes[1] - width) // 2
        return pixels[top:top + height, left:left + width]
    made = np.zeros((height, width, pixels.shape[2]), pixels.dtype)
    top, left = (height - sizes[0]) // 2, (width - sizes[1]) // 2
    made[top:top + sizes[0], left:left + sizes[1]] = pixels
    return made


def _to(pixels: Array, height: int, width: int) -> Array:
    """To a size, linearly."""
    if pixels.shape[:2] == (height, width):
        return pixels
    from ..image.geometry import imresize
    from ..nd import array
    made: Array = imresize(array(pixels, dtype="uint8"), width, height).asnumpy()
    return made
