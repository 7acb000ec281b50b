"""Conversion of values that users pass to an executor's runs: inputs, gradients of outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._array.access import Access
from .._array.copy import copy_into, copy_plain, write_numpy
from .._array.ndarray import NDArray
from ..dtypes import is_float
from ..errors import MXNetError, NameMismatch, ShapeError, TypeMismatch


def copy_value(value: Any, target: NDArray, name: str) -> None:
    """Copies an array of any kind into a bound one, cast to its dtype.

    ShapeError for another shape, TypeMismatch for anything but an array of numbers.
    """
    if copy_plain(value, target):
        return
    if not isinstance(value, NDArray):
        try:
            value = np.asarray(value)
        except ValueError:
            raise TypeMismatch(f"{name}: got a {type(value).__name__}, expected an array") from None
        if not (value.dtype.kind in "biu" or is_float(value.dtype)):
            raise TypeMismatch(f"{name}: got an array of {value.dtype}, expected numbers")
    if value.shape != target.shape:
        raise ShapeError(f"{name} has shape {value.shape}, expected {target.shape} "
                         "as it was bound")
    if isinstance(value, NDArray):
        if value._chunk is target._chunk and value._byte_offset == target._byte_offset:
            return
        with Access(read=(value,), written=(target,)) as stream:
            copy_into(value, target, stream)
    else:
        with Access(written=(target,)) as stream:
            write_numpy(target, value, stream)


def head_gradients(out_grads: Any, needed: Sequence[int], names: Sequence[str]) -> dict[int, Any]:
    """The gradients of outputs by position, from one array, a list, or a dict by name.

    `needed` are the positions that must be given, `names` those of all outputs. Additional entries
    of a list are ignored, as in MXNet; NameMismatch for a name that is not an output's.
    """
    if out_grads is None:
        if needed:
            raise MXNetError(f"backward: output {names[needed[0]]!r} is no loss, so out_grads must "
                             "be given (or wrap the output in make_loss)")
        return {}
    if isinstance(out_grads, Mapping):
        for name in out_grads:
            if name not in names:
                raise NameMismatch(f"backward: out_grads has {name!r}, which is no output; there "
                                   f"are: {', '.join(names)}")
        out_grads = [out_grads.get(name) for name in names]
    elif isinstance(out_grads, (NDArray, np.ndarray)):
        out_grads = [out_grads]
    elif not isinstance(out_grads, (list, tuple)):
        raise TypeMismatch(f"backward: out_grads got a {type(out_grads).__name__}, expected an "
                           "array, a list with one for each output, or a dict by name")
    given = dict(enumerate(out_grads))
    for i in needed:
        if given.get(i) is None:
            raise MXNetError(f"backward: out_grads[{i}] is missing, and output {names[i]!r} is no "
                             "loss")
    return {i: grad for i, grad in given.items() if i < len(names)}
