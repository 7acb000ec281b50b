"""What a model is run on: arrays and pictures out of files, and random numbers."""

from __future__ import annotations

import argparse
import os
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import ModelFormatError, MXNetError, NameMismatch, ParameterError
from .arguments import from_zero, positive
from .images import ENDINGS, add_image_arguments, read_picture, way_of
from .model_file import Array, Model, Slot, regular
from .output import note, progress, shape_text


def add_input_arguments(parser: argparse.ArgumentParser) -> None:
    """What to run the model on: files, or shapes of random inputs."""
    parser.add_argument("--input", action="append", default=[], metavar="NAME=FILE",
                        help="an array (.npy, .npz) or a picture for an input; again with the same "
                             "name for a batch of pictures. A model of one input needs no NAME")
    parser.add_argument("--shape", action="append", default=[], metavar="NAME=1,3,224,224",
                        help="the shape of an input, which gets random numbers; once for each")
    parser.add_argument("--batch", type=positive, metavar="N",
                        help="the first dimension of all random inputs")
    parser.add_argument("--seed", type=from_zero, default=0, metavar="N",
                        help="of the random numbers (default: 0)")
    add_image_arguments(parser)


def inputs_of(model: Model, given: argparse.Namespace) -> dict[str, Array]:
    """An array for each input: out of files where some are given, else random numbers."""
    made = read_inputs(model, given)
    shapes = input_shapes(model, given, [s for s in model.inputs if s.name not in made])
    made.update(random_inputs(model, shapes, given.seed))
    return made


# ---- files -------------------------------------------------------------------------------------


def read_inputs(model: Model, given: argparse.Namespace) -> dict[str, Array]:
    """The arrays that --input names."""
    slots = {slot.name: slot for slot in model.inputs}
    return {name: _read(slots[name], paths, model, given)
            for name, paths in named(model, given).items()}


def named(model: Model, given: argparse.Namespace) -> dict[str, list[str]]:
    """The files that --input names, by input."""
    names = [slot.name for slot in model.inputs]
    files: dict[str, list[str]] = {}
    for text in given.input:
        name, path = _split(text, names)
        files.setdefault(name, []).append(path)
    return files


def _split(text: str, names: Sequence[str]) -> tuple[str, str]:
    # names of inputs may have a '=' too, names of files as well
    for name in sorted(names, key=len, reverse=True):
        if text.startswith(f"{name}="):
            return name, text[len(name) + 1:]
    if len(names) == 1 and ("=" not in text or os.path.exists(text)):
        return names[0], text
    raise NameMismatch(f"--input {text!r} names none of the inputs: {', '.join(names)}")


def _read(slot: Slot, paths: Sequence[str], model: Model, given: argparse.Namespace) -> Array:
    if paths[0].lower().endswith(ENDINGS):
        shape = slot.shape or model.known_shape(slot)
        way = way_of(Slot(slot.name, shape, slot.dtype), given)
        made = np.concatenate([read_picture(path, way)
                               for path in progress(paths, "pictures", len(paths))])
        if shape is None or len(shape) != 3:
            return made
        if len(made) > 1:
            raise ParameterError(f"input {slot.name!r} takes one picture, got {len(made)}")
        one: Array = made[0]
        return one
    if len(paths) > 1:
        raise ParameterError(f"input {slot.name!r} got {len(paths)} files: only pictures make a "
                             "batch together")
    value = read_array(paths[0], slot.name)
    if slot.dtype is not None and value.dtype != slot.dtype:
        if not np.can_cast(value.dtype, slot.dtype, "same_kind"):
            raise ParameterError(f"input {slot.name!r} is of {slot.dtype}, {paths[0]!r} of "
                                 f"{value.dtype}")
        value = value.astype(slot.dtype)
    return value


def read_array(path: str, name: str) -> Array:
    """An array out of a .npy file, or of this name, or the only one, out of an .npz file."""
    regular(path)
    try:
        with open(path, "rb") as file:
            found: Any = np.load(file, allow_pickle=False)
            if isinstance(found, np.ndarray):
                return found
            names = list(found.files)
            wanted = name if name in names else names[0] if len(names) == 1 else None
            if wanted is None:
                raise NameMismatch(f"{path!r} has no array {name!r}; it has: {', '.join(names)}")
            made: Array = found[wanted]
            return made
    except MXNetError:
        raise
    except OSError as error:
        raise MXNetError(f"{path!r}: {error.strerror or error}") from None
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ModelFormatError(f"no array and no picture: {error}", repr(path)) from None


# ---- random numbers ----------------------------------------------------------------------------


def parse_shapes(texts: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Shapes by name out of NAME=1,3,224,224; one without a name is under ''."""
    found = {}
    for text in texts:
        name, _, dims = text.rpartition("=")
        try:
            shape = tuple(int(dim) for dim in dims.strip("()").split(",") if dim.strip())
        except ValueError:
            shape = (-1,)
        if any(dim < 0 for dim in shape):
            raise ParameterError(f"--shape got {text!r}, expected NAME=1,3,224,224")
        found[name] = shape
    return found


def input_shapes(model: Model, given: argparse.Namespace,
                 slots: Sequence[Slot]) -> dict[str, tuple[int, ...]]:
    """A shape for each of these inputs: as given, else as the file tells it, with 1 for a batch
    that it leaves open. What was chosen is told. ParameterError where nothing is known."""
    asked = parse_shapes(given.shape)
    if "" in asked:
        if len(slots) != 1:
            raise ParameterError(f"--shape needs the name of an input: there are {len(slots)}")
        asked[slots[0].name] = asked.pop("")
    for name in asked:
        if name not in [slot.name for slot in slots]:
            raise NameMismatch(f"--shape: there is no input {name!r}; there are: "
                               f"{', '.join(slot.name for slot in slots)}")
    found = {}
    for slot in slots:
        shape = asked.get(slot.name)
        if shape is None:
            shape = _chosen(model, slot)
        if given.batch is not None and shape:
            shape = (given.batch, *shape[1:])
        found[slot.name] = shape
    return found


def _chosen(model: Model, slot: Slot) -> tuple[int, ...]:
    known = model.known_shape(slot)
    if known is not None:
        note(f"input {slot.name!r}: the file tells no shape; took {known}, which fits")
        return known
    if slot.shape is None:
        raise ParameterError(f"input {slot.name!r}: the file tells no shape: give --shape "
                             f"{slot.name}=...")
    open_dims = [i for i, dim in enumerate(slot.shape) if not isinstance(dim, int)]
    if any(i > 0 for i in open_dims):
        raise ParameterError(f"input {slot.name!r} has shape {shape_text(slot.shape)}: give "
                             f"--shape {slot.name}=... for what is open in it")
    return tuple(dim if isinstance(dim, int) else 1 for dim in slot.shape)


def random_inputs(model: Model, shapes: Mapping[str, tuple[int, ...]],
                  seed: int) -> dict[str, Array]:
    """Contents for inputs: floats from a normal distribution, whole numbers of 0 and 1."""
    source = np.random.default_rng(seed)
    made: dict[str, Array] = {}
    slots = {slot.name: slot for slot in model.inputs}
    for name, shape in shapes.items():
        slot = slots[name]
        dtype = np.dtype(np.float32) if slot.dtype is None else slot.dtype
        if dtype.kind not in "fiub":
            raise ParameterError(f"input {slot.name!r} is of text: random inputs are numbers")
        try:
            numbers = (source.standard_normal(shape) if dtype.kind == "f"
                       else source.integers(0, 2, shape))
            made[name] = np.asarray(numbers).astype(dtype)
        except (ValueError, MemoryError) as error:
            raise ParameterError(f"input {name!r}: no array of shape {shape_text(shape)} can be "
                                 f"made: {error}") from None
    return made
