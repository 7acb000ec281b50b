"""Normalisation layers."""

# ruff: noqa: N803 - F is what all blocks call the module of operators
from __future__ import annotations

from typing import Any

from ...dtypes import find_dtype, is_half
from ...public import shows
from ..block import HybridBlock
from ..parameter import Parameter, ParameterDict

__all__ = ["BatchNorm", "BatchNormReLU", "GroupNorm", "InstanceNorm", "LayerNorm"]
__dir__ = shows(globals())


class _Norm(HybridBlock):
    """What all have: a scale gamma and a shift beta, and settings to be shown."""

    _kwargs: dict[str, Any]
    gamma: Parameter
    beta: Parameter

    def _add_scale_and_shift(self, size: int, scale: bool, center: bool, gamma_initializer: Any,
                             beta_initializer: Any, **options: bool) -> None:
        """`options` of parameters: without a name's setting what it scales or shifts is fixed."""
        for name, is_trained, init in (("gamma", scale, gamma_initializer),
                                       ("beta", center, beta_initializer)):
            fixed = {} if options.get("differentiable", True) else {"differentiable": is_trained}
            setattr(self, name, self.params.get(
                name, grad_req="write" if is_trained else "null", shape=(size,), init=init,
                allow_deferred_init=True, **fixed))

    def _content(self) -> str:
        return ", ".join(f"{key}={value!r}" for key, value in self._kwargs.items())


class _BatchNorm(_Norm):
    """Batch normalisation, with an activation or without."""

    def __init__(self, axis: int = 1, momentum: float = 0.9, epsilon: float = 1e-5,
                 center: bool = True, scale: bool = True, use_global_stats: bool = False,
                 fuse_relu: bool = False, beta_initializer: Any = "zeros",
                 gamma_initializer: Any = "ones", running_mean_initializer: Any = "zeros",
                 running_variance_initializer: Any = "ones", in_channels: int = 0,
                 **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._kwargs = {"axis": axis, "eps": epsilon, "momentum": momentum,
                        "fix_gamma": not scale, "use_global_stats": use_global_stats}
        self.fuse_relu = fuse_relu
        if in_channels != 0:
            self.in_channels = in_channels
        self._add_scale_and_shift(in_channels, scale, center, gamma_initializer, beta_initializer,
                                  differentiable=False)
        for name, init in (("running_mean", running_mean_initializer),
                           ("running_var", running_variance_initializer)):
            setattr(self, name, self.params.get(
                name, grad_req="null", shape=(in_channels,), init=init, allow_deferred_init=True,
                differentiable=False))

    def cast(self, dtype: Any) -> None:
        """Another dtype for the parameters; float32 where 16 bits are asked for."""
        super().cast("float32" if is_half(find_dtype(dtype)) else dtype)

    def hybrid_forward(self, F: Any, x: Any, gamma: Any, beta: Any, running_mean: Any,
                       running_var: Any) -> Any:
        norm = F.contrib.BatchNormWithReLU if self.fuse_relu else F.BatchNorm
        return norm(x, gamma, beta, running_mean, running_var, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        channels = self.gamma.shape[0] or None
        return f"{type(self).__name__}({self._content()}, in_channels={channels})"


class BatchNorm(_BatchNorm):
    """Normalises each channel over the batch (Ioffe and Szegedy 2015, arXiv 1502.03167).

    Parameters
    ----------
    axis : int
        Where the channels are.
    momentum, epsilon : float
        Of the running statistics; added to the variance.
    center, scale : bool
        Is beta added, is gamma multiplied?
    use_global_stats : bool
        Normalise by the running statistics in training too.
    beta_initializer, gamma_initializer, running_mean_initializer, running_variance_initializer
    in_channels : int
        0: it follows from the first batch.

    Source: operator BatchNorm.
    """

    def __init__(self, axis: int = 1, momentum: float = 0.9, epsilon: float = 1e-5,
                 center: bool = True, scale: bool = True, use_global_stats: bool = False,
                 beta_initializer: Any = "zeros", gamma_initializer: Any = "ones",
                 running_mean_initializer: Any = "zeros",
                 running_variance_initializer: Any = "ones", in_channels: int = 0,
                 **kwargs: Any) -> None:
        super().__init__(axis, momentum, epsilon, center, scale, use_global_stats, False,
                         beta_initializer, gamma_initializer, running_mean_initializer,
                         running_variance_initializer, in_channels, **kwargs)


class BatchNormReLU(_BatchNorm):
    """BatchNorm and a relu in one operator; parameters as BatchNorm.

    Source: operator _contrib_BatchNormWithReLU.
    """

    def __init__(self, axis: int = 1, momentum: float = 0.9, epsilon: float = 1e-5,
                 center: bool = True, scale: bool = True, use_global_stats: bool = False,
                 beta_initializer: Any = "zeros", gamma_initializer: Any = "ones",
                 running_mean_initializer: Any = "zeros",
                 running_variance_initializer: Any = "ones", in_channels: int = 0,
                 **kwargs: Any) -> None:
        super().__init__(axis, momentum, epsilon, center, scale, use_global_stats, True,
                         beta_initializer, gamma_initializer, running_mean_initializer,
                         running_variance_initializer, in_channels, **kwargs)


class InstanceNorm(_Norm):
    """Normalises each channel of each sample (Ulyanov et al. 2016, arXiv 1607.08022).

    Parameters as BatchNorm's. Source: operator InstanceNorm.
    """

    def __init__(self, axis: int = 1, epsilon: float = 1e-5, center: bool = True,
                 scale: bool = False, beta_initializer: Any = "zeros",
                 gamma_initializer: Any = "ones", in_channels: int = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._kwargs = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        self._axis = axis
        self._epsilon = epsilon
        self._add_scale_and_shift(in_channels, scale, center, gamma_initializer, beta_initializer)

    def hybrid_forward(self, F: Any, x: Any, gamma: Any, beta: Any) -> Any:
        if self._axis == 1:
            return F.InstanceNorm(x, gamma, beta, name="fwd", eps=self._epsilon)
        x = x.swapaxes(1, self._axis)
        made = F.InstanceNorm(x, gamma, beta, name="fwd", eps=self._epsilon)
        return made.swapaxes(1, self._axis)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._content()}, in_channels={self.gamma.shape[0]})"


class LayerNorm(_Norm):
    """Normalises along one axis (Ba et al. 2016, arXiv 1607.06450).

    Parameters as BatchNorm's. Source: operator LayerNorm.
    """

    def __init__(self, axis: int = -1, epsilon: float = 1e-5, center: bool = True,
                 scale: bool = True, beta_initializer: Any = "zeros",
                 gamma_initializer: Any = "ones", in_channels: int = 0,
                 prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._kwargs = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        self._axis = axis
        self._epsilon = epsilon
        self._center = center
        self._scale = scale
        self._add_scale_and_shift(in_channels, scale, center, gamma_initializer, beta_initializer)

    def hybrid_forward(self, F: Any, data: Any, gamma: Any, beta: Any) -> Any:
        return F.LayerNorm(data, gamma=gamma, beta=beta, axis=self._axis, eps=self._epsilon)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._content()}, in_channels={self.gamma.shape[0]})"


class GroupNorm(_Norm):
    """Normalises groups of channels of each sample (Wu and He 2018, arXiv 1803.08494).

    `num_groups` is the number of groups, each with one gamma and beta; the other parameters are
    BatchNorm's. Source: operator GroupNorm.
    """

    def __init__(self, num_groups: int = 1, epsilon: float = 1e-5, center: bool = True,
                 scale: bool = True, beta_initializer: Any = "zeros",
                 gamma_initializer: Any = "ones", prefix: str | None = None,
                 params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._kwargs = {"eps": epsilon, "num_groups": num_groups, "center": center,
                        "scale": scale}
        self._num_groups = num_groups
        self._epsilon = epsilon
        self._center = center
        self._scale = scale
        self._add_scale_and_shift(num_groups, scale, center, gamma_initializer, beta_initializer)

    def hybrid_forward(self, F: Any, data: Any, gamma: Any, beta: Any) -> Any:
        return F.GroupNorm(data, gamma=gamma, beta=beta, num_groups=self._num_groups,
                           eps=self._epsilon)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._content()})"
