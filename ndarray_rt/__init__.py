"""A standalone NDArray runtime for CPUs in the manner of MXNet 1.x, computing with oneDNN.

    import ndarray_rt as mx
    x = mx.nd.ones((2, 3))
    print((x * 2).sum())
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# first: loads oneDNN, or says what is missing
try:
    from . import native as _loader  # noqa: F401
except (ImportError, OSError, RuntimeError, ValueError) as _error:
    from . import program as _program
    _program.end_if_started(_error)
    raise
from . import operator_index as _index
from .op.registry import REGISTRY as _OPERATORS

_OPERATORS.load_later(_index.PLACES, _index.HIDDEN)

# ruff: noqa: E402 - what follows asks which operators there are
from . import symbol
from .imperative import methods as _methods
from .public import loads as _loads
from .public import shows as _shows
from .symbol import hooks as _hooks

_methods.install()

# the front ends need the methods
from . import autograd, base, config, errors, nd, ndarray, op, random, sym
from .attribute import AttrScope
from .context import Context, cpu, cpu_pinned, current_context, gpu, num_gpus
from .errors import MXNetError
from .np_shape import is_np_shape, np_shape, set_np_shape
from .op.fallback import REASONS as _REASONS
from .op.statistics import cache_stats, clear_cache, reorder_stats, reset_counters
from .storage.handle import memory_stats, reset_peak, trim
from .symbol.naming import NameManager
from .threads import get_num_threads, set_num_threads

if TYPE_CHECKING:
    from . import (  # noqa: F401
        attribute,
        callback,
        context,
        contrib,
        debug,
        engine,
        error,
        executor,
        executor_manager,
        gluon,
        image,
        initializer,
        io,
        kvstore,
        libinfo,
        library,
        log,
        lr_scheduler,
        metric,
        model,
        model_zoo,
        module,
        monitor,
        name,
        onnx,
        operator,
        optimizer,
        passes,
        profiler,
        recordio,
        registry,
        rnn,
        runtime,
        test_utils,
        testing,
        util,
        visualization,
    )
    from .util import is_np_array as is_np_array
    from .util import np_array as np_array
    from .util import use_np as use_np
    from .util import use_np_array as use_np_array
    from .util import use_np_shape as use_np_shape

__version__ = "0.1.0"

rnd = random
# (operator, reason) -> how often numpy computed it instead of oneDNN
fallback_reasons = _REASONS.as_dict

# modules that are loaded when first used, so that importing this package is quick
_LAZY = {name: name for name in (
    "attribute", "callback", "context", "contrib", "debug", "engine", "error", "executor",
    "executor_manager", "gluon", "image", "initializer", "io", "kvstore", "libinfo",
    "library", "log", "lr_scheduler", "metric", "model", "model_zoo", "module", "monitor",
    "name", "onnx", "operator", "optimizer", "passes", "profiler", "recordio", "registry", "rnn",
    "runtime", "test_utils", "testing", "util", "visualization")}
# MXNet's short names of modules
_LAZY |= {"img": "image", "init": "initializer", "kv": "kvstore", "mod": "module", "mon": "monitor",
          "opt": "optimizer", "viz": "visualization"}
_LAZY |= {name: f"util:{name}" for name in (
    "is_np_array", "np_array", "use_np", "use_np_array", "use_np_shape")}

# modules of MXNet 1.9 that are not here
_OF_MXNET = frozenset((
    "kvstore_server", "np", "npx", "numpy", "numpy_extension", "rtc", "th"))

__all__ = [
    "AttrScope", "Context", "MXNetError", "NameManager", "autograd", "base", "cache_stats",
    "clear_cache", "config", "cpu", "cpu_pinned", "current_context", "errors", "fallback_reasons",
    "get_num_threads", "gpu", "is_np_shape", "memory_stats", "nd", "ndarray", "np_shape",
    "num_gpus", "op", "random", "reorder_stats", "reset_counters", "reset_peak", "rnd",
    "set_np_shape", "set_num_threads", "sym", "symbol", "trim"]
__all__ += list(_LAZY)


def _hint(name: str) -> str:
    if name in _OF_MXNET:
        return f": MXNet's module {name} is not here; {errors.SEE_PORTING}"
    return errors.did_you_mean(name, __all__)


def _of_executor(name: str) -> Any:
    def load(*args: Any, **kwargs: Any) -> Any:
        from . import executor
        return getattr(executor, name)(*args, **kwargs)
    return load


# the executor is loaded by the first symbol that is bound, and then provides these itself
_hooks.provide(bind=_of_executor("bind"), simple_bind=_of_executor("simple_bind"),
               eval=_of_executor("evaluate"), optimize_for=_of_executor("optimize_for"),
               get_backend_symbol=_of_executor("get_backend_symbol"))

__getattr__ = _loads(globals(), _LAZY, _hint)
__dir__ = _shows(globals())
