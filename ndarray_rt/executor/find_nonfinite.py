"""One run that is checked node by node. Knows no operator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .._array.access import Access
from .._array.copy import copy_into
from .._array.create import array, full
from ..op.nonfinite import Finder, NonFinite

if TYPE_CHECKING:
    from .executor import Executor


def find_nonfinite(executor: Executor, is_train: bool, out_grads: Any, infinite: bool,
                   inputs: Mapping[str, Any]) -> NonFinite | None:
    """`Executor.find_nonfinite`."""
    grads = executor.grad_dict
    changed = [*executor.aux_dict.values(), *(g for g in grads.values() if g is not None)]
    before = [array(x, x.ctx) for x in changed]
    finder = Finder(raises=False, infinite=infinite)
    stop = finder.start()
    try:
        outputs = executor.forward(is_train, **inputs)
        if is_train:
            if out_grads is None and executor._training.head_grads:
                out_grads = [full(y.shape, 1, y.ctx, y.dtype) for y in outputs]
            executor.backward(out_grads)
    finally:
        stop()
        for x, value in zip(changed, before, strict=True):
            with Access(read=(value,), written=(x,)) as stream:
                copy_into(value, x, stream)
    return finder.first
