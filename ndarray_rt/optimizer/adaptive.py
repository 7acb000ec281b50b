"""Optimizers with a rate for each element, from the gradients so far."""

from __future__ import annotations

import math
from typing import Any

from .. import nd
from ..nd import NDArray
from .base import Optimizer, Step, SteppedOptimizer, register, zeros_like


class _WithMoments(Optimizer):
    """Keeps a mean and a variance, or a maximum, of each element."""

    beta1: float
    beta2: float

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """(mean, variance)."""
        return zeros_like(weight), zeros_like(weight)


@register
class Adam(_WithMoments, SteppedOptimizer):
    """Adam. Source: Kingma and Ba, arXiv 1412.6980; MXNet's adam_update.

    At step t the rate is lr sqrt(1 - beta2^t) / (1 - beta1^t); `epsilon` is added to the root of
    the variance before this correction. `lazy_update` is for sparse gradients: no effect here.
    """

    def __init__(self, learning_rate: float = 0.001, beta1: float = 0.9, beta2: float = 0.999,
                 epsilon: float = 1e-8, lazy_update: bool = True, **kwargs: Any) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.lazy_update = lazy_update

    def step_of(self, index: Any, lr: float, wd: float, state: Any) -> Step:
        t = self._index_update_count[index]
        lr *= math.sqrt(1.0 - self.beta2**t) / (1.0 - self.beta1**t)
        numbers = self._operator_numbers(lr, wd, beta1=self.beta1, beta2=self.beta2,
                                         epsilon=self.epsilon)
        return Step("adam_update", numbers, tuple(state))


@register
class AdamW(_WithMoments):
    """Adam whose weight decay is apart from the gradient: weight -= lr wd weight.

    With `correct_bias` the rate is Adam's at step t. Source: Loshchilov and Hutter, arXiv
    1711.05101. MXNet 1.9.1 has the operator, adamw_update, and no class.
    """

    def __init__(self, learning_rate: float = 0.001, beta1: float = 0.9, beta2: float = 0.999,
                 epsilon: float = 1e-6, correct_bias: bool = True, **kwargs: Any) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.correct_bias = correct_bias

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        self._update_count(index)
        lr, wd = self._get_lr(index), self._get_wd(index)
        t = self._index_update_count[index]
        rate = lr
        if self.correct_bias:
            rate *= math.sqrt(1.0 - self.beta2**t) / (1.0 - self.beta1**t)
        clip = {"clip_gradient": self.clip_gradient} if self.clip_gradient else {}
        nd.contrib.adamw_update(weight, grad, *state, self.rescale_grad, lr=rate, eta=1.0,
                                wd=lr * wd, beta1=self.beta1, beta2=self.beta2,
                                epsilon=self.epsilon, out=weight, **clip)


@register
class Adamax(_WithMoments):
    """Adam with the infinity norm. Source: arXiv 1412.6980, section 7; MXNet's Adamax."""

    def __init__(self, learning_rate: float = 0.002, beta1: float = 0.9, beta2: float = 0.999,
                 **kwargs: Any) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        self._update_count(index)
        lr, wd = self._get_lr(index), self._get_wd(index)
        lr /= 1.0 - self.beta1 ** self._index_update_count[index]
        grad = self._clipped(grad * self.rescale_grad + wd * weight)
        mean, largest = state
        mean[:] = mean * self.beta1 + (1.0 - self.beta1) * grad
        largest[:] = nd.maximum(self.beta2 * largest, nd.abs(grad))
        weight[:] -= lr * mean / largest


@register
class Nadam(_WithMoments):
    """Adam with Nesterov's momentum. Source: Dozat, Incorporating Nesterov Momentum into Adam,
    2016; MXNet's Nadam, whose momentum schedule is one for all weights."""

    def __init__(self, learning_rate: float = 0.001, beta1: float = 0.9, beta2: float = 0.999,
                 epsilon: float = 1e-8, schedule_decay: float = 0.004, **kwargs: Any) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.schedule_decay = schedule_decay
        self.m_schedule = 1.0

    def _momentum(self, t: int) -> float:
        share: float = 0.96 ** (t * self.schedule_decay)
        return self.beta1 * (1.0 - 0.5 * share)

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        self._update_count(index)
        lr, wd = self._get_lr(index), self._get_wd(index)
        t = self._index_update_count[index]
        grad = self._clipped(grad * self.rescale_grad + wd * weight)
        momentum, later = self._momentum(t), self._momentum(t + 1)
        self.m_schedule *= momentum
        mean, variance = state
        mean[:] = mean * self.beta1 + (1.0 - self.beta1) * grad
        variance[:] = variance * self.beta2 + (1.0 - self.beta2) * grad * grad
        now = grad / (1.0 - self.m_schedule)
        ahead = mean / (1.0 - self.m_schedule * later)
        spread = variance / (1.0 - self.beta2**t)
        direction = (1.0 - momentum) * now + later * ahead
        weight[:] -= lr * direction / (nd.sqrt(spread) + self.epsilon)


@register
class AdaGrad(Optimizer):
    """AdaGrad: divides by the root of the sum of squares so far. Source: Duchi et al., JMLR 2011;
    MXNet's AdaGrad, whose weight decay is apart from that."""

    def __init__(self, eps: float = 1e-7, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """The sum of squares."""
        return zeros_like(weight)

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        self._update_count(index)
        lr, wd = self._get_lr(index), self._get_wd(index)
        grad = self._scaled(grad)
        state[:] += nd.square(grad)
        direction = grad / nd.sqrt(state + self.float_stable_eps)
        weight[:] += (direction + weight * wd) * -lr


@register
class AdaDelta(Optimizer):
    """AdaDelta. Source: Zeiler, arXiv 1212.5701; MXNet's AdaDelta, which has no rate: its decay
    is taken off the weight as it is."""

    def __init__(self, rho: float = 0.90, epsilon: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rho = rho
        self.epsilon = epsilon

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """(mean square of gradients, mean square of changes)."""
        return zeros_like(weight), zeros_like(weight)

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        wd = self._get_wd(index)
        self._update_count(index)
        grad = self._scaled(grad)
        of_grads, of_changes = state
        of_grads[:] = of_grads * self.rho + (1.0 - self.rho) * grad * grad
        change = nd.sqrt(of_changes + self.epsilon) / nd.sqrt(of_grads + self.epsilon) * grad
        of_changes[:] = of_changes * self.rho + (1.0 - self.rho) * change * change
        weight[:] -= change + wd * weight


@register
class RMSProp(SteppedOptimizer):
    """RMSProp: Tieleman and Hinton's, or, `centered`, Graves's (arXiv 1308.0850, equations 38 to
    45). `gamma1` is the decay of the mean squares, `gamma2` the momentum of the centered one;
    `clip_weights` bounds the weights. Source: MXNet's rmsprop_update and rmspropalex_update.
    """

    def __init__(self, learning_rate: float = 0.001, gamma1: float = 0.9, gamma2: float = 0.9,
                 epsilon: float = 1e-8, centered: bool = False, clip_weights: float | None = None,
                 **kwargs: Any) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.gamma1 = gamma1
        self.gamma2 = gamma2
        self.centered = centered
        self.epsilon = epsilon
        self.clip_weights = clip_weights

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """(mean square,), and the mean and the last change where it is centered."""
        return tuple(zeros_like(weight) for _ in range(3 if self.centered else 1))

    def step_of(self, index: Any, lr: float, wd: float, state: Any) -> Step:
        numbers = self._operator_numbers(lr, wd, gamma1=self.gamma1, epsilon=self.epsilon)
        if self.centered:
            numbers["gamma2"] = self.gamma2
        if self.clip_weights:
            numbers["clip_weights"] = self.clip_weights
        return Step("rmspropalex_update" if self.centered else "rmsprop_update", numbers,
                    tuple(state))


@register
class Ftrl(SteppedOptimizer):
    """Follow the regularised leader, with an L1 penalty `lamda1`.

    Source: McMahan et al., Ad Click Prediction: a View from the Trenches, KDD 2013; MXNet's
    ftrl_update.
    """

    def __init__(self, lamda1: float = 0.01, learning_rate: float = 0.1, beta: float = 1,
                 **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.lamda1 = lamda1
        self.beta = beta
        self.lr = learning_rate

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """(z, n)."""
        return zeros_like(weight), zeros_like(weight)

    def step_of(self, index: Any, lr: float, wd: float, state: Any) -> Step:
        numbers = self._operator_numbers(lr, wd, lamda1=self.lamda1, beta=self.beta)
        return Step("ftrl_update", numbers, tuple(state))
