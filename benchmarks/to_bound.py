"""Parameters and input of a prepared model as benchmarks/bound reads them."""

from __future__ import annotations

import subprocess
from math import prod
from pathlib import Path

import numpy as np

from .graph import Array, Graph, Unsupported, read_graph
from .models import MODELS, Files


def ordered_parameters(graph: Graph) -> list[tuple[str, Array]]:
    """Parameters in the order in which nodes read them, each once."""
    found = {name: graph.params[name] for node in graph.nodes for name in node.inputs
             if name in graph.params}
    return list(found.items())


def wanted_sizes(program: Path, net: str) -> list[tuple[str, int]]:
    """What the program reads, in its order: names of its own and numbers of values."""
    done = subprocess.run([program, "--net", net, "--list-params"], text=True, check=True,
                          stdout=subprocess.PIPE)
    rows = [line.split() for line in done.stdout.splitlines()]
    return [(name, prod(map(int, sizes))) for name, *sizes in rows if name != "input"]


def write_floats(program: Path, files: Files, batch: int) -> Path:
    """Writes the file for one batch size and returns its path.

    Unsupported when the program wants other sizes in another order than the graph has.
    """
    model, graph = MODELS[files.model], read_graph(files)
    assert model.bound is not None
    have, want = ordered_parameters(graph), wanted_sizes(program, model.bound)
    if [array.size for _, array in have] != [size for _, size in want]:
        pairs = zip(have, want, strict=False)
        first = next((f"{name} has {array.size} values, {other} {size}"
                      for (name, array), (other, size) in pairs if array.size != size),
                     f"{len(have)} parameters against {len(want)}")
        raise Unsupported(f"{files.model} is not the bound's {model.bound}: {first}")
    path = files.floats(batch)
    with path.open("wb") as out:
        for _, array in have:
            array.astype("<f4").tofile(out)
        np.asarray(model.make_data(batch), "<f4").tofile(out)
    return path
