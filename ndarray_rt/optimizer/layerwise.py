"""Optimizers for large batches, whose rate depends on the norms of a layer."""

from __future__ import annotations

import logging
import math
from typing import Any

from .. import nd
from ..nd import NDArray
from .base import Optimizer, Step, call, register, zeros_like
from .momentum import _WithMomentum, aggregation_size

MAX_TOGETHER = 45  # weights that one operator of LAMB takes
# of these a layer's rate does not depend on norms
_PLAIN_NAMES = ("gamma", "beta", "bias")


@register
class LARS(_WithMomentum):
    """SGD whose rate is scaled by the norms of each layer, except for biases, gammas and betas:

        lr eta |weight| / (|rescale_grad grad| + wd |weight| + eps)

    With `momentum_correction` the momentum follows changes of the global rate, as in Goyal et al.,
    arXiv 1706.02677. Source: You et al., Large Batch Training of Convolutional Networks, arXiv
    1708.03888; MXNet's LARS.
    """

    def __init__(self, momentum: float = 0.0, lazy_update: bool = True, eta: float = 0.001,
                 eps: float = 0, momentum_correction: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum
        self.momentum_correction = momentum_correction
        self.lazy_update = lazy_update
        self.aggregate_num = aggregation_size(4)
        self.eta = eta
        self.eps = eps
        self.skip = 0
        self.last_lr: float | None = None
        self.cur_lr: float | None = None

    def _decays(self, name: str) -> bool:
        return name.endswith("_weight")

    def _get_lrs(self, indices: Any) -> list[float]:
        lr = self.learning_rate
        self.last_lr = lr if self.cur_lr is None else self.cur_lr
        self.cur_lr = lr
        return self._multiplied(lr, indices, self.lr_mult, "lr_mult")

    def _momentum_now(self) -> float:
        if not self.momentum_correction or not self.last_lr or self.cur_lr is None:
            return self.momentum
        return self.momentum * (self.cur_lr / self.last_lr)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """One step of a weight, or of each in lists of equal length."""
        if not isinstance(index, (tuple, list)):
            index, weight, grad, state = [index], [weight], [grad], [state]
        self._update_count(index)
        lrs, wds = self._get_lrs(index), self._get_wds(index)
        for i, w, g, s, lr, wd in zip(index, weight, grad, state, lrs, wds, strict=True):
            call(self.step_of(i, self._layer_rate(i, w, g, lr, wd), wd, s), w, g)

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """The same: whether there is a float32 copy says the state."""
        self.update(index, weight, grad, state)

    def _layer_rate(self, index: Any, weight: NDArray, grad: NDArray, lr: float,
                    wd: float) -> float:
        if self.idx2name.get(index, str(index)).endswith(_PLAIN_NAMES):
            return lr
        of_weight = _norm(weight)
        of_grad = _norm(grad) * abs(self.rescale_grad)
        if of_weight > 0.0 and of_grad > 0.0:
            return lr * self.eta * of_weight / (of_grad + wd * of_weight + self.eps)
        return lr


def _norm(x: NDArray) -> float:
    made: float = nd.norm(x.astype("float32", copy=False)).asscalar()
    return float(made)


@register
class LBSGD(Optimizer):
    """SGD for large batches: sums gradients over `batch_scale` calls, then makes a step, with a
    rate that warms up over `warmup_epochs` of `updates_per_epoch`.

    `warmup_strategy` is 'linear', 'power2', 'sqrt', or 'lars', where the factor is the root of
    |weight|^2 / (|grad|^2 + wd |weight|^2) within [0.01, 100]. Source: MXNet's LBSGD.
    """

    def __init__(self, momentum: float = 0.0, multi_precision: bool = False,
                 warmup_strategy: str = "linear", warmup_epochs: int = 5, batch_scale: float = 1,
                 updates_per_epoch: int = 32, begin_epoch: int = 0, num_epochs: int = 60,
                 **kwargs: Any) -> None:
        super().__init__(multi_precision=multi_precision, **kwargs)
        logging.info("Running Large-Batch SGD Algorithm")
        logging.info("(Batch_scale=%f, warmup_epochs=%d, warmup_strategy=%s, updates_per_epoch=%d)",
                     batch_scale, warmup_epochs, warmup_strategy, updates_per_epoch)
        self.momentum = momentum
        self.warmup_strategy = warmup_strategy
        self.warmup_epochs = warmup_epochs
        self.batch_scale = batch_scale
        self.updates_per_epoch = updates_per_epoch
        self.init_updates = begin_epoch * updates_per_epoch
        self.num_epochs = num_epochs
        self.lbmult = 1
        self.cumgrads: dict[Any, dict[str, Any]] = {}
        self.adaptive = False
        self.admult = 1

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """Momentum or None; with it the float32 copy of a weight of 16 bits."""
        if self._has_master(weight):
            return (zeros_like(weight, "float32") if self.momentum != 0.0 else None,
                    weight.astype("float32"))
        return zeros_like(weight) if self.momentum != 0.0 else None

    def create_state_multi_precision(self, index: Any, weight: NDArray) -> Any:
        return self.create_state(index, weight)

    def update_multi_precision(self, index: Any, weight: NDArray, grad: NDArray,
                               state: Any) -> None:
        self.update(index, weight, grad, state)

    def _warmup_factor(self, updates: int) -> float:
        warmup = self.warmup_epochs * self.updates_per_epoch
        most = float(self.batch_scale)
        if updates >= warmup:
            return most
        if warmup <= 1:
            return 1.0
        share = {"linear": updates / warmup, "power2": updates**2 / warmup**2,
                 "sqrt": math.sqrt(updates / warmup)}.get(self.warmup_strategy, 0.0)
        return 1.0 + (most - 1) * share

    def _layer_factor(self, weight: NDArray, grad: NDArray, wd: float) -> float:
        of_weight, of_grad = _norm(weight) ** 2, _norm(grad) ** 2
        factor = math.sqrt(of_weight / (of_grad + wd * of_weight + 1e-18))
        return min(max(factor, 0.01), 100.0)

    def _summed(self, index: Any, grad: NDArray) -> tuple[NDArray, int]:
        """The sum of gradients with this one, and how many updates it makes."""
        so_far = self.cumgrads.get(index)
        if so_far and so_far["num_cums"] > 0:
            total, count = so_far["cum_grad"] + grad, so_far["num_cums"] + 1
        else:
            total, count = grad.copy(), self.init_updates + 1
        self.cumgrads[index] = {"cum_grad": total, "num_cums": count}
        return total, count

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        lr, wd = self._get_lr(index), self._get_wd(index)
        self._update_count(index)
        total, count = self._summed(index, grad)
        if count % self.batch_scale != 0:
            return
        grad = total / self.batch_scale
        lr *= (self._layer_factor(weight, grad, wd) if self.warmup_strategy == "lars"
               else self._warmup_factor(count))
        momentum, master = state if isinstance(state, (tuple, list)) else (state, None)
        copies = () if master is None else (master,)
        prefix = "" if master is None else "mp_"
        numbers = self._operator_numbers(lr, wd)
        if momentum is None:
            call(Step(f"{prefix}sgd_update", numbers, copies), weight, grad)
        else:
            numbers["momentum"] = max(self.momentum, 0.0)
            call(Step(f"{prefix}sgd_mom_update", numbers, (momentum, *copies)), weight, grad)
        self.cumgrads[index]["cum_grad"] = 0


@register
class LAMB(Optimizer):
    """Adam's direction with a rate scaled by the norms of each layer.

    `lower_bound` and `upper_bound` bound the weight's norm in that. Source: You et al., Large
    Batch Optimization for Deep Learning, arXiv 1904.00962; MXNet's multi_lamb_update.
    """

    def __init__(self, learning_rate: float = 0.001, beta1: float = 0.9, beta2: float = 0.999,
                 epsilon: float = 1e-6, lower_bound: float | None = None,
                 upper_bound: float | None = None, bias_correction: bool = True,
                 **kwargs: Any) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        self.bias_correction = bias_correction
        self.aggregate_num = max(1, min(MAX_TOGETHER, aggregation_size(MAX_TOGETHER)))

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """(mean, variance)."""
        return zeros_like(weight), zeros_like(weight)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """One step of a weight, or of each in lists of equal length."""
        if not isinstance(index, (tuple, list)):
            index, weight, grad, state = [index], [weight], [grad], [state]
        counts, lrs, wds = [], [], []
        for i in index:
            self._update_count(i)
            counts.append(self._index_update_count[i])
            lrs.append(self._get_lr(i))
            wds.append(self._get_wd(i))
        numbers: dict[str, Any] = {
            "beta1": self.beta1, "beta2": self.beta2, "epsilon": self.epsilon,
            "bias_correction": self.bias_correction, "rescale_grad": self.rescale_grad}
        for name in ("clip_gradient", "lower_bound", "upper_bound"):
            if getattr(self, name):
                numbers[name] = getattr(self, name)
        for first in range(0, len(index), MAX_TOGETHER):
            some = slice(first, first + MAX_TOGETHER)
            self._update_some(weight[some], grad[some], state[some], {
                **numbers, "step_count": counts[some], "lrs": lrs[some], "wds": wds[some]})

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """The same: whether there is a float32 copy says the state."""
        self.update(index, weight, grad, state)

    @staticmethod
    def _update_some(weights: Any, grads: Any, states: Any, numbers: dict[str, Any]) -> None:
        """Weights of one dtype, with float32 copies or without."""
        if isinstance(states[0][1], (tuple, list)):
            masters, moments = zip(*states, strict=True)
            nd.contrib.multi_mp_lamb_update(weights, grads, *zip(*moments, strict=True), masters,
                                            out=weights, **numbers)
        else:
            nd.contrib.multi_lamb_update(weights, grads, *zip(*states, strict=True), out=weights,
                                         **numbers)
