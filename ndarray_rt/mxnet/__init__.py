"""MXNet's names for this package: after `import ndarray_rt.mxnet`, `import mxnet` is this module.

    python -m ndarray_rt.mxnet script.py arguments     # runs a program written for MXNet
    python -m ndarray_rt.mxnet -m pytest tests         # or a module

`mxnet.gluon.nn` and MXNet 1.9.1's other paths are the modules of this package; an import of what is
not here raises an ImportError that names it. An MXNet that is installed is not shadowed unasked:
`import ndarray_rt.mxnet` raises an ImportError then, unless NDRT_SHADOW_MXNET=1.
"""

from __future__ import annotations

from typing import Any

import ndarray_rt as _package

from .finder import install

# the release whose names and meaning these are
__version__ = "1.9.1"


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'mxnet' has no attribute {name!r}")
    try:
        return getattr(_package, name)
    except AttributeError as error:
        raise AttributeError(f"module 'mxnet' has no attribute {name!r} here: {error}"
                             ) from None


def __dir__() -> list[str]:
    return sorted({*dir(_package), "__version__"})


install(__name__)
