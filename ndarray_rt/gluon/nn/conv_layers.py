"""Convolution layers, and the pooling layers beside them."""

# ruff: noqa: N803 - F is what all blocks call the module of operators
from __future__ import annotations

from typing import Any

from ...base import numeric_types
from ...public import shows
from ..block import HybridBlock
from ..errors import Mismatch
from ..parameter import ParameterDict
from .activations import Activation
from .pool_layers import (
    AvgPool1D,
    AvgPool2D,
    AvgPool3D,
    GlobalAvgPool1D,
    GlobalAvgPool2D,
    GlobalAvgPool3D,
    GlobalMaxPool1D,
    GlobalMaxPool2D,
    GlobalMaxPool3D,
    MaxPool1D,
    MaxPool2D,
    MaxPool3D,
    check_layout,
    sizes,
)
from .pool_layers import _Pooling as _Pooling

__all__ = [
    "AvgPool1D", "AvgPool2D", "AvgPool3D", "Conv1D", "Conv1DTranspose", "Conv2D",
    "Conv2DTranspose", "Conv3D", "Conv3DTranspose", "GlobalAvgPool1D", "GlobalAvgPool2D",
    "GlobalAvgPool3D", "GlobalMaxPool1D", "GlobalMaxPool2D", "GlobalMaxPool3D", "MaxPool1D",
    "MaxPool2D", "MaxPool3D", "ReflectionPad2D"]
__dir__ = shows(globals())


class _Conv(HybridBlock):
    """What all convolutions, transposed ones too, have in common; `op_name` is the operator."""

    def __init__(self, channels: int, kernel_size: Any, strides: Any, padding: Any, dilation: Any,
                 groups: int, layout: str, in_channels: int = 0, activation: str | None = None,
                 use_bias: bool = True, weight_initializer: Any = None,
                 bias_initializer: Any = "zeros", op_name: str = "Convolution", adj: Any = None,
                 prefix: str | None = None, params: ParameterDict | None = None, *,
                 use_onednn: bool = True) -> None:
        super().__init__(prefix=prefix, params=params, use_onednn=use_onednn)
        rank = len(kernel_size)
        with self.name_scope():
            self._channels = channels
            self._in_channels = in_channels
            self._op_name = op_name
            self._kwargs = {
                "kernel": kernel_size, "stride": _repeat(strides, rank),
                "dilate": _repeat(dilation, rank), "pad": _repeat(padding, rank),
                "num_filter": channels, "num_group": groups, "no_bias": not use_bias,
                "layout": layout}
            if adj is not None:
                self._kwargs["adj"] = adj
            self.weight = self.params.get(
                "weight", shape=self._weight_shape(kernel_size, groups, layout, in_channels),
                init=weight_initializer, allow_deferred_init=True)
            self.bias = (self.params.get("bias", shape=(channels,), init=bias_initializer,
                                         allow_deferred_init=True)
                         if use_bias else None)
            self.act = None if activation is None else Activation(activation,
                                                                  prefix=f"{activation}_")

    def _weight_shape(self, kernel_size: Any, groups: int, layout: str,
                      in_channels: int) -> tuple[int, ...]:
        """The shape of the weight, with 0 where the number of input channels matters."""
        first, second = self._channels, in_channels // groups
        if self._op_name == "Deconvolution":
            first, second = in_channels, self._channels // groups
        is_last = layout.endswith("C")
        return (first, *kernel_size, second) if is_last else (first, second, *kernel_size)

    def hybrid_forward(self, F: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        inputs = (x, weight) if bias is None else (x, weight, bias)
        out = getattr(F, self._op_name)(*inputs, name="fwd", **self._kwargs)
        return out if self.act is None else self.act(out)

    def _alias(self) -> str:
        return "conv"

    def __repr__(self) -> str:
        kwargs, shape = self._kwargs, self.weight.shape
        rank = len(kwargs["kernel"])
        text = (f"{type(self).__name__}({shape[1] or None} -> {shape[0]}, "
                f"kernel_size={kwargs['kernel']}, stride={kwargs['stride']}")
        if kwargs["pad"] != (0,) * rank:
            text += f", padding={kwargs['pad']}"
        if kwargs["dilate"] != (1,) * rank:
            text += f", dilation={kwargs['dilate']}"
        if kwargs["num_group"] != 1:
            text += f", groups={kwargs['num_group']}"
        if self.bias is None:
            text += ", bias=False"
        if self.act is not None:
            text += f", {self.act}"
        return text + ")"


def _repeat(value: Any, rank: int) -> Any:
    """One number for each spatial dimension."""
    return (value,) * rank if isinstance(value, numeric_types) else value


class Conv1D(_Conv):
    """Convolution over one spatial dimension.

    Parameters
    ----------
    channels : int
        Number of output channels.
    kernel_size, strides, padding, dilation : int or tuple of ints
        One for each spatial dimension.
    groups : int
        Groups of channels that see each other.
    layout : str
        Order of axes: 'NCW'.
    activation : str
        As `Activation` names them; None: none.
    use_bias : bool
    weight_initializer, bias_initializer : Initializer or its name
    in_channels : int
        0: it follows from the first batch.

    Mismatch for another layout or size of the kernel. Source: operator Convolution.
    """

    def __init__(self, channels: int, kernel_size: Any, strides: Any = 1, padding: Any = 0,
                 dilation: Any = 1, groups: int = 1, layout: str = "NCW",
                 activation: str | None = None, use_bias: bool = True,
                 weight_initializer: Any = None, bias_initializer: Any = "zeros",
                 in_channels: int = 0, **kwargs: Any) -> None:
        check_layout(layout, ("NCW",))
        kernel_size = sizes(kernel_size, 1, "kernel_size")
        op_name = kwargs.pop("op_name", "Convolution")
        super().__init__(channels, kernel_size, strides, padding, dilation, groups, layout,
                         in_channels, activation, use_bias, weight_initializer,
                         bias_initializer, op_name, **kwargs)


class Conv2D(_Conv):
    """Convolution over two spatial dimensions, 'NC...' or channels last.

    Parameters as Conv1D's. Source: operator Convolution.
    """

    def __init__(self, channels: int, kernel_size: Any, strides: Any = (1, 1),
                 padding: Any = (0, 0), dilation: Any = (1, 1), groups: int = 1,
                 layout: str = "NCHW", activation: str | None = None, use_bias: bool = True,
                 weight_initializer: Any = None, bias_initializer: Any = "zeros",
                 in_channels: int = 0, **kwargs: Any) -> None:
        check_layout(layout, ("NCHW", "NHWC"))
        kernel_size = sizes(kernel_size, 2, "kernel_size")
        op_name = kwargs.pop("op_name", "Convolution")
        super().__init__(channels, kernel_size, strides, padding, dilation, groups, layout,
                         in_channels, activation, use_bias, weight_initializer,
                         bias_initializer, op_name, **kwargs)


class Conv3D(_Conv):
    """Convolution over three spatial dimensions, 'NC...' or channels last.

    Parameters as Conv1D's. Source: operator Convolution.
    """

    def __init__(self, channels: int, kernel_size: Any, strides: Any = (1, 1, 1),
                 padding: Any = (0, 0, 0), dilation: Any = (1, 1, 1), groups: int = 1,
                 layout: str = "NCDHW", activation: str | None = None, use_bias: bool = True,
                 weight_initializer: Any = None, bias_initializer: Any = "zeros",
                 in_channels: int = 0, **kwargs: Any) -> None:
        check_layout(layout, ("NCDHW", "NDHWC"))
        kernel_size = sizes(kernel_size, 3, "kernel_size")
        op_name = kwargs.pop("op_name", "Convolution")
        super().__init__(channels, kernel_size, strides, padding, dilation, groups, layout,
                         in_channels, activation, use_bias, weight_initializer,
                         bias_initializer, op_name, **kwargs)


class Conv1DTranspose(_Conv):
    """Transposed convolution over one spatial dimension: the gradient of Conv1D for its data.

    `output_padding` is what the output has more at its end; the other parameters are Conv1D's.
    Source: operator Deconvolution.
    """

    def __init__(self, channels: int, kernel_size: Any, strides: Any = 1, padding: Any = 0,
                 output_padding: Any = 0, dilation: Any = 1, groups: int = 1, layout: str = "NCW",
                 activation: str | None = None, use_bias: bool = True,
                 weight_initializer: Any = None, bias_initializer: Any = "zeros",
                 in_channels: int = 0, **kwargs: Any) -> None:
        check_layout(layout, ("NCW",))
        kernel_size = sizes(kernel_size, 1, "kernel_size")
        output_padding = sizes(output_padding, 1, "output_padding")
        op_name = kwargs.pop("op_name", "Deconvolution")
        super().__init__(channels, kernel_size, strides, padding, dilation, groups, layout,
                         in_channels, activation, use_bias, weight_initializer,
                         bias_initializer, op_name, output_padding, **kwargs)
        self.outpad = output_padding


class Conv2DTranspose(_Conv):
    """Transposed convolution over two spatial dimensions, 'NC...' or channels last.

    Parameters as Conv1DTranspose's. Source: operator Deconvolution.
    """

    def __init__(self, channels: int, kernel_size: Any, strides: Any = (1, 1),
                 padding: Any = (0, 0), output_padding: Any = (0, 0), dilation: Any = (1, 1),
                 groups: int = 1, layout: str = "NCHW", activation: str | None = None,
                 use_bias: bool = True, weight_initializer: Any = None,
                 bias_initializer: Any = "zeros", in_channels: int = 0, **kwargs: Any) -> None:
        check_layout(layout, ("NCHW", "NHWC"))
        kernel_size = sizes(kernel_size, 2, "kernel_size")
        output_padding = sizes(output_padding, 2, "output_padding")
        op_name = kwargs.pop("op_name", "Deconvolution")
        super().__init__(channels, kernel_size, strides, padding, dilation, groups, layout,
                         in_channels, activation, use_bias, weight_initializer,
                         bias_initializer, op_name, output_padding, **kwargs)
        self.outpad = output_padding


class Conv3DTranspose(_Conv):
    """Transposed convolution over three spatial dimensions, 'NC...' or channels last.

    Parameters as Conv1DTranspose's. Source: operator Deconvolution.
    """

    def __init__(self, channels: int, kernel_size: Any, strides: Any = (1, 1, 1),
                 padding: Any = (0, 0, 0), output_padding: Any = (0, 0, 0),
                 dilation: Any = (1, 1, 1), groups: int = 1, layout: str = "NCDHW",
                 activation: str | None = None, use_bias: bool = True,
                 weight_initializer: Any = None, bias_initializer: Any = "zeros",
                 in_channels: int = 0, **kwargs: Any) -> None:
        check_layout(layout, ("NCDHW", "NDHWC"))
        kernel_size = sizes(kernel_size, 3, "kernel_size")
        output_padding = sizes(output_padding, 3, "output_padding")
        op_name = kwargs.pop("op_name", "Deconvolution")
        super().__init__(channels, kernel_size, strides, padding, dilation, groups, layout,
                         in_channels, activation, use_bias, weight_initializer,
                         bias_initializer, op_name, output_padding, **kwargs)
        self.outpad = output_padding


class ReflectionPad2D(HybridBlock):
    """Pads height and width with what lies inside, mirrored at the border.

    `padding` is one number, or eight: before and after each axis. Mismatch for another count.
    Source: operator Pad.
    """

    def __init__(self, padding: Any = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if isinstance(padding, numeric_types):
            padding = (0,) * 4 + (padding,) * 4
        if len(padding) != 8:
            raise Mismatch(f"ReflectionPad2D: padding got {padding}, expected a number or 8 of "
                           "them")
        self._padding = padding

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.pad(x, mode="reflect", pad_width=self._padding)
