"""Learning rate schedules: the rate as a function of the number of updates. Source: MXNet's
`mx.lr_scheduler`.

All warm up alike: for `warmup_steps` updates the rate rises linearly from `warmup_begin_lr` to
`base_lr` ('linear'), or stays at `warmup_begin_lr` ('constant').
"""

from __future__ import annotations

import itertools
import logging
import math

from .errors import ParameterError, TypeMismatch
from .public import shows

__all__ = ["CosineScheduler", "FactorScheduler", "LRScheduler", "MultiFactorScheduler",
           "PolyScheduler"]
__dir__ = shows(globals())

_WARMUP_MODES = ("linear", "constant")


def _need_int(what: str, value: object) -> None:
    if not isinstance(value, int):
        raise TypeMismatch(f"{what} is {value!r}, expected an int")


class LRScheduler:
    """A learning rate for each number of updates; subclasses define `__call__(num_update)`.

    `num_update` is the largest number of updates that any weight has had. Raises ParameterError
    for a warm-up that falls, is negative, or of an unknown mode.
    """

    def __init__(self, base_lr: float = 0.01, warmup_steps: int = 0, warmup_begin_lr: float = 0,
                 warmup_mode: str = "linear") -> None:
        what = type(self).__name__
        _need_int(f"{what}: warmup_steps", warmup_steps)
        if warmup_begin_lr > base_lr:
            raise ParameterError(f"{what}: Base lr has to be higher than warmup_begin_lr, got "
                                 f"{base_lr} and {warmup_begin_lr}")
        if warmup_steps < 0:
            raise ParameterError(f"{what}: Warmup steps has to be positive or 0, got "
                                 f"{warmup_steps}")
        if warmup_mode not in _WARMUP_MODES:
            raise ParameterError(f"{what}: Supports only linear and constant modes of warmup, got "
                                 f"{warmup_mode!r}")
        self.base_lr = base_lr
        self.warmup_steps = warmup_steps
        self.warmup_final_lr = base_lr
        self.warmup_begin_lr = warmup_begin_lr
        self.warmup_mode = warmup_mode

    def get_warmup_lr(self, num_update: int) -> float:
        """The rate during warm-up, where `num_update < warmup_steps`."""
        assert num_update < self.warmup_steps
        if self.warmup_mode == "constant":
            return self.warmup_begin_lr
        rise = self.warmup_final_lr - self.warmup_begin_lr
        return self.warmup_begin_lr + rise * float(num_update) / float(self.warmup_steps)

    def __call__(self, num_update: int) -> float:
        raise NotImplementedError(f"{type(self).__name__} must define __call__(num_update)")


def _check_factor(what: str, factor: float) -> None:
    if factor > 1.0:
        raise ParameterError(f"{what}: Factor must be no more than 1 to make lr reduce, got "
                             f"{factor}")


class FactorScheduler(LRScheduler):
    """Multiplies the rate by `factor` after each `step` updates, down to `stop_factor_lr`."""

    def __init__(self, step: int, factor: float = 1, stop_factor_lr: float = 1e-8,
                 base_lr: float = 0.01, warmup_steps: int = 0, warmup_begin_lr: float = 0,
                 warmup_mode: str = "linear") -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if step < 1:
            raise ParameterError("FactorScheduler: Schedule step must be greater or equal than 1 "
                                 f"round, got {step}")
        _check_factor("FactorScheduler", factor)
        self.step = step
        self.factor = factor
        self.stop_factor_lr = stop_factor_lr
        self.count = 0

    def __call__(self, num_update: int) -> float:
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        while num_update > self.count + self.step:
            self.count += self.step
            self.base_lr *= self.factor
            if self.base_lr < self.stop_factor_lr:
                self.base_lr = self.stop_factor_lr
                logging.info("Update[%d]: now learning rate arrived at %0.5e, will not change in "
                             "the future", num_update, self.base_lr)
            else:
                logging.info("Update[%d]: Change learning rate to %0.5e", num_update, self.base_lr)
        return self.base_lr


class MultiFactorScheduler(LRScheduler):
    """Multiplies the rate by `factor` after each of the numbers of updates in `step`."""

    def __init__(self, step: list[int], factor: float = 1, base_lr: float = 0.01,
                 warmup_steps: int = 0, warmup_begin_lr: float = 0,
                 warmup_mode: str = "linear") -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if not isinstance(step, list) or not step:
            raise TypeMismatch(f"MultiFactorScheduler: step is {step!r}, expected a list of ints")
        if any(later <= earlier for earlier, later in itertools.pairwise(step)):
            raise ParameterError("MultiFactorScheduler: Schedule step must be an increasing "
                                 f"integer list, got {step}")
        if step[0] < 1:
            raise ParameterError("MultiFactorScheduler: Schedule step must be greater or equal "
                                 f"than 1 round, got {step}")
        _check_factor("MultiFactorScheduler", factor)
        self.step = step
        self.cur_step_ind = 0
        self.factor = factor
        self.count = 0

    def __call__(self, num_update: int) -> float:
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        while self.cur_step_ind < len(self.step) and num_update > self.step[self.cur_step_ind]:
            self.count = self.step[self.cur_step_ind]
            self.cur_step_ind += 1
            self.base_lr *= self.factor
            logging.info("Update[%d]: Change learning rate to %0.5e", num_update, self.base_lr)
        return self.base_lr


class _DecayTo(LRScheduler):
    """From `base_lr` to `final_lr` in `max_update` updates, the warm-up included."""

    def __init__(self, max_update: int, base_lr: float, final_lr: float, warmup_steps: int,
                 warmup_begin_lr: float, warmup_mode: str) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        what = type(self).__name__
        _need_int(f"{what}: max_update", max_update)
        if max_update < 1:
            raise ParameterError(f"{what}: maximum number of updates must be strictly positive, "
                                 f"got {max_update}")
        self.base_lr_orig = self.base_lr
        self.max_update = max_update
        self.final_lr = final_lr
        self.max_steps = self.max_update - self.warmup_steps

    def _share(self, done: int) -> float:
        """What is left of the way after `done` of `max_steps` updates, from 1 to 0."""
        raise NotImplementedError

    def __call__(self, num_update: int) -> float:
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        if num_update <= self.max_update:
            share = self._share(num_update - self.warmup_steps)
            self.base_lr = self.final_lr + (self.base_lr_orig - self.final_lr) * share
        return self.base_lr


class PolyScheduler(_DecayTo):
    """final_lr + (base_lr - final_lr) (1 - n / steps) ** pwr."""

    def __init__(self, max_update: int, base_lr: float = 0.01, pwr: float = 2, final_lr: float = 0,
                 warmup_steps: int = 0, warmup_begin_lr: float = 0,
                 warmup_mode: str = "linear") -> None:
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.power = pwr

    def _share(self, done: int) -> float:
        left: float = pow(1 - float(done) / float(self.max_steps), self.power)
        return left


class CosineScheduler(_DecayTo):
    """final_lr + (base_lr - final_lr) (1 + cos(pi n / steps)) / 2."""

    def __init__(self, max_update: int, base_lr: float = 0.01, final_lr: float = 0,
                 warmup_steps: int = 0, warmup_begin_lr: float = 0,
                 warmup_mode: str = "linear") -> None:
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)

    def _share(self, done: int) -> float:
        return (1 + math.cos(math.pi * done / self.max_steps)) / 2
