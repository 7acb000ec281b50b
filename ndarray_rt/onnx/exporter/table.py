"""The table of operators that have a form in ONNX: a function of a Call for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .call import Call

# gives the tensor of the first output, or those of all
Exports = Callable[["Call"], "str | Sequence[str]"]


class Refused(Exception):
    """A node has no form in ONNX; the text says why."""


@dataclass(frozen=True)
class Form:
    """How an operator is written. `ignores` are positions of inputs of which nothing is read."""

    function: Exports
    ignores: frozenset[int] = frozenset()


FORMS: dict[str, Form] = {}
_FAMILIES = ("layers", "norms", "activations", "elementwise", "shapes", "indexing", "reduce",
             "products", "recurrent", "attention", "sequences", "images", "regions", "loops",
             "detection", "matrices", "deformable", "quantized")


def exports(*names: str, ignores: Iterable[int] = ()) -> Callable[[Exports], Exports]:
    """Decorator: the form of the operators with these names."""
    def add(function: Exports) -> Exports:
        for name in names:
            FORMS[name] = Form(function, frozenset(ignores))
        return function
    return add


def load_forms() -> dict[str, Form]:
    """The whole table."""
    for name in _FAMILIES:
        import_module(f"{__package__}.ops.{name}")
    return FORMS
