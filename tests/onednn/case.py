"""One call of oneDNN: what is asked for, what goes in, and what has to come out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ndarray_rt.storage.desc import MemDesc, tagged_desc
from ndarray_rt.storage.primitive import Direction, Kind, Primitive, make_primitive

Array = np.ndarray[Any, np.dtype[Any]]
FLOAT = np.dtype(np.float32)


@dataclass(frozen=True)
class Case:
    """A primitive by the arguments of `make_primitive`, with values by the numbers of oneDNN's
    arguments.

    `tolerance` is the largest error, beside the largest value that is right; 0: there is none,
    which holds for sums of products of small whole numbers. `forward` is run before, for the
    workspace that it leaves to its backward.
    """

    kind: Kind
    direction: Direction
    fields: Mapping[str, Any]
    inputs: Mapping[int, Array]
    outputs: Mapping[int, Array]
    facts: str  # what else distinguishes it, for reports
    tolerance: float = 0.0
    threads: int = 1
    forward: Case | None = None

    def primitive(self, implementation: int) -> Primitive:
        """By one of oneDNN's implementations, also one that is known to be wrong; Unsupported
        behind the last one."""
        return self._make(any_kernel=1, impl_index=implementation)

    def chosen(self) -> Primitive:
        """By the implementation that operators get."""
        return self._make()

    def _make(self, **how: Any) -> Primitive:
        return make_primitive(self.kind, self.direction, allow_reference=True,
                              nthreads=self.threads, **how, **self.fields)

    def __str__(self) -> str:
        layouts = " ".join(f"{name}:{value!r}" for name, value in self.fields.items()
                           if isinstance(value, MemDesc))
        numbers = " ".join(f"{name}:{value}" for name, value in self.fields.items()
                           if isinstance(value, tuple) and not isinstance(value[0], MemDesc))
        return (f"{self.kind.name.lower()} {self.direction.name.lower()} {self.facts} "
                f"threads:{self.threads} {numbers} {layouts}")


def layout(dims: tuple[int, ...], order: str) -> MemDesc:
    """Of data, or with "any" of whatever the kernel likes: "first" has its channels behind the
    batch, "last" at the end, "8" and "16" in blocks."""
    inner = "cdefgh"[:len(dims) - 2]
    if not inner and order != "any":
        order = "first"
    tag = {"any": "any", "first": "ab" + inner, "last": "a" + inner + "b",
           "8": f"aB{inner}8b", "16": f"aB{inner}16b"}[order]
    return tagged_desc(FLOAT, dims, tag)


def whole_numbers(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """From -3 to 3: what is summed of their products is exact."""
    return rng.integers(-3, 4, shape).astype(np.float32)


def real_numbers(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.uniform(-2, 2, shape).astype(np.float32)


def threads(rng: np.random.Generator) -> int:
    """Mostly one: two take longer, above all where others want the processors too."""
    return 2 if rng.random() < 0.15 else 1
