# Written by `make docs` from the registry.
from collections.abc import Sequence
from typing import Any

from ndarray_rt.symbol.symbol import Symbol

_Ints = int | Sequence[int]

def AdaptiveAvgPooling2D(data: Symbol | None = None, output_size: _Ints = ...,
    name: str | None = None, attr: dict[str, str] | None = None) -> Symbol: ...
def BilinearResize2D(data: Symbol | None = None, like: Symbol | None = None, *, height: int = 1,
    width: int = 1, scale_height: float | None = None, scale_width: float | None = None,
    mode: str = 'size', align_corners: bool = True, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def CTCLoss(data: Symbol | None = None, label: Symbol | None = None,
    data_lengths: Symbol | None = None, label_lengths: Symbol | None = None, *,
    use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: str = 'first',
    name: str | None = None, attr: dict[str, str] | None = None) -> Symbol: ...
def SyncBatchNorm(data: Symbol | None = None, gamma: Symbol | None = None,
    beta: Symbol | None = None, moving_mean: Symbol | None = None,
    moving_var: Symbol | None = None, *, eps: float = 0.001, momentum: float = 0.9,
    fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False,
    ndev: int = 1, key: str = ..., name: str | None = None,
    attr: dict[str, str] | None = None) -> Any: ...
def arange_like(data: Symbol | None = None, start: float = 0.0, step: float = 1.0,
    repeat: int = 1, ctx: str = '', axis: int | None = None, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def ctc_loss(data: Symbol | None = None, label: Symbol | None = None,
    data_lengths: Symbol | None = None, label_lengths: Symbol | None = None, *,
    use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: str = 'first',
    name: str | None = None, attr: dict[str, str] | None = None) -> Symbol: ...
def div_sqrt_dim(data: Symbol | None = None, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def index_array(data: Symbol | None = None, axes: _Ints | None = None, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def index_copy(old_tensor: Symbol | None = None, index_vector: Symbol | None = None,
    new_tensor: Symbol | None = None, name: str | None = None,
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
