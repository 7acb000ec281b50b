"""What all optimizers share: rates and decays of each weight, counts of updates, the registry."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from .. import nd
from ..dtypes import is_half
from ..errors import ParameterError, TypeMismatch
from ..lr_scheduler import LRScheduler
from ..nd import NDArray
from ..registry import register_class

C = TypeVar("C", bound=type)
Index = int | str

_factors = attrgetter("lr_mult", "wd_mult")


def _own_factors(param: Any) -> Any:
    return None if param is None else _factors(param)


class Step(NamedTuple):
    """One update operator that does the whole step of a weight.

    `numbers` are its parameters, `states` of the weight in the operator's order.
    """

    operator: str
    numbers: dict[str, float]
    states: tuple[NDArray, ...]


class Optimizer:
    """The base of all optimizers. A subclass defines `create_state` and `update`.

    `rescale_grad` is a factor of each gradient (1 / batch size, most often), `clip_gradient` the
    bound of its elements after that, `wd` the weight decay. The rate is `learning_rate`, or what
    `lr_scheduler` says, whose base rate becomes `learning_rate` where both are given; 0.01
    where neither is.

    Weights are known by an index, an int or a string. `param_idx2name` gives their names: decay
    is off for names that end neither in `_weight` nor `_gamma`. `sym` is the graph, whose
    attributes `__lr_mult__` and `__wd_mult__` are factors of a weight's rate and decay, as are
    `lr_mult` and `wd_mult` of the parameters in `param_dict` (by index).
    `multi_precision` keeps a float32 copy of each weight of 16 bits and steps that.
    """

    opt_registry: ClassVar[dict[str, type[Optimizer]]] = {}

    def __init__(self, rescale_grad: float = 1.0, param_idx2name: dict[Any, str] | None = None,
                 wd: float = 0.0, clip_gradient: float | None = None,
                 learning_rate: float | None = None, lr_scheduler: LRScheduler | None = None,
                 sym: Any = None, begin_num_update: int = 0, multi_precision: bool = False,
                 param_dict: Mapping[Any, Any] | None = None) -> None:
        if param_idx2name is not None and not isinstance(param_idx2name, dict):
            raise TypeMismatch(f"{type(self).__name__}: param_idx2name should be a dict of param "
                               f"indexes to names, got {type(param_idx2name).__name__}")
        self.rescale_grad = rescale_grad
        self.lr_scheduler = lr_scheduler
        if lr_scheduler is None:
            self.lr: Any = 0.01 if learning_rate is None else learning_rate
        else:
            self.lr = learning_rate
            if learning_rate is not None and lr_scheduler.base_lr != learning_rate:
                warnings.warn("the base rate of lr_scheduler is replaced by learning_rate, "
                              f"{learning_rate}", stacklevel=3)
                lr_scheduler.base_lr = learning_rate
        self.wd = wd
        self.lr_mult: dict[Any, float] = {}
        self.wd_mult: dict[Any, float] = {}
        self.begin_num_update = begin_num_update
        self.num_update = begin_num_update
        # several copies of a weight, on several contexts, are counted apart
        self._all_index_update_counts: dict[int, dict[Any, int]] = {0: {}}
        self._index_update_count = self._all_index_update_counts[0]
        self.clip_gradient = clip_gradient
        self.multi_precision = multi_precision
        self.aggregate_num = 0
        self.idx2name: dict[Any, str] = dict(param_idx2name or {})
        self.sym_info: tuple[Any, ...] = (
            () if sym is None else (sym.attr_dict(), sym.list_arguments()))
        self.param_dict: Mapping[Any, Any] = param_dict or {}
        self.set_lr_mult({})
        self.set_wd_mult({})

    # ---- the registry -------------------------------------------------------------------------

    @staticmethod
    def register(klass: C) -> C:
        """Makes a class known to `create` by its name in lower case; a decorator."""
        return register_class(klass, Optimizer.opt_registry, "optimizer")

    @staticmethod
    def create_optimizer(name: str, **kwargs: Any) -> Optimizer:
        """The optimizer registered under `name`, in whatever case; `kwargs` are its parameters.

        Raises ParameterError for an unknown name.
        """
        if not isinstance(name, str):
            raise TypeMismatch(f"create: got {name!r}, expected the name of an optimizer")
        found = Optimizer.opt_registry.get(name.lower())
        if found is None:
            raise ParameterError(f"Cannot find optimizer {name}; there are: "
                                 f"{', '.join(sorted(Optimizer.opt_registry))}")
        return found(**kwargs)

    # ---- what a rule defines ------------------------------------------------------------------

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """What is kept of a weight from step to step: an array, a tuple of arrays, None."""

    def create_state_multi_precision(self, index: Any, weight: NDArray) -> Any:
        """The same of a weight of 16 bits under `multi_precision`: (float32 copy, its state)."""
        if self._has_master(weight):
            master = weight.astype(np.float32)
            return master, self.create_state(index, master)
        return self.create_state(index, weight)

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        """One step: changes `weight` and `state`. `index` says whose rate and decay count."""
        raise NotImplementedError(f"{type(self).__name__} must define update")

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """`update`, on the float32 copy where there is one; the weight is rounded from it."""
        if not self._has_master(weight):
            self.update(index, weight, grad, state)
            return
        master, inner = state
        self.update(index, master, grad.astype(np.float32), inner)
        nd.cast(master, dtype=weight.dtype, out=weight)

    # ---- rates and decays ---------------------------------------------------------------------

    @property
    def learning_rate(self) -> float:
        """The rate of the next step, before the factors of the weights."""
        rate: float = self.lr if self.lr_scheduler is None else self.lr_scheduler(self.num_update)
        return rate

    def set_learning_rate(self, lr: float) -> None:
        """Sets the rate. Raises UserWarning where a schedule decides on it, as MXNet does."""
        if self.lr_scheduler is not None:
            raise UserWarning("LRScheduler of the optimizer has already been defined: the rate "
                              "can be set only without one")
        self.lr = lr

    def set_lr_scale(self, args_lrscale: Any) -> None:
        """Withdrawn by MXNet: `set_lr_mult`."""
        raise DeprecationWarning("set_lr_scale was replaced by set_lr_mult")

    def set_lr_mult(self, args_lr_mult: Mapping[Any, float]) -> None:
        """Factors of the rate by name or index, above those of the graph's attributes."""
        self.lr_mult = {**self._attributes("__lr_mult__"), **args_lr_mult}

    def set_wd_mult(self, args_wd_mult: Mapping[Any, float]) -> None:
        """Factors of the decay by name or index, above the graph's and the zeros by name."""
        undecayed = {name: 0.0 for name in self.idx2name.values() if not self._decays(name)}
        self.wd_mult = {**undecayed, **self._attributes("__wd_mult__"), **args_wd_mult}

    def _decays(self, name: str) -> bool:
        return name.endswith(("_weight", "_gamma"))

    def _attributes(self, key: str) -> dict[str, float]:
        if not self.sym_info:
            return {}
        attributes, arguments = self.sym_info
        return {name: float(attributes[name][key]) for name in arguments
                if key in attributes.get(name, ())}

    def _multiplied(self, value: float, indices: Sequence[Any], factors: Mapping[Any, float],
                    of_parameter: str) -> list[float]:
        """`value` times the factor of each index. `factors_of` says when these are the same."""
        made = []
        for index in indices:
            if index in self.param_dict:
                factor = getattr(self.param_dict[index], of_parameter)
            elif index in factors:
                factor = factors[index]
            else:
                factor = factors.get(self.idx2name[index], 1.0) if index in self.idx2name else 1.0
            made.append(value * factor)
        return made

    def factors_of(self, indices: Sequence[Any]) -> list[Any]:
        """What the factors of rate and decay of these indices follow from: equal where they are."""
        try:
            return list(map(_factors, map(self.param_dict.__getitem__, indices)))
        except KeyError:
            params = [self.param_dict.get(index) for index in indices]
            return [*map(_own_factors, params), dict(self.lr_mult), dict(self.wd_mult),
                    dict(self.idx2name)]

    def _get_lrs(self, indices: Sequence[Any]) -> list[float]:
        return self._multiplied(self.learning_rate, indices, self.lr_mult, "lr_mult")

    def _get_lr(self, index: Any) -> float:
        return self._get_lrs([index])[0]

    def _get_wds(self, indices: Sequence[Any]) -> list[float]:
        return self._multiplied(self.wd, indices, self.wd_mult, "wd_mult")

    def _get_wd(self, index: Any) -> float:
        return self._get_wds([index])[0]

    # ---- counts -------------------------------------------------------------------------------

    def _set_current_context(self, device_id: int) -> None:
        """Steps from now on are of the copies on this device, whose updates are counted apart."""
        self._index_update_count = self._all_index_update_counts.setdefault(device_id, {})

    def _update_count(self, index: Any) -> None:
        """Counts one update of an index, or of each in a list of them."""
        counts, begin, most = self._index_update_count, self.begin_num_update, self.num_update
        known = counts.get
        for one in index if isinstance(index, (list, tuple)) else (index,):
            counts[one] = count = known(one, begin) + 1
            if count > most:
                self.num_update = most = count

    # ---- helpers of rules ---------------------------------------------------------------------

    def _has_master(self, weight: NDArray) -> bool:
        """A weight of 16 bits that has a float32 copy; warns of one that has none."""
        if not is_half(weight.dtype):
            return False
        if not self.multi_precision:
            warnings.warn(f"Accumulating with {weight.dtype.name} in optimizer can lead to poor "
                          "accuracy or slow convergence. Consider using multi_precision=True "
                          f"option of the {type(self).__name__} optimizer", stacklevel=4)
        return self.multi_precision

    def _operator_numbers(self, lr: float, wd: float, **more: float) -> dict[str, float]:
        """The parameters that update operators have in common, and `more`."""
        made = {"lr": lr, "wd": wd, "rescale_grad": self.rescale_grad, **more}
        if self.clip_gradient:
            made["clip_gradient"] = self.clip_gradient
        return made

    def _scaled(self, grad: NDArray) -> NDArray:
        """The gradient, rescaled and clipped."""
        return self._clipped(grad * self.rescale_grad)

    def _clipped(self, grad: NDArray) -> NDArray:
        if self.clip_gradient is None:
            return grad
        made: NDArray = nd.clip(grad, -self.clip_gradient, self.clip_gradient)
        return made

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the parameters, which are shared and never copied."""
        state = vars(self).copy()
        del state["param_dict"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.param_dict = {}
        # what a file says twice is one dict again
        for device, counts in self._all_index_update_counts.items():
            if counts == self._index_update_count:
                self._index_update_count = self._all_index_update_counts[device]
                break


class SteppedOptimizer(Optimizer):
    """An optimizer whose step is one call of an update operator: `step_of` says which.

    Many weights are stepped in one recorded native call then (`Updater`).
    """

    # the operators take the float32 copies of weights of 16 bits, which their states have
    steps_masters = False

    def step_of(self, index: Any, lr: float, wd: float, state: Any) -> Step:
        """The step of a weight with this rate, decay and state; its update is counted already.

        The index says only how often the weight was updated: weights for which that, rate and
        decay are the same have the same numbers.
        """
        raise NotImplementedError(f"{type(self).__name__} must define step_of")

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        self._update_count(index)
        lr, wd = self._get_lr(index), self._get_wd(index)
        call(self.step_of(index, lr, wd, state), weight, grad)


def call(step: Step, weight: NDArray, grad: NDArray) -> None:
    """Runs the operator of a step, in place."""
    getattr(nd, step.operator)(weight, grad, *step.states, out=weight, **step.numbers)


def zeros_like(weight: NDArray, dtype: Any = None) -> NDArray:
    """A state of the weight's shape, on its context; its dtype unless another is asked for."""
    made: NDArray = nd.zeros(weight.shape, ctx=weight.context,
                             dtype=weight.dtype if dtype is None else dtype)
    return made


register = Optimizer.register
create = Optimizer.create_optimizer
