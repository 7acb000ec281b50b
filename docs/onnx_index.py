"""Writes ndarray_rt/onnx/index.py: which module has which operators of ONNX, and of which versions
there are definitions."""

from __future__ import annotations

import sys
import textwrap
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

TARGET = Path(__file__).parent.parent / "ndarray_rt" / "onnx" / "index.py"
HEAD = '''"""Operators of ai.onnx: which module of `ops` has which, and the sets that define it.

Written by `make docs` from the package onnx.

With f behind the number of a set the definition is a function of other operators. TEXTS says of
each input of the operators that take text whether it is text, numbers, or any of both: t, n, a.
"""

from __future__ import annotations
'''


def families() -> dict[str, list[str]]:
    """Module -> names of its operators."""
    from ndarray_rt.onnx import ops
    from ndarray_rt.onnx.table import SPECIAL, TABLE
    for module in iter_modules(ops.__path__):
        import_module(f"{ops.__name__}.{module.name}")
    found: dict[str, list[str]] = defaultdict(list)
    places = {key: op.function.__module__ for key, op in TABLE.items()}
    places |= {key: function.__module__ for key, function in SPECIAL.items()}
    for (_, name), place in places.items():
        found[place.rpartition(".")[2]].append(name)
    return {place: sorted(names) for place, names in sorted(found.items())}


def versions(onnx: ModuleType) -> dict[str, list[str]]:
    """Operator -> operator sets with a definition of it, as the index spells them."""
    found: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "":
            is_function = schema.has_function or schema.has_context_dependent_function
            found[schema.name].append((schema.since_version, "f" if is_function else ""))
    return {name: [f"{number}{mark}" for number, mark in sorted(found[name])]
            for name in sorted(found)}


def texts(onnx: ModuleType) -> dict[str, str]:
    """Operator -> for each input t, n or a: text, numbers, any of both. Of those with text."""
    found: dict[str, list[set[str]]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain:
            continue
        kinds = found.setdefault(schema.name, [])
        for i, each in enumerate(schema.inputs):
            if i == len(kinds):
                kinds.append(set())
            kinds[i].update("t" if "string" in kind else "n" for kind in each.types)
    words = {name: "".join("a" if len(each) > 1 else min(each) for each in kinds)
             for name, kinds in sorted(found.items())}
    return {name: word for name, word in words.items() if word.strip("n")}


def literal(text: str) -> str:
    pieces = textwrap.wrap(text, 88, break_long_words=False, break_on_hyphens=False)
    return "(\n" + "\n".join(f'        "{piece} "' for piece in pieces[:-1]) + (
        "\n" if pieces[:-1] else "") + f'        "{pieces[-1]}")'


def text() -> str:
    """The module as it should be."""
    import onnx
    lines = [HEAD, f"NEWEST = {onnx.defs.onnx_opset_version()}", "", "FAMILIES = {"]
    lines += [f'    "{module}": {literal(" ".join(names))},'
              for module, names in families().items()]
    lines += ["}", "", "VERSIONS = {"]
    lines += [f'    "{name}": "{" ".join(numbers)}",' for name, numbers in versions(onnx).items()]
    lines += ["}", "", "TEXTS = {"]
    lines += [f'    "{name}": "{word}",' for name, word in texts(onnx).items()]
    return "\n".join([*lines, "}"]) + "\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["--print"]:
        print(text(), end="")
    else:
        TARGET.write_text(text(), encoding="utf-8")
