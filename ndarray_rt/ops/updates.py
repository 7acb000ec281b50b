"""sgd_update, sgd_mom_update, adam_update: one step of an optimizer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..native import lib
from ..ndarray.layout import AnyArray, get_data, get_data_if, get_data_reorder, need_float32
from ..ndarray.ndarray import NDArray
from ..ndarray.output import NumpyOutput, Output
from ..op.context import OpContext
from ..op.infer import same_shape
from ..op.params import Params, boolean, number, params_class
from ..op.registry import OpDef, register
from ..storage.desc import MemDesc, default_desc
from .floats import same_float_type, wide


@params_class
class SGDParams(Params):
    lr: float = number(doc="learning rate")
    wd: float = number(0.0, doc="weight decay: this part of the weight is added to the gradient")
    rescale_grad: float = number(1.0, doc="factor of the gradient")
    clip_gradient: float = number(-1.0, doc="bound of the gradient's elements; below 0: none")
    lazy_update: bool = boolean(True, doc="says something about sparse gradients only")


@params_class
class SGDMomParams(Params):
    lr: float = number(doc="learning rate")
    momentum: float = number(0.0, doc="share of the last step that goes into this one")
    wd: float = number(0.0, doc="weight decay: this part of the weight is added to the gradient")
    rescale_grad: float = number(1.0, doc="factor of the gradient")
    clip_gradient: float = number(-1.0, doc="bound of the gradient's elements; below 0: none")
    lazy_update: bool = boolean(True, doc="says something about sparse gradients only")


@params_class
class AdamParams(Params):
    lr: float = number(doc="learning rate")
    beta1: float = number(0.9, doc="share of the old mean")
    beta2: float = number(0.999, doc="share of the old variance")
    epsilon: float = number(1e-8, doc="added to the root of the variance")
    wd: float = number(0.0, doc="weight decay: this part of the weight is added to the gradient")
    rescale_grad: float = number(1.0, doc="factor of the gradient")
    clip_gradient: float = number(-1.0, doc="bound of the gradient's elements; below 0: none")
    lazy_update: bool = boolean(True, doc="says something about sparse gradients only")


def _clipped(x: AnyArray, bound: float) -> AnyArray:
    if bound < 0:
        return x
    limit = x.dtype.type(bound)
    made: AnyArray = np.where(x > limit, limit, np.where(x < -limit, -limit, x))
    return made


def _scaled(p: SGDParams | SGDMomParams, grad: AnyArray) -> AnyArray:
    """lr times the gradient, scaled and clipped."""
    lr, rescale = grad.dtype.type(p.lr), grad.dtype.type(p.rescale_grad)
    made: AnyArray
    if p.clip_gradient >= 0:
        made = lr * _clipped(rescale * grad, p.clip_gradient)
    else:
        made = lr * rescale * grad
    return made


# Each returns the new weight, then the new states. The order of operations is MXNet's and that of
# the native kernels, so that all give the same bits.


def _sgd(p: SGDParams, arrays: list[AnyArray]) -> list[AnyArray]:
    weight, grad = arrays
    number_of = weight.dtype.type
    lr = number_of(p.lr)
    keep = number_of(1) - lr * number_of(p.wd)
    return [keep * weight - _scaled(p, grad)]


def _sgd_mom(p: SGDMomParams, arrays: list[AnyArray]) -> list[AnyArray]:
    weight, grad, momentum = arrays
    number_of = weight.dtype.type
    decay = number_of(p.lr) * number_of(p.wd)
    moved = number_of(p.momentum) * momentum - decay * weight - _scaled(p, grad)
    return [weight + moved, moved]


def _adam(p: AdamParams, arrays: list[AnyArray]) -> list[AnyArray]:
    weight, grad, mean, var = arrays
    number_of = weight.dtype.type
    beta1, beta2 = number_of(p.beta1), number_of(p.beta2)
    g = _clipped(number_of(p.rescale_grad) * grad + number_of(p.wd) * weight, p.clip_gradient)
    m = beta1 * mean + (number_of(1) - beta1) * g
    v = beta2 * var + (number_of(1) - beta2) * g * g
    return [weight - number_of(p.lr) * m / (np.sqrt(v) + number_of(p.epsilon)), m, v]


class Rule(NamedTuple):
    """One optimizer."""

    name: str
    params: type[Params]
    states: tuple[str, ...]
    step: Callable[[Any, list[AnyArray]], list[AnyArray]]
    kernel: int
    own: tuple[str, ...]  # the kernel's numbers behind those that all have

    @property
    def numbers(self) -> tuple[str, ...]:
        """Parameters in the order in which the kernel reads them."""
        return ("lr", "wd", "rescale_grad", "clip_gradient", *self.own)


def compute(rule: Rule, ctx: OpContext, p: Params, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    weight, *states = rule.step(p, [wide(x) for x in ins])
    outs[0].write(weight.astype(ins[0].dtype, copy=False))
    for position, value in enumerate(states, 2):
        ins[position][...] = value


def refuses(p: Params, ins: list[NDArray]) -> str | None:
    return need_float32(*ins)


def _common_layout(p: Params, ins: list[NDArray], ctx: OpContext) -> MemDesc:
    """The weight's layout where the states are in it too, else the default one."""
    weight = ins[0]
    desc = get_data(weight, ctx.stream).desc
    plain = default_desc(weight.dtype, weight.shape)
    if any(get_data_if(state, desc, ctx.stream) is None for state in ins[2:]):
        return plain
    # zeros must stay zeros where there is padding: Adam's would be 0 / (0 + epsilon)
    may_divide = isinstance(p, AdamParams) and (p.epsilon <= 0 or ctx.parameters is not None)
    return plain if desc.is_padded and may_divide else desc


def compute_ex(rule: Rule, ctx: OpContext, p: Params, ins: list[NDArray],
               outs: list[Output]) -> None:
    desc = _common_layout(p, ins, ctx)
    if desc.is_default:
        for state in ins[2:]:
            state.chunk.reorder_to_default(ctx.stream)
    states = [get_data(state, ctx.stream) for state in ins[2:]]
    weight = get_data_reorder(ins[0], desc, ctx.stream)
    grad = get_data_reorder(ins[1], desc, ctx.stream)
    scalars = [getattr(p, name) for name in rule.numbers]
    with outs[0].open(desc, ctx.stream, inplace_of=weight) as out:
        ctx.kernel(rule.kernel, (desc.nbytes // 4,), (out, weight, grad, *states), scalars,
                   ctx.parameters)


def _register(rule: Rule, formula: str) -> None:
    states = "" if not rule.states else (
        f" {' and '.join(rule.states)}: arrays of the same shape that are written to.")
    register(OpDef(rule.name, rule.params, inputs=("weight", "grad", *rule.states),
                   infer_shape=same_shape, infer_type=same_float_type,
                   compute=partial(compute, rule), compute_ex=partial(compute_ex, rule),
                   refuses=refuses, inplace={0: 0},
                   mutates=tuple(range(2, 2 + len(rule.states))), numbers=rule.numbers,
                   no_gradient="nothing is differentiated through an optimizer",
                   doc=f"The weight after one step: {formula}.\n\ng is rescale_grad grad, "
                       "clipped; the weight itself changes only when it is given as out."
                       f"{states} Source: MXNet's {rule.name}; a kernel of our own."))


_register(Rule("sgd_update", SGDParams, (), _sgd, lib.NDRT_KERNEL_SGD, ()),
          "(1 - lr wd) weight - lr g")
_register(Rule("sgd_mom_update", SGDMomParams, ("mom",), _sgd_mom, lib.NDRT_KERNEL_SGD_MOM,
               ("momentum",)),
          "weight + mom, with mom = momentum mom - lr wd weight - lr g")
_register(Rule("adam_update", AdamParams, ("mean", "var"), _adam, lib.NDRT_KERNEL_ADAM,
               ("beta1", "beta2", "epsilon")),
          "weight - lr mean / (sqrt(var) + epsilon), with mean = beta1 mean + (1 - beta1) g and "
          "var = beta2 var + (1 - beta2) g^2, where g has wd weight added before it is clipped")
