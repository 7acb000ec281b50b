# Written by `make docs` from the registry.
from collections.abc import Sequence
from typing import Any

from ndarray_rt.symbol.symbol import Symbol

_Ints = int | Sequence[int]


