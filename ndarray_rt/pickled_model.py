"""Models that MXNet pickled, read without running anything that the bytes name."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from . import initializer
from .context import Context
from .errors import ParameterError
from .optimizer.states import StandIn, Unpickler, load_pickled
from .symbol.functions import load_json

_GRAPHS = ("mxnet.symbol", "mxnet.symbol.symbol")
_MODELS = ("mxnet.model", "mxnet.model.model")
_DEVICES = {1: "cpu", 2: "gpu", 3: "cpu_pinned", 5: "cpu_shared"}


class _Graph(StandIn):
    def made(self, settled: Callable[[Any], Any]) -> Any:
        text = settled(self.state).get("handle")
        return None if text is None else load_json(text)


class _Device(StandIn):
    def made(self, settled: Callable[[Any], Any]) -> Any:
        state = settled(self.state)
        return Context(_DEVICES[state["device_typeid"]], state["device_id"])


class _Initializer(StandIn):
    kind: type[Any]

    def made(self, settled: Callable[[Any], Any]) -> Any:
        state = settled(self.state)
        if self.kind is initializer.Mixed:
            patterns = [found.pattern for found, _ in state["map"]]
            return initializer.Mixed(patterns, [init for _, init in state["map"]])
        if self.kind is initializer.Load:
            if not isinstance(state["param"], dict):  # a text would be read as a file
                raise ParameterError("model: Load has no dict of arrays")
            return initializer.Load(state["param"], state.get("default_init"),
                                    state.get("verbose", False))
        # what they were made with
        return self.kind(**state["_kwargs"])


class _Model(StandIn):
    def made(self, settled: Callable[[Any], Any]) -> Any:
        return settled(self.state)


def _pattern(text: Any, flags: Any = 0) -> re.Pattern[str]:
    """A pattern of Mixed's."""
    if not isinstance(text, str) or not isinstance(flags, int):
        raise ParameterError("model: a pattern is no text")
    return re.compile(text, flags)


class _ModelUnpickler(Unpickler):
    """Finds graphs, contexts and initializers too, and FeedForward."""

    def find_class(self, module: str, name: str) -> Any:
        if module in _GRAPHS and name == "Symbol":
            return _Graph
        if module == "mxnet.context" and name == "Context":
            return _Device
        if module == "mxnet.initializer" and name in initializer.__all__:
            kind = getattr(initializer, name)
            if isinstance(kind, type) and name not in ("InitDesc", "Initializer"):
                return type(name, (_Initializer,), {"kind": kind})
        if module in _MODELS and name == "FeedForward":
            return _Model
        if (module, name) == ("re", "_compile"):
            return _pattern
        return super().find_class(module, name)


# attributes of a model
_KNOWN = {"symbol", "sym_gen", "arg_params", "aux_params", "allow_extra_params",
          "argument_checked", "ctx", "num_epoch", "epoch_size", "kwargs", "optimizer",
          "initializer", "numpy_batch_size", "begin_epoch"}


def load_model(data: bytes, kind: Any) -> Any:
    """A model of class `kind`, a FeedForward, from what MXNet pickled.

    Raises ParameterError for bytes that ask for anything but arrays, graphs, contexts,
    initializers, optimizers, schedules and plain containers, or are no model.
    """
    try:
        state = load_pickled(data, _ModelUnpickler)
    except (KeyError, TypeError, AttributeError) as error:
        raise ParameterError(f"model: the bytes are damaged: {error!r}") from None
    if not isinstance(state, dict) or not set(state) >= _KNOWN:
        raise ParameterError("model: these bytes are no FeedForward that MXNet pickled")
    model = object.__new__(kind)
    model.__setstate__({name: state[name] for name in _KNOWN} | {"_pred_exec": None})
    return model
