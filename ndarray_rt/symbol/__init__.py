"""Floor 4, graphs: nodes, symbols, inference over a graph, gradients of a graph.

Also the module `mx.symbol`: besides what is listed here, it has a function for each operator.
"""

from __future__ import annotations

from typing import Any

from .. import ops as _ops
from ..op.registry import keep_registered
from . import arithmetic as _arithmetic
from . import methods as _methods
from .contrib_functions import FUNCTIONS as _CONTRIB
from .control_flow import FUNCTIONS as _CONTROL_FLOW
from .functions import (
    Group,
    Variable,
    arange,
    eye,
    fromjson,
    full,
    histogram,
    hypot,
    linspace,
    load,
    load_json,
    maximum,
    minimum,
    ones,
    pow,
    power,
    split_v2,
    var,
    zeros,
)
from .generated import Namespace as _Namespace
from .generated import find_function as _find_function
from .generated import public_functions as _public_functions
from .naming import AttrScope, NameManager, Prefix
from .random_functions import FUNCTIONS as _RANDOM
from .symbol import NotImplementedForSymbol, Symbol
from .zipfian import FUNCTIONS as _ZIPFIAN

# what is written by hand wins over operators of the same name
__all__ = [
    "AttrScope", "Group", "NameManager", "NotImplementedForSymbol", "Prefix", "Symbol", "Variable",
    "arange", "eye", "fromjson", "full", "histogram", "hypot", "linspace", "load", "load_json",
    "maximum", "minimum", "ones", "pow", "power", "split_v2", "var", "zeros",
]

BY_HAND = tuple(__all__)

# importing them registers the operators and gives Symbol its methods
_LOADED = (_ops, _arithmetic, _methods)


def _public() -> dict[str, Any]:
    """All public names: operators by namespace, then what is written by hand."""
    made: dict[str, Any] = {}
    for space, functions in _public_functions().items():
        if not space:
            made.update(functions)
            continue
        prefix = "" if space == "_internal" else f"_{space}_"
        module = _Namespace(f"{__name__}.{space}", prefix, f"Operators of {space}.")
        module.__dict__.update(functions)
        made[space] = module
    made["random"].__dict__.update(_RANDOM)
    made["contrib"].__dict__.update({**_CONTROL_FLOW, **_CONTRIB, **_ZIPFIAN})
    op = _Namespace(f"{__name__}.op", "", "All operators that have no namespace of their own.")
    op.__dict__.update({name: value for name, value in made.items() if callable(value)})
    made["op"] = op
    made.update({name: globals()[name] for name in __all__})
    keep_registered(made, _NEEDS)
    return made


# what is written by hand, and the operator it needs
_NEEDS = {"histogram": "_histogram", "linspace": "_linspace", "split_v2": "_split_v2"}


PUBLIC = _public()
globals().update(PUBLIC)
__all__ += sorted(set(PUBLIC) - set(__all__) - {"_internal"})


def __getattr__(name: str) -> Any:
    # operators registered after this module was loaded
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _find_function(name)
