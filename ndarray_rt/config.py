"""Every switch of the runtime: name, default, meaning. Nothing else reads the environment.

A switch is read as an attribute, `config.NDRT_TRACE`: from the environment once, at the first
import, unless `override` or `set` say otherwise. A variable that is empty counts as not set.
Asking for a name that is not declared raises.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from .fork import renew_in_child
from .public import shows

__all__ = ["SWITCHES", "Switch", "default", "environment", "get_variable", "override", "reset",
           "set", "set_variable", "table"]


@dataclass(frozen=True)
class Switch:
    """One switch: what it is called, what it is when nobody says, what it does, how to read it."""

    name: str
    default: Any
    doc: str
    parse: Callable[[str], Any]
    at_import: bool = False  # native code takes it then, once


def _flag(text: str) -> bool:
    value = text.strip().lower()
    if value in ("1", "true", "on", "yes"):
        return True
    if value in ("0", "false", "off", "no"):
        return False
    raise ValueError("expected 0 or 1")


def _count(text: str) -> int:
    value = int(text)
    if not 0 <= value < 1 << 31:
        raise ValueError("expected a number from 0 up, below 2**31")
    return value


def _text(text: str) -> str:
    return text


# what ndarray_rt.precision tells of
PRECISIONS = ("strict", "float32", "medium", "bfloat16", "auto")


def parse_precision(text: str) -> str:
    """The name of a precision; ValueError for what is none."""
    name = text.strip().lower()
    if name == "high":
        raise ValueError("there are no kernels of three bfloat16 products to a float32 one, which "
                         f"'high' asks for; expected one of {', '.join(PRECISIONS)}")
    if name not in PRECISIONS:
        raise ValueError(f"expected one of {', '.join(PRECISIONS)}")
    return name


SWITCHES: tuple[Switch, ...] = (
    Switch(
        "NDRT_ONEDNN_LIBRARY",
        "",
        "file of the oneDNN 3.x library to load; empty: the one of the installed wheel",
        _text,
        at_import=True,
    ),
    Switch(
        "NDRT_CPU",
        "",
        "level of the CPU that oneDNN and native kernels keep to, not above the machine's: avx2, "
        "avx2_vnni, avx512, avx512_vnni, avx512_bf16, avx512_fp16, amx; empty: all it can do",
        _text,
        at_import=True,
    ),
    Switch("NDRT_ONEDNN", True, "0 makes every operator run without oneDNN", _flag),
    Switch(
        "NDRT_NUM_THREADS",
        0,
        "threads of native code; 0: from OMP_NUM_THREADS, CPU affinity and container quota",
        _count,
        at_import=True,
    ),
    Switch(
        "NDRT_FLUSH_SUBNORMALS",
        True,
        "subnormal floats count as 0 in native code; 0 keeps them and may be 200 times slower",
        _flag,
        at_import=True,
    ),
    Switch(
        "NDRT_YIELD_CORES",
        True,
        "threads of a team sleep while they wait where other processes use their cores; 0: they "
        "always spin",
        _flag,
        at_import=True,
    ),
    Switch("NDRT_PLAN_MEMORY", True, "0 gives every array of an executor its own memory", _flag),
    Switch(
        "NDRT_BATCH_TILES",
        True,
        "0 lets no executor run its first layers for a part of the batch at a time",
        _flag,
    ),
    Switch(
        "NDRT_SKIP_PASSES",
        "",
        "passes that inference graphs are not put through, with commas between; all: none of them",
        _text,
    ),
    Switch(
        "NDRT_TRAINING_LAYOUTS",
        True,
        "weights of convolutions, their gradients and the states of optimizers stay in a layout of "
        "oneDNN's while they are trained; 0: in the default layout",
        _flag,
    ),
    Switch(
        "NDRT_PRECISION",
        "float32",
        "what graphs for inference compute in, where nothing else is said when they are bound: "
        "strict, float32, medium, bfloat16, auto",
        parse_precision,
    ),
    Switch("NDRT_CAPTURE", True, "0 makes executors run step by step, without recording", _flag),
    Switch(
        "NDRT_CACHE_SHAPES",
        256,
        "groups of input shapes whose primitives are kept; the oldest group leaves as a whole",
        _count,
    ),
    Switch(
        "NDRT_POOL_MIB",
        1024,
        "MiB of freed memory kept for reuse at most; less where less was in use of late",
        _count,
        at_import=True,
    ),
    Switch(
        "NDRT_TUNING",
        "",
        "file of executor.save_tuning whose measured times plan layouts; read at the first use",
        _text,
    ),
    Switch("NDRT_TRACE", False, "print each dispatch: path, reason, layouts, time", _flag),
    Switch("NDRT_VALIDATE", False, "run each operator on NumPy too and compare the results", _flag),
    Switch("NDRT_SHADOW_MXNET", False,
           "1 lets ndarray_rt.mxnet take the place of an MXNet that is installed", _flag),
)

_BY_NAME: Mapping[str, Switch] = {switch.name: switch for switch in SWITCHES}


class _Lock:
    """Guards changes of the values."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        renew_in_child(self)

    def _renew_locks(self) -> None:
        self.lock = threading.Lock()


_guard = _Lock()

__all__ += [switch.name for switch in SWITCHES]
__dir__ = shows(globals())

NDRT_ONEDNN_LIBRARY: str
NDRT_CPU: str
NDRT_ONEDNN: bool
NDRT_NUM_THREADS: int
NDRT_FLUSH_SUBNORMALS: bool
NDRT_YIELD_CORES: bool
NDRT_PLAN_MEMORY: bool
NDRT_BATCH_TILES: bool
NDRT_SKIP_PASSES: str
NDRT_TRAINING_LAYOUTS: bool
NDRT_CAPTURE: bool
NDRT_PRECISION: str
NDRT_SHADOW_MXNET: bool
NDRT_CACHE_SHAPES: int
NDRT_POOL_MIB: int
NDRT_TUNING: str
NDRT_TRACE: bool
NDRT_VALIDATE: bool


def _parse(switch: Switch, text: str) -> Any:
    """What is empty says nothing, for every switch."""
    return switch.parse(text) if text.strip() else switch.default


def _read(switch: Switch) -> Any:
    text = os.environ.get(switch.name, "")
    try:
        return _parse(switch, text)
    except ValueError as error:
        raise ValueError(f"{switch.name}={text!r}: {error}; {switch.doc}") from None


def _find(name: str) -> Switch:
    try:
        return _BY_NAME[name]
    except KeyError:
        known = ", ".join(_BY_NAME)
        raise ValueError(f"there is no switch {name}; there are {known}") from None


def _checked(name: str, value: Any) -> Any:
    """`value` as the switch's own type: `override(NDRT_TRACE="1")` and `=1` mean the same."""
    switch = _find(name)
    if switch.at_import:
        raise ValueError(f"{name} is read when ndarray_rt is imported: set the environment "
                         "variable before")
    if isinstance(value, type(switch.default)) and not isinstance(value, str):
        if isinstance(switch.default, int) and value < 0:
            raise ValueError(f"{name}={value!r}: expected a number from 0 up")
        return value
    try:
        return _parse(switch, str(int(value)) if isinstance(value, bool) else str(value))
    except ValueError as error:
        raise ValueError(f"{name}={value!r}: {error}; {switch.doc}") from None


def default(name: str) -> Any:
    """What a switch is when nobody says."""
    return _find(name).default


# counts changes of switches, and of all else that decides how operators are run: what was
# decided at one number holds as long as that is the number
epoch = 0


def note_change() -> None:
    """Something changed that decides how operators are run."""
    globals()["epoch"] += 1


def set(name: str, value: Any) -> None:
    """Sets a switch for the whole process, until `reset`."""
    globals()[name] = _checked(name, value)
    note_change()


def reset(name: str | None = None) -> None:
    """Reads one switch, or all of them, from the environment again."""
    for switch in SWITCHES if name is None else (_find(name),):
        globals()[switch.name] = _read(switch)
    note_change()


@contextmanager
def override(**values: Any) -> Iterator[None]:
    """Other values inside the `with` block, for the whole process; the old ones come back."""
    new = {name: _checked(name, value) for name, value in values.items()}
    with _guard.lock:
        old = {name: globals()[name] for name in new}
    try:
        with _guard.lock:
            globals().update(new)
            note_change()
        yield
    finally:
        with _guard.lock:
            globals().update(old)
            note_change()


def set_variable(name: str, value: str | None) -> str | None:
    """Sets an environment variable, or takes it away (None); gives the value it had before.

    A switch of that name is read again.
    """
    before = os.environ.get(name)
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value
    if name in _BY_NAME:
        reset(name)
    return before


def get_variable(name: str) -> str | None:
    """An environment variable, None when it is not set."""
    return os.environ.get(name)


@contextmanager
def environment(values: Mapping[str, str | None]) -> Iterator[None]:
    """Other environment variables inside the `with` block; switches among them take effect."""
    switches = {name: globals()[name] for name in values if name in _BY_NAME}
    before: dict[str, str | None] = {}
    try:
        for name, value in values.items():
            before[name] = os.environ.get(name)
            set_variable(name, value)
        yield
    finally:
        for name, old in before.items():
            set_variable(name, old)
        globals().update({name: switches[name] for name in before if name in switches})
        note_change()


def table() -> str:
    """The switches as a Markdown table, for the documentation."""
    rows = [f"| `{s.name}` | `{s.default!r}` | {s.doc}{'; at import alone' * s.at_import} |"
            for s in SWITCHES]
    return "\n".join(["| switch | default | meaning |", "|---|---|---|", *rows])


reset()
