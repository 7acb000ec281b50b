"""Shapes of a graph some of whose sizes are free: found by inferring them for several sizes.

A size that differs between those is a Dim: what it is each time tells what it is made of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

from ...errors import ShapeError
from ...op.registry import Shape
from ...symbol.infer import infer_graph_shapes
from ...symbol.node import Entry

# sizes that are tried for the first axis and for others, each for one trial: primes, so that
# products of them can be told apart
_BATCHES = (7, 11, 13)
_SIZES = ((307, 311, 313), (17, 19, 23), (5, 3, 2))


@dataclass(frozen=True)
class Dim:
    """A size that is not fixed: `factor` times the sizes that `names` are, where those are known.

    `values` is what it is in each trial; two sizes are the same where they are.
    """

    values: tuple[int, ...]
    names: tuple[str, ...] = ()
    factor: int = 1

    def __str__(self) -> str:
        parts = [*([str(self.factor)] if self.factor != 1 else []), *self.names]
        return "*".join(parts) if self.names else ""


Size = int | Dim
Sizes = tuple[Size, ...]
# a shape that a user gives: names are sizes that are free
Given = tuple[int | str, ...]
# the sizes of each name in each trial; one trial of no names where no size is free
Trials = Sequence[Mapping[str, int]]


def find_shapes(heads: Sequence[Entry], fixed: Mapping[str, Shape], given: Mapping[str, Given],
                ) -> tuple[dict[Entry, Sizes | None], Trials]:
    """The shape of each entry, as far as it follows, and the sizes that were tried for it. Raises
    ShapeError where shapes do not go together, for any of the sizes that are tried."""
    names: dict[str, bool] = {}
    for shape in given.values():
        for axis, size in enumerate(shape):
            if isinstance(size, str):
                names[size] = names.get(size, True) and axis == 0
    if not names:
        return {entry: _known(shape) for entry, shape in infer_graph_shapes(
            heads, {**fixed, **_with(given, {})}).items()}, [{}]
    failed: ShapeError | None = None
    for sizes in _SIZES:
        tried = _trials(names, sizes)
        try:
            found = [infer_graph_shapes(heads, {**fixed, **_with(given, sizes_of)})
                     for sizes_of in tried]
        except ShapeError as error:
            failed = failed or error
            continue
        return {entry: _together([trial[entry] for trial in found], tried)
                for entry in found[0]}, tried
    raise ShapeError(f"the graph does not go with free sizes ({', '.join(names)}): {failed}")


def inner_shapes(heads: Sequence[Entry], given: Mapping[str, Sizes],
                 trials: Trials) -> dict[Entry, Sizes | None]:
    """The shapes of a graph inside of a node, whose variables have these."""
    found = [infer_graph_shapes(heads, {
        name: tuple(size.values[i] if isinstance(size, Dim) else size for size in shape)
        for name, shape in given.items()}) for i in range(len(trials))]
    return {entry: _together([trial[entry] for trial in found], trials) for entry in found[0]}


def _known(shape: Shape | None) -> Sizes | None:
    return None if shape is None or -1 in shape else shape


def _trials(names: Mapping[str, bool], sizes: tuple[int, ...]) -> list[dict[str, int]]:
    """A size for each name, several times, all different from each other."""
    made = []
    others = [name for name, is_batch in names.items() if not is_batch]
    for trial in range(len(sizes)):
        one = {}
        for i, (name, is_batch) in enumerate(names.items()):
            if is_batch:
                one[name] = _BATCHES[(trial + i) % len(_BATCHES)]
            else:
                one[name] = sizes[(trial + others.index(name)) % len(sizes)]
        made.append(one)
    return made


def _with(given: Mapping[str, Given], sizes: Mapping[str, int]) -> dict[str, Shape]:
    return {name: tuple(sizes[size] if isinstance(size, str) else size for size in shape)
            for name, shape in given.items()}


def _together(shapes: Sequence[Shape | None], trials: Trials) -> Sizes | None:
    first = shapes[0]
    if first is None or any(shape is None or len(shape) != len(first) or -1 in shape
                            for shape in shapes):
        return None
    return tuple(_size(values, trials)
                 for values in zip(*(shape for shape in shapes if shape is not None), strict=True))


def _size(values: tuple[int, ...], trials: Trials) -> Size:
    if len(set(values)) == 1:
        return values[0]
    names = list(trials[0])
    for count in (1, 2, 3):
        for chosen in combinations(names, count):
            bases = [prod(trial[name] for name in chosen) for trial in trials]
            factors = {divmod(value, base) for value, base in zip(values, bases, strict=True)}
            if len(factors) == 1:
                factor, rest = factors.pop()
                if not rest and factor:
                    return Dim(values, chosen, factor)
    return Dim(values)
