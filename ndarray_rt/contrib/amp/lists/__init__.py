"""Which operators run in which precision: one module for each 16-bit type."""

from ....public import shows
from . import symbol_bf16, symbol_fp16

__all__ = ["symbol_bf16", "symbol_fp16"]
__dir__ = shows(globals())
