"""SequentialModule: modules in a row, the outputs of one the inputs of the next."""

from __future__ import annotations

import copy
import logging
from typing import Any

from ..errors import NameMismatch, ParameterError
from ..io.data import as_desc
from .base_module import SGD_DEFAULTS, UNIFORM, BaseModule, Logger, Params, Shapes


class SequentialModule(BaseModule):
    """Modules in a row; `add(module, take_labels=..., auto_wiring=...)` puts one behind the others.

    Labels go to those with `take_labels`; with `auto_wiring` the inputs of a module are the outputs
    of the one before whatever they are called. Source: MXNet's SequentialModule.
    """

    META_TAKE_LABELS = "take_labels"
    META_AUTO_WIRING = "auto_wiring"

    def __init__(self, logger: Logger = logging) -> None:
        super().__init__(logger=logger)
        self._modules: list[Any] = []
        self._metas: list[dict[str, Any]] = []
        self._label_shapes: Any = None

    def add(self, module: Any, **kwargs: Any) -> SequentialModule:
        """Adds a module at the end; gives this one back. Everything must be bound anew."""
        for key in kwargs:
            if key not in (self.META_TAKE_LABELS, self.META_AUTO_WIRING):
                raise ParameterError(f'SequentialModule.add: Unknown meta "{key}", a typo?')
        self._modules.append(module)
        self._metas.append(kwargs)
        self.binded = self.params_initialized = self.optimizer_initialized = False
        return self

    @property
    def data_names(self) -> Any:
        return self._modules[0].data_names if self._modules else []

    @property
    def output_names(self) -> Any:
        return self._modules[-1].output_names if self._modules else []

    @property
    def data_shapes(self) -> Any:
        self.need("data_shapes", params=False)
        return self._modules[0].data_shapes

    @property
    def label_shapes(self) -> Any:
        self.need("label_shapes", params=False)
        return self._label_shapes

    @property
    def output_shapes(self) -> Any:
        self.need("output_shapes", params=False)
        return self._modules[-1].output_shapes

    def get_params(self) -> tuple[Params, Params]:
        self.need("get_params")
        args: Params = {}
        auxs: Params = {}
        for module in self._modules:
            of_module = module.get_params()
            args.update(of_module[0])
            auxs.update(of_module[1])
        return args, auxs

    def init_params(self, initializer: Any = UNIFORM, arg_params: Params | None = None,
                    aux_params: Params | None = None, allow_missing: bool = False,
                    force_init: bool = False, allow_extra: bool = False) -> None:
        """Each module takes what is its own of the dicts. Raises NameMismatch for a parameter
        that two modules have, and for one that none has unless `allow_extra` is true."""
        if self.params_initialized and not force_init:
            return
        self.need("init_params", params=False)
        for module in self._modules:
            module.init_params(initializer=initializer, arg_params=arg_params,
                               aux_params=aux_params, allow_missing=allow_missing,
                               force_init=force_init, allow_extra=True)
        known: dict[str, int] = {}
        for i, module in enumerate(self._modules):
            for name in (name for params in module.get_params() for name in params):
                if name in known:
                    raise NameMismatch(
                        f'Duplicated parameter names: name "{name}" in layer {i} '
                        f"({type(module).__name__}) is already used in layer {known[name]} "
                        f"({type(self._modules[known[name]]).__name__}).")
                known[name] = i
        extra = [name for given in (arg_params, aux_params) for name in given or ()
                 if name not in known]
        if extra and not allow_extra:
            raise NameMismatch(f"SequentialModule.init_params: {extra[0]!r} is a parameter of no "
                               "module")
        self.params_initialized = True

    def bind(self, data_shapes: Shapes, label_shapes: Shapes | None = None,
             for_training: bool = True, inputs_need_grad: bool = False,
             force_rebind: bool = False, shared_module: Any = None,
             grad_req: Any = "write") -> None:
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if inputs_need_grad and not for_training:
            raise ParameterError("SequentialModule.bind: inputs_need_grad needs for_training=True")
        if shared_module is not None:
            raise ParameterError("SequentialModule.bind: Shared module is not supported")
        if not self._modules:
            raise ParameterError("Attempting to bind an empty SequentialModule")
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self._label_shapes = None
        shapes: Any = data_shapes
        for i, (module, meta) in enumerate(zip(self._modules, self._metas, strict=True)):
            takes_labels = meta.get(self.META_TAKE_LABELS, False)
            if takes_labels:
                self._label_shapes = label_shapes
            if meta.get(self.META_AUTO_WIRING, False):
                names = module.data_names
                if len(names) != len(shapes):
                    raise NameMismatch(f"SequentialModule.bind: layer {i} has {len(names)} inputs, "
                                       f"but there are {len(shapes)} arrays")
                shapes = [(name, as_desc(desc).shape)
                          for name, desc in zip(names, shapes, strict=True)]
            module.bind(data_shapes=shapes, label_shapes=label_shapes if takes_labels else None,
                        for_training=for_training,
                        inputs_need_grad=inputs_need_grad or (for_training and i > 0),
                        force_rebind=force_rebind, shared_module=None, grad_req=grad_req)
            shapes = module.output_shapes
        self.binded = True

    def init_optimizer(self, kvstore: Any = "local", optimizer: Any = "sgd",
                       optimizer_params: Any = SGD_DEFAULTS, force_init: bool = False) -> None:
        self.need("init_optimizer")
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring.")
            return
        for module in self._modules:
            module.init_optimizer(kvstore=kvstore, optimizer=optimizer,
                                  optimizer_params=optimizer_params, force_init=force_init)
        self.optimizer_initialized = True

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        self.need("forward")
        batch = copy.copy(data_batch)
        last = self._modules[-1]
        for module in self._modules:
            module.forward(batch, is_train=is_train)
            if module is last:
                break
            batch.data = module.get_outputs()
            if hasattr(batch, "provide_data"):
                names = [as_desc(desc).name for desc in module.output_shapes]
                batch.provide_data = [(name, x.shape)
                                      for name, x in zip(names, batch.data, strict=True)]

    def backward(self, out_grads: Any = None) -> None:
        self.need("backward")
        for module in reversed(self._modules):
            module.backward(out_grads=out_grads)
            if module is not self._modules[0]:
                out_grads = module.get_input_grads()

    def update(self) -> None:
        self.need("update", optimizer=True)
        for module in self._modules:
            module.update()

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        self.need("get_outputs")
        found: list[Any] = self._modules[-1].get_outputs(merge_multi_context)
        return found

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        self.need("get_input_grads")
        found: list[Any] = self._modules[0].get_input_grads(merge_multi_context)
        return found

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        self.need("update_metric")
        for module, meta in zip(self._modules, self._metas, strict=True):
            if meta.get(self.META_TAKE_LABELS, False):
                module.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Any) -> None:
        self.need("install_monitor", params=False)
        for module in self._modules:
            module.install_monitor(mon)
