"""_histogram: how many elements lie between edges."""

from __future__ import annotations

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...dtypes import INT64
from ...errors import ParameterError, ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_types
from ...op.params import Params, optional_integer, optional_range, params_class
from ...op.registry import OpDef, register
from .numeric import convert


@params_class
class HistogramParams(Params):
    bin_cnt: int | None = optional_integer(doc="how many equal bins; None: the second input has "
                                               "their edges")
    range: tuple[float, float] | None = optional_range(doc="where the equal bins begin and end")

    def equal_bins(self) -> tuple[int, float, float] | None:
        """(how many, begin, end); None where the edges are an input."""
        if self.bin_cnt is None:
            return None
        if self.bin_cnt < 1:
            raise ParameterError(f"parameter 'bin_cnt' got {self.bin_cnt}, expected at least 1")
        if self.range is None:
            raise ParameterError("parameter 'range' is missing: equal bins need it")
        low, high = self.range
        if not low < high:
            raise ParameterError(f"parameter 'range' got {self.range}, expected its first number "
                                 "below its second")
        return self.bin_cnt, low, high


def input_names(p: HistogramParams) -> tuple[str, ...]:
    return ("data", "bins") if p.bin_cnt is None else ("data",)


def infer_shape(p: HistogramParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    equal = p.equal_bins()
    bins = (equal[0] + 1,) if equal is not None else ins[1]
    if bins is None:
        return ins, outs
    if len(bins) != 1 or 0 <= bins[0] < 2:
        raise ShapeError(f"bins has shape {bins}, expected rank 1 and at least two edges")
    count = bins[0] - 1 if bins[0] > 0 else -1
    return ins, [merge(outs[0], (count,), "output shapes"), merge(outs[1], bins, "output shapes")]


def infer_type(p: HistogramParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    one = merge_types([*ins, outs[1]])
    return [one] * len(ins), [merge_types([outs[0], INT64]), one]


def compute(ctx: OpContext, p: HistogramParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    x = ins[0].reshape(-1)
    equal = p.equal_bins()
    if equal is None:
        edges = ins[1]
    else:
        count, low, high = equal
        steps = np.arange(count + 1, dtype=np.float64)
        edges = convert(low + steps * (high - low) / count, x.dtype)
    # the last bin has its end, too
    inside = x[(x >= edges[0]) & (x <= edges[-1])]
    at = np.minimum(np.searchsorted(edges, inside, side="right") - 1, len(edges) - 2)
    outs[0].write(np.bincount(at, minlength=len(edges) - 1).astype(np.int64))
    outs[1].write(edges)


register(OpDef("_histogram", HistogramParams, inputs=input_names, outputs=("count", "edges"),
               infer_shape=infer_shape, infer_type=infer_type, compute=compute,
               no_gradient="zero: a step has no slope",
               doc="How many elements of data lie in each bin, and the edges of the bins.\n\n"
                   "Either bin_cnt equal bins over range, or bins between the edges, in order, of "
                   "the second input. A bin has its lower edge, the last one both. What lies "
                   "outside, and NaN, is not counted. The counts are int64, the edges have data's "
                   "dtype. Raises ParameterError for bin_cnt without range. Source: MXNet's "
                   "_histogram; numpy."))
