"""Executors of several contexts, as programs older than modules call them: `mx.executor_manager`.

`mx.mod.Module` is the newer. Source: MXNet's `mx.executor_manager`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .context import Context
from .errors import ParameterError, ShapeError, Unsupported
from .module import executor_group
from .nd import NDArray
from .public import shows

__all__ = ["DataParallelExecutorGroup", "DataParallelExecutorManager"]
__dir__ = shows(globals())

# MXNet's programs call these by the underscored names
_split_input_slice = executor_group.split_input_slice


def _check_arguments(symbol: Any) -> None:
    """Raises ParameterError where two arguments, or two auxiliary states, have one name."""
    names = symbol.list_arguments()
    for what, found in (("argument", names), ("auxiliary param", symbol.list_auxiliary_states())):
        for name in found:
            if found.count(name) > 1:
                raise ParameterError(f'Find duplicated {what} name "{name}", please make the '
                                     "weight name non-duplicated(using name arguments), arguments "
                                     f"are {names}")


def _load_general(data: Sequence[NDArray], targets: Sequence[Any]) -> None:
    """Copies each array to its target: an array, or a list of (slice, array)."""
    for source, target in zip(data, targets, strict=False):
        if isinstance(target, NDArray):
            source.copyto(target)
            continue
        if target[-1][0].stop != source.shape[0]:
            raise ShapeError(f"Batch size miss match. Expected {target[-1][0].stop}, got "
                             f"{source.shape[0]}")
        for part, array in target:
            source[part].copyto(array)


def _load_data(batch: Any, targets: Sequence[Any]) -> None:
    """Copies the data of a batch to arrays."""
    _load_general(batch.data, targets)


def _load_label(batch: Any, targets: Sequence[Any]) -> None:
    """Copies the labels of a batch to arrays."""
    _load_general(batch.label, targets)


class DataParallelExecutorGroup:
    """An executor a context for one graph; memory and parameters are those of `shared_group`.

    Parameters
    ----------
    sym : Symbol
    arg_names, param_names : list of str
        All arguments, and those that are trained.
    ctx : list of Context
    slices : list of slice
        The part of a batch of each context.
    train_data : DataIter or DataBatch
        What has `provide_data` and `provide_label`.
    shared_group : DataParallelExecutorGroup
    """

    def __init__(self, sym: Any, arg_names: Sequence[str], param_names: Sequence[str],
                 ctx: Sequence[Context], slices: Sequence[slice], train_data: Any,
                 shared_group: DataParallelExecutorGroup | None = None) -> None:
        _check_arguments(sym)
        self.slices = list(slices)
        self._group: executor_group.DataParallelExecutorGroup
        self._group = executor_group.DataParallelExecutorGroup(
            sym, list(ctx), [part.stop - part.start for part in slices], train_data.provide_data,
            train_data.provide_label, [name for name in arg_names if name in set(param_names)],
            for_training=True, inputs_need_grad=False,
            shared_group=None if shared_group is None else shared_group._group)
        group = self._group
        self.data_names = group.data_names
        self.label_names = group.label_names
        self.aux_names = group.aux_names
        self.param_names = group.param_names_bound
        self.train_execs = group.execs
        self.data_arrays = group.data_arrays
        self.label_arrays = group.label_arrays
        self.param_arrays = group.param_arrays
        self.grad_arrays = group.grad_arrays
        self.aux_arrays = group.aux_arrays

    def load_data_batch(self, data_batch: Any) -> None:
        """Copies data and labels to where the executors read them."""
        self._group.load(data_batch)

    def forward(self, is_train: bool = False) -> None:
        """Computes the outputs for the batch that was loaded."""
        self._group.run(is_train)

    def backward(self) -> None:
        """Computes the gradients."""
        self._group.backward()

    def update_metric(self, metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Lets a metric count the outputs of each context with their part of the labels."""
        self._group.update_metric(metric, labels, pre_sliced)


class DataParallelExecutorManager:
    """A group of executors, or one for each bucket key; each context has its part of a batch.

    Parameters
    ----------
    symbol : Symbol
    ctx : list of Context
    train_data : DataIter
    arg_names, param_names, aux_names : list of str
        All arguments, those that are trained, and auxiliary states.
    work_load_list : list of numbers
        How large each context's part is; None: all alike.
    logger : Logger
    sym_gen : function
        For bucketing: the symbol of a key.
    """

    def __init__(self, symbol: Any, ctx: Sequence[Context], train_data: Any,
                 arg_names: Sequence[str], param_names: Sequence[str], aux_names: Sequence[str],
                 work_load_list: Sequence[float] | None = None, logger: Any = None,
                 sym_gen: Callable[[Any], Any] | None = None) -> None:
        (logging if logger is None else logger).info("Start training with %s", list(ctx))
        loads = [1] * len(ctx) if work_load_list is None else work_load_list
        if not isinstance(loads, list) or len(loads) != len(ctx):
            raise ParameterError(f"Invalid settings for work load: {loads} for {len(ctx)} contexts")
        self.slices = _split_input_slice(train_data.batch_size, loads)
        self.arg_names, self.param_names, self.aux_names = arg_names, param_names, aux_names
        self.ctx = ctx
        self.symbol = symbol
        self.sym_gen = sym_gen
        self.execgrp = self._group(symbol, train_data, None)
        self.curr_execgrp = self.execgrp
        self.execgrp_bucket = {} if sym_gen is None else {
            train_data.default_bucket_key: self.execgrp}

    def _group(self, symbol: Any, data: Any,
               shared: DataParallelExecutorGroup | None) -> DataParallelExecutorGroup:
        return DataParallelExecutorGroup(symbol, self.arg_names, self.param_names, self.ctx,
                                         self.slices, data, shared)

    def install_monitor(self, monitor: Any) -> None:
        """Lets a Monitor watch all executors. Raises Unsupported for bucketing."""
        if self.sym_gen is not None:
            raise Unsupported("DataParallelExecutorManager: a monitor can not be installed for "
                              "bucketing")
        for executor in self.execgrp.train_execs:
            monitor.install(executor)

    def set_params(self, arg_params: Mapping[str, NDArray],
                   aux_params: Mapping[str, NDArray]) -> None:
        """Copies values into the parameters on all contexts."""
        self.execgrp._group.set_params(arg_params, aux_params)

    def copy_to(self, arg_params: Mapping[str, NDArray],
                aux_params: Mapping[str, NDArray]) -> None:
        """Copies the parameters, their mean over contexts, into the arrays of the dicts."""
        self.execgrp._group.get_params(arg_params, aux_params)

    @property
    def param_arrays(self) -> list[list[NDArray]]:
        """The parameters, for each a list with one a context."""
        return self.execgrp.param_arrays

    @property
    def grad_arrays(self) -> Any:
        """The gradients, as `param_arrays`."""
        return self.execgrp.grad_arrays

    @property
    def aux_arrays(self) -> list[list[NDArray]]:
        """The auxiliary states, as `param_arrays`."""
        return self.execgrp.aux_arrays

    def load_data_batch(self, data_batch: Any) -> None:
        """Copies a batch to where the executors of its bucket key read it."""
        if self.sym_gen is not None:
            key = data_batch.bucket_key
            if key not in self.execgrp_bucket:
                self.execgrp_bucket[key] = self._group(self.sym_gen(key), data_batch,
                                                       self.execgrp)
            self.curr_execgrp = self.execgrp_bucket[key]
        self.curr_execgrp.load_data_batch(data_batch)

    def forward(self, is_train: bool = False) -> None:
        """Computes the outputs for the batch that was loaded."""
        self.curr_execgrp.forward(is_train=is_train)

    def backward(self) -> None:
        """Computes the gradients."""
        self.curr_execgrp.backward()

    def update_metric(self, metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Lets a metric count the outputs of each context with their part of the labels."""
        self.curr_execgrp.update_metric(metric, labels, pre_sliced)
