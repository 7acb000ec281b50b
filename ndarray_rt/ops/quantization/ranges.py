"""What whole numbers of 8 and 32 bits stand for, and the rules that operators on them share.

Beside each array of whole numbers go two arrays of one float32 each, min and max: the range that
it stands for. The greater of their absolute values, by the greatest whole number, is a step. MXNet
takes 127.5 and 255.5 as the greatest where it quantizes by oneDNN, which rounds, and 127 and 255
where products are told their range. Runs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ...dtypes import FLOAT32, INT8, INT32, UINT8, DType
from ...errors import ParameterError, TypeMismatch
from ...op.infer import ShapeList, TypeList
from ...op.registry import Emit, GradNode, Shape
from ..nn.shape_rules import expect

# what the greatest absolute value of a range becomes
HALF_OVER = {INT8: np.float32(127.5), UINT8: np.float32(255.5), INT32: np.float32(2.0**31)}
WHOLE = {INT8: np.float32(127), UINT8: np.float32(255)}
BYTES = (INT8, UINT8)
ONE: Shape = (1,)


def value_of(one: AnyArray) -> np.float32:
    """The number in an end of a range; ParameterError where it is NaN."""
    made: np.float32 = one.reshape(-1)[0]
    if np.isnan(made):
        raise ParameterError("an end of a range is nan, expected a number")
    return made


def widest(low: Any, high: Any) -> np.float32:
    """The greatest absolute value of a range."""
    made: np.float32 = np.maximum(abs(np.float32(low)), abs(np.float32(high)))
    return made


def ratio(a: Any, b: Any) -> np.float32:
    """a / b in float32, also by 0."""
    with np.errstate(all="ignore"):
        made: np.float32 = np.float32(a) / np.float32(b)
    return made


def scale_of(dtype: DType, low: Any, high: Any) -> np.float32:
    """How many whole numbers of a dtype are 1; infinite as of numbers that count as 0."""
    return ratio(HALF_OVER[dtype], widest(low, high))


def factor_of(most: Any, top: Any) -> np.float32:
    """What numbers up to `top` are multiplied by to come to `most`.

    0 where they are nothing but 0, or so small that no float is large enough: all count as 0.
    """
    made = ratio(most, top)
    return np.float32(0) if np.isinf(made) else made


def rounded(x: AnyArray, dtype: DType) -> AnyArray:
    """Whole numbers of a dtype: to the nearest, halves to even, and to the ends of what it holds.

    NaN becomes the greatest signed number and the unsigned 0, as oneDNN has it.
    """
    info = np.iinfo(dtype)
    whole = np.clip(np.rint(x.astype(np.float64)), info.min, info.max)
    made: AnyArray = np.where(np.isnan(whole), info.max if info.min else 0, whole).astype(dtype)
    return made


def scaled(x: AnyArray, scale: np.float32, dtype: DType) -> AnyArray:
    """x times a scale, in float32, as whole numbers of a dtype."""
    with np.errstate(all="ignore"):
        return rounded(x.astype(np.float32) * scale, dtype)


def product_range(data: DType, ends: Sequence[AnyArray], weights: DType = INT8,
                  ) -> tuple[np.float32, np.float32]:
    """The range of int32 sums of products of data and weights.

    `ends` are min and max of data, then of weights.
    """
    a, b = (widest(value_of(ends[i]), value_of(ends[i + 1])) for i in (0, 2))
    with np.errstate(all="ignore"):
        step = np.float32(ratio(a, WHOLE[data]) * ratio(b, WHOLE[weights]))
        top = np.float32(step * HALF_OVER[INT32])
    return np.float32(-top), top


def one(value: Any) -> AnyArray:
    """An end of a range as an array."""
    return np.array([value], np.float32)


def ends_shape(shapes: ShapeList, names: Sequence[str]) -> ShapeList:
    """(1,) for each end of a range, as many as there are; ShapeError for another shape."""
    return [expect(shape, ONE, name, "it is one end of a range")
            for shape, name in zip(shapes, names, strict=False)]


def need_dtype(got: DType | None, allowed: Sequence[DType], name: str) -> DType | None:
    """The dtype of an input or output; TypeMismatch when it is known and none of these."""
    if got is not None and got not in allowed:
        words = " or ".join(str(dtype) for dtype in allowed)
        raise TypeMismatch(f"{name} has dtype {got}, expected {words}")
    return allowed[0] if len(allowed) == 1 else got


def floats_type(types: TypeList, names: Sequence[str]) -> TypeList:
    """float32 for each of these; TypeMismatch for another dtype."""
    return [need_dtype(dtype, (FLOAT32,), name)
            for dtype, name in zip(types, names, strict=False)]


def zero_gradients(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    """MXNet's gradients of operators for inference: zeros."""
    return [emit.zeros_like(entry) for entry in node.inputs]
