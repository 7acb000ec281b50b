"""Boxes drawn on images, and windows with them. Used by ImageDetIter.draw_next."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import MissingPackage
from .codecs import pillow

AnyArray = np.ndarray[Any, Any]

TEXT_PLACE = 5  # of a class's name in its box, in pixels


def draw_boxes(pixels: AnyArray, label: AnyArray, color: Any, thickness: int,
               names: dict[int, str] | None) -> AnyArray:
    """The image, red first, with its label's boxes; blue comes first in what is returned.

    Boxes that begin left of the image are not drawn. `color` None draws random ones, from
    `numpy.random`.
    """
    pillow()
    from PIL import Image, ImageDraw
    image = Image.fromarray(np.ascontiguousarray(pixels))
    draw = ImageDraw.Draw(image)
    width, height = image.size
    for row in label:
        left, top, right, bottom = (int(part * length) for part, length in
                                    zip(row[1:5], (width, height) * 2, strict=True))
        if left < 0:
            continue
        own = tuple(int(part) for part in (np.random.rand(3) * 255 if color is None else color))
        draw.rectangle([left, top, max(left, right), max(top, bottom)], outline=own,
                       width=thickness)
        name = (names or {}).get(int(row[0]))
        if name is not None:
            draw.text((left + TEXT_PLACE, top + TEXT_PLACE), str(name), fill=(255, 255, 255))
    return np.ascontiguousarray(np.asarray(image)[:, :, ::-1])


def show(window: str, image: AnyArray, milliseconds: int) -> None:
    """A window with the image for so long. Raises MissingPackage without OpenCV."""
    try:
        import cv2
    except ImportError:
        raise MissingPackage("draw_next: windows (waitKey) need the package opencv-python"
                             ) from None
    cv2.imshow(window, image)
    cv2.waitKey(milliseconds)
