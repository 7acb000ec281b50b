"""Calls of functions on pictures, made the same way with MXNet and here."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np

from .pictures import drawn

FOLDER = Path(__file__).parents[1] / "data" / "mxnet_images"
SIZES = ((53, 37), (20, 15), (26, 18), (90, 77), (30, 60), (106, 74), (1, 1))  # width, height

# (dtype, channels, function, its arguments)
Case = tuple[str, int, str, tuple[Any, ...], dict[str, Any]]

CASES: list[Case] = [
    *((dtype, channels, "imresize", size, {"interp": interp})
      for dtype, channels, sizes in (("uint8", 3, SIZES), ("uint8", 1, SIZES[1:4]),
                                     ("float32", 3, SIZES[1:3]), ("float64", 1, SIZES[1:3]))
      for interp in range(5) for size in sizes),
    *(("uint8", 3, "copyMakeBorder", (3, 4, 5, 6), {"type": kind, "values": (10.0, 20.0, 30.0)})
      for kind in range(5)),
    ("float32", 1, "copyMakeBorder", (1, 0, 0, 2), {"value": 7.5}),
    ("uint8", 3, "copyMakeBorder", (1, 1, 1, 1), {"value": 7.5}),
    ("float32", 3, "copyMakeBorder", (60, 0, 0, 70), {"type": 4}),
    ("float32", 3, "copyMakeBorder", (60, 0, 0, 70), {"type": 1}),
    ("float64", 3, "copyMakeBorder", (60, 0, 0, 70), {"type": 2}),
    ("int32", 3, "copyMakeBorder", (1, 2, 3, 4), {"type": 16, "values": (1.0, 2.0, 3.0)}),
    *(("uint8", 3, name, arguments, {"interp": interp}) for interp in (0, 1, 2, 3, 4, 9)
      for name, arguments in (("resize_short", (20,)), ("resize_short", (80,)),
                              ("fixed_crop", (3, 5, 20, 10, (15, 25))),
                              ("center_crop", ((30, 60),)), ("random_crop", ((20, 50),)),
                              ("random_size_crop", ((20, 30), (0.1, 0.5), (0.5, 2))))),
    ("uint8", 3, "fixed_crop", (3, 5, 20, 10), {}), ("uint8", 3, "center_crop", ((10, 12),), {}),
    ("uint8", 3, "random_crop", ((20, 30),), {"interp": 10}),
]


# of hue (of 180), lightness and saturation in bytes
TURNS = ((0, 0, 0), (20, 0, 0), (-30, 10, -20), (180, 0, 0), (0, -50, 60))


def name_of(case: Case) -> str:
    """Words of a call, without what a file's name can not have."""
    dtype, channels, function, arguments, options = case
    return f"{dtype}.{channels}.{function}{arguments}{options}".replace("/", "|")


def image(mx: Any, dtype: str, channels: int) -> Any:
    """The picture; floats have parts of levels."""
    pixels = drawn()[:, :, :channels].astype(dtype)
    if dtype.startswith("float"):
        pixels = (pixels * np.dtype(dtype).type(0.37))
    return mx.nd.array(pixels, dtype=dtype)


def run(mx: Any, case: Case) -> Any:
    """The image that a call gives."""
    dtype, channels, function, arguments, options = case
    random.seed(3)
    np.random.seed(3)
    made = getattr(mx.image, function)(image(mx, dtype, channels), *arguments, **options)
    return made[0] if isinstance(made, tuple) else made
