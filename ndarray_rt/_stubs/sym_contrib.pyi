# Written by `make docs` from the registry.
from collections.abc import Sequence
from typing import Any

from ndarray_rt.symbol.symbol import Symbol

_Ints = int | Sequence[int]

def arange_like(data: Symbol | None = None, start: float = 0.0, step: float = 1.0,
    repeat: int = 1, ctx: str = '', axis: int | None = None, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def div_sqrt_dim(data: Symbol | None = None, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def interleaved_matmul_encdec_qk(queries: Symbol | None = None,
    keys_values: Symbol | None = None, heads: int = ..., name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def interleaved_matmul_encdec_valatt(keys_values: Symbol | None = None,
    attention: Symbol | None = None, heads: int = ..., name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def interleaved_matmul_selfatt_qk(queries_keys_values: Symbol | None = None, heads: int = ...,
    name: str | None = None, attr: dict[str, str] | None = None) -> Symbol: ...
def interleaved_matmul_selfatt_valatt(queries_keys_values: Symbol | None = None,
    attention: Symbol | None = None, heads: int = ..., name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
