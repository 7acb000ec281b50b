"""Writes docs/operators.md, docs/switches.md, the indices and the type stubs of operators."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import MISSING, fields
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
# some operators tell what computes them, which is to be the same wherever this is written
os.environ["NDRT_CPU"] = "avx2"
# in a process of its own, and first: by this index what follows finds the operators
subprocess.run([sys.executable, HERE / "operator_index.py"], check=True)
subprocess.run([sys.executable, HERE.parent / "native" / "generate_kernels.py"], check=True)
if find_spec("onnx"):
    subprocess.run([sys.executable, HERE / "onnx_index.py"], check=True)

# ruff: noqa: E402
import stubs

from ndarray_rt import config
from ndarray_rt.op.registry import REGISTRY, OpDef


def names(of: object) -> str:
    return "depend on the parameters" if callable(of) else ", ".join(of) or "none"


def section(op: OpDef) -> str:
    """One operator: names, text, inputs, parameters."""
    lines = [f"## {op.name}", ""]
    if op.aliases:
        lines += [f"Also: {', '.join(f'`{a}`' for a in op.aliases)}.", ""]
    lines += [op.doc, "", f"Inputs: {names(op.inputs)}."]
    if op.aux:
        lines[-1] += f" Aux states: {names(op.aux)}."
    lines.append("Native path: " + ("yes." if op.compute_ex else "no, NumPy computes it."))
    params = fields(op.params)
    if params:
        lines += ["", "| parameter | takes | default | meaning |", "|---|---|---|---|"]
    for field in params:
        default = "required" if field.default is MISSING else f"`{field.default!r}`"
        lines.append(f"| `{field.name}` | {field.metadata['wants']} | {default} | "
                     f"{field.metadata['doc']} |")
    return "\n".join(lines)


def main() -> None:
    ops = [op for op in REGISTRY.ops() if op.is_public]
    text = ["# Operators", "", "Written by `make docs` from the registry.", ""]
    text += [section(op) + "\n" for op in ops]
    (HERE / "operators.md").write_text("\n".join(text))
    (HERE / "switches.md").write_text(
        "# Switches\n\nEnvironment variables, read at import; an empty one counts as not set. "
        "`ndarray_rt.config.override(...)` "
        "changes them in a `with` block, but for those that are read at import alone.\n"
        "Written by `make docs`.\n\n" + config.table() + "\n")
    print(f"{len(ops)} operators, {len(config.SWITCHES)} switches, {stubs.write()} typed functions")


if __name__ == "__main__":
    main()
