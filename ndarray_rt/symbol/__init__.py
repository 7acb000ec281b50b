"""Floor 4, graphs: nodes, symbols, inference over a graph, gradients of a graph.

Also the module `mx.symbol`: besides what is listed here, it has a function for each operator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..op.namespaces import Namespace as _Namespace
from ..op.namespaces import OperatorModule as _OperatorModule
from ..op.namespaces import forgets_functions as _forgets_functions
from ..op.namespaces import no_operator as _no_operator
from ..op.registry import keep_registered as _keep_registered
from . import arithmetic as _arithmetic
from . import methods as _methods
from .contrib_functions import FUNCTIONS as _CONTRIB
from .control_flow import FUNCTIONS as _CONTROL_FLOW
from .functions import *  # noqa: F403
from .functions import __all__ as _functions
from .generated import named_function as _named_function
from .naming import AttrScope as AttrScope
from .naming import NameManager as NameManager
from .naming import Prefix as Prefix
from .random_functions import FUNCTIONS as _RANDOM
from .symbol import NotImplementedForSymbol as NotImplementedForSymbol
from .symbol import Symbol as Symbol

if TYPE_CHECKING:
    from .._stubs import sym_contrib, sym_image, sym_linalg
    from .._stubs.sym import *  # noqa: F403
    from . import symbol as symbol

    # names of this module, which `import ... as` does not make for type checkers
    contrib, image, linalg = sym_contrib, sym_image, sym_linalg

# importing them gives Symbol its methods
_LOADED = (_arithmetic, _methods)

_operators = _Namespace("", _named_function)
_forgets_functions(globals())


def _space(name: str, doc: str, space: str, **how: Any) -> _OperatorModule:
    return _OperatorModule(f"{__name__}.{name}", doc, space, _named_function, **how)


op = _space("op", "All operators by their own names.", "", everything=True)
_internal = _space("_internal", "Operators whose names begin with _.", "_internal", hidden=True)
if not TYPE_CHECKING:
    contrib = _space("contrib", "Operators called _contrib_...", "contrib",
                     extra={**_CONTROL_FLOW, **_CONTRIB})
    linalg = _space("linalg", "Operators called _linalg_...", "linalg")
    image = _space("image", "Operators called _image_...", "image")
sparse = _space("sparse", "Operators of MXNet's sparse namespace, on dense symbols.", "",
                everything=True)
random = _space("random", "Random numbers by distribution.", "random", extra=_RANDOM)

# what is written by hand, and the operator it needs
_NEEDS = {"histogram": "_histogram", "linspace": "_linspace", "split_v2": "_split_v2"}
_keep_registered(globals(), _NEEDS)

# what is written by hand takes precedence over operators of the same name
BY_HAND = tuple(name for name in (
    *_functions, "AttrScope", "NameManager", "NotImplementedForSymbol", "Prefix", "Symbol",
    "contrib", "image", "linalg", "op", "random", "sparse") if name in globals())


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    made = _operators.find(name)
    if made is None:
        raise _no_operator(__name__, name, __dir__)
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    return sorted({*BY_HAND, *_operators.names()})

