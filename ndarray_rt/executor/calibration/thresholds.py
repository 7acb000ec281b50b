"""Up to which value outputs of layers are kept: the thresholds of the entropy mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..._array.ndarray import NDArray, new_array
from ...context import cpu
from ...dtypes import FLOAT32
from ...errors import ParameterError
from ...op.registry import find
from ...symbol.compose import operator_node
from ...symbol.symbol import Symbol
from ..bind import evaluate
from ..values import copy_value
from .collectors import Histogram, Logger


def _smooth_distribution(p: npt.NDArray[Any], eps: float = 0.0001) -> npt.NDArray[Any]:
    """A distribution in float32 whose zeros got `eps`, taken off evenly from what is not 0.

    Raises ParameterError where all are 0, AssertionError where there is not enough to take.
    """
    zeros = p == 0
    empty = int(zeros.sum())
    full = p.size - empty
    if not full:
        raise ParameterError("The discrete probability distribution is malformed. All entries are "
                             "0.")
    taken = eps * empty / full
    if taken >= 1.0:
        raise AssertionError(f"n_zeros={empty}, n_nonzeros={full}, eps1={taken:f}")
    made = p.astype(np.float32)
    made += np.where(zeros, eps, -taken)
    if (made <= 0).any():
        raise AssertionError(f"values of at most {taken:f} can not be smoothed")
    return made


def _is_positive(low: Any, quantized_dtype: str) -> bool:
    return bool(low >= 0 and quantized_dtype in ("auto", "uint8"))


def _get_optimal_threshold(hist_data: Any, quantized_dtype: str, num_quantized_bins: int = 255,
                           ) -> tuple[Any, Any, npt.NDArray[Any], npt.NDArray[Any]]:
    """(least value, greatest value, threshold, divergence) of a histogram."""
    counts, edges, low, high, _ = hist_data
    if len(counts) % 2 != 1:
        raise AssertionError(f"the histogram has {len(counts)} bins, expected an odd number")
    if _is_positive(low, quantized_dtype):
        # the bins below 0 serve those above it
        num_quantized_bins = num_quantized_bins * 2 + 1
    node = operator_node(find("_contrib_calibrate_entropy"),
                         {"num_quantized_bins": str(num_quantized_bins)}, "entropy")
    threshold, divergence = evaluate(Symbol(node.outputs), cpu(), **{
        entry.node.name: _as_floats(np.asarray(values))
        for entry, values in zip(node.inputs, (counts, edges), strict=True)})
    kept, lost = threshold.asnumpy(), divergence.asnumpy()
    if lost[0] == np.finfo(np.float32).max:
        # no threshold could be judged, as where all values are the same one below 0
        kept = np.array([max(abs(low), abs(high))], np.float32)
    return low, high, kept, lost


def _as_floats(values: npt.NDArray[Any]) -> NDArray:
    made = new_array(values.shape, FLOAT32, cpu())
    copy_value(values, made, "histogram")
    return made


def _get_optimal_thresholds(hist_dict: dict[str, Histogram], quantized_dtype: str,
                            num_quantized_bins: int = 255, logger: Logger = None,
                            ) -> dict[str, tuple[Any, Any]]:
    """(least, greatest) value that is kept, by names of outputs. Takes the histograms away."""
    if logger is not None:
        logger.info("Calculating optimal thresholds for quantization using KL divergence with "
                    f"num_quantized_bins={num_quantized_bins}")
    found: dict[str, tuple[Any, Any]] = {}
    for name in list(hist_dict):
        low, high, threshold, divergence = _get_optimal_threshold(
            hist_dict.pop(name), quantized_dtype, num_quantized_bins)
        found[name] = (0 if _is_positive(low, quantized_dtype) else -threshold, threshold)
        if logger is not None:
            logger.debug(f"layer={name}, min_val={low:f}, max_val={high:f}, "
                         f"th={threshold[0]:f}, divergence={divergence[0]:f}")
    return found
