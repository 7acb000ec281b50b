"""Subject: one operator call with contents and expected results. Runs only the reference.

A case of the table becomes one subject for each dtype; each backward call that a gradient emits
becomes one more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..op.infer import run_infer_shape, run_infer_type
from ..op.params import Params
from ..op.registry import OpDef, find
from .case import Array, Case
from .compare import assert_bits, assert_close
from .memory_kinds import PLAIN_KINDS, possible

SEED = 20240607


@dataclass(eq=False)
class Subject:
    """What to call, with what, and what must come out.

    `want[i]` is the expected value of output i, None where nothing is known of it; `after` maps
    positions that the call writes to, to what they hold then.
    """

    op: OpDef
    params: Params
    values: list[Array]
    tags: list[tuple[str, ...]]
    dtype: str
    is_train: bool
    must: bool | str
    tolerance: Callable[[str], tuple[float, float]]
    want: list[Array | None]
    after: Mapping[int, Array] = field(default_factory=dict)
    exact: bool = False
    groups: dict[int, int] = field(default_factory=dict)
    recompute: Callable[[list[Array]], list[Array | None]] | None = None
    check: Callable[[list[Array], list[Array]], None] | None = None
    num_inputs: int = 0

    @cached_property
    def out_shapes(self) -> list[tuple[int, ...]]:
        outs = [None] * len(self.op.output_names(self.params))
        ins, shapes = run_infer_shape(self.op, self.params, [v.shape for v in self.values], outs)
        assert [v.shape for v in self.values] == [tuple(s) for s in ins if s is not None], (
            f"infer_shape changed input shapes to {ins}")
        assert all(s is not None and -1 not in s for s in shapes), f"outputs unknown: {shapes}"
        return [tuple(s) for s in shapes if s is not None]

    @cached_property
    def out_dtypes(self) -> list[np.dtype[Any]]:
        outs = [None] * len(self.op.output_names(self.params))
        ins, types = run_infer_type(self.op, self.params, [v.dtype for v in self.values], outs)
        assert [v.dtype for v in self.values] == ins, f"infer_type changed input dtypes to {ins}"
        assert all(t is not None for t in types), f"output dtypes unknown: {types}"
        return [t for t in types if t is not None]

    @property
    def mutated(self) -> tuple[int, ...]:
        return self.op.mutated(self.params)

    def kinds_of_inputs(self) -> list[list[str]]:
        """Combinations of kinds to try, one kind for each input."""
        n = len(self.values)
        combos = [[kind] * n for kind in PLAIN_KINDS]
        special = [self._special_kinds(i) for i in range(n)]
        for turn in range(max(map(len, special), default=0)):
            combos.append([kinds[turn % len(kinds)] if kinds else "plain" for kinds in special])
        views = [self._first_possible(i, "view_special") for i in range(n)]
        if any(views):
            combos.append([kind or "view" for kind in views])
        if n > 1:
            mixed = ["plain", "view", "reused", "reshaped", "pinned"]
            if any(special):
                # one input special, its neighbours not, and the other way round
                combos.append([kinds[0] if kinds and i % 2 == 0 else mixed[i % 5]
                               for i, kinds in enumerate(special)])
                combos.append([kinds[-1] if kinds and i % 2 else mixed[i % 5]
                               for i, kinds in enumerate(special)])
            else:
                combos.append([mixed[i % 5] for i in range(n)])
        return combos

    def _special_kinds(self, position: int) -> list[str]:
        value = self.values[position]
        groups = self.groups.get(position, 0)
        head = f"grouped:{groups}:" if groups > 1 else "special:"
        return [head + tag for tag in self.tags[position]
                if possible(head + tag, value.shape, value.dtype)]

    def _first_possible(self, position: int, word: str) -> str | None:
        value = self.values[position]
        if self.groups.get(position, 0) > 1:
            return None
        for tag in self.tags[position]:
            if possible(f"{word}:{tag}", value.shape, value.dtype):
                return f"{word}:{tag}"
        return None

    def kinds_of_outputs(self) -> list[str]:
        """Kinds to try for the outputs, all of them alike where they can be."""
        from .case import LAYOUTS
        tags = LAYOUTS.get(max((len(s) for s in self.out_shapes), default=0), ())
        kinds = [*PLAIN_KINDS, *(f"special:{tag}" for tag in tags)]
        if tags:
            kinds.append(f"view_special:{tags[0]}")
        return kinds

    def expected(self, outputs: Sequence[Array], priors: Sequence[Array | None],
                 what: str) -> None:
        """Compares outputs with what must come out, on top of `priors` where they were added to."""
        for i, (got, prior) in enumerate(zip(outputs, priors, strict=True)):
            want = self.want[i] if i < len(self.want) else None
            if want is None:
                continue
            self.compare(got, want, prior, f"{what}: output {i}")

    def compare(self, got: Array, want: Array, prior: Array | None, what: str) -> None:
        with np.errstate(all="ignore"):
            if prior is not None:
                want = (prior + want.astype(got.dtype)).astype(got.dtype) if (
                    got.dtype.kind in "iub") else prior.astype(np.float64) + want
        if self.exact and prior is None:
            assert_bits(got, np.asarray(want), what)
            return
        rtol, atol = self.tolerance(got.dtype.name)
        if got.dtype.kind == "f":
            with np.errstate(all="ignore"):
                narrow = np.asarray(want).astype(got.dtype)
            # what is too large for the dtype is infinite in it
            want = np.where(np.isinf(narrow), narrow, want)
        assert_close(got, want, rtol, atol, what)


def widen(value: Array) -> Array:
    """Floats as float64, so that a reference does not lose digits."""
    return value.astype(np.float64) if value.dtype.kind == "f" else value.copy()


def subject_of(case: Case, dtype: str) -> Subject:
    """The forward call of a case."""
    op = find(case.op)
    params = op.params.parse(dict(case.params), case.op)
    values = case.draw(dtype)
    names = (*op.input_names(params), *op.aux_names(params))
    assert len(names) == len(values), f"{case.op} has inputs {names}, the case gives {len(values)}"
    groups = {i: given.weight_groups for i, given in enumerate(case.all_inputs())
              if given.weight_groups > 1}

    def recompute(ins: list[Array]) -> list[Array | None]:
        assert case.reference is not None
        given = [v.copy() if case.exact else widen(v) for v in ins]
        with np.errstate(all="ignore"):
            made = case.reference(*given)
        made = list(made) if isinstance(made, (tuple, list)) else [made]
        return [None if m is None else np.asarray(m) for m in made]

    want = recompute(values) if case.reference is not None else []
    after = case.after(*[widen(v) for v in values]) if case.after is not None else {}
    must = case.onednn if dtype == "float32" else "auto"
    return Subject(op, params, values, [case.tags(i) for i in range(len(values))], dtype,
                   case.is_train, must, case.tolerance, want, after, case.exact, groups,
                   recompute if case.reference is not None else None, case.check,
                   len(op.input_names(params)))
