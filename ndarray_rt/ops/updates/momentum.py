"""sgd_update, sgd_mom_update, nag_mom_update, signsgd_update, signum_update; with master copies."""

from __future__ import annotations

from ..._array.layout import AnyArray
from ...op.params import Params, boolean, number, params_class
from ...storage.kernels import optimizer as kernels
from .rule import (
    CLIP_DOC,
    LAZY_DOC,
    WD_DOC,
    Rule,
    clipped,
    register_master,
    register_one,
)

LR_DOC, RESCALE_DOC = "learning rate", "factor of the gradient"
MOMENTUM_DOC = "share of the last step that goes into this one"


@params_class
class SGDParams(Params):
    lr: float = number(doc=LR_DOC)
    wd: float = number(0.0, doc=WD_DOC)
    rescale_grad: float = number(1.0, doc=RESCALE_DOC)
    clip_gradient: float = number(-1.0, doc=CLIP_DOC)
    lazy_update: bool = boolean(True, doc=LAZY_DOC)


@params_class
class SGDMomParams(Params):
    lr: float = number(doc=LR_DOC)
    momentum: float = number(0.0, doc=MOMENTUM_DOC)
    wd: float = number(0.0, doc=WD_DOC)
    rescale_grad: float = number(1.0, doc=RESCALE_DOC)
    clip_gradient: float = number(-1.0, doc=CLIP_DOC)
    lazy_update: bool = boolean(True, doc=LAZY_DOC)


@params_class
class NAGMomParams(Params):
    lr: float = number(doc=LR_DOC)
    momentum: float = number(0.0, doc=MOMENTUM_DOC)
    wd: float = number(0.0, doc=WD_DOC)
    rescale_grad: float = number(1.0, doc=RESCALE_DOC)
    clip_gradient: float = number(-1.0, doc=CLIP_DOC)


@params_class
class SignSGDParams(Params):
    lr: float = number(doc=LR_DOC)
    wd: float = number(0.0, doc=WD_DOC)
    rescale_grad: float = number(1.0, doc="has no effect: only the gradient's sign counts")
    clip_gradient: float = number(-1.0, doc="has no effect: only the gradient's sign counts")


@params_class
class SignumParams(Params):
    lr: float = number(doc=LR_DOC)
    momentum: float = number(0.0, doc=MOMENTUM_DOC)
    wd: float = number(0.0, doc=WD_DOC)
    rescale_grad: float = number(1.0, doc=RESCALE_DOC)
    clip_gradient: float = number(-1.0, doc=CLIP_DOC)
    wd_lh: float = number(0.0, doc="weight decay that does not go through the sign")


def _scaled(p: SGDParams | SGDMomParams, grad: AnyArray) -> AnyArray:
    """lr times the gradient, scaled and clipped."""
    lr, rescale = grad.dtype.type(p.lr), grad.dtype.type(p.rescale_grad)
    made: AnyArray
    if p.clip_gradient >= 0:
        made = lr * clipped(rescale * grad, p.clip_gradient)
    else:
        made = lr * rescale * grad
    return made


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


def _with_decay(p: NAGMomParams | SignumParams, weight: AnyArray, grad: AnyArray) -> AnyArray:
    number_of = weight.dtype.type
    g = clipped(number_of(p.rescale_grad) * grad, p.clip_gradient)
    made: AnyArray = g + number_of(p.wd) * weight
    return made


def _nag_mom(p: NAGMomParams, arrays: list[AnyArray]) -> list[AnyArray]:
    weight, grad, momentum = arrays
    lr, keep = weight.dtype.type(p.lr), weight.dtype.type(p.momentum)
    g = _with_decay(p, weight, grad)
    moved = keep * momentum - lr * g
    return [weight + keep * moved - lr * g, moved]


def _nag_mom_of_master(p: NAGMomParams, arrays: list[AnyArray]) -> list[AnyArray]:
    """With a master copy, MXNet takes the new weight's decay into the momentum."""
    weight, grad, momentum = arrays
    number_of = weight.dtype.type
    lr, wd, keep = number_of(p.lr), number_of(p.wd), number_of(p.momentum)
    scaled = clipped(number_of(p.rescale_grad) * grad, p.clip_gradient)
    old, g = keep * momentum, scaled + wd * weight
    made = weight + keep * (old - lr * g) - lr * g
    return [made, old - lr * (scaled + wd * made)]


def _signsgd(p: SignSGDParams, arrays: list[AnyArray]) -> list[AnyArray]:
    weight, grad = arrays
    number_of = weight.dtype.type
    lr = number_of(p.lr)
    # a NaN has no sign: it counts as 0
    sign = (grad > 0).astype(weight.dtype) - (grad < 0).astype(weight.dtype)
    return [(number_of(1) - lr * number_of(p.wd)) * weight - lr * sign]


def _signum(p: SignumParams, arrays: list[AnyArray]) -> list[AnyArray]:
    weight, grad, momentum = arrays
    number_of = weight.dtype.type
    lr, keep = number_of(p.lr), number_of(p.momentum)
    moved = keep * momentum - (number_of(1) - keep) * _with_decay(p, weight, grad)
    sign = (moved > 0).astype(weight.dtype) - (moved < 0).astype(weight.dtype)
    return [(number_of(1) - lr * number_of(p.wd_lh)) * weight + lr * sign, moved]


def _always(p: object) -> bool:
    return True


SGD = Rule((), _sgd, kernels.sgd, _always)
SGD_MOM = Rule(("mom",), _sgd_mom, kernels.sgd_mom, _always)
_NAG = Rule(("mom",), _nag_mom, kernels.nag_mom, _always)
_NAG_OF_MASTER = Rule(("mom",), _nag_mom_of_master, kernels.nag_mom_of_master, _always)
_SIGNSGD = Rule((), _signsgd, kernels.signsgd, _always)
_SIGNUM = Rule(("mom",), _signum, kernels.signum, _always)

register_one("sgd_update", SGDParams, SGD, "(1 - lr wd) weight - lr g")
register_one("sgd_mom_update", SGDMomParams, SGD_MOM,
             "weight + mom, with mom = momentum mom - lr wd weight - lr g")
register_one("nag_mom_update", NAGMomParams, _NAG,
             "weight + momentum mom - lr (g + wd weight), with mom = momentum mom - lr (g + wd "
             "weight), Nesterov's momentum")
register_one("signsgd_update", SignSGDParams, _SIGNSGD,
             "(1 - lr wd) weight - lr sign(g)")
register_one("signum_update", SignumParams, _SIGNUM,
             "(1 - lr wd_lh) weight + lr sign(mom), with mom = momentum mom - (1 - momentum) (g + "
             "wd weight)")
register_master("mp_sgd_update", SGDParams, SGD, "sgd_update")
register_master("mp_sgd_mom_update", SGDMomParams, SGD_MOM, "sgd_mom_update")
register_master("mp_nag_mom_update", NAGMomParams, _NAG_OF_MASTER,
                "nag_mom_update, with the new weight's decay in mom,")

