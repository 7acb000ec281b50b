"""How models are quantized: which dtype, which names, and how ranges are found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ParameterError
from ...passes.quantize import MODES
from .collectors import Logger, _LayerHistogramCollector, _LayerOutputMinMaxCollector
from .thresholds import _get_optimal_thresholds

DTYPES = ("int8", "uint8", "auto")
# not a mode of MXNet's: data of dense layers are rounded in their own ranges when they come
DYNAMIC = "dynamic"
GRANULARITIES = ("tensor-wise", "channel-wise")
# the least and the greatest value by names of outputs
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


def is_calibrated(calib_mode: str | None) -> bool:
    """Ranges are looked for beforehand."""
    return calib_mode is not None and calib_mode != "none"


def unknown_mode(calib_mode: Any, known: str) -> ParameterError:
    return ParameterError(f"unknown calibration mode {calib_mode} received, expected {known}")


def make_collector(calib_mode: str, quantized_dtype: str, calib_layer: list[str],
               logger: Logger) -> Any:
    if calib_mode == "entropy":
        return _LayerHistogramCollector(include_layer=calib_layer, logger=logger)
    return _LayerOutputMinMaxCollector(quantized_dtype, calib_layer, logger)


def found_ranges(calib_mode: str, quantized_dtype: str, collector: Any, logger: Logger,
                ) -> dict[str, tuple[Any, Any]]:
    """What a collector saw, as ranges by names of outputs."""
    if calib_mode == "entropy":
        if logger:
            logger.info("Calculating optimal thresholds for quantization")
        return _get_optimal_thresholds(collector.hist_dict, quantized_dtype, logger=logger)
    found: dict[str, tuple[Any, Any]] = collector.min_max_dict
    return found


def as_numbers(ranges: Table) -> dict[str, tuple[float, float]]:
    """Ranges as floats, also of arrays with one element."""
    def number(value: Any) -> float:
        return float(np.asarray(value).reshape(-1)[0])
    return {name: (number(low), number(high)) for name, (low, high) in ranges.items()}


@dataclass(frozen=True)
class Options:
    """How a graph is calibrated and quantized: parameters of contrib.quantization.quantize_model.

    `by_rows`: weights of fused dense layers have a scale for each row.
    """

    calib_mode: str
    dtype: str
    mode: str
    excluded_names: frozenset[str]
    excluded_ops: frozenset[str]
    by_rows: bool
    fused: bool

    @classmethod
    def checked(cls, calib_mode: Any, quantized_dtype: Any, quantize_mode: Any,
                excluded_sym_names: Any, excluded_op_names: Any, quantize_granularity: Any,
                fused: Any) -> Options:
        """ParameterError for arguments that can not be meant."""
        if calib_mode not in ("naive", "entropy", DYNAMIC):
            raise unknown_mode(calib_mode, f"`naive`, `entropy` or `{DYNAMIC}`")
        check_kind(quantized_dtype, quantize_granularity)
        if quantize_mode not in MODES:
            raise ParameterError(f"unrecognized quantize mode: {quantize_mode!r}, expected "
                                 f"{' or '.join(map(repr, MODES))}")
        return cls(calib_mode, quantized_dtype, quantize_mode,
                   frozenset(check_names(excluded_sym_names, "excluded_sym_names", "symbols")),
                   frozenset(check_names(excluded_op_names, "excluded_op_names", "operators")),
                   quantize_granularity == "channel-wise", bool(fused))
