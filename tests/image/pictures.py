"""Small pictures that are drawn here, and how they are put into files."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

HEIGHT, WIDTH = 37, 53


def drawn(height: int = HEIGHT, width: int = WIDTH, shift: int = 0) -> Any:
    """Soft colours, a disc and stripes: (height, width, 3) of uint8."""
    y, x = np.mgrid[:height, :width].astype(float)
    red = 255 * x / width
    green = 127 + 120 * np.sin((x + 2 * y + shift) / 7)
    blue = 255 * y / height
    made = np.stack([red, green, blue], -1)
    disc = (y - height / 2) ** 2 + (x - width / 3) ** 2 < (height / 4) ** 2
    made[disc] = (240, 30 + shift % 200, 60)
    made[:, -6:] = np.where((y[:, -6:] // 3 % 2)[:, :, None] > 0, 255, 0)
    return np.rint(made).astype(np.uint8)


def files() -> dict[str, bytes]:
    """Files of pictures by what is in them."""
    from PIL import Image
    picture = Image.fromarray(drawn())
    alpha = picture.copy()
    alpha.putalpha(Image.fromarray(drawn()[:, :, 0]))
    deep = (drawn()[:, :, 1].astype(np.uint16) << 8) + 77
    turned = {}
    for orientation in range(2, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        turned[f"turned-{orientation}.jpg"] = (picture, {"quality": 90, "exif": exif})
    images: dict[str, Any] = {
        "rgb.png": (picture, {}), "grey.png": (picture.convert("L"), {}), "alpha.png": (alpha, {}),
        "palette.png": (picture.quantize(16), {}), "deep.png": (Image.fromarray(deep), {}),
        "bits.png": (picture.convert("1"), {}), "grey-alpha.png": (alpha.convert("LA"), {}),
        "sampled.jpg": (picture, {"quality": 90}),
        "full.jpg": (picture, {"quality": 95, "subsampling": 0}),
        "progressive.jpg": (picture, {"quality": 80, "progressive": True}),
        "grey.jpg": (picture.convert("L"), {"quality": 90}),
        "rgb.bmp": (picture, {}), "rgb.tif": (picture, {}), **turned}
    made = {}
    for name, (image, options) in images.items():
        file = io.BytesIO()
        image.save(file, {"jpg": "JPEG", "tif": "TIFF"}.get(name[-3:], name[-3:]), **options)
        made[name] = file.getvalue()
    return made
