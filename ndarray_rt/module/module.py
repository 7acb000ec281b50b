"""Module: one symbol with its parameters and optimizer."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

from .. import nd
from .. import optimizer as opt
from ..config import get_variable
from ..context import Context, cpu
from ..errors import MXNetError, NameMismatch, ParameterError, ShapeError, TypeMismatch
from ..initializer import InitDesc
from ..io import DataDesc
from ..kvstore import KVStoreBase
from ..kvstore import create as create_kvstore
from ..model import load_checkpoint, save_checkpoint
from ..nd import NDArray
from ..symbol.atomic_file import write_atomic
from .base_module import (
    SGD_DEFAULTS,
    UNIFORM,
    BaseModule,
    Logger,
    Params,
    Shapes,
    check_input_names,
    parse_data_desc,
)
from .executor_group import DataParallelExecutorGroup

CPU = cpu()


def choose_kvstore(kvstore: Any, num_contexts: int) -> tuple[KVStoreBase | None, bool]:
    """(the store or None, whether the optimizer runs in it): none for one context and a name."""
    if kvstore is None:
        return None, False
    if isinstance(kvstore, str):
        if num_contexts == 1 and "dist" not in kvstore:
            return None, False
        made = create_kvstore(kvstore)
    elif isinstance(kvstore, KVStoreBase):
        made = kvstore
    else:
        raise TypeMismatch("kvstore must be KVStore, str or None, got a "
                           f"{type(kvstore).__name__}")
    wanted = get_variable("MXNET_UPDATE_ON_KVSTORE") or "1"
    return made, bool(int(wanted)) and made.is_capable(KVStoreBase.OPTIMIZER)


class Module(BaseModule):
    """A symbol that is bound on one context or several, each of which computes a part of a batch.

    `data_names` and `label_names` are arguments that batches fill, `state_names` those that are
    kept between batches; all others are parameters. `fixed_param_names` are not trained.
    Source: MXNet's Module.
    """

    def __init__(self, symbol: Any, data_names: Sequence[str] | None = ("data",),
                 label_names: Sequence[str] | None = ("softmax_label",), logger: Logger = logging,
                 context: Context | list[Context] = CPU,
                 work_load_list: Sequence[float] | None = None,
                 fixed_param_names: Sequence[str] | None = None,
                 state_names: Sequence[str] | None = None, group2ctxs: Any = None,
                 compression_params: Mapping[str, Any] | None = None) -> None:
        super().__init__(logger=logger)
        self._context = [context] if isinstance(context, Context) else list(context)
        self._work_load_list = list(work_load_list or [1] * len(self._context))
        if len(self._work_load_list) != len(self._context):
            raise ParameterError(f"Module: work_load_list has {len(self._work_load_list)} numbers, "
                                 f"but there are {len(self._context)} contexts")
        self._group2ctxs = group2ctxs
        self._symbol = symbol
        self._data_names = list(data_names or ())
        self._label_names = list(label_names or ())
        self._state_names = list(state_names or ())
        self._fixed_param_names = list(fixed_param_names or ())
        check_input_names(symbol, self._data_names, "data", True)
        check_input_names(symbol, self._label_names, "label", False)
        check_input_names(symbol, self._state_names, "state", True)
        check_input_names(symbol, self._fixed_param_names, "fixed_param", True)
        inputs = {*self._data_names, *self._label_names, *self._state_names}
        self._param_names = [name for name in symbol.list_arguments() if name not in inputs]
        self._aux_names = symbol.list_auxiliary_states()
        self._output_names: list[str] = symbol.list_outputs()
        self._arg_params: Params | None = None
        self._aux_params: Params | None = None
        # parameters on the contexts are newer than these
        self._params_dirty = False
        # nobody else has these: steps let go of them when they have become old
        self._has_own_params = False
        self._compression_params = compression_params
        self._optimizer: Any = None
        self._kvstore: Any = None
        self._update_on_kvstore = False
        self._updater: Any = None
        # what the updater of the only context is given, and the group's lists that it is of
        self._stepped: tuple[Any, Any, tuple[Any, ...]] | None = None
        self._preload_opt_states: str | None = None
        self._grad_req: Any = None
        self._exec_group: Any = None
        self._data_shapes: list[DataDesc] | None = None
        self._label_shapes: list[DataDesc] | None = None

    # ---- files --------------------------------------------------------------------------------

    @staticmethod
    def load(prefix: str, epoch: int, load_optimizer_states: bool = False,
             **kwargs: Any) -> Module:
        """A module of what `save_checkpoint` wrote; `kwargs` are those of the constructor."""
        symbol, args, auxs = load_checkpoint(prefix, epoch)
        made = Module(symbol=symbol, **kwargs)
        made._arg_params, made._aux_params = args, auxs
        made.params_initialized = True
        if load_optimizer_states:
            made._preload_opt_states = f"{prefix}-{epoch:04d}.states"
        return made

    def save_checkpoint(self, prefix: str, epoch: int, save_optimizer_states: bool = False,
                        remove_amp_cast: bool = True) -> None:
        """Writes prefix-symbol.json, prefix-<epoch>.params and perhaps prefix-<epoch>.states."""
        save_checkpoint(prefix, epoch, self._symbol, *self.get_params(),
                        remove_amp_cast=remove_amp_cast)
        if save_optimizer_states:
            fname = f"{prefix}-{epoch:04d}.states"
            self.save_optimizer_states(fname)
            logging.info('Saved optimizer state to "%s"', fname)

    def save_optimizer_states(self, fname: str) -> None:
        """Writes what the optimizer keeps; no pickle is written."""
        self.need("save_optimizer_states", optimizer=True)
        if self._update_on_kvstore:
            self._kvstore.save_optimizer_states(fname)
            return
        data = self._updater.get_states()

        def write(file: BinaryIO) -> None:
            file.write(data)

        write_atomic(fname, write)

    def load_optimizer_states(self, fname: str) -> None:
        """Reads what `save_optimizer_states` wrote, here or in MXNet."""
        self.need("load_optimizer_states", optimizer=True)
        if self._update_on_kvstore:
            self._kvstore.load_optimizer_states(fname)
            return
        with open(fname, "rb") as file:
            self._updater.set_states(file.read())

    # ---- what it is ---------------------------------------------------------------------------

    @property
    def data_names(self) -> list[str]:
        return self._data_names

    @property
    def label_names(self) -> list[str]:
        """Names of the labels."""
        return self._label_names

    @property
    def output_names(self) -> list[str]:
        return self._output_names

    @property
    def data_shapes(self) -> Any:
        self.need("data_shapes", params=False)
        return self._data_shapes

    @property
    def label_shapes(self) -> Any:
        self.need("label_shapes", params=False)
        return self._label_shapes

    @property
    def output_shapes(self) -> Any:
        self.need("output_shapes", params=False)
        return self._exec_group.get_output_shapes()

    # ---- parameters ---------------------------------------------------------------------------

    def _host_params(self) -> tuple[Params, Params]:
        if self._arg_params is None or self._aux_params is None:
            group = self._exec_group
            self._arg_params = self._zeros(group.param_names_bound, group.param_arrays)
            self._aux_params = self._zeros(self._aux_names, group.aux_arrays)
            self._has_own_params = True
        return self._arg_params, self._aux_params

    def _outdate_params(self) -> None:
        """A step is about to make the parameters newer than those here."""
        if not self._params_dirty:
            self._params_dirty = True
            if self._has_own_params:
                self._arg_params = self._aux_params = None

    def get_params(self) -> tuple[Params, Params]:
        if not self.params_initialized:
            raise MXNetError("Module.get_params: call init_params first")
        if self._params_dirty:
            self._sync_params_from_devices()
        return self._given_params()

    def _given_params(self) -> tuple[Params, Params]:
        """The same, for somebody who may keep them."""
        if self._arg_params is None:
            self._sync_params_from_devices()
        found = self._host_params()
        self._has_own_params = False
        return found

    def _sync_params_from_devices(self) -> None:
        self._exec_group.get_params(*self._host_params())
        self._params_dirty = False

    def init_params(self, initializer: Any = UNIFORM, arg_params: Params | None = None,
                    aux_params: Params | None = None, allow_missing: bool = False,
                    force_init: bool = False, allow_extra: bool = False) -> None:
        """Gives each parameter its value from the dicts, or from the initializer.

        Raises NameMismatch for a parameter that a dict lacks, unless `allow_missing` is true, and
        for one that is not there, unless `allow_extra` is true.
        """
        if self.params_initialized and not force_init:
            warnings.warn("Parameters already initialized and force_init=False. init_params call "
                          "ignored.", stacklevel=2)
            return
        self.need("init_params", params=False)
        if self._arg_params is None:
            self._sync_params_from_devices()
        attributes = self._symbol.attr_dict()
        for params, given in zip(self._host_params(), (arg_params, aux_params), strict=True):
            for name, target in sorted(params.items()):
                if given is not None and name in given:
                    if given[name] is not target:
                        given[name].copyto(target)
                    continue
                if given is not None and not allow_missing:
                    raise NameMismatch(f"Module.init_params: {name} is not presented")
                if initializer is not None:
                    initializer(InitDesc(name, attributes.get(name)), target)
        extra = [name for params, given in zip(self._host_params(), (arg_params, aux_params),
                                               strict=True)
                 for name in given or () if name not in params]
        if extra and not allow_extra:
            raise ParameterError(f"Module.init_params: Find name {extra[0]!r} that is not in the "
                                 "arguments: pass allow_extra=True to leave it out")
        self.params_initialized = True
        self._params_dirty = False
        self._exec_group.set_params(*self._host_params())

    def set_params(self, arg_params: Params | None, aux_params: Params | None,
                   allow_missing: bool = False, force_init: bool = True,
                   allow_extra: bool = False) -> None:
        def give() -> None:
            self._exec_group.set_params(arg_params, aux_params, allow_extra=allow_extra)

        if self._set_given(give, arg_params, aux_params, allow_missing, force_init, allow_extra):
            self._params_dirty = True

    # ---- binding ------------------------------------------------------------------------------

    def _reset_bind(self) -> None:
        self.binded = False
        self._exec_group = None
        self._data_shapes = self._label_shapes = None

    def bind(self, data_shapes: Shapes, label_shapes: Shapes | None = None,
             for_training: bool = True, inputs_need_grad: bool = False,
             force_rebind: bool = False, shared_module: Any = None,
             grad_req: Any = "write") -> None:
        """Makes executors for these shapes; memory and parameters are shared with a bound module
        where one is given. A second call does nothing without `force_rebind`."""
        if force_rebind:
            if self.params_initialized and self.binded:
                self.get_params()
            self._reset_bind()
        if self.binded:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if inputs_need_grad and not for_training:
            raise ParameterError("Module.bind: inputs_need_grad needs for_training=True")
        group = None
        if shared_module is not None:
            if not (isinstance(shared_module, Module) and shared_module.binded
                    and shared_module.params_initialized):
                raise ParameterError("Module.bind: shared_module must be a Module that is bound "
                                     "and has its parameters")
            group = shared_module._exec_group
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        self._grad_req = grad_req
        self._data_shapes, self._label_shapes = parse_data_desc(
            self.data_names, self.label_names, data_shapes, label_shapes)
        self._exec_group = DataParallelExecutorGroup(
            self._symbol, self._context, self._work_load_list, self._data_shapes,
            self._label_shapes, self._param_names, for_training, inputs_need_grad, group,
            logger=self.logger, fixed_param_names=self._fixed_param_names, grad_req=grad_req,
            state_names=self._state_names, group2ctxs=self._group2ctxs)
        if shared_module is not None:
            self.params_initialized = True
            self._arg_params, self._aux_params = shared_module._given_params()
            if shared_module.optimizer_initialized:
                self.borrow_optimizer(shared_module)
        elif self.params_initialized:
            self._exec_group.set_params(*self._host_params())
        else:
            self._arg_params = self._aux_params = None
            self._host_params()
        self.binded = True

    @staticmethod
    def _zeros(names: Sequence[str], arrays: Sequence[Sequence[NDArray]]) -> Params:
        return {name: nd.zeros(of_each[0].shape, dtype=of_each[0].dtype)
                for name, of_each in zip(names, arrays, strict=True)}

    def reshape(self, data_shapes: Shapes, label_shapes: Shapes | None = None) -> None:
        """Executors for other shapes, with the same memory and parameters."""
        self.need("reshape", params=False)
        self._data_shapes, self._label_shapes = parse_data_desc(
            self.data_names, self.label_names, data_shapes, label_shapes)
        self._exec_group.reshape(self._data_shapes, self._label_shapes)

    # ---- optimizer ----------------------------------------------------------------------------

    def init_optimizer(self, kvstore: Any = "local", optimizer: Any = "sgd",
                       optimizer_params: Any = SGD_DEFAULTS, force_init: bool = False) -> None:
        """Makes the optimizer, whose `rescale_grad` is 1 / batch size unless it is given, and the
        store for several contexts."""
        self.need("init_optimizer")
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring...")
            return
        if self._params_dirty:
            self._sync_params_from_devices()
        store, on_store = choose_kvstore(kvstore, len(self._context))
        group = self._exec_group
        names = group.param_names_bound
        contexts = 1 if on_store else len(self._context)
        idx2name = {i * contexts + k: name for i, name in enumerate(names)
                    for k in range(contexts)}
        if on_store:  # keys of the store are names
            idx2name.update({name: name for name in names})
        rescale = 1.0 / (group.batch_size or 1)
        if isinstance(optimizer, str):
            given = {"rescale_grad": rescale, **dict(optimizer_params)}
            optimizer = opt.create(optimizer, sym=self.symbol, param_idx2name=idx2name, **given)
        elif not isinstance(optimizer, opt.Optimizer):
            raise TypeMismatch("Module.init_optimizer: optimizer is a "
                               f"{type(optimizer).__name__}, expected a name or an Optimizer")
        else:
            if optimizer.rescale_grad != rescale:
                warnings.warn("Optimizer created manually outside Module but rescale_grad is not "
                              f"normalized to 1.0/batch_size/num_workers "
                              f"({optimizer.rescale_grad} vs. {rescale}). Is this intended?",
                              stacklevel=2)
            if not optimizer.idx2name:
                optimizer.idx2name = dict(idx2name)
        self._optimizer, self._kvstore, self._update_on_kvstore = optimizer, store, on_store
        self._updater = None if on_store else opt.get_updater(optimizer)
        if store is not None:
            if self._compression_params:
                store.set_gradient_compression(  # type: ignore[attr-defined]
                    self._compression_params)
            if on_store:
                store.set_optimizer(optimizer)
            for name, arrays in zip(names, group.param_arrays, strict=True):
                store.broadcast(name, self._host_params()[0][name], out=arrays)
        self.optimizer_initialized = True
        if self._preload_opt_states is not None:
            self.load_optimizer_states(self._preload_opt_states)
            self._preload_opt_states = None

    def borrow_optimizer(self, shared_module: Module) -> None:
        """Steps with the optimizer and the states of another module."""
        if not shared_module.optimizer_initialized:
            raise MXNetError("Module.borrow_optimizer: the other module has no optimizer: call "
                             "its init_optimizer first")
        self._optimizer = shared_module._optimizer
        self._kvstore = shared_module._kvstore
        self._update_on_kvstore = shared_module._update_on_kvstore
        self._updater = shared_module._updater
        self.optimizer_initialized = True

    def update(self) -> None:
        self.need("update", optimizer=True)
        self._outdate_params()
        group = self._exec_group
        last = self._stepped
        if (last is not None and self._kvstore is None and last[0] is group.param_arrays
                and last[1] is group.grad_arrays):
            self._updater(*last[2])
            return
        self._stepped = None
        trained = [(i, name, weights, grads) for i, (name, weights, grads) in enumerate(
            zip(group.param_names_bound, group.param_arrays, group.grad_arrays, strict=True))
            if grads[0] is not None]
        if self._kvstore is not None:
            for i, name, weights, grads in trained:
                self._kvstore.pushpull(name, grads, out=weights if self._update_on_kvstore
                                       else None, priority=-i)
        if self._update_on_kvstore:
            return
        count = len(self._context)
        for k in range(count):
            if trained:
                given = (tuple(i * count + k for i, *_ in trained),
                         tuple(grads[k] for *_, grads in trained),
                         tuple(weights[k] for _, _, weights, _ in trained))
                self._updater(*given)
                if count == 1:
                    self._stepped = group.param_arrays, group.grad_arrays, given

    # ---- computation --------------------------------------------------------------------------

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Computes the outputs for a batch, or a list of one a context.

        A batch of other shapes than before makes executors for it, which keep memory and
        parameters.
        """
        self.need("forward")
        assert self._data_shapes is not None
        first = data_batch[0] if isinstance(data_batch, list) else data_batch
        count = len(data_batch) if isinstance(data_batch, list) else 1
        if isinstance(data_batch, list):
            shapes = [[x.shape for x in one.data] for one in data_batch]
            if any(one != shapes[0] for one in shapes):
                raise ShapeError("All data batches in a list need to have the same shape, got "
                                 f"{shapes}")
        now = [(count * x.shape[0], *x.shape[1:]) if count > 1 else x.shape for x in first.data]
        if now != [tuple(desc.shape) for desc in self._data_shapes]:
            self.reshape(*self._described(first, now, count))
        self._exec_group.forward(data_batch, is_train)

    def _described(self, batch: Any, shapes: Sequence[Any], count: int) -> tuple[Any, Any]:
        """What data and labels of a batch of new shapes are."""
        assert self._data_shapes is not None
        data = getattr(batch, "provide_data", None) or [
            DataDesc(desc.name, shape, desc.dtype, desc.layout)
            for desc, shape in zip(self._data_shapes, shapes, strict=True)]
        label = getattr(batch, "provide_label", None)
        if not label and getattr(batch, "label", None) and self._label_shapes:
            label = [DataDesc(desc.name, (count * x.shape[0], *x.shape[1:]), desc.dtype,
                              desc.layout)
                     for desc, x in zip(self._label_shapes, batch.label, strict=True)]
        return data, label or None

    def backward(self, out_grads: Any = None) -> None:
        self.need("backward")
        grads = [out_grads] if isinstance(out_grads, NDArray) else out_grads
        self._exec_group.backward(out_grads=grads)

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        self.need("get_outputs")
        found: list[Any] = self._exec_group.get_outputs(merge_multi_context)
        return found

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        self.need("get_input_grads")
        found: list[Any] = self._exec_group.get_input_grads(merge_multi_context)
        return found

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        self.need("get_states")
        found: list[Any] = self._exec_group.get_states(merge_multi_context)
        return found

    def set_states(self, states: Any = None, value: Any = None) -> None:
        self.need("set_states")
        self._exec_group.set_states(states, value)

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        self._exec_group.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Any) -> None:
        self.need("install_monitor", params=False)
        self._exec_group.install_monitor(mon)
