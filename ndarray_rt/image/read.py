"""Images from files and from their bytes, as NDArrays."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .. import nd
from ..errors import MXNetError, ParameterError, ShapeError, TypeMismatch, shown
from ..nd import NDArray
from ..public import shows
from .codecs import decode, is_jfif

__all__ = ["imdecode", "imread"]
__dir__ = shows(globals())


def imdecode(buf: Any, *args: Any, **kwargs: Any) -> NDArray:
    """The image of a file's bytes: (height, width, channels) of uint8.

    Parameters
    ----------
    buf : bytes, bytearray, or an array of uint8
    flag : int
        1, the default, gives three channels, 0 one of grey.
    to_rgb : bool
        Red comes first; else blue does.
    out : NDArray
        Where to write the image, if anywhere.

    A JPEG image is turned as its orientation says unless the file begins with a header of JFIF.
    Needs Pillow. Raises ParameterError (MXNetError) for bytes that are no image, ValueError for
    another `buf`. Source: MXNet's imdecode.
    """
    if not isinstance(buf, (bytes, bytearray, memoryview, np.ndarray, NDArray)):
        raise ParameterError("imdecode: buf must be of type bytes, bytearray or numpy.ndarray, "
                             f"got {shown(buf)}; if you would like to input type str, please "
                             "convert to bytes")
    return cvimdecode(buf, *args, **kwargs)


def imread(filename: Any, *args: Any, **kwargs: Any) -> NDArray:
    """The image in a file; parameters are as for `imdecode`.

    Raises MXNetError for a file that can not be read. Source: MXNet's imread.
    """
    return cvimread(filename, *args, **kwargs)


def cvimdecode(buf: Any = None, flag: Any = 1, to_rgb: Any = True, out: NDArray | None = None,
               name: str | None = None) -> NDArray:
    """As `imdecode`. Source: MXNet's _cvimdecode."""
    return _image("imdecode", _bytes(buf), flag, to_rgb, out)


def cvimread(filename: Any = None, flag: Any = 1, to_rgb: Any = True, out: NDArray | None = None,
             name: str | None = None) -> NDArray:
    """As `imread`. Source: MXNet's _cvimread."""
    if not isinstance(filename, (str, os.PathLike)):
        raise TypeMismatch(f"imread: filename got {shown(filename)}, expected a path")
    try:
        with open(filename, "rb") as file:
            data = file.read()
    except (OSError, ValueError) as error:
        raise MXNetError(f"imread: {os.fspath(filename)!r}: "
                         f"{getattr(error, 'strerror', None) or error}") from None
    return _image(f"imread: {os.fspath(filename)!r}", data, flag, to_rgb, out)


def _bytes(buf: Any) -> bytes:
    if isinstance(buf, NDArray):
        buf = buf.asnumpy()
    if isinstance(buf, np.ndarray):
        if buf.dtype != np.uint8:
            raise TypeMismatch(f"imdecode: buf has dtype {buf.dtype}, expected uint8")
        return buf.tobytes()
    if not isinstance(buf, (bytes, bytearray, memoryview)):
        raise TypeMismatch(f"imdecode: buf got {shown(buf)}, expected bytes")
    return bytes(buf)


def _image(what: str, data: bytes, flag: Any, to_rgb: Any, out: NDArray | None) -> NDArray:
    if not data:
        raise ParameterError(f"{what}: Input cannot be an empty buffer")
    if not hasattr(flag, "__index__") or int(flag) < 0:
        raise ParameterError(f"{what}: flag is {shown(flag)}, expected 0 for grey or 1 for colour")
    pixels = decode(data, min(int(flag), 1), bool(to_rgb), upright=not is_jfif(data), what=what)
    if out is None:
        made: NDArray = nd.array(pixels, dtype="uint8")
        return made
    if out.shape != pixels.shape:
        raise ShapeError(f"{what}: out has shape {out.shape}, the image {pixels.shape}")
    out[:] = pixels
    return out
