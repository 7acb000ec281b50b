"""Operators on images: rows of pixels, channels last."""

from . import border, color, convert, crop, flip, resize

__all__ = ["border", "color", "convert", "crop", "flip", "resize"]
