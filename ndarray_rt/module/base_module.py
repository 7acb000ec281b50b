"""BaseModule: the interface of modules, and training and evaluation on top of it."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from .. import metric, nd
from .._array.ndarray import check_shape
from ..errors import MXNetError, ParameterError, ShapeError, TypeMismatch
from ..initializer import Uniform
from ..io import DataBatch, DataDesc, DataIter
from ..io.data import as_desc
from ..model import BatchEndParam, params_from_file, params_to_save
from ..nd import NDArray

Params = dict[str, NDArray]
Shapes = Sequence[Any]
PARAMETER_ENDINGS = ("_weight", "_bias", "_gamma", "_beta")
SGD_DEFAULTS = (("learning_rate", 0.01),)
UNIFORM = Uniform(0.01)


class Logger(Protocol):
    """What modules say goes here: the module `logging`, or a logger."""

    def info(self, msg: str, *args: Any) -> None: ...
    def warning(self, msg: str, *args: Any) -> None: ...


def as_list(value: Any) -> list[Any]:
    """A list or tuple as a list, anything else in one."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


def check_input_names(symbol: Any, names: Sequence[str], typename: str, throw: bool) -> None:
    """Names must be arguments of the graph: ParameterError, or a warning where `throw` is false."""
    args = symbol.list_arguments()
    for name in names:
        if name in args:
            continue
        near = [arg for arg in args if not arg.endswith(PARAMETER_ENDINGS)]
        text = (f"You created Module with Module(..., {typename}_names={names}) but input with "
                f"name '{name}' is not found in symbol.list_arguments(). Did you mean one of:\n\t"
                + "\n\t".join(near))
        if throw:
            raise ParameterError(text)
        warnings.warn(text, stacklevel=3)


def _check_names_match(names: Sequence[str], shapes: Sequence[DataDesc], what: str,
                       throw: bool) -> None:
    if sorted(names) == sorted(desc.name for desc in shapes):
        return
    text = (f"Data provided by {what}_shapes don't match names specified by {what}_names "
            f"({shapes} vs. {names})")
    if throw:
        raise ParameterError(text)
    warnings.warn(text, stacklevel=4)


def parse_data_desc(data_names: Sequence[str], label_names: Sequence[str], data_shapes: Shapes,
                    label_shapes: Shapes | None) -> tuple[list[DataDesc], list[DataDesc] | None]:
    """Descriptions of data and labels, whose names must be the module's.

    Raises NoShape, or another ShapeError, for what is no shape.
    """
    data = [as_desc(one) for one in data_shapes]
    _check_names_match(data_names, data, "data", True)
    label = None if label_shapes is None else [as_desc(one) for one in label_shapes]
    _check_names_match(label_names, label or [], "label", False)
    for what, descs in (("data_shapes", data), ("label_shapes", label or [])):
        for desc in descs:
            check_shape(desc.shape, f"{what}: {desc.name}")
    return data, label


class BaseModule:
    """The interface of modules: bind, parameters, an optimizer, forward, backward, update.

    A module goes through states: `binded` (memory is there), `params_initialized`,
    `optimizer_initialized`. `fit` goes through all of them. Source: MXNet's BaseModule.
    """

    def __init__(self, logger: Logger = logging) -> None:
        self.logger = logger
        self.binded = False
        self.for_training = False
        self.inputs_need_grad = False
        self.params_initialized = False
        self.optimizer_initialized = False
        self._symbol: Any = None
        self._total_exec_bytes = 0

    def need(self, what: str, *, params: bool = True, optimizer: bool = False) -> None:
        """MXNetError unless the module is as far as `what` needs it to be."""
        missing = ("bind" if not self.binded else
                   "init_params" if params and not self.params_initialized else
                   "init_optimizer" if optimizer and not self.optimizer_initialized else None)
        if missing is not None:
            raise MXNetError(f"{type(self).__name__}.{what}: call {missing} first")

    def _undefined(self, what: str) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define {what}")

    # ---- training and evaluation --------------------------------------------------------------

    def forward_backward(self, data_batch: Any) -> None:
        """`forward` for training and `backward`."""
        self.forward(data_batch, is_train=True)
        self.backward()

    def _update_metric_with(self, eval_metric: Any, batch: Any) -> None:
        if isinstance(batch, list):
            self.update_metric(eval_metric, [one.label for one in batch], pre_sliced=True)
        else:
            self.update_metric(eval_metric, batch.label)

    def _evaluated(self, eval_data: Any, num_batch: int | None, reset: bool,
                   row_ids: Any) -> Iterator[tuple[int, Any]]:
        """Number and batch, each after its forward."""
        if reset:
            eval_data.reset()
        for nbatch, batch in enumerate(eval_data):
            if num_batch is not None and nbatch == num_batch:
                break
            self.prepare(batch, sparse_row_id_fn=row_ids)
            self.forward(batch, is_train=False)
            yield nbatch, batch

    def score(self, eval_data: Any, eval_metric: Any, num_batch: int | None = None,
              batch_end_callback: Any = None, score_end_callback: Any = None, reset: bool = True,
              epoch: int = 0, sparse_row_id_fn: Any = None) -> list[tuple[str, Any]]:
        """What a metric says of the outputs for all of `eval_data`, or `num_batch` batches of it:
        a list of (name, value)."""
        self.need("score")
        if not isinstance(eval_metric, metric.EvalMetric):
            eval_metric = metric.create(eval_metric)
        eval_metric.reset()
        count = 0
        for nbatch, batch in self._evaluated(eval_data, num_batch, reset, sparse_row_id_fn):
            self._update_metric_with(eval_metric, batch)
            _call(batch_end_callback, BatchEndParam(epoch, nbatch, eval_metric, locals()))
            count += 1
        _call(score_end_callback, BatchEndParam(epoch, count, eval_metric, locals()))
        found: list[tuple[str, Any]] = eval_metric.get_name_value()
        return found

    def iter_predict(self, eval_data: Any, num_batch: int | None = None, reset: bool = True,
                     sparse_row_id_fn: Any = None) -> Iterator[tuple[list[NDArray], int, Any]]:
        """(outputs without those of padding, number, batch) of each batch."""
        self.need("iter_predict")
        for nbatch, batch in self._evaluated(eval_data, num_batch, reset, sparse_row_id_fn):
            yield self._unpadded(batch), nbatch, batch

    def _unpadded(self, batch: Any) -> list[NDArray]:
        return [out[0:out.shape[0] - (batch.pad or 0)] for out in self.get_outputs()]

    def predict(self, eval_data: Any, num_batch: int | None = None, merge_batches: bool = True,
                reset: bool = True, always_output_list: bool = False,
                sparse_row_id_fn: Any = None) -> Any:
        """Outputs for an array, or for all batches of an iterator.

        Outputs of batches are put together, an array an output, unless `merge_batches` is false:
        then there is a list a batch. One output alone comes without a list, unless
        `always_output_list` is true. Raises TypeMismatch for anything else than an array and an
        iterator, ShapeError for batches with other numbers of outputs.
        """
        self.need("predict")
        if isinstance(eval_data, (NDArray, np.ndarray)):
            given = nd.array(eval_data) if isinstance(eval_data, np.ndarray) else eval_data
            self.forward(DataBatch([given]), is_train=False)
            return self.get_outputs()[0]
        if not isinstance(eval_data, DataIter):
            raise TypeMismatch("predict: eval_data must be of type NDArray or DataIter, got "
                               f"{type(eval_data).__name__}")
        made = [[out.copy() for out in self._unpadded(batch)] for _, batch in
                self._evaluated(eval_data, num_batch, reset, sparse_row_id_fn)]
        if not made or not merge_batches:
            return made
        if len({len(outputs) for outputs in made}) > 1:
            raise ShapeError("predict: Cannot merge batches, as num of outputs is not the same in "
                             "mini-batches. Maybe bucketing is used?")
        merged = [nd.concatenate(list(outputs)) for outputs in zip(*made, strict=True)]
        return merged[0] if len(merged) == 1 and not always_output_list else merged

    def fit(self, train_data: Any, eval_data: Any = None, eval_metric: Any = "acc",
            epoch_end_callback: Any = None, batch_end_callback: Any = None,
            kvstore: Any = "local", optimizer: Any = "sgd",
            optimizer_params: Any = SGD_DEFAULTS, eval_end_callback: Any = None,
            eval_batch_end_callback: Any = None, initializer: Any = UNIFORM,
            arg_params: Params | None = None, aux_params: Params | None = None,
            allow_missing: bool = False, force_rebind: bool = False, force_init: bool = False,
            begin_epoch: int = 0, num_epoch: int | None = None, validation_metric: Any = None,
            monitor: Any = None, sparse_row_id_fn: Any = None) -> None:
        """Trains on all batches of `train_data`, from epoch `begin_epoch` up to `num_epoch`.

        Binds, initialises parameters (those that are not given) and the optimizer first, where
        that has not been done. After each epoch the parameters go to `epoch_end_callback`, and
        `eval_data` is scored by `validation_metric`.
        """
        if num_epoch is None:
            raise ParameterError("fit: please specify number of epochs: num_epoch is None")
        self.bind(data_shapes=train_data.provide_data, label_shapes=train_data.provide_label,
                  for_training=True, force_rebind=force_rebind)
        if monitor is not None:
            self.install_monitor(monitor)
        self.init_params(initializer=initializer, arg_params=arg_params, aux_params=aux_params,
                         allow_missing=allow_missing, force_init=force_init)
        self.init_optimizer(kvstore=kvstore, optimizer=optimizer,
                            optimizer_params=optimizer_params)
        if validation_metric is None:
            validation_metric = eval_metric
        if not isinstance(eval_metric, metric.EvalMetric):
            eval_metric = metric.create(eval_metric)
        for epoch in range(begin_epoch, num_epoch):
            begin = time.time()
            eval_metric.reset()
            said = self._fit_epoch(epoch, train_data, eval_metric, batch_end_callback, monitor,
                                   sparse_row_id_fn)
            for name, value in said:
                self.logger.info("Epoch[%d] Train-%s=%f", epoch, name, value)
            self.logger.info("Epoch[%d] Time cost=%.3f", epoch, time.time() - begin)
            # copies on several contexts become equal
            now = self.get_params()
            self.set_params(*now)
            for callback in as_list(epoch_end_callback) if epoch_end_callback is not None else ():
                callback(epoch, self.symbol, *now)
            if eval_data is not None:
                for name, value in self.score(
                        eval_data, validation_metric, score_end_callback=eval_end_callback,
                        batch_end_callback=eval_batch_end_callback, epoch=epoch):
                    self.logger.info("Epoch[%d] Validation-%s=%f", epoch, name, value)
            train_data.reset()

    def _fit_epoch(self, epoch: int, train_data: Any, eval_metric: Any, batch_end_callback: Any,
                   monitor: Any, row_ids: Any) -> list[tuple[str, Any]]:
        """Trains on each batch once; what the metric says in the end."""
        source = iter(train_data)
        batch, nbatch = next(source, None), 0
        if batch is None:
            raise ParameterError(f"fit: train_data has no batch in epoch {epoch}")
        said: list[tuple[str, Any]] = []
        while batch is not None:
            if monitor is not None:
                monitor.tic()
            self.forward_backward(batch)
            self.update()
            self._update_metric_with(eval_metric, batch)
            upcoming = next(source, None)
            if upcoming is None:
                # before callbacks, which may reset the metric
                said = eval_metric.get_global_name_value()
            else:
                self.prepare(upcoming, sparse_row_id_fn=row_ids)
            if monitor is not None:
                monitor.toc_print()
            _call(batch_end_callback, BatchEndParam(epoch, nbatch, eval_metric, locals()))
            batch, nbatch = upcoming, nbatch + 1
        return said

    # ---- what a module is ---------------------------------------------------------------------

    @property
    def data_names(self) -> Any:
        """Names of the inputs."""
        return self._undefined("data_names")

    @property
    def output_names(self) -> Any:
        """Names of the outputs."""
        return self._undefined("output_names")

    @property
    def data_shapes(self) -> Any:
        """Descriptions of the inputs."""
        return self._undefined("data_shapes")

    @property
    def label_shapes(self) -> Any:
        """Descriptions of the labels, None without."""
        return self._undefined("label_shapes")

    @property
    def output_shapes(self) -> Any:
        """Names and shapes of the outputs."""
        return self._undefined("output_shapes")

    @property
    def symbol(self) -> Any:
        """The graph, None for a module without."""
        return self._symbol

    # ---- parameters ---------------------------------------------------------------------------

    def get_params(self) -> tuple[Params, Params]:
        """(arg_params, aux_params), on the CPU."""
        found: tuple[Params, Params] = self._undefined("get_params")
        return found

    def init_params(self, initializer: Any = UNIFORM, arg_params: Params | None = None,
                    aux_params: Params | None = None, allow_missing: bool = False,
                    force_init: bool = False, allow_extra: bool = False) -> None:
        """Gives each parameter its value from the dicts, or from the initializer."""
        self._undefined("init_params")

    def set_params(self, arg_params: Params | None, aux_params: Params | None,
                   allow_missing: bool = False, force_init: bool = True,
                   allow_extra: bool = False) -> None:
        """Gives parameters these values; all of them, unless `allow_missing` is true."""
        self.init_params(initializer=None, arg_params=arg_params, aux_params=aux_params,
                         allow_missing=allow_missing, force_init=force_init,
                         allow_extra=allow_extra)

    def _set_given(self, give: Callable[[], None], arg_params: Params | None,
                   aux_params: Params | None, allow_missing: bool, force_init: bool,
                   allow_extra: bool) -> bool:
        """`set_params` where some may be missing is `give`; whether that was called."""
        if not allow_missing:
            self.init_params(initializer=None, arg_params=arg_params, aux_params=aux_params,
                             allow_missing=allow_missing, force_init=force_init,
                             allow_extra=allow_extra)
            return False
        if self.params_initialized and not force_init:
            warnings.warn("Parameters already initialized and force_init=False. set_params call "
                          "ignored.", stacklevel=3)
            return False
        give()
        self.params_initialized = True
        return True

    def save_params(self, fname: str) -> None:
        """Writes all parameters to a file."""
        nd.save(fname, params_to_save(*self.get_params()))

    def load_params(self, fname: str) -> None:
        """Reads what `save_params` wrote, here or in MXNet."""
        self.set_params(*params_from_file(fname))

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """Arrays that are kept between batches; none here."""
        self.need("get_states")
        if merge_multi_context:
            raise ParameterError(f"{type(self).__name__}.get_states: merge_multi_context=True is "
                                 "not supported")
        return []

    def set_states(self, states: Any = None, value: Any = None) -> None:
        """Changes these arrays; there are none here."""
        self.need("set_states")
        if states or value:
            raise ParameterError(f"{type(self).__name__}.set_states: this module has no states")

    # ---- computation --------------------------------------------------------------------------

    def prepare(self, data_batch: Any, sparse_row_id_fn: Callable[..., Any] | None = None) -> None:
        """Before a batch is computed: goes to its graph, where there are several."""
        if sparse_row_id_fn is not None:
            warnings.warn("sparse_row_id_fn is not invoked: there are no sparse parameters",
                          stacklevel=2)

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Computes the outputs; `is_train` is that of `bind` where it is None."""
        self._undefined("forward")

    def backward(self, out_grads: Any = None) -> None:
        """Computes gradients; `out_grads` are those of the outputs, where they are no losses."""
        self._undefined("backward")

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Outputs of the last forward; a list a context for each, unless they are merged."""
        found: list[Any] = self._undefined("get_outputs")
        return found

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Gradients of the inputs; `bind` with `inputs_need_grad=True`."""
        found: list[Any] = self._undefined("get_input_grads")
        return found

    def update(self) -> None:
        """Steps the parameters by the optimizer, with the gradients of the last backward."""
        self._undefined("update")

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Lets a metric count the last outputs."""
        self._undefined("update_metric")

    def bind(self, data_shapes: Shapes, label_shapes: Shapes | None = None,
             for_training: bool = True, inputs_need_grad: bool = False,
             force_rebind: bool = False, shared_module: Any = None,
             grad_req: Any = "write") -> None:
        """Makes executors for these shapes, with memory."""
        self._undefined("bind")

    def init_optimizer(self, kvstore: Any = "local", optimizer: Any = "sgd",
                       optimizer_params: Any = SGD_DEFAULTS, force_init: bool = False) -> None:
        """Makes the optimizer and its store."""
        self._undefined("init_optimizer")

    def install_monitor(self, mon: Any) -> None:
        """Lets a Monitor watch the executors."""
        self._undefined("install_monitor")


def _call(callbacks: Any, param: BatchEndParam) -> None:
    for callback in as_list(callbacks) if callbacks is not None else ():
        callback(param)
