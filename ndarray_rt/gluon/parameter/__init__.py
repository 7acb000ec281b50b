"""`gluon.parameter`: parameters of blocks, and dicts of them."""

from __future__ import annotations

from ... import nd, sym
from ...public import shows
from ..errors import DeferredInitializationError
from .constant import Constant
from .parameter import Parameter
from .parameter_dict import ParameterDict

__all__ = ["Constant", "DeferredInitializationError", "Parameter", "ParameterDict", "tensor_types"]
__dir__ = shows(globals())

tensor_types = (sym.Symbol, nd.NDArray)
