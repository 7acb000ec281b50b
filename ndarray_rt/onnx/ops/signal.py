"""Fourier transforms and windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..graph import Array, Node
from ..table import operator
from .casts import dtype_of


@operator("DFT", shape_from=(1, 2))
def dft(node: Node, x: Array, length: Array | None = None, axis: Array | None = None) -> Array:
    along = int(node.attr("axis", 1 if node.opset < 20 else -2)) if axis is None else int(
        axis.reshape(-1)[0])
    along = along % x.ndim if along >= 0 else along + x.ndim
    is_complex = x.shape[-1] == 2
    values = x[..., 0] + 1j * x[..., 1] if is_complex else x[..., 0]
    one_sided, inverse = bool(node.attr("onesided", 0)), bool(node.attr("inverse", 0))
    own = values.shape[along]
    count = (2 * (own - 1) if one_sided and inverse else own) if length is None else int(
        length.reshape(-1)[0])
    if inverse:
        if one_sided:
            return np.fft.irfft(values, count, along)[..., None].astype(x.dtype)
        made = np.fft.ifft(values, count, along)
    else:
        made = np.fft.fft(values, count, along)
        if one_sided:
            made = np.take(made, np.arange(count // 2 + 1), along)
    return np.stack([made.real, made.imag], -1).astype(x.dtype)


@dft.sized
def dft_size(node: Node, x: Array, length: Array | None = None, axis: Array | None = None,
             ) -> tuple[list[int], Any]:
    along = int(node.attr("axis", 1 if node.opset < 20 else -2)) if axis is None else int(
        axis.reshape(-1)[0])
    dims = list(x.shape)
    dims[along] = 2 * dims[along] if length is None else int(length.reshape(-1)[0])
    dims[-1] = 2
    return dims, x.dtype


@operator("STFT", shape_from=(1, 2, 3))
def stft(node: Node, x: Array, step: Array, window: Array | None = None,
         length: Array | None = None) -> Array:
    hop = int(step.reshape(-1)[0])
    size = int(length.reshape(-1)[0]) if length is not None else (
        window.shape[0] if window is not None else x.shape[1])
    is_complex = x.ndim == 3 and x.shape[-1] == 2
    values = x[..., 0] + 1j * x[..., 1] if is_complex else x.reshape(x.shape[:2])
    taper = np.ones(size, x.dtype) if window is None else window
    count = (values.shape[1] - size) // hop + 1
    frames = np.stack([values[:, i * hop:i * hop + size] * taper for i in range(count)], 1)
    made = np.fft.fft(frames, axis=-1)
    if node.attr("onesided", 1):
        made = made[..., :size // 2 + 1]
    return np.stack([made.real, made.imag], -1).astype(x.dtype)


@stft.sized
def stft_size(node: Node, x: Array, step: Array, window: Array | None = None,
              length: Array | None = None) -> tuple[list[int], Any]:
    hop = int(step.reshape(-1)[0])
    if hop < 1:
        raise ValueError(f"a step of {hop}")
    size = int(length.reshape(-1)[0]) if length is not None else (
        window.shape[0] if window is not None else x.shape[1])
    if not 1 <= size <= x.shape[1]:
        raise ValueError(f"frames of {size} of a signal of {x.shape[1]}")
    return [x.shape[0], (x.shape[1] - size) // hop + 1, size, 2], x.dtype


def _add_window(name: str, function: Callable[[Array, float], Any]) -> None:
    @operator(name, shape_from=(0,))
    def compute(node: Node, size: Array) -> Array:
        count = int(size.reshape(-1)[0])
        period = count if node.attr("periodic", 1) else count - 1
        made = function(np.arange(count), float(max(period, 1)))
        return np.asarray(made).astype(dtype_of(node.attr("output_datatype", 1)))

    @compute.sized
    def length(node: Node, size: Array) -> tuple[list[int], Any]:
        return [int(size.reshape(-1)[0])], np.dtype(np.float64)


_add_window("HannWindow", lambda n, p: np.sin(np.pi * n / p) ** 2)
_add_window("HammingWindow", lambda n, p: 25 / 46 - 21 / 46 * np.cos(2 * np.pi * n / p))
_add_window("BlackmanWindow", lambda n, p: 0.42 - 0.5 * np.cos(2 * np.pi * n / p) + (
    0.08 * np.cos(4 * np.pi * n / p)))


@operator("MelWeightMatrix", shape_from=(0, 1, 2, 3, 4))
def mel_weight_matrix(node: Node, bins: Array, length: Array, rate: Array, low: Array, high: Array,
                      ) -> Array:
    count, size = int(bins.reshape(-1)[0]), int(length.reshape(-1)[0])
    spectrum = size // 2 + 1

    def mel(hertz: Any) -> Any:
        return 2595 * np.log10(1 + hertz / 700)
    first_mel, last_mel = mel(float(low)), mel(float(high))
    ends = first_mel + np.arange(count + 2) * ((last_mel - first_mel) / (count + 2))
    edges = ((size + 1) * (700 * (10 ** (ends / 2595) - 1)) // float(rate)).astype(int)
    made = np.zeros((spectrum, count))
    for i in range(count):
        first, middle, last = edges[i:i + 3]
        if middle == first:
            made[middle, i] = 1
        else:
            made[first:middle + 1, i] = (np.arange(first, middle + 1) - first) / (middle - first)
        if last > middle:
            made[middle:last, i] = (last - np.arange(middle, last)) / (last - middle)
    return made.astype(dtype_of(node.attr("output_datatype", 1)))


@mel_weight_matrix.sized
def mel_weight_matrix_size(node: Node, bins: Array, length: Array, *rest: Array,
                           ) -> tuple[list[int], Any]:
    return [int(length.reshape(-1)[0]) // 2 + 1, int(bins.reshape(-1)[0])], np.dtype(np.float64)
