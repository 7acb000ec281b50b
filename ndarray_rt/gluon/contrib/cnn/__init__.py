"""`gluon.contrib.cnn`: convolutions that learn where they look."""

from __future__ import annotations

from ....public import shows
from .conv_layers import DeformableConvolution, ModulatedDeformableConvolution

__all__ = ["DeformableConvolution", "ModulatedDeformableConvolution"]
__dir__ = shows(globals())
