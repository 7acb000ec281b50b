"""adam_update, rmsprop_update, rmspropalex_update, ftrl_update, ftml_update.

Each element of the weight has a step size of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ...op.params import Params, boolean, integer, number, params_class
from ...storage.kernels import optimizer as kernels
from .momentum import LR_DOC, RESCALE_DOC
from .rule import CLIP_DOC, LAZY_DOC, WD_DOC, Rule, clipped, register_one

BETA1_DOC, BETA2_DOC = "share of the old mean", "share of the old variance"
EPSILON_DOC = "added to the root of the variance"


@params_class
class AdamParams(Params):
    lr: float = number(doc=LR_DOC)
    beta1: float = number(0.9, doc=BETA1_DOC)
    beta2: float = number(0.999, doc=BETA2_DOC)
    epsilon: float = number(1e-8, doc=EPSILON_DOC)
    wd: float = number(0.0, doc=WD_DOC)
    rescale_grad: float = number(1.0, doc=RESCALE_DOC)
    clip_gradient: float = number(-1.0, doc=CLIP_DOC)
    lazy_update: bool = boolean(True, doc=LAZY_DOC)


@params_class
class RMSPropParams(Params):
    lr: float = number(doc=LR_DOC)
    gamma1: float = number(0.95, doc="share of the old mean of squares")
    epsilon: float = number(1e-8, doc="added under the root")
    wd: float = number(0.0, doc=WD_DOC)
    rescale_grad: float = number(1.0, doc=RESCALE_DOC)
    clip_gradient: float = number(-1.0, doc=CLIP_DOC)
    clip_weights: float = number(-1.0, doc="bound of the new weight's elements; below 0: none")


@params_class
class RMSPropAlexParams(Params):
    lr: float = number(doc=LR_DOC)
    gamma1: float = number(0.95, doc="share of the old means")
    gamma2: float = number(0.9, doc="share of the last step")
    epsilon: float = number(1e-8, doc="added under the root")
    wd: float = number(0.0, doc=WD_DOC)
    rescale_grad: float = number(1.0, doc=RESCALE_DOC)
    clip_gradient: float = number(-1.0, doc=CLIP_DOC)
    clip_weights: float = number(-1.0, doc="bound of the new weight's elements; below 0: none")


@params_class
class FtrlParams(Params):
    lr: float = number(doc=LR_DOC)
    lamda1: float = number(0.01, doc="weights whose z is not beyond it become 0 (L1)")
    beta: float = number(1.0, doc="added to the root of n")
    wd: float = number(0.0, doc="weight decay (L2)")
    rescale_grad: float = number(1.0, doc=RESCALE_DOC)
    clip_gradient: float = number(-1.0, doc=CLIP_DOC)


@params_class
class FTMLParams(Params):
    lr: float = number(doc=LR_DOC)
    beta1: float = number(0.6, low=0.0, high=1.0, doc=BETA1_DOC)
    beta2: float = number(0.999, low=0.0, high=1.0, doc=BETA2_DOC)
    epsilon: float = number(1e-8, doc=EPSILON_DOC)
    t: int = integer(doc="number of the step, from 1")
    wd: float = number(0.0, doc=WD_DOC)
    rescale_grad: float = number(1.0, doc=RESCALE_DOC)
    clip_grad: float = number(-1.0, doc=CLIP_DOC)


def _decayed(p: Any, weight: AnyArray, grad: AnyArray, bound: float) -> AnyArray:
    """The gradient, scaled, with weight decay, then clipped."""
    number_of = weight.dtype.type
    return clipped(number_of(p.rescale_grad) * grad + number_of(p.wd) * weight, bound)


def _adam(p: AdamParams, arrays: list[AnyArray]) -> list[AnyArray]:
    weight, grad, mean, var = arrays
    number_of = weight.dtype.type
    beta1, beta2 = number_of(p.beta1), number_of(p.beta2)
    g = _decayed(p, weight, grad, p.clip_gradient)
    m = beta1 * mean + (number_of(1) - beta1) * g
    v = beta2 * var + (number_of(1) - beta2) * g * g
    return [weight - number_of(p.lr) * m / (np.sqrt(v) + number_of(p.epsilon)), m, v]


def _rmsprop(p: RMSPropParams, arrays: list[AnyArray]) -> list[AnyArray]:
    weight, grad, square = arrays
    number_of = weight.dtype.type
    gamma1 = number_of(p.gamma1)
    g = _decayed(p, weight, grad, p.clip_gradient)
    n = (number_of(1) - gamma1) * (g * g) + gamma1 * square
    moved = weight - number_of(p.lr) * (g / np.sqrt(n + number_of(p.epsilon)))
    return [clipped(moved, p.clip_weights), n]


def _rmspropalex(p: RMSPropAlexParams, arrays: list[AnyArray]) -> list[AnyArray]:
    weight, grad, square, mean, delta = arrays
    number_of = weight.dtype.type
    gamma1, new = number_of(p.gamma1), number_of(1) - number_of(p.gamma1)
    g = _decayed(p, weight, grad, p.clip_gradient)
    n = new * (g * g) + gamma1 * square
    m = new * g + gamma1 * mean
    step = (number_of(p.gamma2) * delta
            - number_of(p.lr) * (g / np.sqrt(n - m * m + number_of(p.epsilon))))
    return [clipped(weight + step, p.clip_weights), n, m, step]


def _ftrl(p: FtrlParams, arrays: list[AnyArray]) -> list[AnyArray]:
    weight, grad, z, n = arrays
    number_of = weight.dtype.type
    lr, lamda1 = number_of(p.lr), number_of(p.lamda1)
    g = clipped(number_of(p.rescale_grad) * grad, p.clip_gradient)
    total = n + g * g
    moved = z + (g - (np.sqrt(total) - np.sqrt(n)) * weight / lr)
    far = (np.abs(moved) > lamda1).astype(weight.dtype)
    size = (number_of(p.beta) + np.sqrt(total)) / lr + number_of(p.wd)
    return [(np.sign(moved) * lamda1 - moved) / size * far, moved, total]


def _ftml(p: FTMLParams, arrays: list[AnyArray]) -> list[AnyArray]:
    weight, grad, d, v, z = arrays
    number_of = weight.dtype.type
    one, beta1, beta2 = number_of(1), number_of(p.beta1), number_of(p.beta2)
    t = number_of(p.t)
    g = _decayed(p, weight, grad, p.clip_grad)
    square = beta2 * v + (one - beta2) * (g * g)
    size = (one - beta1**t) / number_of(p.lr) * (
        np.sqrt(square / (one - beta2**t)) + number_of(p.epsilon))
    moved = beta1 * z + (one - beta1) * g - (size - beta1 * d) * weight
    return [-moved / size, size, square, moved]


def _has_epsilon(p: Any) -> bool:
    # padding would be 0 / (0 + epsilon)
    return p is not None and bool(p.epsilon > 0)


_ADAM = Rule(("mean", "var"), _adam, kernels.adam, _has_epsilon)
_RMSPROP = Rule(("n",), _rmsprop, kernels.rmsprop, _has_epsilon)
_ALEX = Rule(("n", "g", "delta"), _rmspropalex, kernels.rmspropalex, _has_epsilon)
_FTRL = Rule(("z", "n"), _ftrl, kernels.ftrl)
_FTML = Rule(("d", "v", "z"), _ftml, kernels.ftml)

register_one("adam_update", AdamParams, _ADAM,
             "weight - lr mean / (sqrt(var) + epsilon), with mean = beta1 mean + (1 - beta1) g and "
             "var = beta2 var + (1 - beta2) g^2, where g has wd weight added before it is clipped")
register_one("rmsprop_update", RMSPropParams, _RMSPROP,
             "weight - lr g / sqrt(n + epsilon), clipped, with n = gamma1 n + (1 - gamma1) g^2, "
             "where g has wd weight added before it is clipped")
register_one("rmspropalex_update", RMSPropAlexParams, _ALEX,
             "weight + delta, clipped, with delta = gamma2 delta - lr g / sqrt(n - m^2 + epsilon), "
             "n = gamma1 n + (1 - gamma1) g^2 and m (the input g) = gamma1 m + (1 - gamma1) g, "
             "where g has wd weight added before it is clipped (Graves, 2013)")
register_one("ftrl_update", FtrlParams, _FTRL,
             "(sign(z) lamda1 - z) / ((beta + sqrt(n)) / lr + wd) where |z| > lamda1, else 0, with "
             "z += g - (sqrt(n + g^2) - sqrt(n)) weight / lr and n += g^2 (McMahan et al., 2013)")
register_one("ftml_update", FTMLParams, _FTML,
             "-z / d, with v = beta2 v + (1 - beta2) g^2, d = (1 - beta1^t) / lr (sqrt(v / (1 - "
             "beta2^t)) + epsilon) and z = beta1 z + (1 - beta1) g - (d - beta1 d') weight, d' "
             "the old d, where g has wd weight added before it is clipped (Zheng and Kwok, 2017)")
