# Written by `make docs` from the registry.
from collections.abc import Sequence
from typing import Any

from ndarray_rt.ndarray.ndarray import NDArray

_Ints = int | Sequence[int]

def arange_like(data: NDArray, start: float = 0.0, step: float = 1.0, repeat: int = 1,
    ctx: str = '', axis: int | None = None, out: Any = None,
    name: str | None = None) -> NDArray: ...
def div_sqrt_dim(data: NDArray, out: Any = None, name: str | None = None,
    ctx: Any = None) -> NDArray: ...
def interleaved_matmul_encdec_qk(queries: NDArray, keys_values: NDArray, heads: int,
    out: Any = None, name: str | None = None, ctx: Any = None) -> NDArray: ...
def interleaved_matmul_encdec_valatt(keys_values: NDArray, attention: NDArray, heads: int,
    out: Any = None, name: str | None = None, ctx: Any = None) -> NDArray: ...
def interleaved_matmul_selfatt_qk(queries_keys_values: NDArray, heads: int, out: Any = None,
    name: str | None = None, ctx: Any = None) -> NDArray: ...
def interleaved_matmul_selfatt_valatt(queries_keys_values: NDArray, attention: NDArray,
    heads: int, out: Any = None, name: str | None = None, ctx: Any = None) -> NDArray: ...
