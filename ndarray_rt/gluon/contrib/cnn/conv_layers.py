"""Deformable convolutions: a convolution of their own says where the windows' samples lie."""

# ruff: noqa: N803 - F is what all blocks call the module of operators
from __future__ import annotations

from typing import Any

from ....base import numeric_types
from ....public import shows
from ...block import HybridBlock
from ...nn import Activation
from ...nn.pool_layers import check_layout
from ...parameter import Parameter, ParameterDict

__all__ = ["DeformableConvolution", "ModulatedDeformableConvolution"]
__dir__ = shows(globals())


def _pair(value: Any) -> Any:
    return (value, value) if isinstance(value, numeric_types) else value


class _Deformable(HybridBlock):
    """What both have in common; `numbers` are what is learned for each place of the window."""

    numbers = 2
    offset_weight: Parameter
    offset_bias: Parameter | None
    deformable_conv_weight: Parameter
    deformable_conv_bias: Parameter | None

    def __init__(self, channels: int, kernel_size: Any = (1, 1), strides: Any = (1, 1),
                 padding: Any = (0, 0), dilation: Any = (1, 1), groups: int = 1,
                 num_deformable_group: int = 1, layout: str = "NCHW", use_bias: bool = True,
                 in_channels: int = 0, activation: str | None = None,
                 weight_initializer: Any = None, bias_initializer: Any = "zeros",
                 offset_weight_initializer: Any = "zeros", offset_bias_initializer: Any = "zeros",
                 offset_use_bias: bool = True, op_name: str = "DeformableConvolution",
                 adj: Any = None, prefix: str | None = None,
                 params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)
        check_layout(layout, ("NCHW", "NHWC"))
        with self.name_scope():
            self._channels = channels
            self._in_channels = in_channels
            self._op_name = op_name
            kernel_size = _pair(kernel_size)
            window = {"kernel": kernel_size, "stride": _pair(strides), "dilate": _pair(dilation),
                      "pad": _pair(padding), "num_group": groups, "layout": layout}
            if adj:
                window["adj"] = adj
            places = kernel_size[0] * kernel_size[1] * num_deformable_group
            self.offset_split_index = 2 * places
            self._kwargs_offset = {**window, "num_filter": self.numbers * places,
                                   "no_bias": not offset_use_bias}
            self._kwargs_deformable_conv = {
                **window, "num_filter": channels, "num_deformable_group": num_deformable_group,
                "no_bias": not use_bias}
            parts = [
                ("offset", (self.numbers * places, in_channels // groups, *kernel_size),
                 offset_weight_initializer, offset_bias_initializer, offset_use_bias),
                ("deformable_conv", (channels, 0, *kernel_size), weight_initializer,
                 bias_initializer, use_bias)]
            # files hold them in MXNet's order
            for part in reversed(parts) if self.numbers == 3 else parts:
                self._add(*part)
            self.act = Activation(activation, prefix=f"{activation}_") if activation else None

    def _add(self, name: str, shape: tuple[int, ...], weight_initializer: Any,
             bias_initializer: Any, use_bias: bool) -> None:
        """Adds the weight and the bias of one of the two convolutions."""
        setattr(self, f"{name}_weight", self.params.get(
            f"{name}_weight", shape=shape, init=weight_initializer, allow_deferred_init=True))
        setattr(self, f"{name}_bias", self.params.get(
            f"{name}_bias", shape=shape[:1], init=bias_initializer, allow_deferred_init=True)
            if use_bias else None)

    def _offset(self, F: Any, x: Any, weight: Any, bias: Any) -> Any:
        inputs = (x, weight) if bias is None else (x, weight, bias)
        return F.Convolution(*inputs, cudnn_off=True, **self._kwargs_offset)

    def _convolve(self, op: Any, bias: Any, **inputs: Any) -> Any:
        if bias is not None:
            inputs["bias"] = bias
        out = op(**inputs, name="fwd", **self._kwargs_deformable_conv)
        return out if self.act is None else self.act(out)


class DeformableConvolution(_Deformable):
    """A convolution whose window is shifted, place by place, by offsets that it learns.

    Parameters
    ----------
    channels : int
        Number of output channels.
    kernel_size, strides, padding, dilation : int or tuple of 2 ints
    groups : int
        Groups of channels that see each other.
    num_deformable_group : int
        Groups of channels with offsets of their own.
    layout : str
        'NCHW'.
    use_bias : bool
    in_channels : int
        0: it follows from the first batch.
    activation : str
        As `Activation` names them; None: none.
    weight_initializer, bias_initializer, offset_weight_initializer, offset_bias_initializer
    offset_use_bias : bool
        Of the convolution that makes the offsets.

    Source: Dai et al. 2017, arXiv 1703.06211; operator _contrib_DeformableConvolution.
    """

    def hybrid_forward(self, F: Any, x: Any, offset_weight: Any, deformable_conv_weight: Any,
                       offset_bias: Any = None, deformable_conv_bias: Any = None) -> Any:
        offset = self._offset(F, x, offset_weight, offset_bias)
        return self._convolve(F.contrib.DeformableConvolution, deformable_conv_bias, data=x,
                              offset=offset, weight=deformable_conv_weight)

    def _alias(self) -> str:
        return "deformable_conv"

    def __repr__(self) -> str:
        kwargs, shape = self._kwargs_deformable_conv, self.deformable_conv_weight.shape
        text = (f"{type(self).__name__}({shape[1] or None} -> {shape[0]}, "
                f"kernel_size={kwargs['kernel']}, stride={kwargs['stride']}")
        for key, name, usual in (("pad", "padding", (0, 0)), ("dilate", "dilation", (1, 1)),
                                 ("num_group", "groups", 1)):
            if kwargs[key] != usual:
                text += f", {name}={kwargs[key]}"
        if self.deformable_conv_bias is None:
            text += ", bias=False"
        return text + (f", {self.act})" if self.act else ")")


class ModulatedDeformableConvolution(_Deformable):
    """A DeformableConvolution that also learns how much each place of the window counts.

    Parameters as DeformableConvolution's. Source: Zhu et al. 2018, arXiv 1811.11168; operator
    _contrib_ModulatedDeformableConvolution.
    """

    numbers = 3

    def __init__(self, channels: int, kernel_size: Any = (1, 1), strides: Any = (1, 1),
                 padding: Any = (0, 0), dilation: Any = (1, 1), groups: int = 1,
                 num_deformable_group: int = 1, layout: str = "NCHW", use_bias: bool = True,
                 in_channels: int = 0, activation: str | None = None,
                 weight_initializer: Any = None, bias_initializer: Any = "zeros",
                 offset_weight_initializer: Any = "zeros", offset_bias_initializer: Any = "zeros",
                 offset_use_bias: bool = True, op_name: str = "ModulatedDeformableConvolution",
                 adj: Any = None, prefix: str | None = None,
                 params: ParameterDict | None = None) -> None:
        super().__init__(channels, kernel_size, strides, padding, dilation, groups,
                         num_deformable_group, layout, use_bias, in_channels, activation,
                         weight_initializer, bias_initializer, offset_weight_initializer,
                         offset_bias_initializer, offset_use_bias, op_name, adj, prefix, params)

    def hybrid_forward(self, F: Any, x: Any, offset_weight: Any, deformable_conv_weight: Any,
                       offset_bias: Any = None, deformable_conv_bias: Any = None) -> Any:
        found = self._offset(F, x, offset_weight, offset_bias)
        offset = F.slice_axis(found, axis=1, begin=0, end=self.offset_split_index)
        mask = F.slice_axis(found, axis=1, begin=self.offset_split_index, end=None)
        return self._convolve(F.contrib.ModulatedDeformableConvolution, deformable_conv_bias,
                              data=x, offset=offset, mask=F.sigmoid(mask) * 2,
                              weight=deformable_conv_weight)

    def _alias(self) -> str:
        return "modulated_deformable_conv"
