"""FeedForward: the model of programs older than modules, as an object with fit, predict, score."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import metric, nd
from .callback import LogValidationMetricsCallback
from .context import Context, cpu
from .errors import MXNetError, ParameterError, ShapeError, TypeMismatch
from .executor_manager import _check_arguments, _load_data
from .initializer import InitDesc, Uniform
from .io import DataIter, NDArrayIter
from .io.data import as_desc
from .model import BatchEndParam, Params, load_checkpoint, save_checkpoint
from .module import BucketingModule, Module
from .module.base_module import as_list
from .nd import NDArray
from .symbol.symbol import Symbol

UNIFORM = Uniform(0.01)
LOG_VALIDATION = LogValidationMetricsCallback()
# what MXNet adds to the arguments of an optimizer while it trains
_ADDED = ("sym", "param_idx2name")


def _call(callbacks: Any, *args: Any) -> None:
    for callback in as_list(callbacks) if callbacks is not None else ():
        callback(*args)


class FeedForward:
    """A network with its parameters: `fit` trains it, `predict` and `score` use it.

    Parameters
    ----------
    symbol : Symbol or function
        The graph; or one for each bucket key.
    ctx : Context or list of Context
        Where it is trained; a list shares out each batch. None: cpu().
    num_epoch, begin_epoch : int
        `fit` trains from the one to the other.
    epoch_size : int
        Batches of an epoch; None: all that the data have.
    optimizer : str or Optimizer
        A name is made with 1 / batch size as `rescale_grad`, and `kwargs`.
    initializer : Initializer
        Of parameters that are not given.
    numpy_batch_size : int
        Batch size for data that are arrays.
    arg_params, aux_params : dict of str to NDArray
        Parameters and auxiliary states that are there already.
    allow_extra_params : bool
        Whether these may hold names that the graph does not have.
    kwargs
        Arguments of the optimizer.

    Deprecated by MXNet, which says so here too: `mx.mod.Module` is the newer.
    """

    def __init__(self, symbol: Any, ctx: Context | Sequence[Context] | None = None,
                 num_epoch: int | None = None, epoch_size: int | None = None,
                 optimizer: Any = "sgd", initializer: Any = UNIFORM, numpy_batch_size: int = 128,
                 arg_params: Params | None = None, aux_params: Params | None = None,
                 allow_extra_params: bool = False, begin_epoch: int = 0, **kwargs: Any) -> None:
        warnings.warn("mxnet.model.FeedForward has been deprecated. Please use mxnet.mod.Module "
                      "instead.", DeprecationWarning, stacklevel=2)
        is_graph = isinstance(symbol, Symbol)
        if not is_graph and not callable(symbol):
            raise TypeMismatch("FeedForward: symbol must be a Symbol, or a function that gives one "
                               f"for a key, got {type(symbol).__name__}")
        self.symbol: Any = symbol if is_graph else None
        self.sym_gen: Callable[[Any], Any] | None = None if is_graph else symbol
        self.arg_params = arg_params
        self.aux_params = aux_params
        self.allow_extra_params = allow_extra_params
        self.argument_checked = False
        if is_graph:
            self._check_arguments()
        self.ctx = ([cpu()] if ctx is None else
                    [ctx] if isinstance(ctx, Context) else list(ctx))
        self.num_epoch = num_epoch
        self.epoch_size = epoch_size
        self.kwargs = kwargs
        self.optimizer = optimizer
        self.initializer = initializer
        self.numpy_batch_size = numpy_batch_size
        self._pred_exec: Any = None
        self.begin_epoch = begin_epoch

    def _check_arguments(self) -> None:
        """Names must differ; parameters that the graph does not have are left out."""
        if self.argument_checked:
            return
        self.argument_checked = True
        _check_arguments(self.symbol)
        if self.allow_extra_params:
            self.arg_params = _only(self.arg_params, self.symbol.list_arguments())
            self.aux_params = _only(self.aux_params, self.symbol.list_auxiliary_states())

    @staticmethod
    def _is_data_arg(name: str) -> bool:
        return name.endswith(("data", "label"))

    def _init_params(self, inputs: Sequence[Any],
                     overwrite: bool = False) -> tuple[list[str], list[str], list[str]]:
        """Parameters that there are none of yet, or all: names of arguments, of those, of states.
        """
        described = [as_desc(one) for one in inputs]
        shapes = {one.name: one.shape for one in described}
        types = {one.name: one.dtype for one in described}
        arg_shapes, _, aux_shapes = self.symbol.infer_shape(**shapes)
        arg_types, _, aux_types = self.symbol.infer_type(**types)
        arg_names = self.symbol.list_arguments()
        aux_names = self.symbol.list_auxiliary_states()
        attributes = self.symbol.attr_dict()

        def filled(names: Sequence[str], shapes: Any, types: Any, given: Params | None) -> Params:
            made = {}
            for name, shape, dtype in zip(names, shapes, types, strict=True):
                if name in inputs_of:
                    continue
                made[name] = nd.zeros(shape, dtype=dtype)
                if given and name in given and not overwrite:
                    made[name][:] = given[name]
                else:
                    self.initializer(InitDesc(name, attributes.get(name)), made[name])
            return made

        inputs_of = set(shapes)
        self.arg_params = filled(arg_names, arg_shapes, arg_types, self.arg_params)
        self.aux_params = filled(aux_names, aux_shapes, aux_types, self.aux_params)
        return arg_names, list(self.arg_params), aux_names

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_pred_exec": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    # ---- data ---------------------------------------------------------------------------------

    def _init_iter(self, X: Any, y: Any, is_train: bool) -> Any:  # noqa: N803 - MXNet's name
        """An iterator over arrays; one that is given is given back."""
        if not isinstance(X, (np.ndarray, NDArray)):
            if not isinstance(X, DataIter):
                raise TypeMismatch("FeedForward: X must be DataIter, NDArray or numpy.ndarray, got "
                                   f"{type(X).__name__}")
            return X
        if y is None:
            if is_train:
                raise ParameterError("FeedForward: y must be specified when X is numpy.ndarray")
            y = np.zeros(X.shape[0])
        if not isinstance(y, (np.ndarray, NDArray)):
            raise TypeMismatch("FeedForward: y must be ndarray when X is numpy.ndarray, got "
                               f"{type(y).__name__}")
        if X.shape[0] != y.shape[0]:
            raise ShapeError("FeedForward: The numbers of data points and labels not equal: "
                             f"{X.shape[0]} and {y.shape[0]}")
        if y.ndim == 2 and y.shape[1] == 1:
            y = y.reshape((-1,))
        if y.ndim != 1:
            raise ShapeError("FeedForward: Label must be 1D or 2D (with 2nd dimension being 1), "
                             f"got shape {y.shape}")
        return NDArrayIter(X, y, min(X.shape[0], self.numpy_batch_size), shuffle=is_train,
                           last_batch_handle="roll_over" if is_train else "pad")

    def _init_eval_iter(self, eval_data: Any) -> Any:
        """An iterator over a pair of arrays or lists; one that is given is given back."""
        if eval_data is None or isinstance(eval_data, DataIter):
            return eval_data
        if not isinstance(eval_data, (tuple, list)) or len(eval_data) != 2:
            raise TypeMismatch("FeedForward: Eval data must be DataIter, or NDArray/numpy.ndarray/"
                               "list pair (i.e. tuple/list of length 2)")
        data, label = eval_data
        if data is None:
            raise ParameterError("FeedForward: Eval data is NONE")
        if label is None and isinstance(data, DataIter):
            return data
        data, label = (np.array(one) if isinstance(one, list) else one for one in (data, label))
        return self._init_iter(data, label, is_train=True)

    # ---- using it -----------------------------------------------------------------------------

    def _bound(self, X: Any) -> tuple[Any, list[NDArray]]:  # noqa: N803
        """(an executor for these data, where it reads them)."""
        if self.arg_params is None:
            raise MXNetError("FeedForward: there are no parameters: call fit, or give arg_params")
        described = [as_desc(one) for one in X.provide_data]
        shapes = {name: value.shape for name, value in self.arg_params.items()}
        shapes.update({one.name: one.shape for one in described})
        if self._pred_exec is not None:
            now = [array.shape for array in self._pred_exec.arg_arrays]
            if self.symbol.infer_shape(**shapes)[0] != now:
                self._pred_exec = None
        if self._pred_exec is None:
            types = {name: value.dtype for name, value in self.arg_params.items()}
            types.update({one.name: one.dtype for one in described})
            self._pred_exec = self.symbol.simple_bind(self.ctx[0], grad_req="null",
                                                      type_dict=types, **shapes)
            _check_arguments(self.symbol)
        self._pred_exec.copy_params_from(self.arg_params, self.aux_params)
        return self._pred_exec, [self._pred_exec.arg_dict[one.name] for one in described]

    def predict(self, X: Any, num_batch: int | None = None,  # noqa: N803
                return_data: bool = False, reset: bool = True) -> Any:
        """Outputs for an array or all batches of an iterator, or `num_batch` of them, in NumPy.

        One output is an array, several are a list. With `return_data` (outputs, data, labels).
        It computes on the first context.
        """
        source = self._init_iter(X, None, is_train=False)
        if reset:
            source.reset()
        executor, targets = self._bound(source)
        found: tuple[list[list[Any]], ...] = ([], [], [])
        for count, batch in enumerate(source, 1):
            _load_data(batch, targets)
            outputs = executor.forward(is_train=False)
            size = source.batch_size - (batch.pad or 0)
            for made, arrays in zip(found, (outputs, batch.data, batch.label or ()), strict=True):
                made.append([array[0:size].asnumpy() for array in arrays])
            if count == num_batch:
                break
        outputs, data, label = (
            [np.concatenate(of_each) for of_each in zip(*made, strict=True)] for made in found)
        if return_data:
            return _single(outputs), _single(data), _single(label)
        return _single(outputs)

    def score(self, X: Any, eval_metric: Any = "acc", num_batch: int | None = None,  # noqa: N803
              batch_end_callback: Any = None, reset: bool = True) -> Any:
        """What a metric says of the outputs for an iterator, or `num_batch` batches of it."""
        if not isinstance(eval_metric, metric.EvalMetric):
            eval_metric = metric.create(eval_metric)
        source = self._init_iter(X, None, is_train=False)
        if reset:
            source.reset()
        executor, targets = self._bound(source)
        for i, batch in enumerate(source):
            if i == num_batch:
                break
            _load_data(batch, targets)
            eval_metric.update(batch.label, executor.forward(is_train=False))
            _call(batch_end_callback, BatchEndParam(0, i, eval_metric, locals()))
        return eval_metric.get()[1]

    # ---- training -----------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, eval_data: Any = None,  # noqa: N803
            eval_metric: Any = "acc", epoch_end_callback: Any = None,
            batch_end_callback: Any = None, kvstore: Any = "local", logger: Any = None,
            work_load_list: Sequence[float] | None = None, monitor: Any = None,
            eval_end_callback: Any = LOG_VALIDATION, eval_batch_end_callback: Any = None) -> None:
        """Trains on an iterator, or on arrays of data and labels.

        After each epoch the parameters go to `epoch_end_callback`, and `eval_data` (an iterator
        or a pair of arrays) is scored. `work_load_list` says how large each context's part of a
        batch is.
        """
        if self.num_epoch is None:
            raise ParameterError("FeedForward.fit: num_epoch is None")
        data = self._init_iter(X, y, is_train=True)
        eval_data = self._init_eval_iter(eval_data)
        if self.sym_gen is not None:
            self.symbol = self.sym_gen(data.default_bucket_key)
            self._check_arguments()
        self._init_params([*data.provide_data, *data.provide_label])
        if not isinstance(eval_metric, metric.EvalMetric):
            eval_metric = metric.create(eval_metric)
        logger = logging if logger is None else logger
        module = self._module(data, logger, work_load_list)
        module.bind(data.provide_data, data.provide_label)
        if monitor is not None:
            module.install_monitor(monitor)
        module.init_params(None, self.arg_params, self.aux_params)
        arguments = {key: value for key, value in self.kwargs.items() if key not in _ADDED}
        module.init_optimizer(kvstore, self.optimizer, arguments)
        data.reset()
        for epoch in range(self.begin_epoch, self.num_epoch):
            begin = time.time()
            eval_metric.reset()
            self._fit_epoch(epoch, module, data, eval_metric, batch_end_callback, monitor, logger)
            logger.info("Epoch[%d] Time cost=%.3f", epoch, time.time() - begin)
            if epoch_end_callback or epoch + 1 == self.num_epoch:
                self._take_params(module)
            _call(epoch_end_callback, epoch, self.symbol, self.arg_params, self.aux_params)
            if eval_data is not None:
                self._evaluate(epoch, module, eval_data, eval_metric, eval_batch_end_callback,
                               eval_end_callback)

    def _module(self, data: Any, logger: Any, loads: Sequence[float] | None) -> Any:
        names = ([as_desc(one).name for one in data.provide_data],
                 [as_desc(one).name for one in data.provide_label])
        options: dict[str, Any] = {"logger": logger, "context": self.ctx, "work_load_list": loads}
        generate = self.sym_gen
        if generate is None:
            return Module(self.symbol, *names, **options)
        return BucketingModule(lambda key: (generate(key), *names), data.default_bucket_key,
                               **options)

    def _fit_epoch(self, epoch: int, module: Any, data: Any, eval_metric: Any, callback: Any,
                   monitor: Any, logger: Any) -> None:
        """Trains on `epoch_size` batches, from where the last epoch ended, or on all."""
        nbatch = 0
        while True:
            is_whole = True
            for batch in data:
                if monitor is not None:
                    monitor.tic()
                module.forward_backward(batch)
                module.update()
                if monitor is not None:
                    monitor.toc_print()
                module.update_metric(eval_metric, batch.label)
                nbatch += 1
                _call(callback, BatchEndParam(epoch, nbatch, eval_metric, locals()))
                if self.epoch_size is not None and nbatch >= self.epoch_size:
                    is_whole = False
                    break
            if is_whole:
                if not nbatch:
                    raise ParameterError(f"FeedForward.fit: X has no batch in epoch {epoch}")
                logger.info("Epoch[%d] Resetting Data Iterator", epoch)
                data.reset()
            if self.epoch_size is None or nbatch >= self.epoch_size:
                return

    def _take_params(self, module: Any) -> None:
        """The module's parameters become this model's, in the same arrays."""
        for targets, found in zip((self.arg_params, self.aux_params), module.get_params(),
                                  strict=True):
            assert targets is not None
            for name, value in found.items():
                targets[name][:] = value

    def _evaluate(self, epoch: int, module: Any, data: Any, eval_metric: Any,
                  batch_callback: Any, end_callback: Any) -> None:
        eval_metric.reset()
        data.reset()
        count = 0
        for batch in data:
            module.forward(batch, is_train=False)
            module.update_metric(eval_metric, batch.label)
            _call(batch_callback, BatchEndParam(epoch, count, eval_metric, locals()))
            count += 1
        _call(end_callback, BatchEndParam(epoch, count, eval_metric, locals()))
        data.reset()

    # ---- files --------------------------------------------------------------------------------

    def save(self, prefix: str, epoch: int | None = None, remove_amp_cast: bool = True) -> None:
        """Writes prefix-symbol.json and prefix-<epoch>.params; None: the last epoch."""
        epoch = self.num_epoch if epoch is None else epoch
        if epoch is None or self.arg_params is None:
            raise MXNetError("FeedForward.save: there are no parameters, or no epoch is given")
        save_checkpoint(prefix, epoch, self.symbol, self.arg_params, self.aux_params or {},
                        remove_amp_cast=remove_amp_cast)

    @staticmethod
    def load(prefix: str, epoch: int, ctx: Any = None, **kwargs: Any) -> FeedForward:
        """A model of what `save` wrote, here or in MXNet; `kwargs` as of the class."""
        symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
        return FeedForward(symbol, ctx=ctx, arg_params=arg_params, aux_params=aux_params,
                           begin_epoch=epoch, **kwargs)

    @staticmethod
    def from_pickle(data: Any) -> FeedForward:
        """A model that MXNet pickled: the bytes, or the name of a file of them.

        Only arrays, graphs, contexts, initializers, registered optimizers, schedules and plain
        containers are made, whatever the bytes ask for. ParameterError for anything else.
        """
        from .pickled_model import load_model

        if not isinstance(data, (bytes, bytearray)):
            with open(data, "rb") as file:
                data = file.read()
        model: FeedForward = load_model(bytes(data), FeedForward)
        return model

    @staticmethod
    def create(symbol: Any, X: Any, y: Any = None, ctx: Any = None,  # noqa: N803
               num_epoch: int | None = None, epoch_size: int | None = None,
               optimizer: Any = "sgd", initializer: Any = UNIFORM, eval_data: Any = None,
               eval_metric: Any = "acc", epoch_end_callback: Any = None,
               batch_end_callback: Any = None, kvstore: Any = "local", logger: Any = None,
               work_load_list: Sequence[float] | None = None,
               eval_end_callback: Any = LOG_VALIDATION, eval_batch_end_callback: Any = None,
               **kwargs: Any) -> FeedForward:
        """A model made and trained: parameters as of the class and of `fit`."""
        model = FeedForward(symbol, ctx=ctx, num_epoch=num_epoch, epoch_size=epoch_size,
                            optimizer=optimizer, initializer=initializer, **kwargs)
        model.fit(X, y, eval_data=eval_data, eval_metric=eval_metric,
                  epoch_end_callback=epoch_end_callback, batch_end_callback=batch_end_callback,
                  kvstore=kvstore, logger=logger, work_load_list=work_load_list,
                  eval_end_callback=eval_end_callback,
                  eval_batch_end_callback=eval_batch_end_callback)
        return model


def _single(arrays: list[Any]) -> Any:
    return arrays[0] if len(arrays) == 1 else arrays


def _only(params: Mapping[str, NDArray] | None, names: Sequence[str]) -> Params | None:
    return None if params is None else {
        name: value for name, value in params.items() if name in names}
