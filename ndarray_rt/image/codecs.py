"""Bytes of image files to arrays and back, through Pillow.

What comes out is what OpenCV gives, through which MXNet reads: alpha is cut off where colour or
grey is asked for, and grey is the brightness that a JPEG file has, or the sum of the colours with
the weights of the library that reads the format there.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from ..errors import MissingPackage, ParameterError, ShapeError, TypeMismatch, shown

AnyArray = np.ndarray[Any, Any]

UNCHANGED, GREY, COLOUR = -1, 0, 1
_ORIENTATION = 0x0112  # Exif's number for it
# orientation -> how rows and columns are exchanged and turned round
_TURNS = {2: (False, 1, -1), 3: (False, -1, -1), 4: (False, -1, 1), 5: (True, 1, 1),
          6: (True, 1, -1), 7: (True, -1, -1), 8: (True, -1, 1)}


# weights of red, green and blue in grey, what is added before the sum is shifted, and by how much
_GREY_OF_PNG = ((9798, 19235, 3735), 0, 15)
_GREY = ((4899, 9617, 1868), 1 << 13, 14)


def pillow() -> Any:
    """Pillow's module Image. Raises MissingPackage without it."""
    try:
        from PIL import Image
    except ImportError:
        raise MissingPackage.of("reading and writing image files", "Pillow", "image") from None
    return Image


def is_jfif(data: bytes | memoryview) -> bool:
    """A JPEG file that begins with a header of JFIF, as most programs but not cameras write it."""
    return bytes(data[:4]) == b"\xff\xd8\xff\xe0"


def decode(data: bytes | memoryview, flag: int = COLOUR, to_rgb: bool = True, upright: bool = True,
           grey_axis: bool = True, what: str = "imdecode") -> AnyArray:
    """The image of a file's bytes: uint8, (height, width, channels).

    `flag` 1 gives three channels, 0 one, -1 those of the file. Without `to_rgb` blue comes first.
    `upright` turns a JPEG image as its orientation says, but for flag -1. Grey images have an axis
    of one channel with `grey_axis` only. Raises ParameterError, which names `what`, for bytes that
    are no image.
    """
    image = pillow()
    try:
        with image.open(io.BytesIO(data)) as file:
            turns = (upright and flag != UNCHANGED and file.format == "JPEG"
                     and "exif" in file.info)
            turn = int(file.getexif().get(_ORIENTATION, 1)) if turns else 1
            made = _turned(_channels(file, flag), turn)
    except (OSError, ValueError, SyntaxError, EOFError, image.DecompressionBombError) as error:
        raise _no_image(data, what, error) from None
    if made.ndim == 2:
        made = made[:, :, None] if grey_axis else made
    elif not to_rgb:
        made = made[:, :, [2, 1, 0, 3][:made.shape[2]]]
    return np.ascontiguousarray(made)


def size_of(data: bytes | memoryview, what: str = "imdecode") -> tuple[int, int]:
    """Height and width that a file's header tells. Raises ParameterError as `decode` does."""
    image = pillow()
    try:
        with image.open(io.BytesIO(data)) as file:
            width, height = file.size
    except (OSError, ValueError, SyntaxError, EOFError, image.DecompressionBombError) as error:
        raise _no_image(data, what, error) from None
    return height, width


def _no_image(data: bytes | memoryview, what: str, error: Exception) -> ParameterError:
    return ParameterError(f"{what}: {len(data)} bytes are no image that Pillow can read: {error}")


def _channels(file: Any, flag: int) -> AnyArray:
    """Pixels of an open image."""
    if file.mode in ("I", "I;16", "I;16B", "I;16L", "I;16N", "F"):
        deep = np.asarray(file)
        pixels = (deep if file.mode == "F" else deep.astype(np.int64) >> 8)
        pixels = np.clip(pixels, 0, 255).astype(np.uint8)
        if flag == COLOUR:
            pixels = np.repeat(pixels[:, :, None], 3, 2)
    elif flag == GREY:
        pixels = _grey(file)
    elif flag == COLOUR:
        pixels = np.asarray(file.convert("RGB"))
    else:
        mode = {"1": "L", "L": "L", "LA": "RGBA", "PA": "RGBA", "RGBA": "RGBA", "P": "RGB",
                "La": "RGBA", "RGBa": "RGBA"}.get(file.mode, "RGB")
        if file.mode == "P" and "transparency" in file.info:
            mode = "RGBA"
        pixels = np.asarray(file.convert(mode))
    return np.asarray(pixels)


def _grey(file: Any) -> AnyArray:
    if file.format == "JPEG":
        file.draft("L", file.size)  # the brightness that the file has
        if file.mode != "L":
            file = file.convert("RGB")
        return np.asarray(file.convert("L"))
    if file.mode in ("1", "L"):
        return np.asarray(file.convert("L"))
    weights, add, shift = _GREY_OF_PNG if file.format == "PNG" else _GREY
    colours = np.asarray(file.convert("RGB")).astype(np.int64)
    pixels: AnyArray = (((colours * weights).sum(axis=-1) + add) >> shift).astype(np.uint8)
    return pixels


def _turned(pixels: AnyArray, orientation: int) -> AnyArray:
    """An image turned as Exif's orientation says."""
    if orientation not in _TURNS:
        return pixels
    swaps, down, across = _TURNS[orientation]
    if swaps:
        pixels = pixels.swapaxes(0, 1)
    return pixels[::down, ::across]


def encode(img: Any, quality: int, img_fmt: str) -> bytes:
    """The bytes of an image file: `img` is (height, width), or has 1, 3 or 4 channels, blue first.

    `quality` is JPEG's, or PNG's compression. Raises ParameterError for another format.
    """
    image = pillow()
    pixels = np.asarray(img)
    if pixels.dtype != np.uint8:
        raise TypeMismatch(f"pack_img: img has dtype {pixels.dtype}, expected uint8")
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[:, :, 0]
    if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] not in (3, 4)) \
            or not pixels.size:
        raise ShapeError(f"pack_img: img has shape {pixels.shape}, expected (height, width) or "
                         "(height, width, channels) of 1, 3 or 4 channels")
    if pixels.ndim == 3:
        pixels = pixels[:, :, [2, 1, 0, 3][:pixels.shape[2]]]
    kind = str(img_fmt).lower()
    options: dict[str, Any] = {}
    if kind in (".jpg", ".jpeg"):
        kind, pixels = ".jpg", pixels[..., :3] if pixels.ndim == 3 else pixels
        options = {"quality": min(max(int(quality), 1), 100)}
    elif kind == ".png":
        options = {"compress_level": min(max(int(quality), 0), 9)}
    made = io.BytesIO()
    form = image.registered_extensions().get(kind)
    if form is None or form not in image.SAVE:
        raise ParameterError(f"pack_img: img_fmt is {shown(img_fmt)}, expected '.jpg', '.png' or "
                             "another ending that Pillow writes")
    try:
        image.fromarray(np.ascontiguousarray(pixels)).save(made, form, **options)
    except (OSError, ValueError) as error:
        raise ParameterError(f"pack_img: an image of shape {pixels.shape} can not be written as "
                             f"{img_fmt}: {error}") from None
    return made.getvalue()
