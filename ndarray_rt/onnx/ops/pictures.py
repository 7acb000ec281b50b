"""ImageDecoder: the pixels of an image file's bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ModelFormatError, ParameterError
from ..graph import Array, Node
from ..table import operator

# what red, green and blue count for in grey: ITU-R 601-2, in parts of 2**16, as in Pillow
_GREY = np.array([19595, 38470, 7471], np.uint32)


@operator("ImageDecoder", data_dependent=True)
def image_decoder(node: Node, stream: Array) -> Array:
    """Through Pillow; bytes that are no image give no pixels, as ONNX says."""
    from ...image.codecs import decode
    form = node.attr("pixel_format", "RGB")
    if form not in ("RGB", "BGR", "Grayscale"):
        raise ModelFormatError(f"pixel_format {form!r}, expected RGB, BGR or Grayscale")
    try:
        made = decode(stream.tobytes(), to_rgb=form != "BGR", upright=False)
    except ParameterError:
        made = np.zeros((0, 0, 3), np.uint8)
    if form == "Grayscale":
        grey = np.einsum("hwc,c->hw", made, _GREY)
        made = ((grey + (1 << 15)) >> 16).astype(np.uint8)[:, :, None]
    return made


@image_decoder.sized
def image_decoder_size(node: Node, stream: Array) -> tuple[list[int], Any]:
    from ...image.codecs import size_of
    try:
        height, width = size_of(stream.tobytes())
    except ParameterError:
        height, width = 0, 0
    # grey is summed up in whole numbers
    return [height, width, 3], np.dtype(
        np.uint32 if node.attr("pixel_format", "RGB") == "Grayscale" else np.uint8)
