"""What all metrics share: local and global sums, names, the registry."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from numbers import Number
from typing import Any

import numpy

from ..errors import ShapeError, TypeMismatch
from ..nd import NDArray
from ..registry import get_alias_func, get_create_func, get_register_func


def check_label_shapes(labels: Any, preds: Any, wrap: bool = False,
                       shape: bool = False) -> tuple[Any, Any]:
    """Both, where they are equally long (or of one shape); `wrap` puts single arrays into lists.

    Raises ShapeError, a ValueError, where they are not.
    """
    of_labels, of_preds = ((labels.shape, preds.shape) if shape else (len(labels), len(preds)))
    if of_labels != of_preds:
        raise ShapeError(f"Shape of labels {of_labels} does not match shape of predictions "
                         f"{of_preds}")
    if wrap:
        labels = [labels] if isinstance(labels, NDArray) else labels
        preds = [preds] if isinstance(preds, NDArray) else preds
    return labels, preds


class EvalMetric:
    """The base of all metrics. A subclass defines `update(labels, preds)`, lists of arrays.

    It counts with `_count`: once for the local value, since the last `reset_local`, and once for
    the global one, since the last `reset`. `output_names` and `label_names` say which of named
    arrays `update_dict` takes, all where they are None. Other keywords are kept for `get_config`.
    """

    num_inst: Any
    sum_metric: Any
    global_num_inst: Any
    global_sum_metric: Any

    def __init__(self, name: str, output_names: Sequence[str] | None = None,
                 label_names: Sequence[str] | None = None, **kwargs: Any) -> None:
        self.name = str(name)
        self.output_names = output_names
        self.label_names = label_names
        self._has_global_stats = kwargs.pop("has_global_stats", False)
        self._kwargs = kwargs
        self.reset()

    def __str__(self) -> str:
        return f"EvalMetric: {dict(self.get_name_value())}"

    def get_config(self) -> dict[str, Any]:
        """What `create(**config)` makes the same metric from."""
        return {**self._kwargs, "metric": type(self).__name__, "name": self.name,
                "output_names": self.output_names, "label_names": self.label_names}

    def update_dict(self, label: Mapping[str, NDArray], pred: Mapping[str, NDArray]) -> None:
        """`update` with arrays by name."""
        preds = list(pred.values()) if self.output_names is None else [
            pred[name] for name in self.output_names]
        labels = list(label.values()) if self.label_names is None else [
            label[name] for name in self.label_names]
        self.update(labels, preds)

    def update(self, labels: Any, preds: Any) -> None:
        """Takes labels and predictions, lists of arrays of equal length, into account."""
        raise NotImplementedError(f"{type(self).__name__} must define update")

    def _count(self, value: Any, count: Any) -> None:
        """Adds `value`, the sum of `count` instances, to both sums."""
        self.sum_metric += value
        self.global_sum_metric += value
        self.num_inst += count
        self.global_num_inst += count

    def reset(self) -> None:
        """Forgets everything."""
        self.global_num_inst = 0
        self.global_sum_metric = 0.0
        self.reset_local()

    def reset_local(self) -> None:
        """Forgets the local part."""
        self.num_inst = 0
        self.sum_metric = 0.0

    def get(self) -> tuple[Any, Any]:
        """(name, mean since the last reset_local), nan before anything was counted."""
        if self.num_inst == 0:
            return self.name, float("nan")
        return self.name, _plain(self.sum_metric / self.num_inst)

    def get_global(self) -> tuple[Any, Any]:
        """(name, mean since the last reset)."""
        if not self._has_global_stats:
            return self.get()
        if self.global_num_inst == 0:
            return self.name, float("nan")
        return self.name, _plain(self.global_sum_metric / self.global_num_inst)

    def get_name_value(self) -> list[tuple[str, Any]]:
        """`get` as a list of (name, value)."""
        return _pairs(*self.get())

    def get_global_name_value(self) -> list[tuple[str, Any]]:
        """`get_global` as a list of (name, value)."""
        return _pairs(*self.get_global()) if self._has_global_stats else self.get_name_value()


def _plain(value: Any) -> Any:
    """NumPy's scalars as Python's, which print as numbers."""
    return value.item() if isinstance(value, numpy.generic) else value


def _pairs(name: Any, value: Any) -> list[tuple[str, Any]]:
    names = name if isinstance(name, list) else [name]
    values = value if isinstance(value, list) else [value]
    return list(zip(names, values, strict=False))


register = get_register_func(EvalMetric, "metric")
alias = get_alias_func(EvalMetric, "metric")
_create = get_create_func(EvalMetric, "metric")


def create(metric: Any, *args: Any, **kwargs: Any) -> EvalMetric:
    """A metric from its name, a list of metrics, a function of (label, pred), or a metric itself.

    Further arguments are those of its class.
    """
    if callable(metric):
        return CustomMetric(metric, *args, **kwargs)
    if isinstance(metric, list):
        made = CompositeEvalMetric()
        for child in metric:
            made.add(create(child, *args, **kwargs))
        return made
    found: EvalMetric = _create(metric, *args, **kwargs)
    return found


@register
@alias("composite")
class CompositeEvalMetric(EvalMetric):
    """Several metrics as one; its names and values are lists."""

    def __init__(self, metrics: Sequence[Any] | None = None, name: str = "composite",
                 output_names: Sequence[str] | None = None,
                 label_names: Sequence[str] | None = None) -> None:
        self.metrics: list[EvalMetric] = []
        super().__init__(name, output_names, label_names, has_global_stats=True)
        self.metrics = [create(one) for one in metrics or ()]

    def add(self, metric: Any) -> None:
        """Adds a metric, or what `create` makes one of."""
        self.metrics.append(create(metric))

    def get_metric(self, index: int) -> Any:
        """The metric at `index`; as in MXNet, a ValueError is returned where there is none."""
        try:
            return self.metrics[index]
        except IndexError:
            return ValueError(f"Metric index {index} is out of range 0 and {len(self.metrics)}")

    def update_dict(self, labels: Any, preds: Any) -> None:
        if self.label_names is not None:
            labels = OrderedDict(i for i in labels.items() if i[0] in self.label_names)
        if self.output_names is not None:
            preds = OrderedDict(i for i in preds.items() if i[0] in self.output_names)
        for metric in self.metrics:
            metric.update_dict(labels, preds)

    def update(self, labels: Any, preds: Any) -> None:
        for metric in self.metrics:
            metric.update(labels, preds)

    def reset(self) -> None:
        for metric in self.metrics:
            metric.reset()

    def reset_local(self) -> None:
        for metric in self.metrics:
            metric.reset_local()

    def get(self) -> tuple[list[str], list[Any]]:
        return _joined([metric.get() for metric in self.metrics])

    def get_global(self) -> tuple[list[str], list[Any]]:
        return _joined([metric.get_global() for metric in self.metrics])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "metrics": [one.get_config() for one in self.metrics]}


def _joined(found: list[tuple[Any, Any]]) -> tuple[list[str], list[Any]]:
    names: list[str] = []
    values: list[Any] = []
    for name, value in found:
        names.extend([name] if isinstance(name, str) else name)
        values.extend([value] if isinstance(value, Number) else value)
    return names, values


@register
class CustomMetric(EvalMetric):
    """The mean of a function `feval(label, pred)` of NumPy arrays.

    The function gives a number, or a pair: a sum and how many instances it is of.
    `allow_extra_outputs` lets there be more outputs than labels.
    """

    def __init__(self, feval: Callable[..., Any], name: str | None = None,
                 allow_extra_outputs: bool = False, output_names: Sequence[str] | None = None,
                 label_names: Sequence[str] | None = None) -> None:
        if name is None:
            name = feval.__name__
            name = f"custom({name})" if "<" in name else name
        super().__init__(name, output_names, label_names, feval=feval,
                         allow_extra_outputs=allow_extra_outputs, has_global_stats=True)
        self._feval = feval
        self._allow_extra_outputs = allow_extra_outputs

    def update(self, labels: Any, preds: Any) -> None:
        if not self._allow_extra_outputs:
            labels, preds = check_label_shapes(labels, preds, True)
        for pred, label in zip(preds, labels, strict=False):
            found = self._feval(label.asnumpy(), pred.asnumpy())
            value, count = found if isinstance(found, tuple) else (found, 1)
            self._count(value, count)

    def get_config(self) -> dict[str, Any]:
        raise TypeMismatch("CustomMetric cannot be serialized: its function has no text")


def np(numpy_feval: Callable[..., Any], name: str | None = None,
       allow_extra_outputs: bool = False) -> CustomMetric:
    """A CustomMetric of a NumPy function; a decorator."""
    def feval(label: Any, pred: Any) -> Any:
        return numpy_feval(label, pred)

    feval.__name__ = numpy_feval.__name__
    return CustomMetric(feval, name, allow_extra_outputs)
