"""Finds modules of this package under MXNet's paths, without loading any of them twice."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

from .. import config

ROOT = "mxnet"
PACKAGE = __name__.rpartition(".")[0].rpartition(".")[0]
# a folder with a module `mxnet`, for processes that are started with this one's sys.path alone
PATH = str(Path(__file__).parent / "path")
# where MXNet keeps things that have another place, or none of their own, here
PLACES = {
    "io.io": "io", "ndarray.ndarray": "nd", "ndarray._internal": "nd._internal",
    "symbol.symbol": "symbol", "symbol._internal": "sym._internal", "ndarray.contrib": "nd.contrib",
    "ndarray.random": "nd.random", "ndarray.linalg": "nd.linalg", "ndarray.image": "nd.image",
    "symbol.contrib": "sym.contrib", "symbol.random": "sym.random", "symbol.linalg": "sym.linalg",
    "symbol.image": "sym.image", "ndarray.op": "nd", "symbol.op": "sym", "ndarray": "nd",
    "test_utils": "mxnet.names_for_tests", "mod": "module", "init": "initializer",
    "img": "image", "kv": "kvstore", "opt": "optimizer", "mon": "monitor", "rnd": "random",
    "viz": "visualization",
    "numpy": "mxnet.absent.numpy", "numpy_extension": "mxnet.absent.numpy"}


class _Existing(Loader):
    """A module that is loaded already, or something that stands for one."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._spec = getattr(module, "__spec__", None)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        # the import system has put MXNet's name there
        module.__spec__ = self._spec


class Finder(MetaPathFinder):
    """`mxnet.a.b` is `ndarray_rt.a.b`, or what PLACES says."""

    def find_spec(self, fullname: str, path: Sequence[str] | None = None,
                  target: ModuleType | None = None) -> ModuleSpec | None:
        root, _, name = fullname.partition(".")
        if root != ROOT:
            return None
        found = sys.modules[f"{PACKAGE}.{ROOT}"] if not name else _find(name)
        if found is None:
            raise ModuleNotFoundError(
                f"No module named {fullname!r}: this part of MXNet is not in {PACKAGE}; "
                "docs/porting.md says what is", name=fullname)
        return ModuleSpec(fullname, _Existing(found), is_package=True)


def _find(name: str) -> ModuleType | None:
    """The module of this package for a path below `mxnet`."""
    place = PLACES.get(name, name)
    try:
        return importlib.import_module(f"{PACKAGE}.{place}")
    except ModuleNotFoundError as error:
        if error.name is None or not f"{PACKAGE}.{place}".startswith(error.name):
            raise  # a package that this module needs is missing
    # namespaces such as nd.contrib are objects, not files
    found: object = sys.modules[PACKAGE]
    for part in place.split("."):
        found = getattr(found, part, None)
        if found is None:
            return None
    return found if isinstance(found, ModuleType) else None


def _is_installed() -> bool:
    """There is an MXNet of its own."""
    others = [entry for entry in sys.path if entry != PATH]
    return ROOT not in sys.modules and PathFinder.find_spec(ROOT, others) is not None


def install(name: str) -> None:
    """Makes `import mxnet` give the module `name`, in this process and those that it starts.

    Raises ImportError where an MXNet is installed and NDRT_SHADOW_MXNET is not set.
    """
    loaded = sys.modules.get(ROOT)
    ours = sys.modules[name]
    if loaded is ours:
        return
    if not config.NDRT_SHADOW_MXNET and (_is_installed() or (
            loaded is not None and getattr(loaded, "__file__", None) is not None
            and Path(str(loaded.__file__)).parent != Path(PATH))):
        raise ImportError(f"an MXNet is installed: {name} does not take its place unless "
                          "NDRT_SHADOW_MXNET=1")
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder())
    if PATH not in sys.path:
        sys.path.append(PATH)
    sys.modules[ROOT] = ours
