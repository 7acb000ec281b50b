"""Runs a model on arrays (.npy, .npz), pictures or random numbers, and shows or writes what it
gives."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import BinaryIO

import numpy as np

from ..dtypes import dtype_name
from ..errors import ParameterError
from ..symbol.atomic_file import write_atomic
from .inputs import add_input_arguments, inputs_of, named
from .model_file import Array, add_model_arguments, open_model
from .output import note, show_json, table

NAME, HELP = "run", "run a model on arrays, pictures or random numbers"
_MOST_SHOWN = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser)
    add_input_arguments(parser)
    parser.add_argument("--output", metavar="FILE", help="all outputs as .npz, or one as .npy")


def run(given: argparse.Namespace) -> int:
    model = open_model(given)
    values = inputs_of(model, given)
    found = model.run(values)
    files = named(model, given)
    for slot in model.inputs:
        if slot.name not in files:
            note(f"input {slot.name!r}: random numbers of seed {given.seed} (--input "
                 f"{slot.name}=FILE for others)")
    made = dict(zip([slot.name for slot in model.outputs], found, strict=True))
    if given.output is not None:
        write_outputs(given.output, made)
    if given.json:
        show_json({"outputs": [{"name": name, "shape": list(x.shape), "dtype": dtype_name(x.dtype),
                                **({"values": x.tolist()} if given.output is None else {})}
                               for name, x in made.items()], "written": given.output})
    else:
        print("\n".join(_text(name, x) for name, x in made.items()))
    return 0


# ---- outputs -----------------------------------------------------------------------------------


def write_outputs(path: str, made: Mapping[str, Array]) -> None:
    """Writes outputs: as an .npz file by name, or the only one as .npy."""
    if path.endswith(".npy"):
        if len(made) != 1:
            raise ParameterError(f"--output {path!r}: there are {len(made)} outputs, write them "
                                 "to an .npz file")
        (value,) = made.values()

        def write(file: BinaryIO) -> None:
            np.save(file, value, allow_pickle=False)
        write_atomic(path, write)
    elif path.endswith(".npz"):
        from ..io.npz_file import save_numpy
        save_numpy(path, made)
    else:
        raise ParameterError(f"--output {path!r} ends in neither .npz nor .npy")


def _text(name: str, x: Array) -> str:
    head = f"{name}: {x.shape} {x.dtype}"
    if x.ndim == 2 and x.shape[1] > _MOST_SHOWN and x.dtype.kind == "f":
        return "\n".join([head, *(_best(i, row) for i, row in enumerate(x))])
    with np.printoptions(threshold=20, edgeitems=2, precision=6, linewidth=120):
        return f"{head}\n{x}"


def _best(i: int, row: Array) -> str:
    """The largest numbers of a sample, as those of classes are wanted."""
    places = np.argsort(-row, kind="stable")[:_MOST_SHOWN]
    return f"sample {i}, the largest of {row.size}:\n" + table(
        [(f"  {place}", f"{row[place]:.6g}") for place in places], [0, 1])
