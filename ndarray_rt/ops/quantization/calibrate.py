"""_contrib_calibrate_entropy: up to which value numbers are kept, by the least loss of entropy."""

from __future__ import annotations

import numpy as np

from ..._array.layout import AnyArray, get_default
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32
from ...errors import ShapeError
from ...native import lib
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, need_rank
from ...op.params import Params, integer, params_class
from ...op.registry import OpDef, Shape, register
from ...storage.desc import default_desc
from ...storage.kernels.reduce import least_loss
from .ranges import ends_shape, floats_type, one

OUTPUTS = ("threshold", "divergence")
EPS = np.float32(1e-4)


@params_class
class CalibrateEntropyParams(Params):
    num_quantized_bins: int = integer(255, low=2, high=1 << 16, doc="whole numbers to be told "
                                                                    "apart")


def infer_shape(p: CalibrateEntropyParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    need_rank(ins[0], (1,), "hist")
    need_rank(ins[1], (1,), "hist_edges")
    bins = -1 if ins[0] is None else ins[0][0]
    if bins == -1 and ins[1] is not None and ins[1][0] != -1:
        bins = ins[1][0] - 1
    if bins == -1:
        return ins, ends_shape(outs, OUTPUTS)
    least = p.num_quantized_bins
    if bins % 2 == 0 or bins < least:
        raise ShapeError(f"hist has {bins} bins, expected an odd number of at least {least} from "
                         f"num_quantized_bins={least}")
    hist: Shape = (bins,)
    edges: Shape = (bins + 1,)
    return ([merge(ins[0], hist, "shapes of hist"), merge(ins[1], edges, "shapes of hist_edges")],
            ends_shape(outs, OUTPUTS))


def infer_type(p: CalibrateEntropyParams, ins: TypeList, outs: TypeList,
               ) -> tuple[TypeList, TypeList]:
    return floats_type(ins, ("hist", "hist_edges")), floats_type(outs, OUTPUTS)


def summed(values: AnyArray) -> np.float32:
    """The sum in float32 from front to back, as MXNet adds."""
    made: np.float32 = np.add.accumulate(values.astype(FLOAT32), dtype=FLOAT32)[-1]
    return made


def smoothed(counts: AnyArray) -> AnyArray | None:
    """A distribution without zeros: each gets a little of what the others have; None: it can not.
    """
    zeros = counts == 0
    empty = int(zeros.sum())
    full = counts.size - empty
    if not full:
        return None
    taken = EPS * np.float32(empty) / np.float32(full)
    if taken >= 1:
        return None
    made: AnyArray = counts + np.where(zeros, EPS, -taken).astype(FLOAT32)
    return made


def divergence(p: AnyArray, q: AnyArray) -> np.float32:
    """How much is lost where q stands for p (Kullback and Leibler)."""
    p, q = p / summed(p), q / summed(q)
    logs = np.log((p / q).astype(np.float64)).astype(FLOAT32)
    return summed(p * logs)


def quantized(middle: AnyArray, outer: AnyArray, bins: int) -> AnyArray:
    """`middle` counted in fewer bins, each spread evenly over those of its places where `outer`
    is not 0."""
    width = middle.size // bins
    starts = np.arange(bins) * width
    totals, filled = (np.add.reduceat(values, starts) for values in (
        middle, (middle != 0).astype(np.int64)))
    with np.errstate(all="ignore"):
        share = totals.astype(FLOAT32) / filled.astype(FLOAT32)
    lengths = np.diff(np.append(starts, middle.size))
    made: AnyArray = np.where((outer != 0) & np.repeat(filled != 0, lengths),
                              np.repeat(share, lengths), np.float32(0)).astype(FLOAT32)
    return made


def compute(ctx: OpContext, p: CalibrateEntropyParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    hist, edges = ins
    center, half = hist.size // 2, p.num_quantized_bins // 2
    best, found = np.float32(np.finfo(FLOAT32).max), edges[center + half + 1]
    for reach in range(half, center + 1):
        start, stop = center - reach, center + reach + 1
        # what lies outside is counted at the ends
        outer = hist[start:stop].copy()
        outer[0] = summed(hist[:start + 1])
        outer[-1] = summed(hist[stop - 1:])
        with np.errstate(invalid="ignore"):
            middle = np.trunc(hist[start:stop]).astype(np.int64)
        middle[0] = 0
        given, kept = smoothed(outer), smoothed(
            quantized(middle, outer, p.num_quantized_bins))
        if given is None or kept is None:
            continue
        with np.errstate(all="ignore"):
            lost = divergence(given, kept)
        if lost < best:
            best, found = lost, edges[stop]
    outs[0].write(one(found))
    outs[1].write(one(best))


def compute_ex(ctx: OpContext, p: CalibrateEntropyParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    bins, desc = ins[0].size, default_desc(FLOAT32, (1,))
    slots = lib.ndrt_threads_get()
    scratch = ctx.stream.scratch(default_desc(FLOAT32, ((2 * slots + 1) * bins,)))
    hist, edges = (get_default(array, ctx.stream) for array in ins)
    with outs[0].open(desc, ctx.stream) as threshold, outs[1].open(desc, ctx.stream) as lost:
        ctx.kernel(least_loss(threshold=threshold, lost=lost, hist=hist, edges=edges,
                              scratch=scratch, bins=bins, levels=p.num_quantized_bins,
                              slots=slots))


register(OpDef(
    "_contrib_calibrate_entropy", CalibrateEntropyParams, inputs=("hist", "hist_edges"),
    outputs=OUTPUTS, infer_shape=infer_shape, infer_type=infer_type, compute=compute,
    compute_ex=compute_ex,
    no_gradient="it is for calibration, and MXNet has none",
    doc="The threshold beyond which values of a histogram are best cut off before quantization.\n\n"
        "hist (bins,) with an odd number of bins around 0, hist_edges (bins + 1,). The outputs, "
        "(1,) and (1,), are the threshold whose quantized distribution has the least "
        "Kullback-Leibler divergence, and that divergence. Source: MXNet's "
        "_contrib_calibrate_entropy."))
