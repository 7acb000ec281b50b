"""_adamw_update and _mp_adamw_update: Adam whose weight decay is no part of the gradient."""

from __future__ import annotations

from functools import partial
from math import isfinite, prod

import numpy as np

from ..._array.layout import AnyArray, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import ShapeError, TypeMismatch
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, known, same_shape
from ...op.params import Params, number, params_class
from ...op.registry import OpDef, Shape, register
from ...storage.kernels.optimizer import adamw
from ..floats import same_float_type
from .adaptive import BETA1_DOC, BETA2_DOC, EPSILON_DOC
from .momentum import LR_DOC
from .rule import (
    CLIP_DOC,
    FLOAT32,
    NO_GRADIENT,
    Rule,
    clipped,
    compute_master,
    compute_one,
    master_types,
    refuses_master,
    run_master,
    run_one,
)


@params_class
class AdamWParams(Params):
    lr: float = number(doc=LR_DOC)
    beta1: float = number(0.9, doc=BETA1_DOC)
    beta2: float = number(0.999, doc=BETA2_DOC)
    epsilon: float = number(1e-8, doc=EPSILON_DOC)
    wd: float = number(0.0, doc="this part of the weight is taken off beside the step")
    eta: float = number(doc="factor of the step and of the decay: the schedule's")
    clip_gradient: float = number(-1.0, doc=CLIP_DOC)


def _adamw(rescale: float, p: AdamWParams, arrays: list[AnyArray]) -> list[AnyArray]:
    weight, grad, mean, var = arrays
    if not isfinite(rescale) or rescale == 0:
        return arrays[:1] + arrays[2:]
    number_of = weight.dtype.type
    beta1, beta2 = number_of(p.beta1), number_of(p.beta2)
    g = clipped(number_of(rescale) * grad, p.clip_gradient)
    m = beta1 * mean + (number_of(1) - beta1) * g
    v = beta2 * var + (number_of(1) - beta2) * (g * g)
    step = number_of(p.lr) * m / (np.sqrt(v) + number_of(p.epsilon)) + number_of(p.wd) * weight
    return [weight - number_of(p.eta) * step, m, v]


def adamw_rule(rescale: AnyArray | None = None) -> Rule:
    """The rule with the factor that an array holds; its kernel reads that array itself."""
    factor = 1.0 if rescale is None else float(rescale.reshape(-1)[0])
    return Rule(("mean", "var"), partial(_adamw, factor), adamw,
                lambda p: p is not None and p.epsilon > 0)


_NATIVE = adamw_rule()


def check_factor(shape: Shape | None) -> Shape | None:
    """ShapeError for a rescale_grad that is not of one element."""
    if shape is not None and known(shape) and prod(shape) != 1:
        raise ShapeError(f"rescale_grad has shape {shape}, expected one element")
    return shape


def _infer_shape(p: AdamWParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    arrays, outs = same_shape(p, ins[:-1], outs)
    return [*arrays, check_factor(ins[-1])], outs


def _need_float32_factor(types: TypeList) -> None:
    if types[-1] is not None and types[-1] != FLOAT32:
        raise TypeMismatch(f"rescale_grad must be float32, got {types[-1]}")


def _infer_type(p: AdamWParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    _need_float32_factor(ins)
    arrays, outs = same_float_type(p, ins[:-1], outs)
    return [*arrays, FLOAT32], outs


def _infer_master_type(p: AdamWParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    _need_float32_factor(ins)
    arrays, outs = master_types(p, ins[:-1], outs)
    return [*arrays, FLOAT32], outs


def _compute(ctx: OpContext, p: AdamWParams, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
    compute_one(adamw_rule(ins[-1]), p, ins[:-1], outs[0])


def _compute_master(ctx: OpContext, p: AdamWParams, ins: list[AnyArray],
                    outs: list[NumpyOutput]) -> None:
    compute_master(adamw_rule(ins[-1]), p, ins[:-1], outs[0])


def _run(ctx: OpContext, p: AdamWParams, ins: list[NDArray], outs: list[Output]) -> None:
    run_one(_NATIVE, ctx, p, ins[:-1], outs[0], rescale_grad=ins[-1])


def _run_master(ctx: OpContext, p: AdamWParams, ins: list[NDArray], outs: list[Output]) -> None:
    run_master(_NATIVE, ctx, p, ins[:-1], outs[0], rescale_grad=ins[-1])


_DOC = ("\n\ng is the gradient times rescale_grad, an array of one element, clipped; where "
        "rescale_grad is 0 or not finite nothing changes. mean, var: arrays of the same shape that "
        "change. Source: MXNet's {} (Loshchilov and Hutter, 2019), which also leaves g in the "
        "gradient; a native kernel.")

register(OpDef(
    "_adamw_update", AdamWParams, inputs=("weight", "grad", "mean", "var", "rescale_grad"),
    infer_shape=_infer_shape, infer_type=_infer_type, compute=_compute, compute_ex=_run,
    refuses=lambda p, ins: need_float32(*ins), inplace={0: 0}, mutates=(2, 3),
    numbers=_NATIVE.numbers, no_gradient=NO_GRADIENT,
    doc="The weight after one step: weight - eta (lr mean / (sqrt(var) + epsilon) + wd weight), "
        "with mean = beta1 mean + (1 - beta1) g and var = beta2 var + (1 - beta2) g^2."
        + _DOC.format("_adamw_update")))
register(OpDef(
    "_mp_adamw_update", AdamWParams,
    inputs=("weight", "grad", "mean", "var", "weight32", "rescale_grad"),
    infer_shape=_infer_shape, infer_type=_infer_master_type, compute=_compute_master,
    compute_ex=_run_master, refuses=lambda p, ins: refuses_master(ins), inplace={0: 0},
    ignores=(0,), mutates=(2, 3, 4), numbers=_NATIVE.numbers, no_gradient=NO_GRADIENT,
    doc="_adamw_update of a weight that has a master copy in float32.\n\nThe step is done on "
        "weight32, which changes; what it gives is rounded to the weight's dtype."
        + _DOC.format("_mp_adamw_update")))
