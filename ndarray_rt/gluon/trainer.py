"""Trainer: applies an optimizer to parameters, after gradients of all contexts are summed up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .. import config
from .. import optimizer as opt
from ..context import Context
from ..errors import MXNetError, ParameterError, TypeMismatch, shown
from ..public import shows
from ..symbol.atomic_file import write_atomic
from .errors import Mismatch, WarningAsError
from .parameter import Parameter, ParameterDict

__all__ = ["Trainer"]
__dir__ = shows(globals())

# elements of the largest array that a store of type 'local' updates itself
_LARGEST_IN_STORE = 1 << 24


class _Trained(NamedTuple):
    """A parameter on one context as the last update found it; `state` is its gradient's."""

    param: Parameter
    data: list[Any]
    grad: list[Any] | None
    array: Any
    grad_array: Any
    state: Any


class Trainer:
    """Updates parameters by their gradients; call `step` after `backward`.

    Parameters
    ----------
    params : ParameterDict, dict or list of Parameters
    optimizer : str or Optimizer
    optimizer_params : dict
        Arguments of an optimizer given by name, such as {'learning_rate': 0.1}.
    kvstore : str, KVStore or None
        What sums up gradients of several contexts. With one context nothing is to be summed up,
        and no store is made.
    compression_params : dict
        How the store compresses gradients.
    update_on_kvstore : bool
        Whether the store applies the optimizer; None: it decides.
    """

    def __init__(self, params: Any, optimizer: Any, optimizer_params: Any = None,
                 kvstore: Any = "device", compression_params: Any = None,
                 update_on_kvstore: bool | None = None) -> None:
        if isinstance(params, (Mapping, ParameterDict)):
            params = [params[name] for name in sorted(params.keys())]
        if not isinstance(params, (list, tuple)):
            raise ParameterError("First argument must be a list or dict of Parameters, got "
                                 f"{type(params)}.")
        self._params: list[Parameter] = []
        self._param2idx: dict[str, int] = {}
        for i, param in enumerate(params):
            if not isinstance(param, Parameter):
                raise ParameterError("First argument must be a list or dict of Parameters, got "
                                     f"list of {type(param)}.")
            self._param2idx[param.name] = i
            self._params.append(param)
            param._set_trainer(self)
        self._compression_params = compression_params
        self._contexts = self._check_contexts()
        self._init_optimizer(optimizer, optimizer_params or {})
        self._scale: float = self._optimizer.rescale_grad
        # of an update of all parameters on one context: what it found, and what its updater got
        self._last: tuple[list[_Trained], tuple[Any, ...], list[Any]] | None = None
        self._kvstore_params = {"kvstore": kvstore, "update_on_kvstore": update_on_kvstore}
        self._kvstore: Any = None
        self._reset_kvstore()

    def _check_contexts(self) -> list[Context]:
        """The contexts that all parameters are on; Mismatch where they differ."""
        contexts: list[Context] | None = None
        for param in self._params:
            own = param.list_ctx()
            if contexts is not None and own != contexts:
                raise Mismatch("All Parameters must be initialized on the same set of contexts, "
                               f"but Parameter {param.name} is initialized on {own} while previous "
                               f"Parameters are initialized on {contexts}.")
            contexts = own
        return contexts or []

    def _init_optimizer(self, optimizer: Any, optimizer_params: Mapping[str, Any]) -> None:
        param_dict = dict(enumerate(self._params))
        if isinstance(optimizer, opt.Optimizer):
            if optimizer_params:
                raise Mismatch("optimizer_params must be None if optimizer is an instance of "
                               "Optimizer instead of str")
            optimizer.param_dict = param_dict
            self._optimizer = optimizer
        else:
            self._optimizer = opt.create(optimizer, param_dict=param_dict, **optimizer_params)
        self._updaters = [opt.get_updater(self._optimizer) for _ in self._contexts]

    # ---- the store ------------------------------------------------------------------------------

    def _reset_kvstore(self) -> None:
        """Forgets the store; the next step makes a new one, with the parameters as they are."""
        if self._kvstore is not None and "dist" in self._kvstore.type:
            raise MXNetError("Cannot reset distributed KVStore.")
        self._kv_initialized = False
        self._kvstore = None
        # None: no store was made, or none is needed
        self._distributed: bool | None = None
        self._update_on_kvstore: bool | None = None
        self._params_to_init = list(self._params)

    def _init_kvstore(self) -> None:
        store = self._make_store(self._kvstore_params["kvstore"])
        wanted = self._kvstore_params["update_on_kvstore"]
        if store is not None:
            self._distributed = "dist" in store.type
            may_update = store.is_capable("optimizer")
            if wanted and not may_update:
                raise ParameterError("Please set update_on_kvstore=False when training with "
                                     f"{type(store)}")
            if wanted is None:
                wanted = self._store_updates(store) and may_update
            if self._compression_params:
                store.set_gradient_compression(self._compression_params)
            if wanted:
                store.set_optimizer(self._optimizer)
            self._kvstore = store
            self._update_on_kvstore = wanted
        self._kv_initialized = True

    def _make_store(self, kvstore: Any) -> Any:
        """The store; None where nothing is to be summed up."""
        if kvstore is None:
            return None
        if isinstance(kvstore, str):
            if len(self._contexts) == 1 and "dist" not in kvstore:
                return None
            from .. import kvstore as stores
            return stores.create(kvstore)
        if not hasattr(kvstore, "pushpull"):
            raise TypeMismatch(f"kvstore must be KVStore, str or None, got {shown(kvstore)}")
        return kvstore

    def _store_updates(self, store: Any) -> bool:
        """Whether the store updates where the user has no opinion."""
        if store.type == "local" and any(np.prod(param.shape) > _LARGEST_IN_STORE
                                         for param in self._params):
            return False
        return config.get_variable("MXNET_UPDATE_ON_KVSTORE") != "0"

    def _init_params(self) -> None:
        """Gives parameters to the store, those that are initialized by now."""
        waiting = []
        for param in self._params_to_init:
            if param._deferred_init:
                waiting.append(param)
            elif self._kvstore is not None:
                arrays = param._check_and_get(param._data, list)
                self._kvstore.broadcast(self._param2idx[param.name], arrays[0], arrays)
        self._params_to_init = waiting if self._kvstore is not None else []

    def _ready(self) -> None:
        if not self._kv_initialized:
            self._init_kvstore()
        if self._params_to_init:
            self._init_params()

    # ---- the optimizer --------------------------------------------------------------------------

    @property
    def learning_rate(self) -> float:
        """The learning rate now."""
        rate: float = self._optimizer.learning_rate
        return rate

    @property
    def optimizer(self) -> Any:
        """The optimizer."""
        return self._optimizer

    def set_learning_rate(self, lr: float) -> None:
        """Another learning rate from now on; not where a scheduler sets it."""
        self._optimizer.set_learning_rate(lr)

    def _check_and_rescale_grad(self, scale: float) -> None:
        if (self._update_on_kvstore and self._distributed and self._kv_initialized
                and self._optimizer.rescale_grad != scale):
            raise WarningAsError("Possible change in the `batch_size` from previous `step` "
                                 "detected: the distributed kvstore that updates keeps the first "
                                 "one")
        self._optimizer.rescale_grad = scale

    # ---- steps ----------------------------------------------------------------------------------

    def step(self, batch_size: int, ignore_stale_grad: bool = False) -> None:
        """Sums gradients up over contexts and updates all parameters once.

        Gradients are divided by `batch_size`. WarningAsError (a UserWarning) for a parameter whose
        gradient no backward has written since the last step; with `ignore_stale_grad` such a
        parameter is left as it is.
        """
        self._check_and_rescale_grad(self._scale / batch_size)
        self._ready()
        self._allreduce_grads()
        self._update(ignore_stale_grad)

    def allreduce_grads(self) -> None:
        """Sums gradients up over contexts, for `update` to come.

        Mismatch where the store updates: then there is nothing between.
        """
        self._ready()
        self._need_own_update("allreduce_grads()")
        self._allreduce_grads()

    def update(self, batch_size: int, ignore_stale_grad: bool = False) -> None:
        """Updates all parameters by gradients that `allreduce_grads` has summed up; as `step`."""
        self._ready()
        self._need_own_update("update()")
        self._check_and_rescale_grad(self._scale / batch_size)
        self._update(ignore_stale_grad)

    def _need_own_update(self, what: str) -> None:
        if self._kvstore is not None and self._update_on_kvstore:
            raise Mismatch(f"{what} when parameters are updated on kvstore is not supported. Try "
                           "setting `update_on_kvstore` to False when creating trainer.")

    def _allreduce_grads(self) -> None:
        if self._kvstore is None:
            return
        for i, param in enumerate(self._params):
            if param.grad_req == "null":
                continue
            out = param._check_and_get(param._data, list) if self._update_on_kvstore else None
            self._kvstore.pushpull(i, param.list_grad(), out=out, priority=-i)

    def _update(self, ignore_stale_grad: bool = False) -> None:
        scaler = self.__dict__.get("_amp_loss_scaler")
        if scaler is not None and scaler.has_overflow(self._params):
            return
        last = self._last
        if last is not None and self._is_like(last[0]):
            for state in last[2]:
                state.fresh = False
            self._updaters[0](*last[1])
            return
        self._last = None
        # for each context what its updater is to be given
        todo: list[tuple[list[int], list[Any], list[Any]]] = [([], [], []) for _ in self._updaters]
        for i, param in enumerate(self._params):
            if param._grad_req == "null":
                continue
            arrays = param._data or param._check_and_get(param._data, list)
            for (indices, grads, weights), array, grad in zip(
                    todo, arrays, param._grad or param.list_grad(), strict=True):
                if array._fresh_grad:
                    indices.append(i)
                    grads.append(grad)
                    weights.append(array)
                elif not ignore_stale_grad:
                    raise _not_fresh(param, array)
        if self._kvstore is not None and self._update_on_kvstore:
            return
        for updater, (indices, grads, weights) in zip(self._updaters, todo, strict=True):
            for array in weights:
                array._fresh_grad = False
            if indices:
                updater(tuple(indices), tuple(grads), tuple(weights))
        if len(todo) == 1 and todo[0][0]:
            self._remember(*todo[0])

    def _remember(self, indices: list[int], grads: list[Any], weights: list[Any]) -> None:
        """What an update on the only context was like, if it was one of all that is trained."""
        found = []
        for param in self._params:
            if param._data is None:
                return
            array, grad = param._data[0], param._grad
            found.append(_Trained(param, param._data, grad, array, None, None) if grad is None
                         else _Trained(param, param._data, grad, array, grad[0],
                                       array._grad_state))
        states = [one.state for one in found if one.state is not None]
        if len(states) == len(indices):
            self._last = found, (tuple(indices), tuple(grads), tuple(weights)), states

    def _is_like(self, found: list[_Trained]) -> bool:
        """The next update is of the same arrays as the one that found these, and all are fresh."""
        for param, data, grad, array, grad_array, state in found:
            if param._data is not data or param._grad is not grad or data[0] is not array:
                return False
            if grad is not None and (grad[0] is not grad_array or not state.fresh
                                     or array._grad_state is not state):
                return False
        return len(found) == len(self._params) and self._kvstore is None

    # ---- files ----------------------------------------------------------------------------------

    def save_states(self, fname: str) -> None:
        """Writes the optimizer and its states to a file."""
        self._ready()
        if self._update_on_kvstore:
            if self._params_to_init:
                raise Mismatch("Cannot save trainer states when some parameters are not yet "
                               "initialized in kvstore.")
            self._kvstore.save_optimizer_states(fname, dump_optimizer=True)
            return
        states = self._updaters[0].get_states(dump_optimizer=True)

        def write(file: Any) -> None:
            file.write(states)
        write_atomic(fname, write)

    def load_states(self, fname: str) -> None:
        """Reads the optimizer and its states out of a file; MXNetError when it can not be read."""
        self._ready()
        if self._update_on_kvstore:
            self._kvstore.load_optimizer_states(fname)
            self._optimizer = self._kvstore._updater.optimizer
        else:
            try:
                with open(fname, "rb") as file:
                    states = file.read()
            except OSError as error:
                raise MXNetError(f"{fname}: {error.strerror or error}") from None
            for updater in self._updaters:
                updater.set_states(states)
                updater.optimizer = self._updaters[0].optimizer
            self._optimizer = self._updaters[0].optimizer
        self._optimizer.param_dict = dict(enumerate(self._params))


def _not_fresh(param: Parameter, array: Any) -> WarningAsError:
    """No backward has written the gradient of this array since the last step."""
    return WarningAsError(
        f"Gradient of Parameter `{param.name}` on context {array.context} has not been updated by "
        "backward since last `step`. The loss may depend on a part of the parameters only, by "
        "mistake. If that is intended, call step with ignore_stale_grad=True, which leaves such "
        "parameters as they are")
