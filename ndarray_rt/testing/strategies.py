"""Hypothesis strategies: shapes, layouts, kinds of memory, requests, arrays of known contents.

Needs the package hypothesis (the extra `ndarray_rt[testing]`); nothing else in this package does.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from types import TracebackType
from typing import Any

import numpy as np

from .._array.ndarray import MAX_DIMS, NDArray, check_shape
from .._array.req import GRAD_REQS, Req
from ..dtypes import DType, find_dtype
from ..errors import MissingPackage, ParameterError, TypeMismatch
from ..storage.desc import MemDesc
from ..storage.stream import Stream
from .case import Array, Input
from .memory_kinds import Made, contents, make
from .memory_layouts import FAMILIES, can_be_special, kinds_of, layouts_of, permuted

try:
    from hypothesis import strategies as st
except ImportError:
    raise MissingPackage.of("a strategy of ndarray_rt.testing", "hypothesis", "testing") from None

Shape = tuple[int, ...]
# one, odd ones, full blocks of 4, 8 and 16 and their neighbours
SIZES = (1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 20)
DTYPES = ("float16", "float32", "float64", "uint8", "int8", "int32", "int64", "bool")


def shapes(*, min_rank: int = 0, max_rank: int = 5, max_elements: int = 4096,
           zero: bool = False) -> st.SearchStrategy[Shape]:
    """Shapes of `min_rank` to `max_rank` dimensions and at most `max_elements` elements.

    Dimensions are those at which layouts differ: 1, odd numbers, multiples of blocks and their
    neighbours; with `zero` also 0. Ranks from 0 to 12 are possible.
    """
    for name, value in (("min_rank", min_rank), ("max_rank", max_rank),
                        ("max_elements", max_elements)):
        if not isinstance(value, int):
            raise TypeMismatch(f"shapes: {name} got {value!r}, expected an int")
    if not 0 <= min_rank <= max_rank <= MAX_DIMS:
        raise ParameterError(f"shapes: ranks from {min_rank} to {max_rank}, expected "
                             f"0 <= min_rank <= max_rank <= {MAX_DIMS}")

    @st.composite
    def drawn(draw: st.DrawFn) -> Shape:
        shape: list[int] = []
        for _ in range(draw(st.integers(min_rank, max_rank))):
            room = max_elements // max(1, prod(shape))
            sizes = [size for size in SIZES if size <= room] or [1]
            shape.append(draw(st.sampled_from([0, *sizes] if zero else sizes)))
        # so that the large ones do not always come first
        return tuple(draw(st.permutations(shape)))
    return drawn()


@st.composite
def _layouts(draw: st.DrawFn, shape: Shape, dtype: DType, families: Sequence[str]) -> MemDesc:
    order: list[int] | None = None
    if "permuted" in families and can_be_special(shape, dtype) and draw(st.booleans()):
        order = list(draw(st.permutations(range(len(shape)))))
        made = permuted(shape, dtype, order)
        if not made.is_default or "default" in families:
            return made
    found = {family: layouts_of(shape, dtype, [family]) for family in families}
    # a family first: there are many more layouts of some than of others
    family = draw(st.sampled_from([name for name, descs in found.items() if descs]))
    return draw(st.sampled_from(found[family]))


def layouts(shape: Any, dtype: object = "float32",
            families: Sequence[str] = FAMILIES) -> st.SearchStrategy[MemDesc]:
    """Layouts (MemDesc) that an array of this shape and dtype can have.

    `shape` is a tuple, or a strategy of them. Families: "default"; "permuted", the axes in any
    order; "blocked", channels in blocks that divide them; "padded", in blocks that do not;
    "grouped", a weight with its groups in front, one rank more than the shape. Those that a shape
    or dtype can not have are left out; ParameterError when none of them is left.
    """
    if isinstance(families, str):
        raise TypeMismatch(f"layouts: families got {families!r}, expected a list of names")
    unknown = [name for name in families if name not in FAMILIES]
    if unknown:
        raise ParameterError(f"layouts: families got {unknown[0]!r}, expected some of: "
                             f"{', '.join(FAMILIES)}")
    made, chosen = find_dtype(dtype), tuple(families)
    if isinstance(shape, st.SearchStrategy):
        return shape.filter(lambda dims: bool(layouts_of(dims, made, chosen))).flatmap(
            lambda dims: _layouts(dims, made, chosen))
    dims = check_shape(shape, "layouts")
    if not layouts_of(dims, made, chosen):
        raise ParameterError(f"layouts: an array of shape {dims} and dtype {made} has none of the "
                             f"families {', '.join(chosen)}")
    return _layouts(dims, made, chosen)


def kinds(shape: Shape | None = None, dtype: object = "float32") -> st.SearchStrategy[str]:
    """Kinds of memory, as ndarray_rt.testing.memory_kinds names them.

    Those that an array of this shape and dtype can be in; without a shape those that any can.
    """
    dims = () if shape is None else check_shape(shape, "kinds")
    return st.sampled_from(kinds_of(dims, dtype))


def requests(*, gradients: bool = False) -> st.SearchStrategy[Any]:
    """Requests: all four of Req; with `gradients` the words 'null', 'write' and 'add'."""
    return st.sampled_from(list(GRAD_REQS)) if gradients else st.sampled_from(list(Req))


@dataclass(eq=False)
class Known:
    """An array in some kind of memory, and what it holds.

    `array` is the NDArray, `expected` its contents as a numpy array, `kind` its kind of memory.
    Memory of kind "pinned" is exported until `release()`, the end of a `with` block over this
    object, or its death.
    """

    array: NDArray
    expected: Array
    kind: str
    made: Made = field(repr=False)

    def __post_init__(self) -> None:
        self._finalizer = weakref.finalize(self, self.made.release)

    def release(self) -> None:
        """Ends an export that the kind of memory consists of."""
        self._finalizer()

    def __enter__(self) -> Known:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.release()

    def assert_unchanged(self) -> None:
        """The array still holds `expected`; padding is zero where it has some."""
        got = contents(self.made, Stream())
        assert got.tobytes() == self.expected.tobytes(), (
            f"an array of kind {self.kind} holds {got}, expected {self.expected}")


def ndarrays(shape: Any = None, dtype: Any = None, kinds: Sequence[str] | None = None,
             **contents_: Any) -> st.SearchStrategy[Known]:
    """Arrays of known contents in any kind of memory, as Known objects.

    `shape` is a tuple or a strategy (any of `shapes()` where missing), `dtype` a dtype or a
    strategy of them (any that an array can have where missing). `kinds`: only these, and words
    such as "special" and "view" stand for all kinds that begin with them. Contents are drawn as an
    `Input` draws them: `kind="away"`, `low`, `high`.
    """
    if isinstance(kinds, str):
        raise TypeMismatch(f"ndarrays: kinds got {kinds!r}, expected a list of names")
    wanted = None if kinds is None else tuple(kinds)
    shape_of = _strategy(shapes() if shape is None else shape,
                         lambda given: check_shape(given, "ndarrays"))
    dtype_of = _strategy(st.sampled_from(DTYPES) if dtype is None else dtype, find_dtype)

    @st.composite
    def drawn(draw: st.DrawFn) -> Known:
        dims, made_of = tuple(draw(shape_of)), find_dtype(draw(dtype_of))
        fits = [kind for kind in kinds_of(dims, made_of)
                if wanted is None or kind in wanted or kind.split(":")[0] in wanted]
        if not fits:
            raise ParameterError(f"ndarrays: an array of shape {dims} and dtype {made_of} can be "
                                 f"of none of the kinds {', '.join(wanted or ())}; it can be: "
                                 f"{', '.join(kinds_of(dims, made_of))}")
        words = list(dict.fromkeys(kind.split(":")[0] for kind in fits))
        word = draw(st.sampled_from(words))
        kind = draw(st.sampled_from([kind for kind in fits if kind.split(":")[0] == word]))
        rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        value = Input(dims, dtype=made_of.name, **contents_).draw(rng, made_of.name)
        made = make(value, kind, Stream())
        made.check()
        return Known(made.array, value, kind, made)
    return drawn()


def _strategy(given: Any, convert: Any) -> st.SearchStrategy[Any]:
    return given if isinstance(given, st.SearchStrategy) else st.just(convert(given))
