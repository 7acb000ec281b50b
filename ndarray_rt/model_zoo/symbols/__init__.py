"""Networks as symbols, parameters named as MXNet names them; scores come without a softmax.

    net = mx.model_zoo.symbols.get_symbol("resnet50_v1", classes=10)

Where gluon's model zoo has a network, its parameter files fit.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

from ...errors import NameMismatch, did_you_mean
from ...public import shows
from ...symbol.symbol import Symbol
from . import (
    alexnet,
    bert,
    densenet,
    googlenet,
    inception,
    mobilenet,
    recurrent,
    resnet,
    small,
    squeezenet,
    vgg,
)

__all__ = ["get_symbol", "names"]
__dir__ = shows(globals())

_MODELS: dict[str, Callable[..., Symbol]] = {}
for _family in (alexnet, vgg, googlenet, inception, resnet, squeezenet, mobilenet, densenet, small,
                bert, recurrent):
    _MODELS.update(_family.MODELS)


def names() -> list[str]:
    """The names that `get_symbol` knows."""
    return list(_MODELS)


def get_symbol(name: str, **kwargs: Any) -> Symbol:
    """A network by name; `data` (a name or a symbol) is what all of them take.

    Those that give scores take `classes` too.

    NameMismatch for a name that is none of `names()`, and for what is no argument of that network.
    """
    make = _MODELS.get(name.lower()) if isinstance(name, str) else None
    if make is None:
        hint = did_you_mean(name, _MODELS) if isinstance(name, str) else ""
        raise NameMismatch(f"there is no model {name!r}; there are {', '.join(_MODELS)}{hint}")
    known = signature(make).parameters
    for key in kwargs:
        if key not in known:
            raise NameMismatch(f"the model {name!r} has no argument {key!r}; it has: "
                               f"{', '.join(known)}{did_you_mean(key, known)}")
    return make(**kwargs)
