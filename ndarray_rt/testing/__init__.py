"""Testing of operators and arrays, of this package and of its users. See docs/testing.md.

    from ndarray_rt.testing import check_operator
    print(check_operator("relu", [(2, 20, 5, 5)], reference=lambda x: x * (x > 0)))

The strategies need the package hypothesis (the extra `ndarray_rt[testing]`), the checks do not:
without it `__all__` has no strategies, and asking for one raises MissingPackage, which names the
extra.
Everything is loaded when first asked for.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from ..public import loads, shows

if TYPE_CHECKING:
    from .case import Case, Input
    from .compare import assert_bits, assert_close
    from .consistency import check_consistency
    from .memory_layouts import kinds_of, layouts_of
    from .numeric_gradient import check_gradient
    from .operator import check_operator
    from .random_graphs import RandomGraph, graphs, random_graph
    from .report import Ran, Report
    from .round_trip import check_layout_round_trip
    from .strategies import Known, kinds, layouts, ndarrays, requests, shapes

# public name -> the module that has it; no module may have the name of one of these: importing it
# would put it in the name's place
_PUBLIC = {
    name: f"{module}:{name}" for module, names in {
        "case": ("Case", "Input"),
        "compare": ("assert_bits", "assert_close"),
        "consistency": ("check_consistency",),
        "memory_layouts": ("kinds_of", "layouts_of"),
        "numeric_gradient": ("check_gradient",),
        "operator": ("check_operator",),
        "random_graphs": ("RandomGraph", "graphs", "random_graph"),
        "report": ("Ran", "Report"),
        "round_trip": ("check_layout_round_trip",),
        "strategies": ("Known", "kinds", "layouts", "ndarrays", "requests", "shapes"),
    }.items() for name in names}

# those of them that need the package hypothesis
_STRATEGIES = ("Known", "graphs", "kinds", "layouts", "ndarrays", "requests", "shapes")


def _has_hypothesis() -> bool:
    try:
        return importlib.util.find_spec("hypothesis") is not None
    except ValueError:  # somebody put a module without a spec in its place
        return True


__all__ = [
    "Case", "Input", "Known", "Ran", "RandomGraph", "Report", "assert_bits", "assert_close",
    "check_consistency", "check_gradient", "check_layout_round_trip", "check_operator", "graphs",
    "kinds", "kinds_of", "layouts", "layouts_of", "ndarrays", "random_graph", "requests", "shapes",
]
if not _has_hypothesis():
    # `from ndarray_rt.testing import *` then gives the rest
    __all__[:] = [name for name in __all__ if name not in _STRATEGIES]

__getattr__ = loads(globals(), _PUBLIC)
__dir__ = shows(globals())
