"""Containers of layers and the layers that networks use most."""

# ruff: noqa: N803 - F is what all blocks call the module of operators
from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from ... import nd, sym
from ...errors import ParameterError, shown
from ...public import shows
from ..block import Block, HybridBlock
from ..errors import Mismatch
from ..parameter import ParameterDict
from .activations import Activation
from .norm_layers import (
    BatchNorm,
    BatchNormReLU,
    GroupNorm,
    InstanceNorm,
    LayerNorm,
)
from .norm_layers import _BatchNorm as _BatchNorm

__all__ = ["BatchNorm", "BatchNormReLU", "Dense", "Dropout", "Embedding", "Flatten", "GroupNorm",
           "HybridLambda", "HybridSequential", "InstanceNorm", "Lambda", "LayerNorm",
           "Sequential"]
__dir__ = shows(globals())


def _part(block: Any, key: Any) -> Any:
    """One layer of a container, or a container of several ones."""
    layers = list(block._children.values())[key]
    if not isinstance(layers, list):
        return layers
    made = type(block)(prefix=block._prefix)
    with made.name_scope():
        made.add(*layers)
    return made


class Sequential(Block):
    """Blocks one after the other; `add` appends some, indices and slices give parts of it."""

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)

    def add(self, *blocks: Any) -> None:
        """Appends blocks."""
        for block in blocks:
            self.register_child(block)

    def forward(self, x: Any) -> Any:
        for block in self._children.values():
            x = block(x)
        return x

    def __repr__(self) -> str:
        return self._repr_of(self._children)

    def __getitem__(self, key: Any) -> Any:
        return _part(self, key)

    def __iter__(self) -> Iterator[Any]:
        return iter([*self._children.values()])

    def __len__(self) -> int:
        return len(self._children)

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Hybridizes the children, one by one; a HybridSequential runs them as one graph."""
        if self._children and all(isinstance(c, HybridBlock) for c in self._children.values()):
            warnings.warn(f"All children of this Sequential layer '{self.prefix}' are "
                          "HybridBlocks. Consider using HybridSequential for the best "
                          "performance.", stacklevel=2)
        super().hybridize(active, **kwargs)


class HybridSequential(HybridBlock):
    """HybridBlocks one after the other, run as one graph when hybridized."""

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)

    def add(self, *blocks: Any) -> None:
        """Appends blocks."""
        for block in blocks:
            self.register_child(block)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        for block in self._children.values():
            x = block(x)
        return x

    def __repr__(self) -> str:
        return self._repr_of(self._children)

    def __getitem__(self, key: Any) -> Any:
        return _part(self, key)

    def __iter__(self) -> Iterator[Any]:
        return iter([*self._children.values()])

    def __len__(self) -> int:
        return len(self._children)


class Dense(HybridBlock):
    """A fully connected layer: activation(x weight^T + bias).

    Parameters
    ----------
    units : int
        Number of outputs.
    activation : str
        As `Activation` names them; None: none.
    use_bias : bool
    flatten : bool
        All but the first axis are inputs; without it the last one is.
    dtype : dtype
    weight_initializer, bias_initializer : Initializer or its name
    in_units : int
        Number of inputs; 0: it follows from the first batch.

    Source: operator FullyConnected.
    """

    def __init__(self, units: int, activation: str | None = None, use_bias: bool = True,
                 flatten: bool = True, dtype: Any = "float32", weight_initializer: Any = None,
                 bias_initializer: Any = "zeros", in_units: int = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._flatten = flatten
        with self.name_scope():
            self._units = units
            self._in_units = in_units
            self.weight = self.params.get("weight", shape=(units, in_units),
                                          init=weight_initializer, dtype=dtype,
                                          allow_deferred_init=True)
            self.bias = (self.params.get("bias", shape=(units,), init=bias_initializer,
                                         dtype=dtype, allow_deferred_init=True)
                         if use_bias else None)
            self.act = None if activation is None else Activation(activation,
                                                                  prefix=f"{activation}_")

    def hybrid_forward(self, F: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        inputs = (x, weight) if bias is None else (x, weight, bias)
        out = F.FullyConnected(*inputs, no_bias=bias is None, num_hidden=self._units,
                               flatten=self._flatten, name="fwd")
        return out if self.act is None else self.act(out)

    def __repr__(self) -> str:
        units, inputs = self.weight.shape
        return f"{type(self).__name__}({inputs or None} -> {units}, {self.act or 'linear'})"


class Dropout(HybridBlock):
    """Sets a share `rate` of the elements to zero in training (Srivastava et al. 2014).

    The mask is the same along `axes`. Source: operator Dropout.
    """

    def __init__(self, rate: float, axes: Any = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._rate = rate
        self._axes = axes

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        if self._rate > 0:
            return F.Dropout(x, p=self._rate, axes=self._axes, name="fwd", cudnn_off=False)
        return F.identity(x)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p = {self._rate}, axes={self._axes})"


class Embedding(HybridBlock):
    """Rows of a table by whole numbers: (...) of 0 to input_dim - 1 gives (..., output_dim).

    `sparse_grad` is accepted; the gradient is dense. Source: operator Embedding.
    """

    def __init__(self, input_dim: int, output_dim: int, dtype: Any = "float32",
                 weight_initializer: Any = None, sparse_grad: bool = False,
                 **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._kwargs = {"input_dim": input_dim, "output_dim": output_dim, "dtype": dtype,
                        "sparse_grad": sparse_grad}
        self.weight = self.params.get("weight", shape=(input_dim, output_dim),
                                      init=weight_initializer, dtype=dtype,
                                      allow_deferred_init=True,
                                      grad_stype="row_sparse" if sparse_grad else "default")

    def hybrid_forward(self, F: Any, x: Any, weight: Any) -> Any:
        return F.Embedding(x, weight, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        kwargs = self._kwargs
        return (f"{type(self).__name__}({kwargs['input_dim']} -> {kwargs['output_dim']}, "
                f"{kwargs['dtype']})")


class Flatten(HybridBlock):
    """All axes but the first as one."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.flatten(x)

    def __repr__(self) -> str:
        return type(self).__name__


class Lambda(Block):
    """A function of arrays as a block: one of `mx.nd` by its name, or any that is callable."""

    def __init__(self, function: Any, prefix: str | None = None) -> None:
        super().__init__(prefix=prefix)
        if isinstance(function, str):
            if not hasattr(nd, function):
                raise Mismatch(f"Function name {function} is not found in ndarray.")
            function = getattr(nd, function)
        elif not callable(function):
            raise ParameterError(f"Unrecognized function in lambda: {shown(function)} of type "
                                 f"{type(function)}")
        self._func_impl = function

    def forward(self, *args: Any) -> Any:
        return self._func_impl(*args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._func_impl.__name__})"


class HybridLambda(HybridBlock):
    """A function as a HybridBlock: one of `mx.nd` and `mx.sym` by its name, or f(F, x, ...)."""

    def __init__(self, function: Any, prefix: str | None = None) -> None:
        super().__init__(prefix=prefix)
        if isinstance(function, str):
            name = function
            if not (hasattr(nd, name) and hasattr(sym, name)):
                raise Mismatch(f"Function name {name} is not found in symbol/ndarray.")
            self._func: Any = lambda F, *args: getattr(F, name)(*args)
            self._func_name = name
        elif callable(function):
            self._func = function
            self._func_name = function.__name__
        else:
            raise ParameterError(f"Unrecognized function in lambda: {shown(function)} of type "
                                 f"{type(function)}")

    def hybrid_forward(self, F: Any, x: Any, *args: Any) -> Any:
        return self._func(F, x, *args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._func_name})"
