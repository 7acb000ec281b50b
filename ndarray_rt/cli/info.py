"""Tells what a model takes and gives, its operators, parameters, memory, and what would be computed
by NumPy instead of oneDNN."""

from __future__ import annotations

import argparse
import os
from typing import Any

from ..errors import MXNetError
from .inputs import add_input_arguments, inputs_of
from .model_file import Model, Slot, add_model_arguments, open_model
from .output import shape_text, show_json, size_text, table

NAME, HELP = "info", "what a model takes, holds and needs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser)
    add_input_arguments(parser)


def run(given: argparse.Namespace) -> int:
    model = open_model(given)
    facts = model.facts()
    found: dict[str, Any] = {
        "files": {path: os.path.getsize(path) for path in model.files}, "kind": model.kind,
        "inputs": [_slot(slot) for slot in model.inputs],
        "operators": dict(facts.operators.most_common()),
        "parameters": {"arrays": facts.arrays, "numbers": facts.parameters,
                       "bytes": facts.nbytes}}
    found.update(_of_a_run(model, given))
    found["outputs"] = [_slot(slot) for slot in model.outputs]
    if given.json:
        show_json(found)
    else:
        print(_text(found))
    return 0


def _slot(slot: Slot) -> dict[str, Any]:
    return {"name": slot.name, "shape": None if slot.shape is None else list(slot.shape),
            "dtype": None if slot.dtype is None else str(slot.dtype)}


def _of_a_run(model: Model, given: argparse.Namespace) -> dict[str, Any]:
    """What is known only after a run; where there was none, why not, unless shapes were given."""
    try:
        return _run(model, given)
    except MXNetError as error:
        if given.shape or given.input or given.batch is not None:
            raise
        return {"ran": None, "why_not": str(error)}


def _run(model: Model, given: argparse.Namespace) -> dict[str, Any]:
    from ..storage.handle import memory_stats, reset_peak
    values = inputs_of(model, given)
    before = memory_stats()["live"]
    reset_peak()
    made = model.run(values)
    used = memory_stats()["peak"] - before
    return {"ran": {name: list(value.shape) for name, value in values.items()},
            "memory": {"bytes": used}, "result_shapes": [list(x.shape) for x in made],
            "by_numpy": _by_numpy(model.explain(values))}


def _by_numpy(explanations: list[Any]) -> list[dict[str, Any]]:
    """Steps that NumPy computes, with the reason."""
    return [{"node": row.node, "operator": row.operator,
             "reason": row.kernel.partition(":")[2].strip()}
            for explanation in explanations for row in explanation.rows if row.is_numpy]


def _text(found: dict[str, Any]) -> str:
    lines = [f"{found['kind']} model: "
             + ", ".join(f"{path} ({size_text(n)})" for path, n in found["files"].items())]
    for what in ("inputs", "outputs"):
        lines.append(f"{what}:")
        lines.append(_indented(table([(s["name"], shape_text(s["shape"]), s["dtype"] or "")
                                      for s in found[what]])))
    parameters = found["parameters"]
    lines.append(f"parameters: {parameters['numbers']:,} in {parameters['arrays']} arrays "
                 f"({size_text(parameters['bytes'])})")
    lines.append(f"operators: {sum(found['operators'].values())}")
    lines.append(_indented(table([(n, name) for name, n in found["operators"].items()], [0])))
    if found["ran"] is None:
        lines.append(f"not run: {found['why_not']}")
        return "\n".join(lines)
    ran = ", ".join(f"{name} {shape_text(shape)}" for name, shape in found["ran"].items())
    lines.append(f"run with {ran}: outputs {', '.join(map(shape_text, found['result_shapes']))}; "
                 f"{size_text(found['memory']['bytes'])} of memory beside the parameters")
    if found["by_numpy"]:
        lines.append(f"computed by NumPy: {len(found['by_numpy'])} steps")
        lines.append(_indented(table([(row["node"], row["operator"], row["reason"])
                                      for row in found["by_numpy"]])))
    else:
        lines.append("computed by NumPy: nothing")
    return "\n".join(lines)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
