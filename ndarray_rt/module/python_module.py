"""Modules that are written in Python, without a symbol: for losses and the like."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from .. import nd
from ..errors import MXNetError, NameMismatch, ParameterError, TypeMismatch
from ..io.data import as_desc
from ..nd import NDArray
from .base_module import SGD_DEFAULTS, UNIFORM, BaseModule, Logger, Params, Shapes


class PythonModule(BaseModule):
    """A module without parameters. A subclass defines `forward`, `backward`, `get_outputs`,
    `get_input_grads` and `_compute_output_shapes`. Source: MXNet's PythonModule."""

    def __init__(self, data_names: Sequence[str], label_names: Sequence[str] | None,
                 output_names: Sequence[str], logger: Logger = logging) -> None:
        super().__init__(logger=logger)
        self._data_names = list(data_names)
        self._label_names = None if label_names is None else list(label_names)
        self._output_names = list(output_names)
        self._data_shapes: Any = None
        self._label_shapes: Any = None
        self._output_shapes: Any = None

    @property
    def data_names(self) -> list[str]:
        return self._data_names

    @property
    def output_names(self) -> list[str]:
        return self._output_names

    @property
    def data_shapes(self) -> Any:
        return self._data_shapes

    @property
    def label_shapes(self) -> Any:
        return self._label_shapes

    @property
    def output_shapes(self) -> Any:
        return self._output_shapes

    def get_params(self) -> tuple[Params, Params]:
        """Two empty dicts."""
        return {}, {}

    def init_params(self, initializer: Any = UNIFORM, arg_params: Params | None = None,
                    aux_params: Params | None = None, allow_missing: bool = False,
                    force_init: bool = False, allow_extra: bool = False) -> None:
        """Does nothing: there are no parameters."""
        self.params_initialized = True

    def init_optimizer(self, kvstore: Any = "local", optimizer: Any = "sgd",
                       optimizer_params: Any = SGD_DEFAULTS, force_init: bool = False) -> None:
        """Does nothing: there are no parameters."""
        self.optimizer_initialized = True

    def update(self) -> None:
        """Does nothing: there are no parameters."""

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Lets a metric count the outputs, where the module has labels."""
        if self._label_shapes is None:
            return
        if pre_sliced:
            raise ParameterError("PythonModule does not support presliced labels")
        eval_metric.update(labels, self.get_outputs())

    def bind(self, data_shapes: Shapes, label_shapes: Shapes | None = None,
             for_training: bool = True, inputs_need_grad: bool = False,
             force_rebind: bool = False, shared_module: Any = None,
             grad_req: Any = "write") -> None:
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if grad_req != "write":
            raise ParameterError(f"Python module only support write gradient, got {grad_req!r}")
        for what, shapes, names in (("data", data_shapes, self._data_names),
                                    ("label", label_shapes, self._label_names)):
            if shapes is not None and [as_desc(one).name for one in shapes] != names:
                raise NameMismatch(f"{type(self).__name__}.bind: {what}_shapes are {shapes}, "
                                   f"expected the names {names}")
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        self._data_shapes, self._label_shapes = data_shapes, label_shapes
        self._output_shapes = self._compute_output_shapes()
        self.binded = True

    def _compute_output_shapes(self) -> list[tuple[str, Any]]:
        """Names and shapes of the outputs."""
        found: list[tuple[str, Any]] = self._undefined("_compute_output_shapes")
        return found


class PythonLossModule(PythonModule):
    """Scores in, the same scores out; `grad_func(scores, labels)` gives their gradient.

    A subclass may define `_backward_impl`, which sets `_scores_grad`, instead of `grad_func`.
    Source: MXNet's PythonLossModule.
    """

    def __init__(self, name: str = "pyloss", data_names: Sequence[str] = ("data",),
                 label_names: Sequence[str] = ("softmax_label",), logger: Logger = logging,
                 grad_func: Callable[[NDArray, NDArray], Any] | None = None) -> None:
        super().__init__(data_names, label_names, [f"{name}_output"], logger=logger)
        if len(self._data_names) != 1 or len(label_names) != 1:
            raise NameMismatch(f"PythonLossModule: {len(self._data_names)} inputs and "
                               f"{len(label_names)} labels, expected one each")
        if grad_func is not None and not callable(grad_func):
            raise TypeMismatch(f"PythonLossModule: grad_func is {grad_func!r}, expected a function")
        self._name = name
        self._grad_func = grad_func
        self._scores: Any = None
        self._labels: Any = None
        self._scores_grad: Any = None

    def _compute_output_shapes(self) -> list[tuple[str, Any]]:
        return [(f"{self._name}_output", as_desc(self._data_shapes[0]).shape)]

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        self._scores = data_batch.data[0]
        if self.for_training if is_train is None else is_train:
            self._labels = data_batch.label[0]

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        return [self._scores]

    def backward(self, out_grads: Any = None) -> None:
        if out_grads is not None:
            raise ParameterError("For a loss module, out_grads should be None")
        if not self.for_training:
            raise MXNetError("PythonLossModule.backward: bind with for_training=True")
        self._backward_impl()

    def _backward_impl(self) -> None:
        if self._grad_func is None:
            self._undefined("_backward_impl, or have a grad_func")
            return
        grad = self._grad_func(self._scores, self._labels)
        self._scores_grad = grad if isinstance(grad, NDArray) else nd.array(grad)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        return [self._scores_grad]

    def install_monitor(self, mon: Any) -> None:
        """Does nothing: there is no executor."""
