"""Finds the operator call that produces NaN or infinity from finite numbers."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import get_ident
from types import FrameType

import numpy as np

from .._array.copy import read_numbers
from .._array.layout import AnyArray
from .._array.ndarray import NDArray
from .._array.req import Req
from ..errors import MXNetError, where
from ..storage.stream import Stream
from .dispatch import check_calls
from .params import Params
from .registry import OpDef

PACKAGE = os.path.dirname(os.path.dirname(__file__))
KEPT = 100  # calls that a Finder keeps; further ones mostly have the same cause


@dataclass(frozen=True)
class NonFinite:
    """One call that produced NaN or infinity from finite inputs.

    `node` is the name of the graph's node, or None. `output` is the name of the first output
    that is not finite, `at` the index of its first such element. `inputs` describe what the call
    read. `location` is the line of the user's code that led to it.
    """

    op: str
    node: str | None
    params: dict[str, str]
    output: str
    nans: int
    infs: int
    size: int
    at: tuple[int, ...]
    inputs: tuple[str, ...]
    location: str

    def __str__(self) -> str:
        counts = " and ".join(f"{n} {what}" for n, what in ((self.nans, "NaN"),
                                                            (self.infs, "infinite")) if n)
        params = ", ".join(f"{key}={value}" for key, value in self.params.items())
        lines = [f"{where(self.op, self.node)} made {counts} of {self.size} elements of "
                 f"{self.output}, the first at {self.at}, out of finite inputs:",
                 *(f"  {text}" for text in self.inputs)]
        if params:
            lines.append(f"  with {params}")
        if self.location:
            lines.append(f"  called from {self.location}")
        return "\n".join(lines)


class NonFiniteError(MXNetError):
    """An operator produced NaN or infinity from finite inputs; `found` says which."""

    def __init__(self, found: NonFinite) -> None:
        super().__init__(str(found))
        self.found = found


@dataclass
class Finder:
    """Checks all calls of one thread between `start` and `stop`.

    `found` lists the calls that produced non-finite values from finite inputs, in order; with
    `raises` the first one raises instead. Calls without array inputs are not checked: their values
    are what the user asked for. Without `infinite` only NaN counts.
    """

    raises: bool = True
    infinite: bool = True
    found: list[NonFinite] = field(default_factory=list)

    @property
    def first(self) -> NonFinite | None:
        """The first call found, or None."""
        return self.found[0] if self.found else None

    def start(self) -> Callable[[], None]:
        """Begins; returns the function that ends it."""
        thread = get_ident()

        def check(op: OpDef, params: Params, node: str | None, ins: Sequence[NDArray],
                  outs: Sequence[NDArray], reqs: Sequence[Req]) -> Callable[[], None] | None:
            if get_ident() != thread or len(self.found) >= KEPT:
                return None
            return self._before(op, params, node, ins, outs, reqs)
        return check_calls(check)

    def _before(self, op: OpDef, params: Params, node: str | None, ins: Sequence[NDArray],
                outs: Sequence[NDArray], reqs: Sequence[Req]) -> Callable[[], None] | None:
        """Looks at a call's inputs; returns the check of its results, if one makes sense."""
        if not ins:
            return None
        stream = Stream()
        names = (*op.input_names(params), *op.aux_names(params))
        ignored = op.ignored(params)
        read = [(name, x) for i, (name, x) in enumerate(zip(names, ins, strict=True))
                if i not in ignored]
        read += [(name, y) for name, y, req in zip(op.output_names(params), outs, reqs,
                                                   strict=True) if req == Req.kAddTo]
        described = []
        for name, x in read:
            value = _floats(x, stream)
            if value is not None and self._bad(value).any():
                return None
            described.append(_described(name, x, value))
        written = [(name, y) for name, y, req in zip(op.output_names(params), outs, reqs,
                                                     strict=True) if req != Req.kNullOp]
        written += [(names[i], ins[i]) for i in op.mutated(params)]

        def after() -> None:
            for name, y in written:
                value = _floats(y, stream)
                if value is not None and self._bad(value).any():
                    self._report(op, params, node, name, value, tuple(described))
                    return
        return after

    def _bad(self, value: AnyArray) -> AnyArray:
        return ~np.isfinite(value) if self.infinite else np.isnan(value)

    def _report(self, op: OpDef, params: Params, node: str | None, output: str, value: AnyArray,
                inputs: tuple[str, ...]) -> None:
        bad = self._bad(value)
        at = np.unravel_index(int(bad.argmax()), bad.shape)
        made = NonFinite(op.name, node or None, _attrs(params), output,
                         int(np.isnan(value).sum()), int(np.isinf(value).sum()), value.size,
                         tuple(int(i) for i in at), inputs, _location())
        self.found.append(made)
        if self.raises:
            raise NonFiniteError(made)


def _attrs(params: Params) -> dict[str, str]:
    try:
        return dict(params.to_attrs())
    except (TypeError, ValueError):
        return {}  # parameters that are Python objects have no text


def _floats(x: NDArray, stream: Stream) -> AnyArray | None:
    """The contents if they are floats of any width, else None."""
    if x.dtype.kind in "iub":
        return None
    value = read_numbers(x, stream)
    return value if value.dtype.kind == "f" else value.astype(np.float32)


def _described(name: str, x: NDArray, value: AnyArray | None) -> str:
    """An input as text: name, shape, dtype, smallest and largest element."""
    text = f"{name} {x.shape} {x.dtype.name}"
    if value is None or not value.size:
        return text
    with np.errstate(all="ignore"):
        return f"{text} in [{float(np.nanmin(value)):.6g}, {float(np.nanmax(value)):.6g}]"


def _location() -> str:
    """The innermost line of code outside of this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
