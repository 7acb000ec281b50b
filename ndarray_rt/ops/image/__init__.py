"""Operators on images: rows of pixels, channels last."""

from . import color, convert, crop, flip, resize

__all__ = ["color", "convert", "crop", "flip", "resize"]
