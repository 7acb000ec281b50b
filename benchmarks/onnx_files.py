"""ONNX files as rows: those of a folder or a path, the light networks of the package onnx, and the
networks of the model zoo, exported."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Shape = tuple[int, ...]
Inputs = dict[str, npt.NDArray[Any]]
LIGHT, ZOO = "light", "zoo"
INPUT, DIM = "input ", "dim "  # before names in the file of inputs
SIZES = {"inception_v3": 299}
NETWORKS = (
    "alexnet", "densenet121", "densenet161", "densenet169", "densenet201", "inception_v3",
    "mobilenet0_25", "mobilenet0_5", "mobilenet0_75", "mobilenet1_0", "mobilenet_v2_0_25",
    "mobilenet_v2_0_5", "mobilenet_v2_0_75", "mobilenet_v2_1_0", "mobilenet_v2b",
    "squeezenet1_0", "squeezenet1_1",
    *(f"resnet{depth}_{form}" for depth in (18, 34, 50, 101, 152) for form in ("v1", "v1b", "v2")),
    *(f"vgg{depth}{form}" for depth in (11, 13, 16, 19) for form in ("", "_bn")))
NINE = ("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet",
        "squeezenet", "vgg19", "zfnet512")


@dataclass(frozen=True)
class OnnxFile:
    """A model of a row. `source`: a path, `light:NAME` or `zoo:NAME`; `given`: what stands behind
    the @ on the command line."""

    source: str
    given: str = ""

    @property
    def kind(self) -> str:
        """`light`, `zoo`, or nothing for a path."""
        kind, colon, _ = self.source.partition(":")
        return kind if colon and kind in (LIGHT, ZOO) else ""

    @property
    def name(self) -> str:
        """What tables call it."""
        stem = self.source.replace(":", "-") if self.kind else Path(self.source).stem
        return "-".join([stem, *("x".join(map(str, dims)) for _, dims in self.dims())])

    @property
    def word(self) -> str:
        """What names it on a command line."""
        return f"{self.source}@{self.given}" if self.given else self.source

    def dims(self) -> list[tuple[str, Shape]]:
        """Sizes that are given: of names of dimensions one, of inputs a whole shape.

        ValueError for a word that gives none and no numbers.
        """
        found = []
        for name, value in self._words():
            if ".." in value:
                continue
            if not all(size.isdecimal() and int(size) for size in value.split("x")):
                raise ValueError(f"'{name}={value}' is neither DIMENSION=SIZE nor "
                                 "INPUT=SIZExSIZE... nor INPUT=LEAST..GREATEST")
            found.append((name, tuple(map(int, value.split("x")))))
        return found

    def ranges(self) -> dict[str, tuple[int, int]]:
        """The least and the greatest whole number of inputs for which they are given.

        ValueError for what are no two numbers in this order.
        """
        found = {}
        for name, value in self._words():
            least, dots, greatest = value.partition("..")
            if not dots:
                continue
            if not (least.isdecimal() and greatest.isdecimal() and int(least) <= int(greatest)):
                raise ValueError(f"'{name}={value}' is not INPUT=LEAST..GREATEST")
            found[name] = (int(least), int(greatest))
        return found

    def _words(self) -> Iterable[tuple[str, str]]:
        for word in filter(None, self.given.split(",")):
            name, _, value = word.rpartition("=")
            if not name:
                raise ValueError(f"{word!r} is neither DIMENSION=SIZE nor INPUT=SIZExSIZE... nor "
                                 "INPUT=LEAST..GREATEST")
            yield name, value

    def path(self, folder: Path) -> Path:
        """Where the file is, or will be made."""
        return folder / f"{self.name}.onnx" if self.kind else Path(self.source)


def parse(text: str) -> list[OnnxFile]:
    """The files that a word of the command line names: a path, a folder, `light`, `zoo`,
    `light:NAME` or `zoo:NAME`, and behind an @ what their inputs leave open, as
    `width=320,x=1x3x48x320,tokens=0..256`.

    ValueError for what is none of these.
    """
    source, _, given = text.partition("@")
    files = [OnnxFile(one, given) for one in _sources(source)]
    for file in files[:1]:
        file.dims()
        file.ranges()
    return files


def _sources(source: str) -> Iterable[str]:
    known = {LIGHT: NINE, ZOO: NETWORKS}
    if source in known:
        return [f"{source}:{name}" for name in known[source]]
    kind, colon, name = source.partition(":")
    if colon and kind in known:
        if name not in known[kind]:
            raise ValueError(f"there is no {name!r}; there are {', '.join(known[kind])}")
        return [source]
    path = Path(source).resolve()
    if path.is_dir():
        return [str(file) for file in sorted(path.glob("*.onnx"))]
    if not path.is_file():
        raise ValueError(f"there is no file {source!r}")
    return [str(path)]


def inputs_path(folder: Path, name: str, batch: int) -> Path:
    """Where the inputs of a file are."""
    return folder / f"{name}-b{batch}.inputs.npz"


def read_inputs(path: Path) -> tuple[Inputs, dict[str, int]]:
    """What `prepare` wrote: inputs, and sizes of named dimensions."""
    with np.load(path, allow_pickle=False) as found:
        return ({key.removeprefix(INPUT): found[key] for key in found if key.startswith(INPUT)},
                {key.removeprefix(DIM): int(found[key]) for key in found if key.startswith(DIM)})
