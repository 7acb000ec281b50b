"""Models in files, whichever form they have: opened, and then run by NumPy arrays by name."""

from __future__ import annotations

import argparse
import os
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import config
from ..errors import MXNetError, ParameterError
from .arguments import positive
from .output import note

Array = np.ndarray[Any, np.dtype[Any]]
Values = Mapping[str, Array]

ONNX, MXNET = "ONNX", "MXNet"


@dataclass(frozen=True)
class Slot:
    """An input or output: of a dimension an int, a name or None; None where nothing is known."""

    name: str
    shape: tuple[int | str | None, ...] | None
    dtype: np.dtype[Any] | None


@dataclass
class Facts:
    """What a file holds: operators by name, and its parameters."""

    operators: Counter[str] = field(default_factory=Counter)
    parameters: int = 0
    arrays: int = 0
    nbytes: int = 0


class Model(ABC):
    """A model that can be run. What one run gives stands until the next."""

    kind: str
    files: tuple[str, ...]

    @property
    @abstractmethod
    def inputs(self) -> list[Slot]:
        """What a run takes."""

    @property
    @abstractmethod
    def outputs(self) -> list[Slot]:
        """What a run gives."""

    @abstractmethod
    def run(self, values: Values) -> list[Array]:
        """The outputs for these inputs."""

    @abstractmethod
    def again(self) -> Model:
        """The same model with nothing planned yet."""

    @abstractmethod
    def tune(self, values: Values) -> list[Any]:
        """What was found by measuring, for each graph."""

    @abstractmethod
    def explain(self, values: Values) -> list[Any]:
        """What each step does, for each graph."""

    @abstractmethod
    def facts(self) -> Facts:
        """Operators and parameters."""

    def known_shape(self, slot: Slot) -> tuple[int, ...] | None:
        """The shape of an input where the file does not tell it and yet it can be told."""
        return None


# ---- opening -----------------------------------------------------------------------------------


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """The file, and what goes with it."""
    parser.add_argument("model", metavar="FILE", help="an .onnx file, or one of MXNet's pair: "
                        "NAME-symbol.json, NAME-0000.params, or NAME alone")
    parser.add_argument("--params", metavar="FILE", help="parameters of MXNet's symbol, where they "
                        "are not beside it, or there are several files")
    parser.add_argument("--threads", type=positive, metavar="N", help="how many compute")
    parser.add_argument("--precision", choices=config.PRECISIONS, metavar="P", help="what layers "
                        f"compute in: {', '.join(config.PRECISIONS)} (docs/precision.md)")


def regular(path: str) -> None:
    """MXNetError for a pipe, a device or a folder: who opens a pipe may wait for ever. What is not
    there is left to its reader."""
    if os.path.exists(path) and not os.path.isfile(path):
        what = "a folder" if os.path.isdir(path) else "a pipe or a device"
        raise MXNetError(f"{path!r} is {what}, expected a regular file")


def open_model(given: argparse.Namespace) -> Model:
    """The model that the arguments name. Raises MXNetError where there is none, or as readers do.
    """
    if given.threads is not None:
        from ..threads import set_num_threads
        set_num_threads(given.threads)
    path = given.model
    if path.endswith(".onnx"):
        if given.params is not None:
            raise ParameterError("--params is for MXNet's models: an .onnx file has its own")
        regular(path)
        from .onnx_model import OnnxModel
        return OnnxModel(path, given.precision)
    from .mxnet_model import MXNetModel
    return MXNetModel(*find_pair(path, given.params), given.precision)


def find_pair(path: str, params: str | None) -> tuple[str, str]:
    """(symbol file, parameter file) of a model: each may be given, or what both begin with.

    Of several parameter files the last epoch's is taken, which is told.
    """
    if match := re.fullmatch(r"(.*)-\d{4}\.params", path):
        symbol, params = f"{match[1]}-symbol.json", params or path
    elif path.endswith(".json"):
        symbol = path
    elif os.path.exists(f"{path}-symbol.json"):
        symbol = f"{path}-symbol.json"
    else:
        raise MXNetError(f"{path!r}: expected an .onnx file, or a file of MXNet's pair "
                         "NAME-symbol.json and NAME-0000.params")
    if not os.path.exists(symbol):
        raise MXNetError(f"{symbol!r}: there is no such file")
    found = symbol, params or _params_beside(symbol)
    for file in found:
        regular(file)
    return found


def _params_beside(symbol: str) -> str:
    prefix = symbol.removesuffix(".json").removesuffix("-symbol")
    folder, base = os.path.split(prefix)
    pattern = re.compile(re.escape(base) + r"(-\d{4})?\.params")
    found = sorted(name for name in os.listdir(folder or ".") if pattern.fullmatch(name))
    if not found:
        raise MXNetError(f"{symbol!r}: there are no parameters beside it ({base}-0000.params): "
                         "give --params")
    if len(found) > 1:
        note(f"parameters: {found[-1]}, the last of {len(found)} (--params for others)")
    return os.path.join(folder, found[-1])


@contextmanager
def naive() -> Iterator[None]:
    """NumPy computes, step by step, with nothing fused, shared or recorded."""
    with config.override(NDRT_ONEDNN=False, NDRT_CAPTURE=False, NDRT_PLAN_MEMORY=False,
                         NDRT_BATCH_TILES=False, NDRT_SKIP_PASSES="all"):
        yield
