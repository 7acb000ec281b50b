"""Operators on images: rows of pixels, channels last."""
