"""lamb_update_phase1, lamb_update_phase2 and their forms with master copies."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._array.layout import AnyArray, get_data_reorder, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import TypeMismatch
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_types, same_shape
from ...op.params import Params, boolean, integer, number, params_class
from ...op.registry import OpDef, register
from ...storage.desc import default_desc
from ...storage.kernels.optimizer import lamb_1, lamb_2
from ...storage.stream import Mem
from ..floats import need_float_types, same_float_type, wide
from .adaptive import BETA1_DOC, BETA2_DOC, EPSILON_DOC
from .momentum import LR_DOC, RESCALE_DOC
from .rule import (
    CLIP_DOC,
    FLOAT32,
    NO_GRADIENT,
    clipped,
    default_mem,
    master_types,
    numbers_from,
    numbers_of,
    plain_states,
    refuses_master,
)

LOWER_DOC = "least norm of the weight that counts; below 0: none"
UPPER_DOC = "largest norm of the weight that counts; below 0: none"


@params_class
class Phase1Params(Params):
    beta1: float = number(0.9, doc=BETA1_DOC)
    beta2: float = number(0.999, doc=BETA2_DOC)
    epsilon: float = number(1e-6, doc=EPSILON_DOC)
    t: int = integer(doc="number of the step, from 1")
    bias_correction: bool = boolean(True, doc="whether means are corrected for their beginning")
    wd: float = number(doc="this part of the weight is added to the step")
    rescale_grad: float = number(1.0, doc=RESCALE_DOC)
    clip_gradient: float = number(-1.0, doc=CLIP_DOC)


@params_class
class Phase2Params(Params):
    lr: float = number(doc=LR_DOC)
    lower_bound: float = number(-1.0, doc=LOWER_DOC)
    upper_bound: float = number(-1.0, doc=UPPER_DOC)


# ---- in numpy -----------------------------------------------------------------------------------


def direction(p: Phase1Params, arrays: list[AnyArray]) -> list[AnyArray]:
    """The step that LAMB takes before it is scaled, the new mean, the new variance."""
    weight, grad, mean, var = arrays
    number_of = weight.dtype.type
    one, beta1, beta2 = number_of(1), number_of(p.beta1), number_of(p.beta2)
    g = clipped(number_of(p.rescale_grad) * grad, p.clip_gradient)
    m = beta1 * mean + (one - beta1) * g
    v = beta2 * var + (one - beta2) * g * g
    done1 = one - beta1 ** number_of(p.t) if p.bias_correction else one
    done2 = one - beta2 ** number_of(p.t) if p.bias_correction else one
    step = m / done1 / (np.sqrt(v / done2) + number_of(p.epsilon)) + number_of(p.wd) * weight
    return [step, m, v]


def scaled_step(p: Phase2Params, weight: AnyArray, step: AnyArray, r1: AnyArray,
                r2: AnyArray) -> AnyArray:
    """The weight after a step whose length is that of the weight; norms are r1 and r2."""
    number_of = weight.dtype.type
    norm, length = number_of(r1.reshape(-1)[0]), number_of(r2.reshape(-1)[0])
    if p.lower_bound >= 0:
        norm = max(norm, number_of(p.lower_bound))
    if p.upper_bound >= 0:
        norm = min(norm, number_of(p.upper_bound))
    rate = number_of(p.lr)
    if norm != 0 and length != 0:
        rate = rate * norm / length
    made: AnyArray = weight - rate * step
    return made


def norm_of(x: AnyArray) -> AnyArray:
    """The root of the sum of squares."""
    # in one order, which vectors of any length share with their views
    flat = np.ascontiguousarray(x).reshape(-1).astype(np.float64)
    made: AnyArray = np.sqrt(np.sum(flat * flat)).astype(x.dtype).reshape(1)
    return made


def _compute_1(ctx: OpContext, p: Phase1Params, ins: list[AnyArray],
               outs: list[NumpyOutput]) -> None:
    step, mean, var = direction(p, [wide(x) for x in ins])
    outs[0].write(step.astype(ins[0].dtype, copy=False))
    ins[2][...], ins[3][...] = mean, var


def _compute_master_1(ctx: OpContext, p: Phase1Params, ins: list[AnyArray],
                      outs: list[NumpyOutput]) -> None:
    _, grad, mean, var, master = ins
    step, new_mean, new_var = direction(p, [master, grad.astype(master.dtype), mean, var])
    outs[0].write(step)
    mean[...], var[...] = new_mean, new_var


def _compute_2(ctx: OpContext, p: Phase2Params, ins: list[AnyArray],
               outs: list[NumpyOutput]) -> None:
    weight, step, r1, r2 = (wide(x) for x in ins)
    outs[0].write(scaled_step(p, weight, step, r1, r2).astype(ins[0].dtype, copy=False))


def _compute_master_2(ctx: OpContext, p: Phase2Params, ins: list[AnyArray],
                      outs: list[NumpyOutput]) -> None:
    weight, step, r1, r2, master = ins
    outs[0].write(scaled_step(p, master, step, r1, r2).astype(weight.dtype, copy=False))


# ---- in native kernels --------------------------------------------------------------------------


def run_direction(ctx: OpContext, p: Phase1Params, to: Mem, weight: Mem, grad: Mem,
                  states: list[Mem], half_grad: bool) -> None:
    mean, var = states
    ctx.kernel(lamb_1(out=to, weight=weight, grad=grad, mean=mean, var=var, count=to.desc.nelems,
                      half_grad=half_grad, **numbers_from(lamb_1, p)), ctx.parameters)


def run_step(ctx: OpContext, p: Phase2Params, to: Mem, weight: Mem, step: Mem, norms: list[Mem],
             half_out: bool, keep_master: bool = False) -> None:
    norm, step_norm = norms
    ctx.kernel(lamb_2(out=to, weight=weight, step=step, norm=norm, step_norm=step_norm,
                      count=to.desc.nelems, half_out=half_out, keep_master=keep_master,
                      **numbers_from(lamb_2, p)), ctx.parameters)


def _run_1(ctx: OpContext, p: Phase1Params, ins: list[NDArray], outs: list[Output]) -> None:
    has_master = len(ins) == 5
    desc = default_desc(FLOAT32, outs[0].shape)
    weight, grad = default_mem(ins[4 if has_master else 0], ctx), default_mem(ins[1], ctx)
    states = plain_states(ins[2:4], ctx)
    with outs[0].open(desc, ctx.stream, inplace_of=weight) as y:
        run_direction(ctx, p, y, weight, grad, states, has_master)


def _run_2(ctx: OpContext, p: Phase2Params, ins: list[NDArray], outs: list[Output]) -> None:
    desc = default_desc(ins[0].dtype, ins[0].shape)
    weight = get_data_reorder(ins[0], desc, ctx.stream)
    step, *norms = [default_mem(x, ctx) for x in ins[1:4]]
    master = [default_mem(x, ctx) for x in ins[4:]]
    with outs[0].open(desc, ctx.stream, inplace_of=weight) as y:
        run_step(ctx, p, y, master[0] if master else weight, step, norms, bool(master),
                 bool(master))


# ---- rules --------------------------------------------------------------------------------------


def _shape_2(p: Any, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    arrays, outs = same_shape(p, [*ins[:2], *ins[4:]], outs)
    norms = [merge(x, (1,), "the norm's shapes") for x in ins[2:4]]
    return [*arrays[:2], *norms, *arrays[2:]], outs


def _master_types_1(p: Any, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    made, _ = master_types(p, ins, [])
    if outs[0] is not None and outs[0] != FLOAT32:
        raise TypeMismatch(f"the output is float32, got {outs[0]}")
    return made, [FLOAT32]


def _master_types_2(p: Any, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    one = merge_types([ins[0], *outs])
    need_float_types([one])
    for dtype in ins[1:]:
        if dtype is not None and dtype != FLOAT32:
            raise TypeMismatch(f"g, r1, r2 and weight32 must be float32, got {dtype}")
    return [one, *[FLOAT32] * 4], [one]


_DOC_1 = ("The direction of a step of LAMB: mean / (sqrt(var) + epsilon) + wd weight, with mean = "
          "beta1 mean + (1 - beta1) g and var = beta2 var + (1 - beta2) g^2, both corrected for "
          "their beginning.\n\ng is rescale_grad grad, clipped. mean, var: arrays of the same "
          "shape that change. {}Source: MXNet's {} (You et al., 2020); a native kernel.")
_DOC_2 = ("The weight after a step of LAMB: weight - lr r1 / r2 g, without the quotient where r1 "
          "or r2 is 0.\n\nr1, r2: norms of the weight (within its bounds) and of g, of one element "
          "each. {}Source: MXNet's {}; a native kernel.")
_MASTER = "weight32: the master copy in float32, which counts instead of weight{}. "

register(OpDef(
    "lamb_update_phase1", Phase1Params, inputs=("weight", "grad", "mean", "var"),
    infer_shape=same_shape, infer_type=same_float_type, compute=_compute_1, compute_ex=_run_1,
    refuses=lambda p, ins: need_float32(*ins), mutates=(2, 3), numbers=numbers_of(lamb_1),
    no_gradient=NO_GRADIENT, doc=_DOC_1.format("", "lamb_update_phase1")))
register(OpDef(
    "mp_lamb_update_phase1", Phase1Params, inputs=("weight", "grad", "mean", "var", "weight32"),
    infer_shape=same_shape, infer_type=_master_types_1, compute=_compute_master_1,
    compute_ex=_run_1, refuses=lambda p, ins: refuses_master(ins), mutates=(2, 3), ignores=(0,),
    numbers=numbers_of(lamb_1), no_gradient=NO_GRADIENT,
    doc=_DOC_1.format(_MASTER.format("; g is float32, too"), "mp_lamb_update_phase1")))
register(OpDef(
    "lamb_update_phase2", Phase2Params, inputs=("weight", "g", "r1", "r2"), infer_shape=_shape_2,
    infer_type=same_float_type, compute=_compute_2, compute_ex=_run_2,
    refuses=lambda p, ins: need_float32(*ins), inplace={0: 0}, numbers=numbers_of(lamb_2),
    no_gradient=NO_GRADIENT, doc=_DOC_2.format("", "lamb_update_phase2")))
register(OpDef(
    "mp_lamb_update_phase2", Phase2Params, inputs=("weight", "g", "r1", "r2", "weight32"),
    infer_shape=_shape_2, infer_type=_master_types_2, compute=_compute_master_2, compute_ex=_run_2,
    refuses=lambda p, ins: refuses_master(ins, 1), inplace={0: 0}, ignores=(0,),
    numbers=numbers_of(lamb_2), no_gradient=NO_GRADIENT,
    doc=_DOC_2.format(_MASTER.format(" and stays as it is"), "mp_lamb_update_phase2")))
