"""What operators on floating-point numbers share: their type rule and their width in numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._array.layout import AnyArray
from ..dtypes import DType
from ..errors import TypeMismatch
from ..op.infer import TypeList, same_type

_FLOATS = ("float16", "float32", "float64", "bfloat16")
_NARROW = ("float16", "bfloat16")


def need_float_types(types: Sequence[DType | None]) -> None:
    """TypeMismatch when one of the dtypes is known and no floating-point one."""
    for dtype in types:
        if dtype is not None and dtype.name not in _FLOATS:
            raise TypeMismatch(f"dtype {dtype} is not a floating-point one")


def same_float_type(params: Any, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    """All inputs and outputs have one floating-point dtype."""
    need_float_types([*ins, *outs])
    return same_type(params, ins, outs)


def wide(x: AnyArray) -> AnyArray:
    """The array in the precision that numpy computes it in: at least float32."""
    return x.astype(np.float32) if x.dtype.name in _NARROW else x
