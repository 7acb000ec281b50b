"""What users say of a model's inputs: names, and descriptions of arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..._array.ndarray import NDArray, check_shape
from ...dtypes import find_dtype
from ...errors import ParameterError, ShapeError, TypeMismatch, shown
from ...io import DataDesc
from ...io.data import as_desc

MOST_FIELDS = 4  # of a description: name, shape, dtype and layout


def described(what: str, given: Any) -> list[DataDesc]:
    """Descriptions of inputs, at least one.

    TypeMismatch for what is no list of them, a name that is no text, and another dtype than arrays
    have; ShapeError for what is no shape, and for one without elements.
    """
    if isinstance(given, (str, bytes, Mapping, NDArray)) or not isinstance(given, Iterable):
        raise TypeMismatch(f"{what} got {shown(given)}, expected a list of DataDesc or (name, "
                           "shape)")
    made = [_described(what, each) for each in given]
    if not made:
        raise ParameterError(f"{what} is empty, expected DataDesc or (name, shape) of each input")
    return made


def _described(what: str, given: Any) -> DataDesc:
    if not isinstance(given, (tuple, list)) or not 2 <= len(given) <= MOST_FIELDS or (
            not isinstance(given[0], str)):
        raise TypeMismatch(f"{what} has {shown(given)}, expected DataDesc or (name, shape)")
    desc = as_desc(given)
    shape = check_shape(desc.shape, f"{what}: {desc.name!r}")
    if 0 in shape:
        raise ShapeError(f"{what}: {desc.name!r} has shape {shape}, expected sizes of at least 1")
    try:
        dtype = find_dtype(desc.dtype)
    except TypeMismatch as error:
        raise TypeMismatch(f"{what}: {desc.name!r}: {error}") from None
    return DataDesc(desc.name, shape, dtype, desc.layout)


def told(descs: Sequence[DataDesc]) -> str:
    """Inputs as errors name them."""
    return ", ".join(f"{desc.name} {tuple(desc.shape)} {find_dtype(desc.dtype)}" for desc in descs)
