"""Graphs and parameters of quantized models."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from ... import nd
from ...errors import ParameterError, TypeMismatch, shown
from ...nd import NDArray
from ...passes.quantize import Wanted, calibrate, quantize
from ...symbol.symbol import Symbol
from .collectors import Logger

DTYPES = ("int8", "uint8", "auto")
GRANULARITIES = ("tensor-wise", "channel-wise")
Table = Mapping[str, tuple[Any, Any]]


def check_kind(quantized_dtype: str, quantize_granularity: str) -> None:
    """ParameterError for what is none of the kinds there are."""
    if quantized_dtype not in DTYPES:
        raise ParameterError(f"unknown quantized_dtype {quantized_dtype} received, expected "
                             "`int8`, `uint8` or `auto`")
    if quantize_granularity not in GRANULARITIES:
        raise ParameterError(f"unkonwn quantize_granularity {quantize_granularity} received, "
                             "expected `tensor-wise` or `channel-wise`.")


def check_names(given: Any, what: str, of: str) -> list[str]:
    """A list of names, or none."""
    if given is None:
        return []
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise ParameterError(f"{what} must be a list of strings representing the names of the {of} "
                             f"that will not be quantized, while received type {type(given)}")
    return given


def _quantize_symbol(sym: Symbol, ctx: Any, excluded_symbols: list[str] | None = None,
                     excluded_operators: list[str] | None = None,
                     offline_params: Collection[str] | None = None,
                     quantized_dtype: str = "int8", quantize_mode: str = "smart",
                     quantize_granularity: str = "tensor-wise", logger: Logger = None,
                     ) -> tuple[Symbol, list[str]]:
    """A graph on 8-bit numbers, and the names of the outputs of `sym` whose ranges it wants."""
    if not isinstance(sym, Symbol):
        raise TypeMismatch(f"sym is {shown(sym)}, expected a Symbol")
    check_kind(quantized_dtype, quantize_granularity)
    made = quantize(sym.entries, Wanted(
        quantized_dtype, quantize_mode,
        frozenset(check_names(excluded_symbols, "excluded_symbols", "symbols")),
        frozenset(check_names(excluded_operators, "excluded_operators", "operators")),
        frozenset(offline_params or ()), quantize_granularity == "channel-wise"))
    if logger:
        for name in made.nodes:
            logger.info(f"{name} is quantized.")
    return Symbol(made.heads), made.calibrated


def _calibrate_quantized_sym(qsym: Symbol, th_dict: Table | None) -> Symbol:
    """A quantized graph with the ranges that calibration found, by names of outputs."""
    if not th_dict:
        return qsym
    table = {name: (_number(low), _number(high)) for name, (low, high) in th_dict.items()}
    return Symbol(calibrate(qsym.entries, table))


def _quantize_params(qsym: Symbol, params: Mapping[str, NDArray], th_dict: Table,
                     ) -> dict[str, NDArray]:
    """What a quantized graph takes of parameters: as they are, or as int8 with their ranges."""
    made: dict[str, NDArray] = {}
    for name in qsym.list_arguments():
        plain = name.removesuffix("_quantize")
        output = name[:-len("_min")]
        if name in params:
            made[name] = params[name]
        elif plain != name and plain in params:
            param = params[plain]
            if not isinstance(param, NDArray):
                raise TypeMismatch(f"parameter {plain!r} is {shown(param)}, expected an NDArray")
            for end, array in zip(("", "_min", "_max"), nd.contrib.quantize(
                    param, nd.min(param), nd.max(param), out_type="int8"), strict=True):
                made[name + end] = array
        elif name.endswith(("_min", "_max")) and output in th_dict:
            made[name] = nd.array([_number(th_dict[output][name.endswith("_max")])])
    return made


def _number(value: Any) -> float:
    """A float, also of an array with one."""
    return float(np.asarray(value).reshape(-1)[0])
