"""Measured times in JSON files, written atomically and fully checked when read."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from math import isfinite
from typing import Any, BinaryIO

from ...errors import ModelFormatError
from ...op.choose import KERNELS
from ...symbol.atomic_file import write_atomic
from ...symbol.json_text import parse_json, read_json_bytes
from ..checks import check_path
from ..layout.choose import LAYOUTS
from .table import (
    GraphKey,
    GraphPlan,
    Machine,
    Measurements,
    NodeKey,
    Reorders,
    TuningTable,
    this_machine,
)

FORMAT = "ndarray_rt tuning"
VERSION = 2


def read_tuning(fname: str | os.PathLike[str]) -> Measurements:
    """The contents of a file. MXNetError if it can not be read, ModelFormatError, which says what
    is wrong, if it is not such a file."""
    what = f"reading tuning from {os.fspath(fname)!r}"
    content = parse_json(read_json_bytes(fname, what), what)
    try:
        return _measurements(content)
    except (ValueError, OverflowError) as error:
        raise ModelFormatError(str(error), what) from None


# the table of this process
TABLE = TuningTable(read_tuning)


def save_tuning(fname: str | os.PathLike[str]) -> None:
    """Writes all times measured or loaded to a file, for `load_tuning` or `NDRT_TUNING`.

    Includes those of other machines. If anything fails an existing file stays as it was. Raises
    MXNetError if the file can not be written, TypeMismatch or ParameterError for an invalid file
    name.
    """
    name = check_path("save_tuning: fname", fname)
    text = json.dumps(_content(TABLE.all()), indent=1, allow_nan=False)

    def write(file: BinaryIO) -> None:
        file.write(text.encode())
    write_atomic(name, write)


def load_tuning(fname: str | os.PathLike[str]) -> int:
    """Adds the contents of a file of `save_tuning`, which graphs planned from now on use.

    Returns the number of its nodes and graphs that are of this machine (CPU, instruction sets,
    oneDNN), for any number of threads; others are only kept for the next `save_tuning`. If it
    raises nothing is added: MXNetError if the file can not be read, ModelFormatError for another
    format or version or for impossible contents, TypeMismatch or ParameterError for an invalid file
    name.
    """
    found = read_tuning(check_path("load_tuning: fname", fname))
    TABLE.put(found)
    here = this_machine()[:-1]
    return sum(machine[:-1] == here for machine in _machines(found))


def clear_tuning() -> None:
    """Forgets all times measured or loaded; executors keep their plans."""
    TABLE.clear()


def tuning_stats() -> dict[str, int]:
    """Size and use of the table: `nodes` and `graphs` of this machine and number of threads,
    `other_nodes` and `other_graphs` of others; `hits` and `misses` count graphs that could be
    planned from it, and that could not."""
    return TABLE.stats()


def _machines(found: Measurements) -> list[Machine]:
    """The machine of each node and each graph."""
    return [*(key.machine for key in found.nodes), *(key.machine for key in found.graphs)]


# ---- to JSON and back ---------------------------------------------------------------------------


def _content(all_of_it: Measurements) -> dict[str, Any]:
    machines = list(dict.fromkeys([*all_of_it.reorders, *_machines(all_of_it)]))
    place = {machine: i for i, machine in enumerate(machines)}
    return {
        "format": FORMAT, "version": VERSION,
        "machines": [machine._asdict() for machine in machines],
        "nodes": [{"machine": place[key.machine], "operator": key.operator, "params": key.params,
                   "shapes": key.shapes, "dtype": key.dtype, "milliseconds": times}
                  for key, times in all_of_it.nodes.items()],
        "graphs": [{"machine": place[key.machine], "graph": key.digest,
                    "families": plan.layouts, "milliseconds": plan.milliseconds,
                    "tiling": plan.tiling, "kernels": plan.kernels}
                   for key, plan in all_of_it.graphs.items()],
        "reorders": [{"machine": place[machine], "costs": costs}
                     for machine, costs in all_of_it.reorders.items()],
    }


def _measurements(content: Any) -> Measurements:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError("it is no file of save_tuning")
    if content.get("version") != VERSION or isinstance(content["version"], bool):
        raise ValueError(f"it is of version {content.get('version')!r}, expected {VERSION}")
    machines = [Machine(_text(m, "isa"), _text(m, "onednn"), _text(m, "cpu"),
                        _count(_field(m, "threads"), "threads"))
                for m in _list(content, "machines")]

    def machine(row: Any) -> Machine:
        number = _count(_field(row, "machine"), "machine")
        if number >= len(machines):
            raise ValueError(f"machine {number} is not among the {len(machines)} machines")
        return machines[number]

    nodes = {NodeKey(machine(row), _text(row, "operator"), _text(row, "params"),
                     tuple(_shape(shape) for shape in _list(row, "shapes")), _text(row, "dtype")):
             _times(row) for row in _list(content, "nodes")}
    graphs = {GraphKey(machine(row), _text(row, "graph")):
              GraphPlan(tuple(_layout(f) for f in _list(row, "families")),
                        _time(_field(row, "milliseconds")), _tiling(_field(row, "tiling")),
                        tuple(_kernel(k) for k in _list({"kernels": [], **row}, "kernels")))
              for row in _list(content, "graphs")}
    reorders = {machine(row): _reorders(_list(row, "costs")) for row in _list(content, "reorders")}
    return Measurements(nodes, graphs, reorders)


def _field(row: Any, name: str) -> Any:
    if not isinstance(row, dict) or name not in row:
        raise ValueError(f"an entry has no {name!r}: {row!r:.80}")
    return row[name]


def _list(row: Any, name: str) -> list[Any]:
    found = _field(row, name)
    if not isinstance(found, list):
        raise ValueError(f"{name!r} is {found!r:.80}, expected a list")
    return found


def _text(row: Any, name: str) -> str:
    found = _field(row, name)
    if not isinstance(found, str):
        raise ValueError(f"{name!r} is {found!r:.80}, expected a string")
    return found


def _count(value: Any, what: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{what} is {value!r:.80}, expected a number from 0 up")
    return value


def _shape(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list):
        raise ValueError(f"a shape is {value!r:.80}, expected a list of numbers")
    return tuple(_count(size, "a size") for size in value)


def _layout(value: Any) -> str:
    if value not in LAYOUTS:
        raise ValueError(f"a layout is {value!r:.80}, expected one of {LAYOUTS}")
    return str(value)


def _kernel(value: Any) -> str:
    if value not in ("", *KERNELS):
        raise ValueError(f"whose kernel it is is {value!r:.80}, expected one of {KERNELS} or ''")
    return str(value)


def _time(value: Any) -> float:
    if (not isinstance(value, (int, float)) or isinstance(value, bool) or not isfinite(value)
            or value < 0):
        raise ValueError(f"a time is {value!r:.80}, expected milliseconds")
    return float(value)


def _tiling(value: Any) -> tuple[int, int] | None:
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError(f"a tiling is {value!r:.80}, expected a position and a number of samples")
    return _count(value[0], "the end of tiles"), _count(value[1], "the samples of a tile")


def _times(row: Any) -> dict[str, float]:
    found = _field(row, "milliseconds")
    if not isinstance(found, dict):
        raise ValueError(f"times are {found!r:.80}, expected milliseconds by layout or kernel")
    unknown = [key for key in found if key not in (*LAYOUTS, *KERNELS)]
    if unknown:
        raise ValueError(f"times are of {unknown[0]!r:.80}, expected layouts "
                         f"{LAYOUTS} or kernels {KERNELS}")
    return {str(key): _time(time) for key, time in found.items()}


def _reorders(costs: Sequence[Any]) -> Reorders:
    pairs = []
    for pair in costs:
        if not isinstance(pair, list) or len(pair) != 2 or not _time(pair[0]):
            raise ValueError(f"the cost of a reorder is {pair!r:.80}, expected bytes and "
                             "milliseconds")
        pairs.append((_time(pair[0]), _time(pair[1])))
    if len(pairs) != 2 or pairs[0][0] >= pairs[1][0]:
        raise ValueError(f"costs of reorders are {costs!r:.80}, expected a small one and a large "
                         "one")
    return pairs[0], pairs[1]
