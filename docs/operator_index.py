"""Writes ndarray_rt/operator_index.py: which module registers which operators.

It is found by importing every module of operators, without the package's own `__init__`, so
without the index as it was.
"""

from __future__ import annotations

import importlib
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ndarray_rt.op.registry import OpDef

PACKAGE = Path(__file__).parent.parent / "ndarray_rt"
TARGET = PACKAGE / "operator_index.py"
FOLDERS = ("ops", "imperative")
HEAD = '''"""Which module registers which operators, by names and aliases: written by `make docs`.

A module is imported when one of its operators is first asked for (docs/architecture.md).
"""

from __future__ import annotations
'''


def modules() -> list[str]:
    """The modules that may register operators."""
    return [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
            for folder in FOLDERS for path in sorted((PACKAGE / folder).rglob("*.py"))
            if path.name != "__init__.py"]


def registered() -> dict[str, list[OpDef]]:
    """Module -> the operators that it registers, in a process that has not imported the package."""
    bare: Any = ModuleType(PACKAGE.name)
    bare.__path__ = [str(PACKAGE)]
    sys.modules[PACKAGE.name] = bare
    registry: Any = importlib.import_module("ndarray_rt.op.registry")
    found: dict[str, list[OpDef]] = {}
    register = registry.register

    def note(op: OpDef) -> OpDef:
        frame: Any = sys._getframe(1)
        while frame.f_code.co_name != "<module>":
            frame = frame.f_back
        found.setdefault(frame.f_globals["__name__"], []).append(op)
        made: OpDef = register(op)
        return made

    registry.register = note
    for module in modules():
        importlib.import_module(module)
    return found


def spelled(names: list[str], indent: str) -> list[str]:
    """Names with blanks between them as a literal of Python, in lines."""
    pieces = textwrap.wrap(" ".join(names), 88, break_long_words=False, break_on_hyphens=False)
    return [f'{indent}"{piece} "' for piece in pieces[:-1]] + [f'{indent}"{pieces[-1]}"']


def text() -> str:
    """The module as it should be."""
    found = registered()
    lines = [HEAD, "PLACES = {"]
    for module in sorted(found):
        names = [name for op in found[module] for name in (op.name, *op.aliases)]
        line = f'    "{module}": "{" ".join(names)}",'
        lines += [line] if len(line) <= 100 else [
            f'    "{module}": (', *spelled(names, " " * 8), "    ),"]
    hidden = sorted(name for ops in found.values() for op in ops if not op.is_public
                    for name in (op.name, *op.aliases))
    lines += ["}", "", "# made by gradients and passes only", "HIDDEN = (",
              *spelled(hidden, "    "), ")"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["--print"]:
        print(text(), end="")
    else:
        TARGET.write_text(text(), encoding="utf-8")
