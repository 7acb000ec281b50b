"""Images in another size, parts of them, turned, with a margin. Images are (height, width,
channels) unless a function says else; sizes are (width, height).
"""

from __future__ import annotations

import random
import warnings
from numbers import Number
from typing import Any

import numpy as np

from .. import nd
from ..errors import ParameterError, ShapeError, TypeMismatch
from ..nd import NDArray
from ..public import shows

__all__ = ["center_crop", "color_normalize", "copyMakeBorder", "fixed_crop", "imresize",
           "imrotate", "random_crop", "random_rotate", "random_size_crop", "resize_short",
           "scale_down"]
__dir__ = shows(globals())

Size = tuple[int, int]
Rectangle = tuple[int, int, int, int]  # x, y, width, height

TRIALS = 10  # parts of random size, before it is the middle

# how pixels of another size are made; 9 and 10 choose one of them
CUBIC, AREA, LINEAR = 2, 3, 1
LAST, FITTING, ANY = 4, 9, 10


def interpolation(interp: int, sizes: tuple[int, ...] = ()) -> int:
    """One of 0 to 4: 9 is area for smaller images and cubic for larger ones, 10 a random one.

    `sizes` are the height and width before and after. Source: MXNet's rule for `interp`.
    """
    if interp == FITTING:
        if not sizes:
            return CUBIC
        height, width, new_height, new_width = sizes
        if new_height > height and new_width > width:
            return CUBIC
        return AREA if new_height < height and new_width < width else LINEAR
    if interp == ANY:
        return random.randint(0, LAST)
    if interp not in range(LAST + 1):
        raise ParameterError(f"Unknown interp method {interp}: expected 0 to {LAST}, {FITTING} or "
                             f"{ANY}")
    return interp


def imresize(src: NDArray, w: int, h: int, *args: Any, **kwargs: Any) -> NDArray:
    """The image in width `w` and height `h`.

    `interp` is 0 nearest, 1 bilinear (the default), 2 bicubic, 3 area, 4 Lanczos over 8 pixels;
    `out` where to write. Bytes and floats. Source: MXNet's imresize, OpenCV's resize.
    """
    made: NDArray = nd._internal._cvimresize(src, w, h, *args, **kwargs)
    return made


def copyMakeBorder(src: NDArray, top: int, bot: int, left: int, right: int,  # noqa: N802
                   *args: Any, **kwargs: Any) -> NDArray:
    """The image with a margin of so many rows and columns.

    `type` says what is there: 0 the numbers `values`, one for each channel; 1 the last pixel; 2
    the image mirrored; 3 its other side; 4 the image mirrored round its last pixel. `out` is where
    to write. Source: MXNet's copyMakeBorder, OpenCV's numbers.
    """
    made: NDArray = nd._internal._cvcopyMakeBorder(src, top, bot, left, right, *args, **kwargs)
    return made


def scale_down(src_size: Size, size: Size) -> Size:
    """The largest size of the same aspect as `size` that fits into an image of `src_size`."""
    width, height = size
    most_width, most_height = src_size
    wide, high = float(width), float(height)
    if most_height < high:
        wide, high = wide * most_height / high, float(most_height)
    if most_width < wide:
        wide, high = float(most_width), high * most_width / wide
    return int(wide), int(high)


def resize_short(src: NDArray, size: int, interp: int = 2) -> NDArray:
    """The image whose shorter side is `size`, in its own aspect."""
    height, width, _ = src.shape
    if height > width:
        high, wide = size * height // width, size
    else:
        high, wide = size, size * width // height
    return imresize(src, wide, high, interp=interpolation(interp, (height, width, high, wide)))


def fixed_crop(src: NDArray, x0: int, y0: int, w: int, h: int, size: Size | None = None,
               interp: int = 2) -> NDArray:
    """The part of width `w` and height `h` from column `x0` and row `y0` on, resized to `size`."""
    part: NDArray = src[y0:y0 + h, x0:x0 + w]
    if size is None or (w, h) == tuple(size):
        return part
    return imresize(part, *size, interp=interpolation(interp, (h, w, size[1], size[0])))


def random_crop(src: NDArray, size: Size, interp: int = 2) -> tuple[NDArray, Rectangle]:
    """(image of `size`, its rectangle): a part anywhere, as large as it can be, resized."""
    height, width, _ = src.shape
    wide, high = scale_down((width, height), size)
    x, y = random.randint(0, width - wide), random.randint(0, height - high)
    return fixed_crop(src, x, y, wide, high, size, interp), (x, y, wide, high)


def center_crop(src: NDArray, size: Size, interp: int = 2) -> tuple[NDArray, Rectangle]:
    """(image of `size`, its rectangle): the middle, as large as it can be, resized."""
    height, width, _ = src.shape
    wide, high = scale_down((width, height), size)
    x, y = (width - wide) // 2, (height - high) // 2
    return fixed_crop(src, x, y, wide, high, size, interp), (x, y, wide, high)


def random_size_crop(src: NDArray, size: Size, area: Any, ratio: tuple[float, float],
                     interp: int = 2, **kwargs: Any) -> tuple[NDArray, Rectangle]:
    """(image of `size`, its rectangle): a random part, resized.

    Its share of the area is in `area`, or between that number and 1, its width by its height in
    `ratio`. After ten parts that are too large it is the middle.
    """
    area = only_area(area, kwargs, "random_size_crop")
    if isinstance(area, Number):
        area = (area, 1.0)
    height, width, _ = src.shape
    log_ratio = (np.log(ratio[0]), np.log(ratio[1]))
    for _ in range(TRIALS):
        wanted = random.uniform(*area) * height * width
        aspect = np.exp(random.uniform(*log_ratio))
        wide, high = round(np.sqrt(wanted * aspect)), round(np.sqrt(wanted / aspect))
        if 1 <= wide <= width and 1 <= high <= height:
            x, y = random.randint(0, width - wide), random.randint(0, height - high)
            return fixed_crop(src, x, y, wide, high, size, interp), (x, y, wide, high)
    return center_crop(src, size, interp)


def only_area(area: Any, kwargs: dict[str, Any], what: str) -> Any:
    """The area, perhaps by its old name `min_area`; ParameterError for any other keyword."""
    if "min_area" in kwargs:
        warnings.warn("`min_area` is deprecated. Please use `area` instead.", DeprecationWarning,
                      stacklevel=3)
        area = kwargs.pop("min_area")
    if kwargs:
        raise ParameterError(f"unexpected keyword arguments for `{what}`: {', '.join(kwargs)}")
    return area


def color_normalize(src: NDArray, mean: Any, std: Any = None) -> NDArray:
    """(src - mean) / std, written to `src`; either may be None."""
    if mean is not None:
        src -= mean
    if std is not None:
        src /= std
    return src


def imrotate(src: NDArray, rotation_degrees: Any, zoom_in: bool = False,
             zoom_out: bool = False) -> NDArray:
    """Float32 images (channels, height, width), or a batch, turned by as many degrees, or by one
    angle each; zero beyond their edges.

    `zoom_in` makes them larger until nothing beyond is seen, `zoom_out` smaller until all is.
    Source: MXNet's image.imrotate, through its BilinearSampler.
    """
    if zoom_in and zoom_out:
        raise ParameterError("`zoom_in` and `zoom_out` cannot be both True")
    if np.dtype(src.dtype) != np.float32:
        raise TypeMismatch("imrotate: Only `float32` images are supported by this function, got "
                           f"{src.dtype}")
    if src.ndim == 3:
        if not isinstance(rotation_degrees, Number):
            raise TypeMismatch("imrotate: one image is turned by a number, got "
                               f"{type(rotation_degrees).__name__}")
        return imrotate(src.expand_dims(axis=0), rotation_degrees, zoom_in, zoom_out)[0]
    if src.ndim != 4:
        raise ShapeError(f"imrotate: src has shape {src.shape}, expected 3 or 4 axes")
    count, _, height, width = src.shape
    angles = np.asarray(rotation_degrees.asnumpy() if isinstance(rotation_degrees, NDArray)
                        else rotation_degrees, np.float64)
    if angles.shape not in ((), (count,)):
        raise ShapeError(f"imrotate: {angles.size} angles for {count} images")
    angles = np.broadcast_to(np.deg2rad(angles), (count,))[:, None, None]
    half_width, half_height = (width - 1) / 2 or 1.0, (height - 1) / 2 or 1.0
    x = np.arange(width)[None, None, :] - (width - 1) / 2
    y = np.arange(height)[None, :, None] - (height - 1) / 2
    grid = np.stack([(x * np.cos(angles) - y * np.sin(angles)) / half_width,
                     (x * np.sin(angles) + y * np.cos(angles)) / half_height], axis=1)
    if zoom_in or zoom_out:
        turn, diagonal = np.abs(angles), np.arctan(height / width)
        corners = np.stack([diagonal + turn, diagonal - turn])
        reach = np.hypot(height, width)
        wide = np.abs(reach * np.cos(corners)).max(0) / width
        high = np.abs(reach * np.sin(corners)).max(0) / height
        larger = np.maximum(wide, high)
        grid *= (larger if zoom_out else 1 / larger)[:, None]
    made: NDArray = nd.BilinearSampler(src, nd.array(grid, ctx=src.context, dtype="float32"))
    return made


def random_rotate(src: NDArray, angle_limits: tuple[float, float], zoom_in: bool = False,
                  zoom_out: bool = False) -> NDArray:
    """As `imrotate`, by an angle between two limits that is drawn for each image."""
    count = None if src.ndim == 3 else src.shape[0]
    return imrotate(src, np.random.uniform(*angle_limits, size=count), zoom_in, zoom_out)
