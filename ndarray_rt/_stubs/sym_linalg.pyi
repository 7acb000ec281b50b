# Written by `make docs` from the registry.
from collections.abc import Sequence
from typing import Any

from ndarray_rt.symbol.symbol import Symbol

_Ints = int | Sequence[int]

def gemm2(A: Symbol | None = None, B: Symbol | None = None, transpose_a: bool = False,
    transpose_b: bool = False, alpha: float = 1.0, axis: int = -2, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
