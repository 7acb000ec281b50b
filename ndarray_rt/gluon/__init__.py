"""`mx.gluon`: networks as Python objects, trained by autograd, run as graphs when hybridized."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..public import loads, shows
from . import loss, nn, utils
from .block import Block, HybridBlock, SymbolBlock
from .parameter import (
    Constant,
    DeferredInitializationError,
    Parameter,
    ParameterDict,
    tensor_types,
)
from .trainer import Trainer

if TYPE_CHECKING:
    from . import contrib, data, model_zoo, rnn

__all__ = ["Block", "Constant", "DeferredInitializationError", "HybridBlock", "Parameter",
           "ParameterDict", "SymbolBlock", "Trainer", "contrib", "data", "loss", "model_zoo",
           "nn", "rnn", "tensor_types", "utils"]
__dir__ = shows(globals())
__getattr__ = loads(globals(), {"contrib": "contrib", "data": "data",
                                 "model_zoo": "model_zoo", "rnn": "rnn"})
