"""What ImageRecordIter does to an image: MXNet's default augmenter, on bytes, in its order.

Many threads do this at once, so nothing here calls BLAS, which would take a buffer for each of them
and start threads of its own.
"""

from __future__ import annotations

from math import cos, radians, sin, sqrt
from typing import Any

import numpy as np

from ..errors import ParameterError
from ..image.augmenters import LIGHT_DEVIATIONS, LIGHT_DIRECTIONS
from ..image.warp import warp_affine
from ..ops.image.color import from_hls, to_hls
from ..ops.image.taps import resize as resize_images
from .image_params import ImageRecordParams

AnyArray = np.ndarray[Any, Any]
Rng = np.random.Generator

TRIALS = 10  # parts of random area, before it is the middle
CUBIC, AREA, LINEAR = 2, 3, 1
FITTING, ANY = 9, 10
# weights of the first three channels in grey; MXNet has blue first where it asks for red's
_GREY = np.array([0.114, 0.587, 0.299], np.float32)
_LIMITS = (180, 255, 255)  # of hue, lightness and saturation in bytes


def resized(pixels: AnyArray, width: int, height: int, interp: int, rng: Rng) -> AnyArray:
    """The image in another size; 9 chooses by what happens, 10 at random."""
    rows, columns = pixels.shape[:2]
    if interp == FITTING:
        if width > columns and height > rows:
            interp = CUBIC
        else:
            interp = AREA if width < columns and height < rows else LINEAR
    elif interp == ANY:
        interp = int(rng.integers(0, 5))
    if (rows, columns) == (height, width):
        return pixels
    made: AnyArray = resize_images(pixels[None], height, width, interp)[0]
    return made


def shorter(pixels: AnyArray, size: int, interp: int, rng: Rng) -> AnyArray:
    """The image whose shorter side is `size`."""
    rows, columns = pixels.shape[:2]
    if rows > columns:
        return resized(pixels, size, size * rows // columns, interp, rng)
    return resized(pixels, size * columns // rows, size, interp, rng)


def margins(pixels: AnyArray, top: int, bottom: int, left: int, right: int, fill: int) -> AnyArray:
    """The image with a margin of one level."""
    return np.pad(pixels, ((top, bottom), (left, right), (0, 0)), constant_values=fill)


def _aspects(p: ImageRecordParams) -> tuple[float, float]:
    """The least and the largest width by height."""
    if p.min_aspect_ratio is None:
        return 1 - p.max_aspect_ratio, 1 + p.max_aspect_ratio
    return p.min_aspect_ratio, p.max_aspect_ratio


def checked(p: ImageRecordParams, what: str) -> None:
    """Raises ParameterError for parameters that do not go together."""
    low, high = _aspects(p)
    scales = p.min_random_scale, p.max_random_scale
    if not 0 < low <= high:
        raise ParameterError(f"{what}: aspects from {low} to {high} (min_aspect_ratio, "
                             "max_aspect_ratio), expected two above 0 in rising order")
    if not 0 < scales[0] <= scales[1]:
        raise ParameterError(f"{what}: min_random_scale is {scales[0]}, max_random_scale "
                             f"{scales[1]}, expected two above 0 in rising order")
    if p.random_resized_crop and (scales != (1, 1) or p.rand_crop
                                  or (p.min_crop_size, p.max_crop_size) != (-1, -1)):
        raise ParameterError(f"{what}: random_resized_crop conflicts with min_random_scale, "
                             "max_random_scale, min_crop_size, max_crop_size and rand_crop")
    if not 0 < p.min_random_area <= p.max_random_area:
        raise ParameterError(f"{what}: min_random_area is {p.min_random_area}, max_random_area "
                             f"{p.max_random_area}, expected two above 0 in rising order")
    most = (p.brightness, p.contrast, p.saturation, p.pca_noise, p.max_shear_ratio,
            p.max_random_contrast, p.max_random_illumination)
    if min(most) < 0:
        raise ParameterError(f"{what}: how much colours, numbers and shapes may change is "
                             f"{most}, expected numbers from 0 up")


def augment(pixels: AnyArray, p: ImageRecordParams, rng: Rng) -> AnyArray:
    """An image (height, width, channels) of uint8, red first, as `p` says; of data_shape's size.

    Raises ParameterError for an image that is too small for the parts. `checked` has looked at
    the parameters.
    """
    if p.resize > 0:
        pixels = shorter(pixels, p.resize, p.inter_method, rng)
    low, high = _aspects(p)
    if _is_mapped(p, low, high):
        pixels = _mapped(pixels, p, low, high, rng)
    if p.pad:
        pixels = margins(pixels, p.pad, p.pad, p.pad, p.pad, p.fill_value)
    pixels = _part(pixels, p, low, high, rng)
    if pixels.shape[2] < 3:
        return pixels
    if p.brightness > 0 or p.contrast > 0 or p.saturation > 0:
        pixels = _jittered(pixels, p, rng)
    if p.random_h or p.random_s or p.random_l:
        turns = [int((share + 4 * other) / 5 * most * 2 - most) for (share, other), most in
                 zip(rng.random((3, 2)), (p.random_h, p.random_l, p.random_s), strict=True)]
        pixels = shifted_hls(pixels, turns)
    if p.pca_noise > 0:
        light = (LIGHT_DIRECTIONS * (LIGHT_DEVIATIONS * rng.normal(0, p.pca_noise, 3))).sum(1)
        pixels = _bytes(np.trunc(pixels + light))
    return pixels


def _is_mapped(p: ImageRecordParams, low: float, high: float) -> bool:
    return bool(p.max_rotate_angle > 0 or p.max_shear_ratio > 0 or p.rotate > 0 or p.rotate_list
                or (p.min_random_scale, p.max_random_scale) != (1, 1)
                or (not p.random_resized_crop and (low, high) != (1, 1))
                or p.max_img_size < 1e10 or p.min_img_size > 0)


def _mapped(pixels: AnyArray, p: ImageRecordParams, low: float, high: float, rng: Rng) -> AnyArray:
    """Turned, sheared and scaled round its middle."""
    rows, columns = pixels.shape[:2]
    shear = rng.uniform(-p.max_shear_ratio, p.max_shear_ratio)
    angle = int(rng.integers(-p.max_rotate_angle, p.max_rotate_angle, endpoint=True))
    if p.rotate > 0:
        angle = p.rotate
    if p.rotate_list:
        angle = int(rng.choice(p.rotate_list))
    scale = ratio = 1.0
    if not p.random_resized_crop:
        scale = rng.uniform(p.min_random_scale, p.max_random_scale)
        ratio = rng.uniform(low, high)
    a, b = cos(radians(angle)), sin(radians(angle))
    high_scale = 2 * scale / (1 + ratio)
    wide_scale = ratio * high_scale
    width, height = (int(max(p.min_img_size, min(p.max_img_size, scale * side)))
                     for side in (columns, rows))
    if width < 1 or height < 1:
        raise ParameterError(f"an image of {rows} x {columns} pixels has none left where it is "
                             f"scaled by {scale:g}")
    matrix = np.array([[high_scale * a - shear * b * wide_scale,
                        high_scale * b + shear * a * wide_scale, 0],
                       [-b * wide_scale, a * wide_scale, 0]])
    wanted = np.array([max(p.min_img_size, min(p.max_img_size, scale * side))
                       for side in (columns, rows)])
    matrix[:, 2] = (wanted - matrix[:, 0] * columns - matrix[:, 1] * rows) / 2
    interp = p.inter_method
    if interp == FITTING:
        larger, smaller = width > columns and height > rows, width < columns and height < rows
        interp = CUBIC if larger else AREA if smaller else LINEAR
    elif interp == ANY:
        interp = int(rng.integers(0, 5))
    return warp_affine(pixels, matrix, width, height, interp, p.fill_value)


def _part(pixels: AnyArray, p: ImageRecordParams, low: float, high: float, rng: Rng) -> AnyArray:
    """A part of data_shape's height and width, or resized to it."""
    _, height, width = p.data_shape
    rows, columns = pixels.shape[:2]
    if p.random_resized_crop:
        found = _random_part(pixels, p, low, high, rng)
        if found is not None:
            return resized(found, width, height, p.inter_method, rng)
    elif p.max_crop_size != -1 or p.min_crop_size != -1:
        if not p.min_crop_size <= p.max_crop_size <= min(rows, columns) or p.min_crop_size < 1:
            raise ParameterError(f"input image size {rows} x {columns} smaller than max_crop_size="
                                 f"{p.max_crop_size}, or that than min_crop_size="
                                 f"{p.min_crop_size}")
        size = int(rng.integers(p.min_crop_size, p.max_crop_size, endpoint=True))
        return resized(_placed(pixels, size, size, p.rand_crop, rng), width, height,
                       p.inter_method, rng)
    if rows < height:
        pixels = resized(pixels, int(np.float32(height) / np.float32(rows) * np.float32(columns)),
                         height, p.inter_method, rng)
    rows, columns = pixels.shape[:2]
    if columns < width:
        pixels = resized(pixels, width, int(np.float32(width) / np.float32(columns)
                                            * np.float32(rows)), p.inter_method, rng)
    if pixels.shape[0] < height or pixels.shape[1] < width:
        raise ParameterError(f"input image size {pixels.shape[:2]} smaller than input shape "
                             f"{p.data_shape}")
    return _placed(pixels, height, width, p.rand_crop, rng)


def _placed(pixels: AnyArray, height: int, width: int, anywhere: bool, rng: Rng) -> AnyArray:
    y, x = pixels.shape[0] - height, pixels.shape[1] - width
    if anywhere:
        y, x = (int(rng.integers(0, most, endpoint=True)) for most in (y, x))
    else:
        y, x = y // 2, x // 2
    return pixels[y:y + height, x:x + width]


def _random_part(pixels: AnyArray, p: ImageRecordParams, low: float, high: float,
                 rng: Rng) -> AnyArray | None:
    """A part of random area and aspect, None after ten that are too large."""
    if (p.min_random_area, p.max_random_area, low, high) == (1, 1, 1, 1):
        return None
    rows, columns = pixels.shape[:2]
    for _ in range(TRIALS):
        area = rows * columns * rng.uniform(p.min_random_area, p.max_random_area)
        ratio = rng.uniform(low, high)
        tall, wide = round(sqrt(area / ratio)), round(sqrt(area * ratio))
        if rng.random() > 0.5:
            tall, wide = wide, tall
        if 1 <= tall <= rows and 1 <= wide <= columns:
            return _placed(pixels, tall, wide, True, rng)
    return None


# ---- colours ------------------------------------------------------------------------------------


def _bytes(value: AnyArray) -> AnyArray:
    # np.clip looks up the limits of dtypes first, which takes as long as a small image
    made: AnyArray = np.minimum(np.maximum(np.rint(value), 0), 255).astype(np.uint8)
    return made


def _jittered(pixels: AnyArray, p: ImageRecordParams, rng: Rng) -> AnyArray:
    """Brightness, contrast and saturation in random order; alpha stays."""
    colours, rest = pixels[..., :3], pixels[..., 3:]
    factors = [1 + rng.uniform(-most, most) for most in (p.brightness, p.contrast, p.saturation)]
    for which in rng.permutation(3):
        factor = np.float32(factors[which])
        x = colours.astype(np.float32)
        if which == 0:
            colours = _bytes(x * factor)
            continue
        grey = _bytes((x * _GREY).sum(-1)).astype(np.float32)
        colours = _bytes(x * factor + (1 - factor) * (grey.mean() if which == 1
                                                      else grey[..., None]))
    return np.concatenate([colours, rest], 2) if rest.size else colours


def shifted_hls(pixels: AnyArray, turns: list[int]) -> AnyArray:
    """Hue (of 180), lightness and saturation (of 255) plus some, within their limits."""
    colours, rest = pixels[..., :3], pixels[..., 3:]
    hue, light, share = to_hls(colours * np.float32(1 / 255))
    levels = []
    for part, limit, turn in zip((hue / 360, light, share), _LIMITS, turns, strict=True):
        levels.append(np.minimum(np.maximum(np.rint(part * np.float32(limit)) + turn, 0), limit))
    made = _bytes(from_hls(levels[0] * 2, levels[1] / np.float32(255),
                           levels[2] / np.float32(255)))
    return np.concatenate([made, rest], 2) if rest.size else made
