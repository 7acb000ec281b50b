"""Layers that name themselves: the names that MXNet's gluon gives, without its blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ... import sym
from ...symbol.symbol import Symbol

Size = int | tuple[int, int]


def pair(size: Size) -> tuple[int, int]:
    """A size for both spatial dimensions."""
    return (size, size) if isinstance(size, int) else size


class Layers:
    """Makes layers of one scope; each kind of layer counts its own names from 0.

    Parameters are named `<prefix><kind><n>_weight`, `_bias`, `_gamma`, `_beta`, `_running_mean`,
    `_running_var`, and so fit files that gluon's model zoo wrote.
    """

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self._counts: Counter[str] = Counter()

    def name(self, kind: str) -> str:
        """The next name of a kind."""
        number = self._counts[kind]
        self._counts[kind] += 1
        return f"{self.prefix}{kind}{number}"

    def inner(self, prefix: str) -> Layers:
        """A scope inside this one."""
        return Layers(self.prefix + prefix)

    def conv(self, x: Symbol, filters: int, kernel: Size, stride: Size = 1, pad: Size = 0,
             groups: int = 1, bias: bool = False, name: str | None = None) -> Symbol:
        """A convolution of an NCHW input."""
        name = self.name("conv") if name is None else self.prefix + name
        weights = [sym.Variable(f"{name}_weight")]
        if bias:
            weights.append(sym.Variable(f"{name}_bias"))
        made: Symbol = sym.Convolution(x, *weights, num_filter=filters, kernel=pair(kernel),
                                       stride=pair(stride), pad=pair(pad), num_group=groups,
                                       no_bias=not bias, name=f"{name}_fwd")
        return made

    def batch_norm(self, x: Symbol, eps: float = 1e-5, scale: bool = True) -> Symbol:
        """Batch normalisation over channels; without `scale` gamma stays 1."""
        name = self.name("batchnorm")
        states = [sym.Variable(f"{name}_{part}")
                  for part in ("gamma", "beta", "running_mean", "running_var")]
        made: Symbol = sym.BatchNorm(x, *states, eps=eps, momentum=0.9, fix_gamma=not scale,
                                     name=f"{name}_fwd")
        return made

    def relu(self, x: Symbol) -> Symbol:
        made: Symbol = sym.Activation(x, act_type="relu", name=f"{self.name('relu')}_fwd")
        return made

    def activation(self, x: Symbol) -> Symbol:
        """A relu that gluon writes as a function and names accordingly."""
        made: Symbol = sym.Activation(x, act_type="relu", name=self.name("activation"))
        return made

    def relu6(self, x: Symbol) -> Symbol:
        made: Symbol = sym.clip(x, a_min=0.0, a_max=6.0, name=f"{self.name('relu6')}_relu6")
        return made

    def conv_bn(self, x: Symbol, filters: int, kernel: Size, stride: Size = 1, pad: Size = 0,
                groups: int = 1, eps: float = 1e-5) -> Symbol:
        """Convolution, batch normalisation, relu."""
        return self.relu(self.batch_norm(self.conv(x, filters, kernel, stride, pad, groups), eps))

    def conv_relu(self, x: Symbol, filters: int, kernel: Size, stride: Size = 1,
                  pad: Size = 0) -> Symbol:
        """Convolution with bias, relu."""
        return self.relu(self.conv(x, filters, kernel, stride, pad, bias=True))

    def max_pool(self, x: Symbol, kernel: Size, stride: Size, pad: Size = 0,
                 ceil: bool = False) -> Symbol:
        return self._pool(x, "max", kernel, stride, pad, ceil)

    def avg_pool(self, x: Symbol, kernel: Size, stride: Size, pad: Size = 0) -> Symbol:
        return self._pool(x, "avg", kernel, stride, pad, False)

    def _pool(self, x: Symbol, kind: str, kernel: Size, stride: Size, pad: Size,
              ceil: bool) -> Symbol:
        made: Symbol = sym.Pooling(x, pool_type=kind, kernel=pair(kernel), stride=pair(stride),
                                   pad=pair(pad), pooling_convention="full" if ceil else "valid",
                                   name=f"{self.name('pool')}_fwd")
        return made

    def global_pool(self, x: Symbol) -> Symbol:
        """The mean over all of an image."""
        made: Symbol = sym.Pooling(x, pool_type="avg", kernel=(1, 1), global_pool=True,
                                   pooling_convention="full", name=f"{self.name('pool')}_fwd")
        return made

    def dense(self, x: Symbol, units: int, relu: bool = False, flatten: bool = True) -> Symbol:
        """A fully connected layer with bias."""
        name = self.name("dense")
        made: Symbol = sym.FullyConnected(
            x, sym.Variable(f"{name}_weight"), sym.Variable(f"{name}_bias"), num_hidden=units,
            flatten=flatten, name=f"{name}_fwd")
        if relu:
            made = sym.Activation(made, act_type="relu", name=f"{name}_relu_fwd")
        return made

    def dropout(self, x: Symbol, p: float = 0.5) -> Symbol:
        made: Symbol = sym.Dropout(x, p=p, name=f"{self.name('dropout')}_fwd")
        return made

    def flatten(self, x: Symbol) -> Symbol:
        name = self.name("flatten")
        made: Symbol = sym.Flatten(x, name=f"{name}_flatten0")
        return made

    def concat(self, parts: Sequence[Symbol]) -> Symbol:
        """Parts beside each other along channels."""
        made: Symbol = sym.Concat(*parts, dim=1, name=self.name("concat"))
        return made

    def add(self, a: Symbol, b: Symbol, kind: str = "_plus") -> Symbol:
        made: Symbol = sym.elemwise_add(a, b, name=self.name(kind))
        return made


def data_of(data: Any) -> Symbol:
    """The input: a symbol as it is, or the name of a variable."""
    return data if isinstance(data, Symbol) else sym.Variable(data)
