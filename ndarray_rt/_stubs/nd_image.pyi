# Written by `make docs` from the registry.
from collections.abc import Sequence
from typing import Any

from ndarray_rt.ndarray.ndarray import NDArray

_Ints = int | Sequence[int]


