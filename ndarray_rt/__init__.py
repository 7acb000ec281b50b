"""A standalone NDArray runtime for CPUs in the manner of MXNet 1.x, computing with oneDNN.

    import ndarray_rt as mx
    x = mx.nd.ones((2, 3))
    print((x * 2).sum())
"""

from __future__ import annotations

import importlib
from types import ModuleType

from . import native as _loader  # noqa: F401 - first: loads oneDNN, or says what is missing
from . import symbol
from .imperative import methods as _methods

_methods.install()

# ruff: noqa: E402 - the front ends need the methods
from . import autograd, base, executor, nd, ndarray, operator, random, sym
from .attribute import AttrScope
from .context import Context, cpu, cpu_pinned, current_context, gpu, num_gpus
from .errors import MXNetError
from .np_shape import is_np_shape, np_shape, set_np_shape
from .op.fallback import REASONS
from .op.statistics import cache_stats, clear_cache, reorder_stats, reset_counters
from .storage.handle import memory_stats, reset_peak, trim
from .symbol.naming import NameManager
from .threads import get_num_threads, set_num_threads

__version__ = "0.1.0"

# modules that are loaded when first used
_LAZY = {name: name for name in (
    "attribute", "context", "contrib", "debug", "engine", "gluon", "initializer", "io",
    "lr_scheduler", "model_zoo", "name", "optimizer", "registry", "test_utils", "testing",
    "util")}
_LAZY["init"] = "initializer"
rnd = random
# (operator, reason) -> how often numpy computed it instead of oneDNN
fallback_reasons = REASONS.as_dict

__all__ = [
    "AttrScope", "Context", "MXNetError", "NameManager", "autograd", "base", "cache_stats",
    "clear_cache", "cpu", "cpu_pinned", "current_context", "executor", "fallback_reasons",
    "get_num_threads", "gpu", "is_np_shape", "memory_stats", "nd", "ndarray", "np_shape",
    "num_gpus", "operator", "random", "reorder_stats", "reset_counters", "reset_peak", "rnd",
    "set_np_shape", "set_num_threads", "sym", "symbol", "trim"]


def __getattr__(name: str) -> ModuleType:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = importlib.import_module(f".{module}", __name__)
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
