"""The handwritten digits of `examples/data`, ready for a network of 28x28 inputs."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

DATA = Path(__file__).parent / "data" / "digits.csv.gz"
SIZE = 28


def table() -> tuple[np.ndarray, np.ndarray]:
    """(pixels (1797, 64) float32 within [0, 1], digits (1797,) float32)."""
    with gzip.open(DATA, "rt") as lines:
        rows = np.loadtxt(lines, delimiter=",", dtype=np.float32)
    return rows[:, :64] / np.float32(16), rows[:, 64].copy()


def load() -> tuple[np.ndarray, np.ndarray]:
    """(images (1797, 1, 28, 28) float32 within [0, 1], digits (1797,) float32)."""
    pixels, labels = table()
    up = upscaling(8, SIZE)
    images = (up @ pixels.reshape(-1, 8, 8) @ up.T)[:, None]
    return np.ascontiguousarray(images, np.float32), labels


def upscaling(old: int, new: int) -> np.ndarray:
    """The (new, old) matrix of linear interpolation between pixel centres."""
    at = np.clip((np.arange(new) + 0.5) * old / new - 0.5, 0, old - 1)
    low = np.minimum(at.astype(int), old - 2)
    matrix = np.zeros((new, old), np.float32)
    matrix[np.arange(new), low] = 1 - (at - low)
    matrix[np.arange(new), low + 1] = at - low
    return matrix
