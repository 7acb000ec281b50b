"""The dtypes an array may have: MXNet's names and type flags, oneDNN's codes.

Holds no conversion of data.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from .errors import MissingPackage, TypeMismatch, shown

DType = np.dtype[Any]

FLOAT16 = np.dtype(np.float16)
FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)
UINT8 = np.dtype(np.uint8)
INT8 = np.dtype(np.int8)
INT32 = np.dtype(np.int32)
INT64 = np.dtype(np.int64)
BOOL = np.dtype(np.bool_)

# name -> MXNet's type flag in .params files and `dtype` attributes
TYPE_FLAGS = {"float32": 0, "float64": 1, "float16": 2, "uint8": 3, "int32": 4, "int8": 5,
              "int64": 6, "bool": 7, "bfloat16": 12}
FLAG_NAMES = {flag: name for name, flag in TYPE_FLAGS.items()}

# name -> ndrt_dtype; the others have no oneDNN layout and stay in the default one
NATIVE_CODES = {"float16": 1, "bfloat16": 2, "float32": 3, "int32": 4, "int8": 5, "uint8": 6,
                "float64": 7}


# NumPy makes the dtype's name of this one and of the bits
class bfloat(np.void):  # type: ignore[misc]  # noqa: N801
    """An element of bfloat16 where ml_dtypes is not installed: NumPy can not compute with it."""


# of the same name and size as ml_dtypes' bfloat16, and with the field that MXNet's programs give it
_BARE = np.dtype((bfloat, [("bfloat16", np.uint16)]))


@cache
def bfloat16() -> DType:
    """The bfloat16 dtype of the ml_dtypes package.

    Without that package a dtype of the same name, which NumPy sees as bytes: arrays have it,
    operators compute with it, and what hands its elements to NumPy raises MissingPackage.
    """
    try:
        import ml_dtypes
    except ImportError:
        return _BARE
    made: DType = np.dtype(ml_dtypes.bfloat16)
    return made


def is_bare(value: DType) -> bool:
    """Is it bfloat16 without the package that teaches it to NumPy?"""
    return value.type is bfloat


def need_numbers(value: DType) -> None:
    """MissingPackage where NumPy can not read elements of a dtype."""
    if value.type is bfloat:
        raise MissingPackage.of("bfloat16 as a NumPy array", "ml_dtypes", "bfloat16")


def find_dtype(value: object) -> DType:
    """The dtype named by a string, numpy type, Python type or MXNet's type flag.

    Raises TypeMismatch when it is none that an array may have.
    """
    if isinstance(value, np.dtype):
        if value.names == ("bfloat16",):  # MXNet's programs spell it so, and the bare one is so
            return bfloat16()
        made: DType = value
    elif isinstance(value, str) and value == "bfloat16":
        return bfloat16()
    elif isinstance(value, int) and not isinstance(value, bool) and value in FLAG_NAMES:
        return find_dtype(FLAG_NAMES[value])
    else:
        try:
            if value is None:
                raise TypeError
            made = np.dtype(value)  # type: ignore[call-overload]
        except Exception:  # numpy evaluates texts and asks objects, which may raise anything
            raise TypeMismatch(f"dtype {shown(value)} is none of: "
                               f"{', '.join(TYPE_FLAGS)}") from None
    if str(made) not in TYPE_FLAGS or not made.isnative:
        raise TypeMismatch(f"dtype {made} is none of: {', '.join(TYPE_FLAGS)}")
    return made


def is_float(value: DType) -> bool:
    """Is it a floating-point dtype? bfloat16 is one, though numpy does not know it."""
    return value.kind == "f" or value.name == "bfloat16"


def in_float32(value: DType) -> bool:
    """oneDNN and the native kernels compute it in float32: so they do numbers of 16 bits,
    whose results are rounded."""
    return value == FLOAT32 or is_half(value)


def is_half(value: DType) -> bool:
    """Is it float16 or bfloat16?"""
    return value.itemsize == 2 and value.name in ("float16", "bfloat16")


def precision(value: DType) -> tuple[float, float]:
    """(the step from 1 to the next number, the least normal number) of a floating-point dtype."""
    if value.name == "bfloat16":
        return 2.0**-7, float(np.finfo(np.float32).tiny)
    info = np.finfo(value)
    return float(info.eps), float(info.tiny)


def greatest(value: DType) -> float:
    """The greatest finite number of a floating-point dtype."""
    if value.name == "bfloat16":
        return float.fromhex("0x1.fep127")
    return float(np.finfo(value).max)


def dtype_name(value: DType) -> str:
    """MXNet's name, such as 'float32'."""
    return str(value.name)


_codes_by_num: dict[int, int | None] = {}


def native_code(value: DType) -> int | None:
    """The ndrt_dtype of a dtype, None when oneDNN has none."""
    # asking numpy for a dtype's name is slow, and this is asked for at every call
    try:
        return _codes_by_num[value.num]
    except KeyError:
        return _codes_by_num.setdefault(value.num, NATIVE_CODES.get(value.name))
