"""nd.contrib's optimizer steps that need more than one operator's call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._array.create import array
from .._array.ndarray import NDArray
from ..errors import NameMismatch
from ..op import adamw
from .invoke import invoke


def _factor(rescale_grad: Any, like: NDArray) -> NDArray:
    """rescale_grad as the array that the operators take."""
    if isinstance(rescale_grad, NDArray):
        return rescale_grad
    return array(np.full((1,), rescale_grad, np.float32), like.ctx)


def _call(op: str, *inputs: NDArray, name: str | None, out: Any = None, **attrs: Any) -> Any:
    return invoke(op, inputs, attrs, out, name)


def _flat(op: str, lists: Sequence[Sequence[NDArray]], count: int) -> list[NDArray]:
    """Interleaves lists of arrays: all inputs of the first weight, then of the next."""
    if any(len(given) != count for given in lists):
        raise NameMismatch(f"{op}: got lists of {', '.join(str(len(x)) for x in lists)} arrays, "
                           f"expected {count} in each")
    return [x for group in zip(*lists, strict=True) for x in group]


def _adamw_of_many(op: str, lists: Sequence[Sequence[NDArray]], rescale_grad: Any, size: int,
                   out: Any, name: str | None, params: dict[str, Any]) -> Any:
    count = size or len(lists[0])
    inputs = [*_flat(op, lists, count), _factor(rescale_grad, lists[0][0])]
    return invoke(op, inputs, {**params, "num_weights": count}, out, name)


def multi_adamw_update(weights: Sequence[NDArray], grads: Sequence[NDArray],
                       mean: Sequence[NDArray], var: Sequence[NDArray], rescale_grad: Any,
                       lrs: Any, wds: Any, etas: Any, out: Any = None, name: str | None = None,
                       size: int = 0, **params: Any) -> Any:
    """Steps of AdamW for many weights."""
    return _adamw_of_many("_multi_adamw_update", (weights, grads, mean, var), rescale_grad, size,
                          out, name, {"lrs": lrs, "wds": wds, "etas": etas, **params})


def multi_mp_adamw_update(weights: Sequence[NDArray], grads: Sequence[NDArray],
                          mean: Sequence[NDArray], var: Sequence[NDArray],
                          weights32: Sequence[NDArray], rescale_grad: Any, lrs: Any, wds: Any,
                          etas: Any, out: Any = None, name: str | None = None, size: int = 0,
                          **params: Any) -> Any:
    """Steps of AdamW for many weights with master copies."""
    return _adamw_of_many("_multi_mp_adamw_update", (weights, grads, mean, var, weights32),
                          rescale_grad, size, out, name,
                          {"lrs": lrs, "wds": wds, "etas": etas, **params})


def multi_lamb_update(weights: Sequence[NDArray], grads: Sequence[NDArray],
                      mean: Sequence[NDArray], var: Sequence[NDArray], step_count: Any, lrs: Any,
                      wds: Any, out: Any = None, num_tensors: int = 0, **params: Any) -> Any:
    """Steps of LAMB for many weights."""
    op, count = "_multi_lamb_update", num_tensors or len(weights)
    attrs = {"step_count": step_count, "learning_rates": lrs, "wds": wds, **params}
    return invoke(op, _flat(op, (weights, grads, mean, var), count),
                  {**attrs, "num_tensors": count}, out)


def multi_mp_lamb_update(weights: Sequence[NDArray], grads: Sequence[NDArray],
                         mean: Sequence[NDArray], var: Sequence[NDArray],
                         weights32: Sequence[NDArray], step_count: Any, lrs: Any, wds: Any,
                         out: Any = None, num_tensors: int = 0, **params: Any) -> Any:
    """Steps of LAMB for many weights with master copies."""
    op, count = "_multi_mp_lamb_update", num_tensors or len(weights)
    attrs = {"step_count": step_count, "learning_rates": lrs, "wds": wds, **params}
    return invoke(op, _flat(op, (weights, grads, mean, var, weights32), count),
                  {**attrs, "num_tensors": count}, out)


FUNCTIONS = {made.__name__: made for made in (
    *adamw.functions(_call, _factor), multi_adamw_update, multi_mp_adamw_update, multi_lamb_update,
    multi_mp_lamb_update)}
