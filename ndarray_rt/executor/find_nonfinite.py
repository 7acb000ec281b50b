"""Executor.find_nonfinite: one run that is looked at node by node. Knows no operator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .._array.access import Access
from .._array.copy import copy_into
from .._array.create import array, full
from .._array.ndarray import NDArray
from ..op.nonfinite import Finder, NonFinite
from .bound_arrays import BoundArrays


class Finding(BoundArrays):
    """What an executor does to find the node that makes NaN or infinity."""

    _head_grads: Mapping[int, NDArray]

    if TYPE_CHECKING:
        def forward(self, is_train: bool = False, **kwargs: Any) -> list[NDArray]: ...
        def backward(self, out_grads: Any = None, is_train: bool = True) -> None: ...

    def find_nonfinite(self, is_train: bool = False, out_grads: Any = None, infinite: bool = True,
                       **kwargs: Any) -> NonFinite | None:
        """The first node that makes NaN or infinity out of finite inputs, or None.

        Runs forward, with `is_train` backward too, with the bound arrays as they are; `kwargs` are
        copied into the arguments of those names first, as forward does. Head gradients are ones
        where not given. The graph runs as it was bound, node by node. Gradients and aux states
        hold afterwards what they held before. With `infinite=False` only NaN counts.
        """
        changed = [*self.aux_dict.values(), *(g for g in self.grad_dict.values() if g is not None)]
        before = [array(x, x.ctx) for x in changed]
        finder = Finder(raises=False, infinite=infinite)
        stop = finder.start()
        try:
            outputs = self.forward(is_train, **kwargs)
            if is_train:
                if out_grads is None and self._head_grads:
                    out_grads = [full(y.shape, 1, y.ctx, y.dtype) for y in outputs]
                self.backward(out_grads)
        finally:
            stop()
            for x, value in zip(changed, before, strict=True):
                with Access(read=(value,), written=(x,)) as stream:
                    copy_into(value, x, stream)
        return finder.first
