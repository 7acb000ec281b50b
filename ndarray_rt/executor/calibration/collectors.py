"""What is seen of the outputs of layers while a model on floats runs: ranges and histograms."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._array.ndarray import NDArray
from ...errors import ParameterError

# counts, edges of the bins, least and greatest value, the greatest absolute value
Histogram = tuple[npt.NDArray[Any], npt.NDArray[Any], Any, Any, Any]
Logger = logging.Logger | None
# thresholds take time by the square of the number of bins
MOST_BINS = 1 << 16
TINY, HUGE = 1e-30, 1e30  # beyond them bins have no float32 as their width


def combine_histogram(old_hist: Histogram, arr: npt.NDArray[Any], new_min: Any, new_max: Any,
                      new_th: Any) -> Histogram:
    """A histogram with the values of an array as well.

    Where these reach further (`new_th`, the greatest of their absolute values) bins of the same
    width are added on both sides, or bins are made wider where that would be too many.
    """
    counts, edges, low, high, reach = old_hist
    ends = min(low, new_min), max(high, new_max)
    if reach == 0 and new_th > 0:
        # bins of no width: what was counted is 0, which lies in the middle
        made, edges = np.histogram(arr, bins=len(counts), range=(-new_th, new_th))
        made[len(counts) // 2] += counts.sum()
        return made, edges, *ends, new_th
    if new_th <= reach:
        more, _ = np.histogram(arr, bins=len(counts), range=(-reach, reach))
        return counts + more, edges, *ends, reach
    width = 2 * reach / len(counts)
    steps = (new_th - reach) // width + 1
    if len(counts) + 2 * steps > MOST_BINS:
        centres = (edges[1:] + edges[:-1]) / 2
        made, wide = np.histogram(arr, bins=len(counts), range=(-new_th, new_th))
        np.add.at(made, np.searchsorted(wide, centres, "right") - 1, counts)
        return made, wide, *ends, new_th
    added = int(steps)
    reach = added * width + reach
    wider, edges = np.histogram(arr, bins=len(counts) + 2 * added, range=(-reach, reach))
    wider[added:added + len(counts)] += counts
    return wider, edges, *ends, reach


class _Collector(ABC):
    """Called with the name and the array of each input and output; looks at those of layers."""

    def __init__(self, include_layer: Collection[str] | None, logger: Logger) -> None:
        self.include_layer = include_layer
        self.logger = logger

    def collect(self, name: str, arr: NDArray) -> None:
        """Sees an array."""
        if name in (self.include_layer or ()):
            if not arr.size:
                raise ParameterError(f"calibration: {name} has shape {arr.shape}, and so no values")
            self._see(name, arr)

    @abstractmethod
    def _see(self, name: str, arr: NDArray) -> None:
        """Takes from the array of a layer what the ranges are made of."""


class _LayerHistogramCollector(_Collector):
    """Histograms by names of outputs, for thresholds by entropy: `hist_dict`."""

    def __init__(self, num_bins: int = 8001, include_layer: Collection[str] | None = None,
                 logger: Logger = None) -> None:
        super().__init__(include_layer, logger)
        self.hist_dict: dict[str, Histogram] = {}
        self.num_bins = num_bins

    def _see(self, name: str, arr: NDArray) -> None:
        values = arr.asnumpy()
        if self.logger:
            self.logger.debug(f"Collecting layer {name} histogram of shape {values.shape}")
        low, high = np.min(values), np.max(values)
        reach = max(abs(low), abs(high))
        if not np.isfinite(reach):
            raise ParameterError(f"calibration: {name} has values that are not finite")
        if reach and not TINY < reach < HUGE:
            values, low, high, reach = (np.float64(x) for x in (values, low, high, reach))
        if name in self.hist_dict:
            self.hist_dict[name] = combine_histogram(self.hist_dict[name], values, low, high, reach)
        else:
            counts, edges = np.histogram(values, bins=self.num_bins, range=(-reach, reach))
            self.hist_dict[name] = (counts, edges, low, high, reach)


class _LayerOutputMinMaxCollector(_Collector):
    """Ranges by names of outputs: `min_max_dict`."""

    def __init__(self, quantized_dtype: str, include_layer: Collection[str] | None = None,
                 logger: Logger = None) -> None:
        super().__init__(include_layer, logger)
        self.min_max_dict: dict[str, tuple[Any, Any]] = {}
        self.quantized_dtype = quantized_dtype

    def _see(self, name: str, arr: NDArray) -> None:
        values = arr.asnumpy()
        low, high = values.min(), values.max()
        if not (np.isfinite(low) and np.isfinite(high)):
            raise ParameterError(f"calibration: {name} has values that are not finite")
        if name in self.min_max_dict:
            before = self.min_max_dict[name]
            low, high = min(before[0], low), max(before[1], high)
        self.min_max_dict[name] = low, high
        if self.logger:
            self.logger.debug(f"Collecting layer {name} min_range={low:f}, max_range={high:f}")
