"""CTCLoss: connectionist temporal classification, for labels whose places are not known.

Notation of Graves et al. 2006: a label of L classes is spread over 2L + 1 states, with a blank
before, between and behind; alpha[t, s] is the logarithm of the probability of all paths up to time
t that are at state s then, beta that of all paths from there to the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...dtypes import FLOAT32
from ...errors import ParameterError, ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge_dim, merge_types, need_rank
from ...op.params import Params, boolean, choice, params_class
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ..floats import need_float_types, wide
from ..tensor.places import whole
from .shape_rules import expect

F64 = np.ndarray[Any, np.dtype[np.float64]]


@params_class
class CTCLossParams(Params):
    use_data_lengths: bool = boolean(False, doc="an input says how many steps of data count")
    use_label_lengths: bool = boolean(False, doc="an input says how many classes of label count; "
                                                 "else they end before the first padding")
    blank_label: str = choice("first", "last", default="first",
                              doc="which class is the blank: the first one, and labels are padded "
                                  "with 0; or the last one, and labels are padded with -1")


def input_names(p: CTCLossParams) -> tuple[str, ...]:
    return ("data", "label", *(("data_lengths",) if p.use_data_lengths else ()),
            *(("label_lengths",) if p.use_label_lengths else ()))


def infer_shape(p: CTCLossParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data, label = ins[0], ins[1]
    need_rank(data, (3,), "data")
    need_rank(label, (2,), "label")
    batch = -1
    for shape, axis in ((data, 1), (label, 0), (outs[1], 1), (outs[0], 0)):
        if shape is not None:
            batch = merge_dim(batch, shape[axis], "batch sizes of data, label and loss")
    row: Shape = (batch,)
    made: ShapeList = [data, label]
    if data is not None:
        made[0] = data = (data[0], batch, data[2])
    if label is not None:
        made[1] = label = (batch, label[1])
    if data is not None and label is not None and -1 not in (data[0], label[1]) and (
            label[1] > data[0]):
        raise ShapeError(f"label has shape {label}, more classes than data {data} has steps")
    names = input_names(p)
    made += [expect(shape, row, name, f"data {data}")
             for name, shape in zip(names[2:], ins[2:], strict=True)]
    return made, [expect(outs[0], row, "loss", f"data {data}"),
                  outs[1] if data is None else expect(outs[1], data, "gradient", f"data {data}")]


def infer_type(p: CTCLossParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    data = merge_types([ins[0], *outs])
    need_float_types([data])
    others = [FLOAT32 if data is None else data if dtype is None else dtype for dtype in ins[1:]]
    return [data, *(others if data is not None else ins[1:])], [data, data]


class Paths(NamedTuple):
    """What a batch of labels allows."""

    states: Any  # (batch, states): the class of each state
    skips: Any  # (batch, states): it may come after the state before the last one
    steps: Any  # (batch,): steps of data
    last: Any  # (batch,): the last state, a blank
    possible: Any  # (batch,): there are steps enough


def _paths(p: CTCLossParams, ins: list[AnyArray]) -> Paths:
    steps, batch, classes = ins[0].shape
    label = whole(ins[1])
    first = p.blank_label == "first"
    blank, padding = (0, 0) if first else (classes - 1, -1)
    width = label.shape[1]
    lengths = list(ins[2:])
    times = (np.clip(whole(lengths.pop(0)), 0, steps) if p.use_data_lengths
             else np.full(batch, steps))
    if p.use_label_lengths:
        counts = np.clip(whole(lengths.pop(0)), 0, width)
    else:
        is_padding = np.concatenate([label == padding, np.ones((batch, 1), bool)], axis=1)
        counts = is_padding.argmax(axis=1)
    real = np.arange(width) < counts[:, None]
    wrong = label[real & ((label < 0) | (label >= classes))]
    if wrong.size:
        raise ParameterError(f"label holds {wrong[0]}, expected classes 0 to {classes - 1}")
    states = np.full((batch, 2 * width + 1), blank)
    states[:, 1::2] = np.where(real, label, blank)
    skips = np.zeros(states.shape, bool)
    skips[:, 2:] = (states[:, 2:] != blank) & (states[:, 2:] != states[:, :-2])
    repeats = ((label[:, 1:] == label[:, :-1]) & real[:, 1:]).sum(axis=1)
    possible = (counts + repeats <= times) & (times > 0)
    return Paths(states, skips, times, 2 * counts, possible)


def _log_softmax(x: AnyArray) -> F64:
    z = x.astype(np.float64)
    z -= z.max(axis=2, keepdims=True)
    made: F64 = z - np.log(np.exp(z).sum(axis=2, keepdims=True))
    return made


def _shifted(x: F64, by: int) -> F64:
    """Each state gets the number of the state `by` before it."""
    made = np.full_like(x, -np.inf)
    made[:, by:] = x[:, :-by]
    return made


def _forward(log_p: F64, paths: Paths) -> F64:
    """alpha of all steps, states and samples; it stays as it is behind a sample's last step."""
    alpha = np.full(log_p.shape, -np.inf)
    places = np.arange(log_p.shape[2])
    alpha[0] = np.where(places < np.minimum(2, paths.last[:, None] + 1), log_p[0], -np.inf)
    for t in range(1, len(log_p)):
        before = alpha[t - 1]
        reach = np.logaddexp(before, _shifted(before, 1))
        if log_p.shape[2] > 2:
            skipped = np.where(paths.skips, _shifted(before, 2), -np.inf)
            reach = np.logaddexp(reach, skipped)
        alpha[t] = np.where((t < paths.steps)[:, None], reach + log_p[t], before)
    return alpha


def _backward(log_p: F64, paths: Paths) -> F64:
    """beta of all steps, states and samples, without the probability of the step itself."""
    beta = np.full(log_p.shape, -np.inf)
    places = np.arange(log_p.shape[2])
    last = paths.last[:, None]
    ends = np.where((places == last) | (places == last - 1), 0.0, -np.inf)
    later = np.full(log_p.shape[1:], -np.inf)
    for t in range(len(log_p) - 1, -1, -1):
        reach = np.logaddexp(later, _shifted(later[:, ::-1], 1)[:, ::-1])
        if log_p.shape[2] > 2:
            skipped = np.where(paths.skips, later, -np.inf)
            reach = np.logaddexp(reach, _shifted(skipped[:, ::-1], 2)[:, ::-1])
        at_end = (t == paths.steps - 1)[:, None]
        beta[t] = np.where(at_end, ends, reach)
        later = beta[t] + log_p[t]
    return beta


def compute(ctx: OpContext, p: CTCLossParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    shape, dtype = ins[0].shape, ins[0].dtype
    if not ins[0].size:
        outs[0].write(np.zeros(shape[1], dtype))
        outs[1].write(np.zeros(shape, dtype))
        return
    paths = _paths(p, ins)
    every = _log_softmax(wide(ins[0]))
    rows = np.arange(shape[1])
    states = every[:, rows[:, None], paths.states]
    alpha = _forward(states, paths)
    end = alpha[-1]
    before = np.where(paths.last > 0, end[rows, np.maximum(paths.last - 1, 0)], -np.inf)
    total = np.logaddexp(end[rows, paths.last], before)
    # as in MXNet, what can not be is no loss
    outs[0].write(np.where(paths.possible, -total, 0.0).astype(dtype))
    if not outs[1].requested:
        return
    counts = (np.arange(shape[0])[:, None] < paths.steps) & paths.possible
    shares = np.exp(alpha + _backward(states, paths) - total[:, None])
    grad = np.exp(every)
    np.subtract.at(grad, (np.arange(shape[0])[:, None, None], rows[:, None], paths.states), shares)
    outs[1].write(np.where(counts[..., None], grad, 0.0).astype(dtype))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    made = emit("_backward_CTCLoss", node.params, out_grads[0], node.outputs[1])
    # labels and lengths are whole numbers: nothing comes back to them
    return [made[0], *[None] * (len(node.inputs) - 1)]


def infer_shape_backward(p: CTCLossParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    need_rank(ins[1], (3,), "the gradient of data")
    data = outs[0] if ins[1] is None else expect(outs[0], ins[1], "data", f"gradient {ins[1]}")
    row = ins[0] if data is None else expect(ins[0], data[1:2], "out_grad", f"data {data}")
    return [row, data], [data]


def infer_type_backward(p: CTCLossParams, ins: TypeList, outs: TypeList,
                        ) -> tuple[TypeList, TypeList]:
    one = merge_types([*ins, *outs])
    return [one, one], [one]


def compute_backward(ctx: OpContext, p: CTCLossParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dy, grad = wide(ins[0]), wide(ins[1])
    outs[0].write((grad * dy[:, None]).astype(ins[1].dtype, copy=False))


register(OpDef("CTCLoss", CTCLossParams, inputs=input_names, outputs=("output0", "grad"),
               visible_outputs=1, infer_shape=infer_shape, infer_type=infer_type, compute=compute,
               gradient=gradient,
               aliases=("ctc_loss", "_contrib_CTCLoss", "_contrib_ctc_loss"),
               doc="The loss of labels whose places in a sequence are not known (connectionist "
                   "temporal classification).\n\n"
                   "data (steps, N, classes), numbers before the softmax; label (N, L), L at most "
                   "steps; data_lengths and label_lengths (N,); loss (N,). It is 0 where a label "
                   "needs more steps than there are. The gradient of data is a hidden output. "
                   "Raises ParameterError for labels that are no classes. data of a float dtype, "
                   "labels and lengths of any. Source: Graves et al. 2006; MXNet's CTCLoss."))
register(OpDef("_backward_CTCLoss", CTCLossParams, inputs=("out_grad", "grad"),
               outputs=("data_grad",), infer_shape=infer_shape_backward,
               infer_type=infer_type_backward, compute=compute_backward, inplace={0: 1},
               is_backward=True, no_gradient="there is no second-order gradient of it"))
