# Written by `make docs` from the registry.
from collections.abc import Sequence
from typing import Any

from ndarray_rt.ndarray.ndarray import NDArray

_Ints = int | Sequence[int]

def gemm2(A: NDArray, B: NDArray, transpose_a: bool = False, transpose_b: bool = False,
    alpha: float = 1.0, axis: int = -2, out: Any = None, name: str | None = None,
    ctx: Any = None) -> NDArray: ...
