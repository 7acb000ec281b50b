"""Case: one operator call with what it must give. Data only; runs nothing.

An operator's author writes `tests/cases/<family>.py` with a list `CASES`; nothing else:

    import numpy as np
    from ndarray_rt.testing.case import Case, Input

    CASES = [
        # shapes are drawn uniformly from [-1, 1); the reference gets numpy arrays, inputs then aux
        Case("broadcast_add", {}, [(2, 3), (1, 3)], reference=np.add, native=True),
        # a kink at 0: keep away from it, so that finite differences are right
        Case("Activation", {"act_type": "relu"}, [Input((1, 20, 5, 5), kind="away")],
             reference=lambda x: np.maximum(x, 0), native=True, native_backward=True),
        # integer input, no finite differences for it; several dtypes for the rest
        Case("take", {"axis": 0}, [(5, 4), Input((3,), dtype="int32", values=[0, 4, 2])],
             reference=lambda x, i: x[i], no_grad={1}, dtypes=("float32", "float64", "int32")),
        # weights are tried in weight layouts (grouped: 5-D over 4-D)
        Case("Convolution", {"kernel": (3, 3), "num_filter": 8, "num_group": 2},
             [(2, 4, 5, 5), Input((8, 2, 3, 3), weight_groups=2), (8,)], reference=my_loops),
        # a loss: its gradient is a formula of its own, not the slope of its output
        Case("LinearRegressionOutput", {}, [(4, 3), (4, 3)], reference=lambda x, t: x,
             gradients=lambda x, t, dy: ((x - t) / 3, None)),
    ]

References come from numpy or a written-out formula, never from our own code. `tests/test_ops.py`
runs each case through every runtime, request and kind of memory, checks its gradient by finite
differences and that nothing fell back to NumPy where the case says that it runs natively.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Literal

import numpy as np

from ..dtypes import find_dtype

Array = np.ndarray[Any, np.dtype[Any]]
Reference = Callable[..., Any]
Kind = Literal["uniform", "positive", "away", "distinct", "ints", "bits"]
Native = bool | Literal["auto"]
Tolerance = float | Mapping[str, float] | None

RTOL = {"float16": 4e-3, "float32": 2e-5, "float64": 1e-10, "bfloat16": 3.2e-2}
ATOL = RTOL
# layouts to try for a data input of a rank: channels-last, and blocks that pad odd channel counts
LAYOUTS = {3: ("acb", "aBc16b"), 4: ("acdb", "aBcd16b", "aBcd8b"), 5: ("acdeb", "aBcde16b")}
WEIGHT_LAYOUTS = {2: ("ba",), 3: ("acb",), 4: ("ABcd16b16a", "acdb"), 5: ("ABcde16b16a",),
                  6: ("acdefb",)}
GROUPED_LAYOUTS = {4: ("abdc",), 5: ("aBCde8c8b", "abdec"), 6: ("abdefc",)}


@dataclass(frozen=True)
class Input:
    """One input or aux state: its shape and how its contents are drawn.

    `dtype` None is the dtype of the run. Kinds: uniform in [low, high); positive in (0.1, 1.1);
    away: uniform but never nearer than 0.1 to zero; distinct: all elements well apart, in random
    order (for max, sort, topk); ints: whole numbers in [low, high); bits: 0 or 1. `values`
    overrides all of them. `layouts` are oneDNN tags to try (None: the usual ones of the rank);
    `weight_groups` marks a weight: 1 plain, from 2 on grouped, whose layouts have one dim more.
    """

    shape: tuple[int, ...]
    dtype: str | None = None
    low: float = -1.0
    high: float = 1.0
    kind: Kind = "uniform"
    values: Any = None
    layouts: tuple[str, ...] | None = None
    weight_groups: int = 0

    def dtype_in(self, run: str) -> np.dtype[Any]:
        """The dtype in a run of dtype `run`."""
        return find_dtype(self.dtype or run)

    def draw(self, rng: np.random.Generator, run: str) -> Array:
        """Contents, in the dtype of this input."""
        dtype = self.dtype_in(run)
        if self.values is not None:
            return np.array(self.values).astype(dtype).reshape(self.shape)
        if dtype.kind in "iub" or self.kind in ("ints", "bits"):
            low, high = (0, 2) if self.kind == "bits" or dtype.kind == "b" else (
                self._whole_range(dtype))
            return rng.integers(low, high, self.shape).astype(dtype)
        return self._draw_floats(rng).astype(dtype)

    def _whole_range(self, dtype: np.dtype[Any]) -> tuple[int, int]:
        if (self.low, self.high) != (-1.0, 1.0):
            low = math.ceil(self.low)
            return low, max(low + 1, math.ceil(self.high))
        if self.kind == "positive":
            return 1, 10
        return (0 if dtype.kind == "u" else -5), 6

    def _draw_floats(self, rng: np.random.Generator) -> Array:
        if self.kind == "positive":
            return rng.uniform(0.1, 1.1, self.shape)
        if self.kind == "away":
            sign = np.where(rng.random(self.shape) < 0.5, -1.0, 1.0)
            return sign * rng.uniform(0.1, 1.0, self.shape)
        if self.kind == "distinct":
            size = int(np.prod(self.shape))
            steps = np.linspace(self.low, self.high, size + 2)[1:-1]
            return rng.permutation(steps).reshape(self.shape)
        return rng.uniform(self.low, self.high, self.shape)

    def tags(self) -> tuple[str, ...]:
        """Layouts to try for this input."""
        if self.layouts is not None:
            return self.layouts
        rank = len(self.shape)
        if self.weight_groups > 1:
            return GROUPED_LAYOUTS.get(rank + 1, ())
        return (WEIGHT_LAYOUTS if self.weight_groups else LAYOUTS).get(rank, ())


def as_input(value: Any) -> Input:
    """An Input from itself, a shape (tuple) or an array (list or numpy array: its values)."""
    if isinstance(value, Input):
        return value
    if isinstance(value, tuple) and all(isinstance(dim, int) for dim in value):
        return Input(value)
    array = np.asarray(value)
    return Input(array.shape, None if array.dtype.kind == "f" else str(array.dtype),
                 values=array)


@dataclass(frozen=True, eq=False)
class Case:
    """One operator call, its right result, and what must hold on the way.

    `reference(*inputs, *aux)` gives an array or a tuple of arrays, one for each visible output. It
    gets float inputs as float64 unless `exact`; then it gets them as they are and results
    must agree bit for bit. None: the values are not compared, `check(inputs, outputs)` must hold
    (random operators). `after(*inputs, *aux)` gives the new values of positions that the operator
    writes to, by position. `gradients(*inputs, *aux, *out_grads)` gives the gradients of inputs,
    for operators whose gradient is not the slope (losses, quirks); None in it: not compared.

    `native`: True: runs natively for float32 in plain and special layouts, and a fallback fails;
    False: never does; "auto": may. `native_backward` says the same of the backward operators.
    `no_grad`: names or positions of inputs without finite differences.
    `exempt`: runtime ("numpy", "native", "executor", "gradient") -> why not there.
    """

    op: str
    params: Mapping[str, Any]
    inputs: Sequence[Any]
    aux: Sequence[Any] = ()
    reference: Reference | None = None
    check: Callable[[list[Array], list[Array]], None] | None = None
    after: Callable[..., Mapping[int, Array]] | None = None
    gradients: Reference | None = None
    native: Native = "auto"
    native_backward: Native = "auto"
    is_train: bool = False
    no_grad: frozenset[str | int] | set[str | int] = frozenset()
    grad_eps: float = 1e-6
    grad_rtol: float = 1e-5
    grad_atol: float = 1e-7
    rtol: Tolerance = None
    atol: Tolerance = None
    dtypes: tuple[str, ...] = ("float32", "float64")
    layouts: tuple[str, ...] | None = None
    exact: bool = False
    exempt: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    note: str = ""

    def all_inputs(self) -> list[Input]:
        """Inputs, then aux states."""
        return [as_input(value) for value in (*self.inputs, *self.aux)]

    def tags(self, position: int) -> tuple[str, ...]:
        """Layouts to try at an input position."""
        given = self.all_inputs()[position]
        if self.layouts is not None and not given.weight_groups and given.layouts is None:
            fits = [tag for tag in self.layouts
                    if len({c.lower() for c in tag if c.isalpha()}) == len(given.shape)]
            return tuple(fits)
        return given.tags()

    def draw(self, dtype: str) -> list[Array]:
        """Contents of all inputs for a run of this dtype, the same at each call."""
        rng = np.random.default_rng(self.seed + 12345)
        return [given.draw(rng, dtype) for given in self.all_inputs()]

    def tolerance(self, dtype: str) -> tuple[float, float]:
        """(rtol, atol) for results of a dtype; 0 for integers."""
        return _tolerance(self.rtol, RTOL, dtype), _tolerance(self.atol, ATOL, dtype)

    def is_no_grad(self, position: int, name: str) -> bool:
        """Is the gradient of this input, by position or name, left unchecked?"""
        return position in self.no_grad or name in self.no_grad

    @property
    def id(self) -> str:
        """A readable name: operator, shapes, parameters, note."""
        texts = ["x".join(map(str, i.shape)) or "scalar" for i in self.all_inputs()]
        runs = [(text, len(list(run))) for text, run in groupby(texts)]
        shapes = "_".join(f"{n}*{text}" if n > 2 else "_".join([text] * n) for text, n in runs)
        params = ",".join(f"{k}={_short(v)}" for k, v in self.params.items())
        words = [self.op, shapes, params, self.note.replace(" ", "-")]
        return "-".join(word for word in words if word)


def _tolerance(given: Tolerance, default: Mapping[str, float], dtype: str) -> float:
    if isinstance(given, Mapping):
        given = given.get(dtype)
    return default.get(dtype, 0.0) if given is None else float(given)


def _short(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return "x".join(map(str, value)) or "()"
    return str(value)
