"""`mx.gluon`: networks as Python objects, trained by autograd, run as graphs when hybridized."""

from __future__ import annotations

from ..public import shows
from . import loss, nn, utils
from .block import Block, HybridBlock, SymbolBlock
from .parameter import (
    Constant,
    DeferredInitializationError,
    Parameter,
    ParameterDict,
    tensor_types,
)

__all__ = ["Block", "Constant", "DeferredInitializationError", "HybridBlock", "Parameter",
           "ParameterDict", "SymbolBlock", "loss", "nn",
           "tensor_types", "utils"]
__dir__ = shows(globals())
