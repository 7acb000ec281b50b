"""Gradient descent, with momentum and without, and what steps like it."""

from __future__ import annotations

import math
from typing import Any

from .. import config, nd
from ..nd import NDArray
from .base import Optimizer, Step, SteppedOptimizer, call, register, zeros_like


def aggregation_size(default: int) -> int:
    """How many weights MXNET_OPTIMIZER_AGGREGATION_SIZE lets one call of `update` have."""
    return int(config.get_variable("MXNET_OPTIMIZER_AGGREGATION_SIZE") or default)


class _WithMomentum(SteppedOptimizer):
    """A momentum array a weight, none where `momentum` is 0; weights of 16 bits have operators."""

    steps_masters = True
    momentum: float
    momentum_operator = "sgd_mom_update"
    momentum_master_operator = "mp_sgd_mom_update"

    def create_state(self, index: Any, weight: NDArray) -> Any:
        return zeros_like(weight) if self.momentum != 0.0 else None

    def create_state_multi_precision(self, index: Any, weight: NDArray) -> Any:
        """(momentum, float32 copy) of a weight of 16 bits under `multi_precision`."""
        if self._has_master(weight):
            master = weight.astype("float32")
            return self.create_state(index, master), master
        return self.create_state(index, weight)

    def step_of(self, index: Any, lr: float, wd: float, state: Any) -> Step:
        numbers = self._operator_numbers(lr, wd)
        momentum, master = state if isinstance(state, (tuple, list)) else (state, None)
        copies = () if master is None else (master,)
        if momentum is None or self.momentum <= 0:
            return Step("sgd_update" if master is None else "mp_sgd_update", numbers, copies)
        numbers["momentum"] = self._momentum_now()
        operator = self.momentum_operator if master is None else self.momentum_master_operator
        return Step(operator, numbers, (momentum, *copies))

    def _momentum_now(self) -> float:
        return self.momentum

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """One step of a weight, or of each in lists of equal length."""
        self._update(index, weight, grad, state)

    def _update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        if not isinstance(index, (tuple, list)):
            index, weight, grad, state = [index], [weight], [grad], [state]
        self._update_count(index)
        lrs, wds = self._get_lrs(index), self._get_wds(index)
        for i, w, g, s, lr, wd in zip(index, weight, grad, state, lrs, wds, strict=True):
            call(self.step_of(i, lr, wd, s), w, g)

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """The same: whether there is a float32 copy says the state.

        As in MXNet it does not go through `update`, which a subclass may have for single weights.
        """
        self._update(index, weight, grad, state)


@register
class SGD(_WithMomentum):
    """Stochastic gradient descent with momentum and weight decay.

        state = momentum state + lr (clip(rescale_grad grad) + wd weight); weight -= state

    `lazy_update` is for sparse gradients and has no effect here. Source: MXNet's sgd_update and
    sgd_mom_update.
    """

    def __init__(self, momentum: float = 0.0, lazy_update: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum
        self.lazy_update = lazy_update
        self.aggregate_num = aggregation_size(4)


@register
class ccSGD(SGD):  # noqa: N801 - MXNet's name
    """An old name of SGD."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)


@register
class NAG(_WithMomentum):
    """Nesterov's accelerated gradient.

        state = momentum state + grad + wd weight; weight -= lr (grad + momentum state)

    Source: MXNet's nag_mom_update.
    """

    momentum_operator = "nag_mom_update"
    momentum_master_operator = "mp_nag_mom_update"

    def __init__(self, momentum: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum


@register
class Signum(SteppedOptimizer):
    """Steps of the sign of the gradient, or of its momentum.

        state = momentum state - (1 - momentum) (clip(rescale_grad grad) + wd weight)
        weight = (1 - lr wd_lh) weight + lr sign(state)

    `wd_lh` is a decay that is apart from the gradient. Source: Bernstein et al., signSGD:
    Compressed Optimisation for Non-Convex Problems, ICML 2018; MXNet's signum_update.
    """

    def __init__(self, learning_rate: float = 0.01, momentum: float = 0.9, wd_lh: float = 0.0,
                 **kwargs: Any) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.momentum = momentum
        self.wd_lh = wd_lh

    def create_state(self, index: Any, weight: NDArray) -> Any:
        return zeros_like(weight) if self.momentum != 0.0 else None

    def step_of(self, index: Any, lr: float, wd: float, state: Any) -> Step:
        numbers = self._operator_numbers(lr, wd)
        if state is None:
            return Step("signsgd_update", numbers, ())
        if self.momentum > 0:
            numbers["momentum"] = self.momentum
        if self.wd_lh:
            numbers["wd_lh"] = self.wd_lh
        return Step("signum_update", numbers, (state,))


@register
class FTML(SteppedOptimizer):
    """Follow the moving leader. Source: Zheng and Kwok, ICML 2017; MXNet's ftml_update."""

    def __init__(self, beta1: float = 0.6, beta2: float = 0.999, epsilon: float = 1e-8,
                 **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """(d, v, z)."""
        return zeros_like(weight), zeros_like(weight), zeros_like(weight)

    def step_of(self, index: Any, lr: float, wd: float, state: Any) -> Step:
        numbers = {"lr": lr, "wd": wd, "rescale_grad": self.rescale_grad, "beta1": self.beta1,
                   "beta2": self.beta2, "epsilon": self.epsilon,
                   "t": self._index_update_count[index]}
        if self.clip_gradient:
            numbers["clip_grad"] = self.clip_gradient
        return Step("ftml_update", numbers, tuple(state))


@register
class DCASGD(Optimizer):
    """Gradient descent that makes up for delayed gradients.

    Source: Zheng et al., Asynchronous Stochastic Gradient Descent with Delay Compensation,
    arXiv 1609.08326; MXNet's DCASGD. `lamda` is the factor of the compensation.
    """

    def __init__(self, momentum: float = 0.0, lamda: float = 0.04, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum
        self.weight_previous: dict[Any, NDArray] = {}
        self.lamda = lamda

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """(momentum or None, the weight before the last step)."""
        return (zeros_like(weight) if self.momentum != 0.0 else None), weight.copy()

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        self._update_count(index)
        lr, wd = self._get_lr(index), self._get_wd(index)
        grad = self._scaled(grad)
        momentum, previous = state
        change = -lr * (grad + wd * weight + self.lamda * grad * grad * (weight - previous))
        if momentum is not None:
            momentum[:] = momentum * self.momentum + change
            change = momentum
        previous[:] = weight
        weight[:] += change


@register
class SGLD(Optimizer):
    """Langevin dynamics: half a step of the gradient, and noise of variance lr.

    Source: Patterson and Teh, Stochastic Gradient Riemannian Langevin Dynamics on the Probability
    Simplex, NIPS 2013; MXNet's SGLD.
    """

    def create_state(self, index: Any, weight: NDArray) -> Any:
        return None

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        self._update_count(index)
        lr, wd = self._get_lr(index), self._get_wd(index)
        grad = self._scaled(grad)
        weight[:] += -lr / 2 * (grad + wd * weight)
        weight[:] += nd.random.normal(0, math.sqrt(lr), shape=weight.shape, dtype=weight.dtype,
                                      ctx=weight.context)


@register
class Test(Optimizer):
    """weight += rescale_grad grad; the state is a copy of the weight. For tests of kvstores."""

    __test__ = False  # no class of tests to pytest

    def create_state(self, index: Any, weight: NDArray) -> Any:
        return zeros_like(weight)

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        weight[:] += grad * self.rescale_grad
        state[:] = weight
