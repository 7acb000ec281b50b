"""Batches of data for calibration, in the forms that users have them in, by names of arguments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..._array.ndarray import NDArray
from ...errors import NameMismatch, ParameterError, TypeMismatch, shown
from ..checks import check_names

EXPECTED = "expected an iterable of batches: dicts by argument, arrays, or lists of arrays"


def default_names(fed: Sequence[str], arguments: Sequence[str]) -> list[str]:
    """Which arguments arrays without names are: those given to forward so far, else `data` or the
    only one; none if that is not clear."""
    if fed:
        return list(fed)
    if "data" in arguments:
        return ["data"]
    return list(arguments) if len(arguments) == 1 else []


def named_batches(batches: Any, names: Iterable[str] | None, fed: Sequence[str],
                  arguments: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Each batch as a dict. TypeMismatch for what are no batches, NameMismatch for a name that is
    no argument, ParameterError where it is not known which arguments the arrays are."""
    if (isinstance(batches, (str, bytes, Mapping, np.ndarray, NDArray))
            or not isinstance(batches, Iterable)):
        raise TypeMismatch(f"calibrate: batches got {shown(batches)}, {EXPECTED}")
    given = None if names is None else check_names("calibrate: data_names", names)
    described = getattr(batches, "provide_data", None)
    if given is None and described:
        given = [desc[0] for desc in described]
    for name in given or ():
        _check(name, arguments)
    order = default_names(fed, arguments) if given is None else given
    return (_named(batch, order, arguments) for batch in batches)


def _named(batch: Any, order: Sequence[str], arguments: Sequence[str]) -> dict[str, Any]:
    if isinstance(batch, Mapping):
        for name in batch:
            _check(name, arguments)
        return dict(batch)
    # batches of a DataIter hold their arrays in lists
    data = getattr(batch, "data", None)
    arrays = data if isinstance(data, (list, tuple)) else batch
    if isinstance(arrays, (np.ndarray, NDArray)):
        arrays = [arrays]
    if not isinstance(arrays, (list, tuple)) or not arrays or not all(
            isinstance(x, (np.ndarray, NDArray)) for x in arrays):
        raise TypeMismatch(f"calibrate: a batch is {shown(batch)}, {EXPECTED}")
    if not order:
        raise ParameterError("calibrate: which argument an array is is not known: give dicts by "
                             f"argument, or data_names; there are: {', '.join(arguments)}")
    if len(arrays) != len(order):
        raise ParameterError(f"calibrate: a batch has {len(arrays)} array(s), expected "
                             f"{len(order)}: {', '.join(order)}")
    return dict(zip(order, arrays, strict=True))


def _check(name: Any, arguments: Sequence[str]) -> None:
    if name not in arguments:
        raise NameMismatch(f"calibrate: {name!r} is no argument of this symbol; it has: "
                           f"{', '.join(arguments)}")
