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

from ..dtypes import is_float
from ..op.infer import run_infer_shape, run_infer_type
from ..op.params import Params
from ..op.registry import OpDef, find
from .case import LAYOUTS, Array, Case
from .compare import assert_bits, assert_close
from .covering import turn_of
from .kind_words import (
    PLAIN_KINDS,
    channels_last,
    grouped_kind,
    is_special_kind,
    possible,
    why_not,
    word_of,
)

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

    @cached_property
    def turn(self) -> int:
        """Where this call begins in the product of kinds (covering.py)."""
        return turn_of(self.op.name, self.params, self.dtype, [v.shape for v in self.values])

    def kinds_of_inputs(self) -> list[list[str]]:
        """Combinations of kinds to try, one kind for each input."""
        return [list(combo) for combo in self._in_combos[0]]

    @property
    def skipped_inputs(self) -> list[str]:
        """Why some kinds are possible for no input, a reason for each of them."""
        return list(self._in_combos[1])

    @cached_property
    def _in_combos(self) -> tuple[list[tuple[str, ...]], list[str]]:
        n = len(self.values)
        if not n:
            return [()], []
        combos: list[tuple[str, ...]] = []
        skipped = []
        wanted = [[kind] * n for kind in (*PLAIN_KINDS, "reused:kept")]
        longest = max(1, *(len(self._tags(i)) for i in range(n)))
        wanted += [[self._kind_at(i, "special", turn) for i in range(n)] for turn in range(longest)]
        wanted += [[self._kind_at(i, word, 0) for i in range(n)]
                   for word in ("special_reused", "view_special", "reshaped_special", "grouped")]
        for kinds in wanted:
            found = tuple(kind if possible(kind, v.shape, v.dtype) else "plain"
                          for kind, v in zip(kinds, self.values, strict=True))
            if set(found) == {"plain"} != set(kinds):
                reason = why_not(kinds[0], self.values[0].shape, self.values[0].dtype)
                skipped.append(f"input of kind {word_of(kinds[0])}: {reason}")
            elif found not in combos:
                combos.append(found)
        combos += [combo for combo in self._mixed(combos) if combo not in combos]
        return combos, skipped

    def _mixed(self, combos: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
        """Neighbours of different kinds: one special and the next not, and the other way round."""
        n = len(self.values)
        if n < 2:
            return []
        plain = ["plain", "view", "reused", "reshaped", "pinned"]
        special = [combo for combo in combos if any(map(is_special_kind, combo))]
        if not special:
            return [tuple(plain[i % 5] for i in range(n))]
        return [tuple(special[0][i] if i % 2 == 0 else plain[i % 5] for i in range(n)),
                tuple(special[-1][i] if i % 2 else plain[i % 5] for i in range(n))]

    def _tags(self, position: int) -> tuple[str, ...]:
        """The layouts of the case, and channels-last for ranks that it names none for."""
        if self.groups.get(position, 0) > 1 or self.tags[position]:
            return self.tags[position]
        last = channels_last(self.values[position].ndim)
        return (last,) if last else ()

    def _kind_at(self, position: int, word: str, turn: int) -> str:
        """The kind of that word for one input; of its `turn`-th layout."""
        value, tags = self.values[position], self._tags(position)
        groups = self.groups.get(position, 0)
        if groups > 1 and word in ("special", "grouped"):
            return f"grouped:{groups}:{tags[turn % len(tags)] if tags else None}"
        if word == "grouped":
            return grouped_kind(value.shape, value.dtype)
        if groups > 1:
            return f"{word}:{channels_last(value.ndim)}"
        fitting = [tag for tag in tags if possible(f"{word}:{tag}", value.shape, value.dtype)]
        found = (fitting or tags or (None,))[turn % len(fitting or tags or (None,))]
        return f"{word}:{found}"

    def special_kinds(self, position: int) -> list[str]:
        """The layouts to try for one input, as kinds that it can be of."""
        kinds = [self._kind_at(position, "special", turn)
                 for turn in range(len(self._tags(position)))]
        value = self.values[position]
        return [kind for kind in dict.fromkeys(kinds) if possible(kind, value.shape, value.dtype)]

    def is_of_table(self, kinds: Sequence[str]) -> bool:
        """Does the case promise its kernel for these kinds? Not for layouts that it does not name.

        What it names are default layouts and its tags; weights may be grouped.
        """
        for i, kind in enumerate(kinds):
            if kind == "reused:kept":
                return False
            if is_special_kind(kind) and kind.rpartition(":")[2] not in self.tags[i]:
                return False
        return True

    def kinds_of_outputs(self) -> list[str]:
        """Kinds to try for the outputs, all of them alike where they can be."""
        rank = max((len(s) for s in self.out_shapes), default=0)
        last = channels_last(rank)
        tags: tuple[str | None, ...] = LAYOUTS.get(rank, (last,))
        words = [f"{word}:{tags[0]}" for word in ("special_reused", "view_special",
                                                  "reshaped_special")]
        first = next((s for s in self.out_shapes if len(s) == rank), ())
        return [*PLAIN_KINDS, "reused:kept", *(f"special:{tag}" for tag in tags), *words,
                grouped_kind(first, np.dtype(np.float32))]

    def expected(self, outputs: Sequence[Array], priors: Sequence[Array | None],
                 what: str) -> None:
        """Compares outputs with what must come out, on top of `priors` where they were added to."""
        for i, (got, prior) in enumerate(zip(outputs, priors, strict=True)):
            want = self.want[i] if i < len(self.want) else None
            if want is None:
                continue
            self.compare(got, want, prior, f"{what}: output {i}")

    def compare(self, got: Array, want: Array, prior: Array | None, what: str,
                exact: bool | None = None) -> None:
        with np.errstate(all="ignore"):
            if prior is not None:
                want = (prior + want.astype(got.dtype)).astype(got.dtype) if (
                    got.dtype.kind in "iub") else prior.astype(np.float64) + want
        if prior is None and (self.exact if exact is None else exact):
            assert_bits(got, np.asarray(want), what)
            return
        rtol, atol = self.tolerance(got.dtype.name)
        if is_float(got.dtype):
            with np.errstate(all="ignore"):
                narrow = np.asarray(want).astype(got.dtype)
            # what is too large for the dtype is infinite in it
            want = np.where(np.isinf(narrow), narrow.astype(np.float64), want)
        assert_close(got, want, rtol, atol, what)


def widen(value: Array) -> Array:
    """Floats as float64, so that a reference does not lose digits."""
    return value.astype(np.float64) if is_float(value.dtype) else value.copy()


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
    must = case.native if dtype == "float32" else "auto"
    return Subject(op, params, values, [case.tags(i) for i in range(len(values))], dtype,
                   case.is_train, must, case.tolerance, want, after, case.exact, groups,
                   recompute if case.reference is not None else None, case.check,
                   len(op.input_names(params)))
