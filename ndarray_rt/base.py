"""`mx.base`: names that scripts written for MXNet take from there."""

from __future__ import annotations

import numpy as np

from .errors import MXNetError
from .public import shows
from .symbol.symbol import NotImplementedForSymbol

__all__ = ["MXNetError", "NotImplementedForSymbol", "integer_types", "mx_real_t", "numeric_types",
           "string_types"]
__dir__ = shows(globals())

numeric_types = (float, int, np.generic)
integer_types = (int, np.int32, np.int64)
string_types = (str,)
mx_real_t = np.float32
