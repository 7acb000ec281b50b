"""Interfaces that MXNet keeps apart from the rest, and the operators called _contrib_... again."""

from typing import TYPE_CHECKING, Any

from .. import nd as _nd
from .. import sym as _sym
from ..public import loads, shows
from . import autograd

if TYPE_CHECKING:
    from . import amp, io, onnx, quantization, svrg_optimization, tensorboard, text

nd: Any = vars(_nd)["contrib"]
sym: Any = vars(_sym)["contrib"]
ndarray, symbol = nd, sym

__all__ = ["amp", "autograd", "io", "nd", "ndarray", "onnx", "quant", "quantization",
           "svrg_optimization", "sym", "symbol", "tensorboard", "text"]
__dir__ = shows(globals())
__getattr__ = loads(globals(), {
    **{name: name for name in ("amp", "io", "onnx", "quantization", "svrg_optimization",
                               "tensorboard", "text")},
    "quant": "quantization"})
