"""Constant: a parameter whose value is given and never trained."""

from __future__ import annotations

import warnings
from typing import Any

from ... import initializer, nd, sym
from ...nd import NDArray
from .parameter import Parameter


class _Given(initializer.Initializer):
    """Copies one array."""

    def __init__(self, value: NDArray) -> None:
        super().__init__()
        self._value = value

    def _init_weight(self, _: Any, arr: NDArray) -> None:
        arr[:] = self._value


class Constant(Parameter):
    """A parameter with a fixed value and no gradient, saved and loaded like others.

    `value` is an array, or what `nd.array` takes.
    """

    def __init__(self, name: str, value: Any) -> None:
        if not isinstance(value, NDArray):
            value = nd.array(value)
        self.value: NDArray = value
        super().__init__(name, grad_req="null", shape=value.shape, dtype=value.dtype,
                         init=_Given(value))
        self._grad_req = "null"

    @property
    def grad_req(self) -> str:
        """'null' always; setting another one is warned of and changes nothing."""
        return "null"

    @grad_req.setter
    def grad_req(self, req: str) -> None:
        if req != "null":
            warnings.warn(f'Constant parameter "{self.name}" does not support grad_req other than '
                          f'"null", and new value "{req}" is ignored.', stacklevel=2)

    def var(self) -> Any:
        """The variable that stands for this constant; it says nothing of the value."""
        if self._var is None:
            self._var = sym.var(self.name, shape=self.shape, dtype=self.dtype,
                                lr_mult=self.lr_mult, wd_mult=self.wd_mult, stype=self._stype)
        return self._var
