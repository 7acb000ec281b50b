"""The ONNX operators, a file for each family; each puts its own into the table."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from ..index import FAMILIES


@cache
def _places() -> dict[str, str]:
    return {name: family for family, names in FAMILIES.items() for name in names.split()}


def load_family(op: str) -> bool:
    """Imports what has the operator with this name; whether there is one."""
    family = _places().get(op)
    if family is not None:
        import_module(f"{__name__}.{family}")
    return family is not None
