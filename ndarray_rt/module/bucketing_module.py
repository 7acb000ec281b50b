"""BucketingModule: graphs by a key, such as the length of sequences, with one set of parameters."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import nd
from ..context import Context, cpu
from ..errors import MXNetError, ParameterError
from ..model import load_params
from ..symbol.functions import load as load_symbol
from ..symbol.naming import NameManager
from .base_module import (
    SGD_DEFAULTS,
    UNIFORM,
    BaseModule,
    Logger,
    Params,
    Shapes,
    check_input_names,
)
from .module import Module

# key -> (symbol, data names, label names)
SymGen = Callable[[Any], tuple[Any, Any, Any]]

CPU = cpu()


class BucketingModule(BaseModule):
    """A Module for each key that batches have (`bucket_key`), made when the key first comes.

    `sym_gen(key)` gives (symbol, data names, label names). All share memory and parameters with
    that of `default_bucket_key`, which should be the largest. Source: MXNet's BucketingModule.
    """

    def __init__(self, sym_gen: SymGen, default_bucket_key: Any = None, logger: Logger = logging,
                 context: Context | list[Context] = CPU,
                 work_load_list: Sequence[float] | None = None,
                 fixed_param_names: Sequence[str] | None = None,
                 state_names: Sequence[str] | None = None, group2ctxs: Any = None,
                 compression_params: Mapping[str, Any] | None = None) -> None:
        super().__init__(logger=logger)
        if default_bucket_key is None:
            raise ParameterError("BucketingModule: default_bucket_key is None")
        self._default_bucket_key = default_bucket_key
        self._sym_gen = sym_gen
        self._options: dict[str, Any] = {
            "logger": logger, "context": context, "work_load_list": work_load_list,
            "fixed_param_names": fixed_param_names, "state_names": state_names,
            "group2ctxs": group2ctxs, "compression_params": compression_params}
        symbol, data_names, label_names = self._generate(default_bucket_key)
        for names, what, throw in ((data_names, "data", True), (label_names, "label", False),
                                   (state_names, "state", True),
                                   (fixed_param_names, "fixed_param", True)):
            check_input_names(symbol, list(names or ()), what, throw)
        self._buckets: dict[Any, Module] = {}
        self._curr_module: Any = None
        self._curr_bucket_key: Any = None
        self._params_dirty = False
        self._monitor: Any = None
        self._grad_req: Any = None

    def _generate(self, key: Any) -> tuple[Any, Any, Any]:
        # the same automatic names in each graph
        with NameManager():
            return self._sym_gen(key)

    def _make(self, key: Any) -> Module:
        return Module(*self._generate(key), **self._options)

    def _reset_bind(self) -> None:
        self.binded = False
        self._buckets = {}
        self._curr_module = self._curr_bucket_key = None

    @property
    def data_names(self) -> Any:
        if self.binded:
            return self._curr_module.data_names
        return self._generate(self._default_bucket_key)[1]

    @property
    def output_names(self) -> Any:
        if self.binded:
            return self._curr_module.output_names
        return self._generate(self._default_bucket_key)[0].list_outputs()

    @property
    def data_shapes(self) -> Any:
        self.need("data_shapes", params=False)
        return self._curr_module.data_shapes

    @property
    def label_shapes(self) -> Any:
        self.need("label_shapes", params=False)
        return self._curr_module.label_shapes

    @property
    def output_shapes(self) -> Any:
        self.need("output_shapes", params=False)
        return self._curr_module.output_shapes

    @property
    def symbol(self) -> Any:
        self.need("symbol", params=False)
        return self._curr_module.symbol

    # ---- parameters ---------------------------------------------------------------------------

    def get_params(self) -> tuple[Params, Params]:
        if not self.params_initialized:
            raise MXNetError("BucketingModule.get_params: call init_params first")
        self._curr_module._params_dirty |= self._params_dirty
        found: tuple[Params, Params] = self._curr_module.get_params()
        self._params_dirty = False
        return found

    def set_params(self, arg_params: Params | None, aux_params: Params | None,
                   allow_missing: bool = False, force_init: bool = True,
                   allow_extra: bool = False) -> None:
        def give() -> None:
            self._curr_module.set_params(
                arg_params, aux_params, allow_missing=allow_missing, force_init=force_init,
                allow_extra=allow_extra)

        if self._set_given(give, arg_params, aux_params, allow_missing, force_init, allow_extra):
            self._params_dirty = True

    def init_params(self, initializer: Any = UNIFORM, arg_params: Params | None = None,
                    aux_params: Params | None = None, allow_missing: bool = False,
                    force_init: bool = False, allow_extra: bool = False) -> None:
        if self.params_initialized and not force_init:
            return
        self.need("init_params", params=False)
        self._curr_module.init_params(initializer=initializer, arg_params=arg_params,
                                      aux_params=aux_params, allow_missing=allow_missing,
                                      force_init=force_init, allow_extra=allow_extra)
        self._params_dirty = False
        self.params_initialized = True

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        self.need("get_states")
        found: list[Any] = self._curr_module.get_states(merge_multi_context)
        return found

    def set_states(self, states: Any = None, value: Any = None) -> None:
        self.need("set_states")
        self._curr_module.set_states(states, value)

    # ---- binding ------------------------------------------------------------------------------

    def bind(self, data_shapes: Shapes, label_shapes: Shapes | None = None,
             for_training: bool = True, inputs_need_grad: bool = False,
             force_rebind: bool = False, shared_module: Any = None,
             grad_req: Any = "write") -> None:
        """Binds the graph of the default key; those of others follow when their key comes."""
        if shared_module is not None:
            raise ParameterError("shared_module for BucketingModule is not supported")
        kept = self.get_params() if self.params_initialized else None
        if force_rebind:
            self._reset_bind()
        if self.binded:
            self.logger.warning("Already bound, ignoring bind()")
            return
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        self._grad_req = grad_req
        key = self._default_bucket_key
        module = self._buckets.get(key) or self._make(key)
        module.bind(data_shapes, label_shapes, for_training, inputs_need_grad, grad_req=grad_req)
        self._curr_module, self._curr_bucket_key = module, key
        self._buckets[key] = module
        self.binded = True
        if kept is not None:
            self.set_params(*kept)

    def switch_bucket(self, bucket_key: Any, data_shapes: Shapes | None,
                      label_shapes: Shapes | None = None) -> None:
        """Goes to the module of a key; makes and binds it for these shapes where it is new."""
        self.need("switch_bucket", params=False)
        module = self._buckets.get(bucket_key)
        if module is None or not module.binded:
            if data_shapes is None:
                raise ParameterError(f"switch_bucket: key {bucket_key!r} is new, and data_shapes "
                                     "is None")
            first = self._buckets[self._default_bucket_key]
            module = module or self._make(bucket_key)
            module.bind(data_shapes, label_shapes, self._curr_module.for_training,
                        self._curr_module.inputs_need_grad, shared_module=first,
                        grad_req=self._grad_req)
            if self._monitor is not None:
                module.install_monitor(self._monitor)
            self._buckets[bucket_key] = module
        self._curr_module, self._curr_bucket_key = module, bucket_key

    def init_optimizer(self, kvstore: Any = "local", optimizer: Any = "sgd",
                       optimizer_params: Any = SGD_DEFAULTS, force_init: bool = False) -> None:
        """Makes one optimizer for the modules of all keys."""
        self.need("init_optimizer")
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring.")
            return
        self._curr_module.init_optimizer(kvstore, optimizer, optimizer_params,
                                         force_init=force_init)
        for module in self._buckets.values():
            if module is not self._curr_module:
                module.borrow_optimizer(self._curr_module)
        self.optimizer_initialized = True

    def install_monitor(self, mon: Any) -> None:
        self.need("install_monitor", params=False)
        self._monitor = mon
        for module in self._buckets.values():
            module.install_monitor(mon)

    # ---- computation --------------------------------------------------------------------------

    def prepare(self, data_batch: Any, sparse_row_id_fn: Any = None) -> None:
        """Makes the module of the batch's key, without going to it."""
        self.need("prepare")
        before = self._curr_bucket_key
        self.switch_bucket(data_batch.bucket_key, data_batch.provide_data,
                           data_batch.provide_label)
        self._curr_module.prepare(data_batch, sparse_row_id_fn=sparse_row_id_fn)
        self.switch_bucket(before, None, None)

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        self.need("forward")
        self.switch_bucket(data_batch.bucket_key, data_batch.provide_data,
                           data_batch.provide_label)
        self._curr_module.forward(data_batch, is_train=is_train)

    def backward(self, out_grads: Any = None) -> None:
        self.need("backward")
        self._curr_module.backward(out_grads=out_grads)

    def update(self) -> None:
        self.need("update", optimizer=True)
        self._params_dirty = True
        self._curr_module.update()

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        self.need("get_outputs")
        found: list[Any] = self._curr_module.get_outputs(merge_multi_context)
        return found

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        self.need("get_input_grads")
        found: list[Any] = self._curr_module.get_input_grads(merge_multi_context)
        return found

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        self.need("update_metric")
        self._curr_module.update_metric(eval_metric, labels, pre_sliced)

    # ---- files --------------------------------------------------------------------------------

    def save_checkpoint(self, prefix: str, epoch: int, remove_amp_cast: bool = False) -> None:
        """Writes prefix-<key>-symbol.json of each key, prefix-<epoch>.params, prefix.buckets."""
        if not self._buckets:
            raise MXNetError("Empty BucketingModule cannot be saved: call bind first")
        self.save_params(f"{prefix}-{epoch:04d}.params")
        for key in self._buckets:
            symbol, _, _ = self._sym_gen(key)
            symbol.save(f"{prefix}-{key}-symbol.json", remove_amp_cast=remove_amp_cast)
        nd.save(f"{prefix}.buckets", nd.array(list(self._buckets), dtype=np.int32))

    @staticmethod
    def load(prefix: str, epoch: int, sym_gen: SymGen | None = None,
             default_bucket_key: Any = None, **kwargs: Any) -> BucketingModule:
        """A module of what `save_checkpoint` wrote; `kwargs` are those of the constructor."""
        keys = nd.load(f"{prefix}.buckets")[0].asnumpy().astype("int32").tolist()
        symbols = {key: load_symbol(f"{prefix}-{key}-symbol.json") for key in keys}
        return BucketingModule.load_dict(symbols, sym_gen, default_bucket_key,
                                         *load_params(prefix, epoch), **kwargs)

    @staticmethod
    def load_dict(sym_dict: Mapping[Any, Any] | None = None, sym_gen: SymGen | None = None,
                  default_bucket_key: Any = None, arg_params: Params | None = None,
                  aux_params: Params | None = None, **kwargs: Any) -> BucketingModule:
        """A module of symbols by key and of parameters."""
        if sym_dict is None or sym_gen is None or arg_params is None or aux_params is None:
            raise ParameterError("BucketingModule.load_dict: sym_dict, sym_gen, arg_params and "
                                 "aux_params need to be provided")
        if default_bucket_key not in sym_dict:
            raise ParameterError(f"BucketingModule.load_dict: default_bucket_key is "
                                 f"{default_bucket_key!r}, expected one of {list(sym_dict)}")
        made = BucketingModule(sym_gen, default_bucket_key, **kwargs)
        for key, symbol in sym_dict.items():
            _, data_names, label_names = sym_gen(key)
            made._buckets[key] = Module(symbol, data_names, label_names, **made._options)
        first = made._buckets[default_bucket_key]
        first._arg_params, first._aux_params = arg_params, aux_params
        first.params_initialized = made.params_initialized = True
        made._curr_module = first
        return made
