"""SVRGModule: a Module whose gradients vary less from batch to batch."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from ... import nd
from ...context import Context, cpu
from ...errors import ParameterError, TypeMismatch
from ...module import Module
from ...module.base_module import SGD_DEFAULTS, UNIFORM, Logger, Params, Shapes
from ...module.module import choose_kvstore
from ...nd import NDArray
from ...optimizer import create
from ...public import shows
from .svrg_optimizer import _SVRGOptimizer

__all__ = ["SVRGModule"]
__dir__ = shows(globals())

CPU = cpu()


class SVRGModule(Module):
    """A Module that steps by stochastic variance-reduced gradients (Johnson and Zhang 2013).

    After each `update_freq` epochs the weights are kept in a second module, and the mean gradient
    of all batches is computed with them. From each batch's gradient the kept weights' gradient of
    that batch is taken away, and their mean gradient added. All other parameters are a Module's.
    TypeMismatch, ParameterError for an `update_freq` that is no positive int.
    """

    def __init__(self, symbol: Any, data_names: Sequence[str] | None = ("data",),
                 label_names: Sequence[str] | None = ("softmax_label",), logger: Logger = logging,
                 context: Context | list[Context] = CPU,
                 work_load_list: Sequence[float] | None = None,
                 fixed_param_names: Sequence[str] | None = None,
                 state_names: Sequence[str] | None = None, group2ctxs: Any = None,
                 compression_params: Mapping[str, Any] | None = None,
                 update_freq: int | None = None) -> None:
        super().__init__(symbol, data_names, label_names, logger, context, work_load_list,
                         fixed_param_names, state_names, group2ctxs, compression_params)
        if not isinstance(update_freq, int):
            raise TypeMismatch("update_freq in SVRGModule must be an integer to represent the "
                               f"frequency for calculating full gradients, got {update_freq!r}")
        if update_freq <= 0:
            raise ParameterError("update_freq in SVRGModule must be a positive integer to "
                                 "represent the frequency for calculating full gradients, got "
                                 f"{update_freq}")
        self.update_freq = update_freq
        self._mod_aux = Module(symbol, data_names, label_names, logger, context, work_load_list,
                               fixed_param_names, state_names, group2ctxs, compression_params)
        # the mean gradients of the kept weights, by name, a dict a context
        self._param_dict: list[dict[str, NDArray]] = []
        self._ctx_len = len(self._context)

    # ---- both modules -------------------------------------------------------------------------

    def _reset_bind(self) -> None:
        super()._reset_bind()
        self._mod_aux._reset_bind()

    def bind(self, data_shapes: Shapes, label_shapes: Shapes | None = None,
             for_training: bool = True, inputs_need_grad: bool = False,
             force_rebind: bool = False, shared_module: Any = None,
             grad_req: Any = "write") -> None:
        """Binds this module and, for training, the one with the kept weights; see Module."""
        super().bind(data_shapes, label_shapes, for_training, inputs_need_grad, force_rebind,
                     shared_module, grad_req)
        if for_training:
            self._mod_aux.bind(data_shapes, label_shapes, for_training, inputs_need_grad,
                               force_rebind, getattr(shared_module, "_mod_aux", None), grad_req)

    def reshape(self, data_shapes: Shapes, label_shapes: Shapes | None = None) -> None:
        """Executors of both modules for other shapes; see Module."""
        super().reshape(data_shapes, label_shapes)
        if self._mod_aux.binded:
            self._mod_aux.reshape(data_shapes, label_shapes)

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Computes the outputs, in training with the kept weights too; see Module."""
        super().forward(data_batch, is_train)
        train = self.for_training if is_train is None else is_train
        if train and self._mod_aux.params_initialized:
            self._mod_aux.forward(data_batch, train)

    def backward(self, out_grads: Any = None) -> None:
        """Computes the gradients, with the kept weights too; see Module."""
        super().backward(out_grads)
        if self._mod_aux.params_initialized:
            self._mod_aux.backward(out_grads)

    def prepare(self, data_batch: Any, sparse_row_id_fn: Any = None) -> None:
        """Prepares both modules for a batch; see Module."""
        super().prepare(data_batch, sparse_row_id_fn=sparse_row_id_fn)
        if self._mod_aux.params_initialized:
            self._mod_aux.prepare(data_batch, sparse_row_id_fn=sparse_row_id_fn)

    # ---- steps --------------------------------------------------------------------------------

    def init_optimizer(self, kvstore: Any = "local", optimizer: Any = "sgd",
                       optimizer_params: Any = SGD_DEFAULTS, force_init: bool = False) -> None:
        """As Module's; a store of several contexts also keeps the mean gradients."""
        self.need("init_optimizer")
        self._param_dict = [{name: nd.zeros(value.shape, ctx=ctx, dtype=value.dtype)
                             for name, value in self.get_params()[0].items()}
                            for ctx in self._context]
        super().init_optimizer(kvstore, self._wrapped(kvstore, optimizer, optimizer_params),
                               optimizer_params, force_init)
        if self._kvstore is not None:
            for name, value in self._param_dict[0].items():
                self._kvstore.init(f"{name}_full", value)

    def _wrapped(self, kvstore: Any, optimizer: Any, optimizer_params: Any) -> Any:
        """The optimizer inside one that knows which names are mean gradients."""
        group = self._exec_group
        names = group.param_names_bound
        _, on_store = choose_kvstore(kvstore, self._ctx_len)
        count = 1 if on_store else self._ctx_len
        idx2name: dict[Any, str] = {i * count + k: name for i, name in enumerate(names)
                                    for k in range(count)}
        if on_store:  # keys of the store are names
            idx2name.update({name: name for name in names})
        idx2name.update({f"{name}_full": f"{name}_full" for name in names})
        given = {"rescale_grad": 1.0 / (group.batch_size or 1), **dict(optimizer_params)}
        return create(_SVRGOptimizer.__name__, default_optimizer=optimizer,
                      param_idx2name=idx2name, **given)

    def update(self) -> None:
        """A step by the variance-reduced gradients of the last batch; see Module."""
        self._update_svrg_gradients()
        super().update()

    def update_full_grads(self, train_data: Any) -> None:
        """Keeps the weights, and computes the mean of their gradients over all batches."""
        self.need("update_full_grads", optimizer=True)
        arg, aux = self.get_params()
        self._mod_aux.set_params(arg_params=arg, aux_params=aux)
        for of_each in self._param_dict:
            for value in of_each.values():
                value[:] = 0
        train_data.reset()
        count = 0.0
        for batch in train_data:
            self._mod_aux.forward(batch, is_train=True)
            self._mod_aux.backward()
            for name, _, grads in self._gradients():
                for ctx, grad in enumerate(grads):
                    self._param_dict[ctx][name] += grad
            # a batch counts by its samples that are not padding
            count += 1 - (batch.pad or 0) / train_data.batch_size
        for name, _, _ in self._gradients():
            means = [of_each[name] for of_each in self._param_dict]
            for mean in means:
                mean /= count
            if self._kvstore is not None:
                self._accumulate_kvstore(name, means)

    def _gradients(self) -> list[tuple[str, list[NDArray], list[NDArray]]]:
        """Name, gradients, and gradients of the kept weights of each that is trained."""
        own, kept = self._exec_group, self._mod_aux._exec_group
        return [(name, grads, others) for name, grads, others in
                zip(own.param_names_bound, own.grad_arrays, kept.grad_arrays, strict=True)
                if grads[0] is not None]

    def _accumulate_kvstore(self, key: str, value: list[NDArray]) -> None:
        """Adds up the mean gradients of all contexts in the store."""
        store: Any = self._kvstore
        store.push(f"{key}_full", value)
        store._barrier()
        store.pull(f"{key}_full", value)
        self._allocate_gradients(key, value)

    def _allocate_gradients(self, key: str, value: Sequence[NDArray]) -> None:
        """Each context's share of a mean gradient."""
        for of_each, one in zip(self._param_dict, value, strict=False):
            of_each[key] = one / self._ctx_len

    def _svrg_grads_update_rule(self, g_curr_batch_curr_weight: Any,
                                g_curr_batch_special_weight: Any,
                                g_special_weight_all_batch: Any) -> Any:
        """A batch's gradient minus the kept weights' one plus their mean, in the first array."""
        g_curr_batch_curr_weight -= g_curr_batch_special_weight
        g_curr_batch_curr_weight += g_special_weight_all_batch
        return g_curr_batch_curr_weight

    def _update_svrg_gradients(self) -> None:
        if not self._mod_aux.params_initialized:
            return
        for name, grads, kept in self._gradients():
            for ctx, grad in enumerate(grads):
                self._svrg_grads_update_rule(grad, kept[ctx], self._param_dict[ctx][name])

    # ---- training -----------------------------------------------------------------------------

    def _fit_epoch(self, epoch: int, train_data: Any, eval_metric: Any, batch_end_callback: Any,
                   monitor: Any, row_ids: Any) -> list[tuple[str, Any]]:
        if epoch % self.update_freq == 0:
            self.update_full_grads(train_data)
        train_data.reset()
        return super()._fit_epoch(epoch, train_data, eval_metric, batch_end_callback, monitor,
                                  row_ids)

    def fit(self, train_data: Any, eval_data: Any = None, eval_metric: Any = "acc",
            epoch_end_callback: Any = None, batch_end_callback: Any = None,
            kvstore: Any = "local", optimizer: Any = "sgd",
            optimizer_params: Any = SGD_DEFAULTS, eval_end_callback: Any = None,
            eval_batch_end_callback: Any = None, initializer: Any = UNIFORM,
            arg_params: Params | None = None, aux_params: Params | None = None,
            allow_missing: bool = False, force_rebind: bool = False, force_init: bool = False,
            begin_epoch: int = 0, num_epoch: int | None = None, validation_metric: Any = None,
            monitor: Any = None, sparse_row_id_fn: Any = None) -> None:
        """As Module's; mean gradients are computed before each `update_freq` epochs."""
        super().fit(train_data, eval_data, eval_metric, epoch_end_callback, batch_end_callback,
                    kvstore, optimizer, optimizer_params, eval_end_callback,
                    eval_batch_end_callback, initializer, arg_params, aux_params, allow_missing,
                    force_rebind, force_init, begin_epoch, num_epoch, validation_metric, monitor,
                    sparse_row_id_fn)
