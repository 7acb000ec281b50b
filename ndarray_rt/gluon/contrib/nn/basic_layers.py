"""Blocks beside each other, batch norm over devices, pixel shuffles."""

# ruff: noqa: N803 - F is what all blocks call the module of operators
from __future__ import annotations

import warnings
from math import prod
from typing import Any

from .... import nd
from ....context import num_gpus
from ....public import shows
from ...block import Block, HybridBlock
from ...errors import Mismatch
from ...nn import BatchNorm, HybridSequential, Sequential
from ...parameter import ParameterDict

__all__ = ["Concurrent", "HybridConcurrent", "Identity", "PixelShuffle1D", "PixelShuffle2D",
           "PixelShuffle3D", "SparseEmbedding", "SyncBatchNorm"]
__dir__ = shows(globals())


class Concurrent(Sequential):
    """Blocks that each get the input; their outputs are concatenated along `axis`."""

    def __init__(self, axis: int = -1, prefix: str | None = None,
                 params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def forward(self, x: Any) -> Any:
        return nd.concat(*[block(x) for block in self._children.values()], dim=self.axis)


class HybridConcurrent(HybridSequential):
    """HybridBlocks that each get the input; their outputs are concatenated along `axis`."""

    def __init__(self, axis: int = -1, prefix: str | None = None,
                 params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.concat(*[block(x) for block in self._children.values()], dim=self.axis)


class Identity(HybridBlock):
    """The input itself, for shortcuts in a HybridConcurrent."""

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return x


class SparseEmbedding(Block):
    """An Embedding whose weight is asked for by rows; weight and gradient are dense here."""

    def __init__(self, input_dim: int, output_dim: int, dtype: Any = "float32",
                 weight_initializer: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._kwargs = {"input_dim": input_dim, "output_dim": output_dim, "dtype": dtype,
                        "sparse_grad": True}
        self.weight = self.params.get("weight", shape=(input_dim, output_dim),
                                      init=weight_initializer, dtype=dtype,
                                      grad_stype="row_sparse", stype="row_sparse")

    def forward(self, x: Any) -> Any:
        return nd.Embedding(x, self.weight.row_sparse_data(x), name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        kwargs = self._kwargs
        return (f"{type(self).__name__}({kwargs['input_dim']} -> {kwargs['output_dim']}, "
                f"{kwargs['dtype']})")


class SyncBatchNorm(BatchNorm):
    """BatchNorm with the statistics of all devices together (Zhang et al. 2018).

    Parameters
    ----------
    in_channels : int
    num_devices : int
        How many take part; None: the number of GPUs, which is taken to be 1 here.
    momentum, epsilon, center, scale, use_global_stats, ..._initializer
        As BatchNorm's.

    Source: operator _contrib_SyncBatchNorm.
    """

    def __init__(self, in_channels: int = 0, num_devices: int | None = None,
                 momentum: float = 0.9, epsilon: float = 1e-5, center: bool = True,
                 scale: bool = True, use_global_stats: bool = False,
                 beta_initializer: Any = "zeros", gamma_initializer: Any = "ones",
                 running_mean_initializer: Any = "zeros",
                 running_variance_initializer: Any = "ones", **kwargs: Any) -> None:
        super().__init__(1, momentum, epsilon, center, scale, use_global_stats, beta_initializer,
                         gamma_initializer, running_mean_initializer,
                         running_variance_initializer, in_channels, **kwargs)
        if num_devices is None:
            num_devices = self._get_num_devices()
        self._kwargs = {"eps": epsilon, "momentum": momentum, "fix_gamma": not scale,
                        "use_global_stats": use_global_stats, "ndev": num_devices,
                        "key": self.prefix}

    def _get_num_devices(self) -> int:
        warnings.warn("Caution using SyncBatchNorm: if not using all the GPUs, please manually "
                      "set num_devices", UserWarning, stacklevel=3)
        return max(num_gpus(), 1)

    def hybrid_forward(self, F: Any, x: Any, gamma: Any, beta: Any, running_mean: Any,
                       running_var: Any) -> Any:
        return F.contrib.SyncBatchNorm(x, gamma, beta, running_mean, running_var, name="fwd",
                                       **self._kwargs)


def _factors(factor: Any, rank: int) -> tuple[int, ...]:
    """One factor for each spatial dimension, of one number or as many."""
    try:
        return (int(factor),) * rank
    except TypeError:
        made = tuple(int(one) for one in factor)
    if len(made) != rank:
        raise Mismatch(f"PixelShuffle{rank}D: factor got {made}, expected a number or {rank} of "
                       "them")
    return made


class _PixelShuffle(HybridBlock):
    """Makes factors of the channels parts of the spatial dimensions (Shi et al. 2016)."""

    def __init__(self, factors: tuple[int, ...]) -> None:
        super().__init__()
        self._factors = factors

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        # (N, C f1 f2 ..., W1, W2, ...) to (N, C, f1, f2, ..., W1, W2, ...)
        rank, rest = len(self._factors), prod(self._factors)
        spatial = (0,) * rank
        x = F.reshape(x, (0, -4, -1, rest, *spatial))
        for i, factor in enumerate(self._factors[:-1]):
            rest //= factor
            x = F.reshape(x, (*(0,) * (2 + i), -4, factor, rest, *spatial))
        # to (N, C, W1, f1, W2, f2, ...), and each pair to one
        order = [axis for i in range(rank) for axis in (2 + rank + i, 2 + i)]
        x = F.transpose(x, (0, 1, *order))
        return F.reshape(x, (0, 0, *(-3,) * rank))


class PixelShuffle1D(_PixelShuffle):
    """(N, f C, W) to (N, C, f W)."""

    def __init__(self, factor: int) -> None:
        super().__init__((int(factor),))
        self._factor = int(factor)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._factor})"


class PixelShuffle2D(_PixelShuffle):
    """(N, f1 f2 C, H, W) to (N, C, f1 H, f2 W); `factor` is one number or two."""

    def __init__(self, factor: Any) -> None:
        super().__init__(_factors(factor, 2))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._factors})"


class PixelShuffle3D(_PixelShuffle):
    """(N, f1 f2 f3 C, D, H, W) to (N, C, f1 D, f2 H, f3 W); `factor` is one number or three."""

    def __init__(self, factor: Any) -> None:
        super().__init__(_factors(factor, 3))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._factors})"
