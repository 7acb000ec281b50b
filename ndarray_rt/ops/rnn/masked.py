"""_masked_RNN: a layer of recurrent cells that leaves out some of the steps of each sequence."""

from __future__ import annotations

import numpy as np

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge
from ...op.params import boolean, params_class
from ...op.registry import OpDef, register
from ...op.select import Selection
from ..floats import wide
from . import cells, onednn, params
from .call import Mask, RNNCall
from .cells import Weights
from .few_samples import LSTM_STEPS
from .params import RNNParams, places


@params_class
class MaskedRNNParams(RNNParams):
    holds: bool = boolean(False, doc="where a step is left out the output is the last state, not 0")


def input_names(p: MaskedRNNParams) -> tuple[str, ...]:
    return (*params.input_names(p), "mask")


def infer_shape(p: MaskedRNNParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    made, results = params.infer_shape(p, ins[:-1], outs)
    output = results[0]
    mask = None if output is None else (*output[:2], 1)
    return [*made, merge(ins[-1], mask, "shapes of mask")], results


def infer_type(p: MaskedRNNParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    made, results = params.infer_type(p, ins[:-1], outs)
    return [*made, ins[-1]], results


def compute(ctx: OpContext, p: MaskedRNNParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    data, vector, *states = (wide(value) for value in ins[:-1])
    weights = Weights.of(p, vector, places(p, data.shape[2])[0][0], data.shape[2])
    run = cells.forward(p, data, weights, states[0][0], states[1][0] if p.is_lstm else None,
                        ins[-1] != 0)
    made = [run.hidden[1:] if p.holds else cells.outputs(run), run.hidden[-1:], run.cell[-1:]]
    for out, value in zip(outs, made[:len(outs)], strict=True):
        out.write(np.asarray(value).astype(ins[0].dtype, copy=False))


def refuses(p: MaskedRNNParams, ins: list[NDArray]) -> str | None:
    if ins[-1].dtype.itemsize != 1:
        return f"a mask of {ins[-1].dtype}"
    return onednn.refuses(p, ins[:-1])


def _call(ctx: OpContext, p: MaskedRNNParams, ins: list[NDArray], outs: list[Output]) -> RNNCall:
    return RNNCall(p, ins[:-1], outs, ctx.variant, Mask(ins[-1], p.holds))


FORWARD = Selection(_call, (LSTM_STEPS,))


register(OpDef("_masked_RNN", MaskedRNNParams, inputs=input_names, outputs=params.output_names,
               visible_outputs=params.visible_outputs, infer_shape=infer_shape,
               infer_type=infer_type, compute=compute, compute_ex=FORWARD, refuses=refuses,
               is_fused=True, no_gradient="it is for inference",
               doc="A layer of recurrent cells in one direction, which leaves out steps.\n\n"
                   "Inputs and outputs are those of RNN; then mask (T, N, 1) of any dtype: where "
                   "it is 0 the states of that sequence stay as they are, and its output is 0, or "
                   "with holds its last state. Made of loops of other formats. Source: as RNN."))
