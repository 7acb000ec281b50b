"""Which layouts and kinds of memory an array of a shape can have, listed. Draws nothing at random.

Families of layouts: "default" (row-major), "permuted" (the axes in another order), "blocked"
(channels, or both channels of a weight, in blocks that divide them), "padded" (in blocks that do
not), "grouped" (a weight with its groups as a dimension of its own in front: one rank more).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import permutations
from math import prod

from .._array.layout import grouped_dims
from ..dtypes import DType, find_dtype, native_code
from ..errors import NdrtError
from ..storage.desc import MemDesc, default_desc, strided_desc, tagged_desc
from .case import GROUPED_LAYOUTS, LAYOUTS, WEIGHT_LAYOUTS
from .kind_words import PLAIN_KINDS, REORDERED, SPECIAL_WORDS, possible

FAMILIES = ("default", "permuted", "blocked", "padded", "grouped")
LETTERS = "abcdefghijkl"
# of the inner axes of data, then of weights; oneDNN has names for some of them in each rank
_DATA_BLOCKS = (4, 8, 16)
_WEIGHT_BLOCKS = ("16b16a", "16a16b", "8b8a", "8a8b", "4b16a4b", "4b4a")
_OUTPUT_BLOCKS = ("16a", "8a", "4a")
_GROUPED_BLOCKS = ("16c16b", "16b16c", "8c8b", "8b8c", "4c4b")
# above this rank not every order of the axes is listed
MANY_AXES = 3


def can_be_special(shape: Sequence[int], dtype: DType) -> bool:
    """Can oneDNN convert an array of this shape and dtype to another layout?"""
    return (native_code(dtype) is not None and dtype.name in REORDERED and prod(shape) > 0
            and any(dim > 1 for dim in shape))


def permuted(shape: tuple[int, ...], dtype: DType, order: Sequence[int]) -> MemDesc:
    """The layout with the axes of `shape` in this order, the innermost last; no gaps."""
    strides, step = [0] * len(shape), 1
    for axis in reversed(order):
        strides[axis] = step
        step *= shape[axis]
    return strided_desc(dtype, shape, tuple(strides))


def family_of(desc: MemDesc, shape: tuple[int, ...]) -> str:
    """The family of a layout of an array of this shape."""
    if len(desc.dims) > max(len(shape), 1):
        return "grouped"
    if desc.is_default:
        return "default"
    if not desc.inner_blks:
        return "permuted"
    return "padded" if desc.is_padded else "blocked"


def layouts_of(shape: Sequence[int], dtype: object = "float32",
               families: Sequence[str] = FAMILIES) -> list[MemDesc]:
    """Layouts that an array of this shape and dtype can have, of these families.

    From rank 4 on only some orders of the axes: channels-last, reversed, and the outermost moved
    inside.
    """
    dims = tuple(shape)
    return [desc for desc in _all_layouts(dims, find_dtype(dtype))
            if family_of(desc, dims) in families]


@lru_cache(maxsize=1024)
def _all_layouts(shape: tuple[int, ...], dtype: DType) -> tuple[MemDesc, ...]:
    if native_code(dtype) is None:
        return ()
    found = {default_desc(dtype, shape): None}
    if can_be_special(shape, dtype):
        found.update(dict.fromkeys(permuted(shape, dtype, order)
                                   for order in _orders(len(shape))))
        found.update(dict.fromkeys(_named(shape, dtype, _blocked_tags(len(shape)))))
        for groups in groups_of(shape):
            dims = grouped_dims(shape, groups)
            tags = [*_grouped_tags(len(dims)), *GROUPED_LAYOUTS.get(len(dims), ())]
            # equal bytes to those of the array itself are no other layout
            found.update(dict.fromkeys(desc for desc in _named(dims, dtype, tags)
                                       if not desc.is_default))
    return tuple(found)


def groups_of(shape: Sequence[int]) -> list[int]:
    """Numbers of groups that a weight of this shape can be in; two at least."""
    if len(shape) < 3:
        return []
    return [groups for groups in range(2, shape[0] + 1) if shape[0] % groups == 0]


def _orders(rank: int) -> list[tuple[int, ...]]:
    axes = tuple(range(rank))
    if rank <= MANY_AXES:
        return list(permutations(axes))
    return [(0, *axes[2:], 1), axes[::-1], (*axes[1:], 0), (1, 0, *axes[2:])]


def _blocked_tags(rank: int) -> list[str]:
    if rank < 2:
        return [f"A{block}a" for block in _DATA_BLOCKS]
    rest = LETTERS[2:rank]
    tags = [f"aB{rest}{block}b" for block in _DATA_BLOCKS]
    tags += [f"AB{rest}{blocks}" for blocks in _WEIGHT_BLOCKS]
    tags += [f"Ab{rest}{block}" for block in _OUTPUT_BLOCKS]
    # channels-last weights in blocks of outputs, as for inference
    tags += [f"A{rest}b{block}" for block in _OUTPUT_BLOCKS]
    return tags


def _grouped_tags(rank: int) -> list[str]:
    rest = LETTERS[3:rank]
    return [f"aBC{rest}{blocks}" for blocks in _GROUPED_BLOCKS] + [f"acb{rest}", f"ab{rest}c"]


def _named(dims: tuple[int, ...], dtype: DType, tags: Sequence[str]) -> list[MemDesc]:
    """Those layouts that oneDNN has a name for."""
    made = []
    for tag in tags:
        try:
            made.append(tagged_desc(dtype, dims, tag))
        except NdrtError:
            continue
    return made


def kinds_of(shape: Sequence[int], dtype: object = "float32") -> list[str]:
    """Every kind of memory (memory_kinds.py) that an array of this shape and dtype can be in."""
    made, dims = find_dtype(dtype), tuple(shape)
    rank = len(dims)
    tags = [*LAYOUTS.get(rank, ()), *WEIGHT_LAYOUTS.get(rank, ())]
    kinds = [*PLAIN_KINDS, *(f"{word}:{tag}" for word in SPECIAL_WORDS if word != "grouped"
                             for tag in tags)]
    kinds += [f"grouped:{groups}:{tag}" for groups in groups_of(dims)
              for tag in GROUPED_LAYOUTS.get(rank + 1, ())]
    return [kind for kind in dict.fromkeys(kinds) if possible(kind, dims, made)]
