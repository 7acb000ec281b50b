"""What users see of each public module: the names in `__all__`, all of them there and documented.

In the manner of NumPy's test_public_api.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

import ndarray_rt as mx


def is_ours(module: ModuleType) -> bool:
    """A module of the package in Python: `op.lib` is compiled."""
    return module.__name__.startswith("ndarray_rt") and "_native" not in module.__name__


def public_modules() -> Iterator[tuple[str, ModuleType]]:
    """The package and every module that can be reached by public names, each once."""
    found: list[tuple[str, ModuleType]] = [("mx", mx)]
    seen = {id(mx)}
    for path, module in found:
        yield path, module
        for name in module.__all__:
            value = getattr(module, name)
            if isinstance(value, ModuleType) and is_ours(value) and id(value) not in seen:
                seen.add(id(value))
                found.append((f"{path}.{name}", value))


MODULES = dict(public_modules())


def names_of(paths: Iterator[str] | dict[str, ModuleType]) -> list[tuple[str, str]]:
    return [(path, name) for path in paths for name in dir(MODULES[path])]


def test_the_walk_sees_modules() -> None:
    assert {mx.nd.__name__, mx.sym.__name__, mx.nd.contrib.__name__, "ndarray_rt.autograd",
            "ndarray_rt.model_zoo.symbols"} <= {module.__name__ for module in MODULES.values()}


@pytest.mark.parametrize("path", MODULES)
def test_dir_is_all(path: str) -> None:
    module = MODULES[path]
    shown = dir(module)
    assert shown == sorted(module.__all__)
    assert len(shown) == len(set(shown))
    assert not [name for name in shown if not hasattr(module, name)]


@pytest.mark.parametrize("path", MODULES)
def test_nothing_private_or_borrowed_is_shown(path: str) -> None:
    """Names are our own: no modules of Python's or NumPy's, no helpers, no `annotations`."""
    module = MODULES[path]
    for name in dir(module):
        assert not name.startswith("_") or path.endswith((".op", ".sparse")), name
        value = getattr(module, name)
        if isinstance(value, ModuleType):
            assert value.__name__.startswith("ndarray_rt"), name
        elif inspect.isfunction(value) or inspect.isclass(value):
            of = value.__module__
            assert of.startswith("ndarray_rt") or name == "mx_real_t", f"{name} is {of}'s"


@pytest.mark.parametrize("path", MODULES)
def test_every_name_is_documented(path: str) -> None:
    module = MODULES[path]
    assert module.__doc__
    bare = [name for name in dir(module) if callable(value := getattr(module, name))
            and not (value.__doc__ or "").strip()]
    assert not bare


def public_classes() -> list[type]:
    found = {id(value): value for path, name in names_of(MODULES)
             if inspect.isclass(value := getattr(MODULES[path], name))
             and value.__module__.startswith("ndarray_rt")}
    return list(found.values())


@pytest.mark.parametrize("cls", public_classes(), ids=lambda cls: cls.__name__)
def test_every_public_method_is_documented(cls: type) -> None:
    bare = []
    for name in dir(cls):
        if name.startswith("_"):
            continue
        value = inspect.getattr_static(cls, name)
        text = inspect.getdoc(getattr(cls, name)) if callable(value) else (
            inspect.getdoc(value) if isinstance(value, (property, classmethod, staticmethod))
            else "data")
        if not (text or "").strip():
            bare.append(name)
    assert not bare


def test_names_that_are_like_it_are_named() -> None:
    for module, name, meant in ((mx, "autogard", "autograd"), (mx.nd, "convolution", "Convolution"),
                                (mx.sym, "FullyConected", "FullyConnected"),
                                (mx.nd.contrib, "boxnms", "box_nms")):
        with pytest.raises(AttributeError, match=f"did you mean.*'{meant}'"):
            getattr(module, name)
    with pytest.raises(AttributeError) as caught:
        mx.qqqqqq  # noqa: B018
    assert "did you mean" not in str(caught.value)


def test_modules_of_mxnet_that_are_not_here_are_named() -> None:
    with pytest.raises(AttributeError, match="MXNet's module rtc is not here"):
        mx.rtc  # noqa: B018
    assert not hasattr(mx, "__wrapped__")


def test_long_and_short_names_are_one_module() -> None:
    assert mx.sym is mx.symbol
    assert mx.nd is mx.ndarray
    assert mx.rnd is mx.random
    for name in ("ndarray_rt.sym.contrib", "ndarray_rt.symbol.contrib"):
        __import__(name)
        assert sys.modules[name] is mx.sym.contrib

# internals of arrays, executors and CachedOps; a value given to one by mistake must not be kept
INTERNALS = ("chunk", "entry", "grad_state", "part", "rows", "at", "is_part", "reuse",
             "byte_offset", "check_and_alloc", "invalidate_data", "renew_locks")


@pytest.mark.parametrize("name", INTERNALS)
def test_arrays_show_no_internals(name: str) -> None:
    x = mx.nd.ones((2, 3))
    assert not hasattr(x, name)
    with pytest.raises(AttributeError):
        setattr(x, name, "boo")
    assert x.asnumpy().tolist() == [[1, 1, 1]] * 2


def test_executors_show_no_internals() -> None:
    for cls in (mx.executor.Executor, mx.executor.ExecutorPool, mx.nd.CachedOp):
        assert not {"renew_locks", "note_fed", "forward_kept", "lends_memory"} & set(dir(cls))
