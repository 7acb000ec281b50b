"""The words for kinds of memory, the layouts they name, and what can be of which kind.

Makes no array: `memory_kinds.py` does.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ..dtypes import native_code
from ..errors import NdrtError
from ..storage.desc import MemDesc, tagged_desc

PLAIN_KINDS = ("plain", "view", "reshaped", "nested", "reused", "reused:same", "reused:other",
               "reused:grown", "reused_view", "pinned", "pinned:read", "pinned:view")
# with a layout's tag behind a colon
SPECIAL_WORDS = ("special", "special_reused", "view_special", "reshaped_special", "grouped")
BEFORE, AFTER = 2, 1  # rows around a view
# dtypes that oneDNN can reorder
REORDERED = ("float32", "int32", "int8", "uint8")
LETTERS = "abcdefghijkl"


def word_of(kind: str) -> str:
    """The part of a kind before the first colon."""
    return kind.split(":", 1)[0]


def met_pair(role: str, kind: str, request: str) -> str:
    """How a meeting of a kind of memory with a request is counted; layouts are not told apart."""
    return f"{role} of kind {kind if kind in PLAIN_KINDS else word_of(kind)} with {request}"


def is_view_kind(kind: str) -> bool:
    """Is an array of this kind a part or another shape of what its Chunk was made for?"""
    return kind == "pinned:view" or word_of(kind) in (
        "view", "reshaped", "nested", "reused_view", "view_special", "reshaped_special", "overlap")


def is_special_kind(kind: str) -> bool:
    """Is the Chunk behind an array of this kind in a layout that only oneDNN reads?"""
    return (word_of(kind) in SPECIAL_WORDS or kind in ("reused:kept", "reused:stale")
            or kind.startswith("overlap:special:"))


def is_reused_kind(kind: str) -> bool:
    """Was an array of this kind made by `as_array` on memory of an earlier life?"""
    return word_of(kind) in ("reused", "special_reused")


def channels_last(rank: int) -> str | None:
    """The tag of the layout with axis 1 innermost; None for ranks that have no axis 1."""
    if not 2 <= rank <= len(LETTERS):
        return None
    return "a" + LETTERS[2:rank] + "b" if rank > 2 else "ba"


def is_padded(desc: MemDesc) -> bool:
    """Do the blocks reach beyond the dims? Counted here and not asked of the descriptor."""
    blocks: dict[int, int] = {}
    for block, dim in zip(desc.inner_blks, desc.inner_idxs, strict=True):
        blocks[dim] = blocks.get(dim, 1) * block
    return any(desc.dims[dim] % block for dim, block in blocks.items())


def split_dims(shape: tuple[int, ...], groups: int) -> tuple[int, ...]:
    """The dims of a layout with the groups in front, also when there is but one."""
    return (groups, shape[0] // groups, *shape[1:])


@lru_cache(maxsize=4096)
def grouped_kind(shape: tuple[int, ...], dtype: np.dtype[Any]) -> str:
    """A layout of one dim more for an array of this shape, in two groups where that goes."""
    rank = len(shape) + 1
    last = channels_last(rank)
    if last is None:
        return "grouped:1:None"
    turned = LETTERS[:rank - 2] + LETTERS[rank - 1] + LETTERS[rank - 2]
    kinds = [f"grouped:{groups}:{tag}" for groups in (2, 1) for tag in (last, turned)]
    return next((kind for kind in kinds if possible(kind, shape, dtype)), kinds[-1])


def base_shape(kind: str, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape of the storage that a view of this kind is made from; None when there is none."""
    word = word_of(kind)
    if word == "view_special":
        return (shape[0] + BEFORE + AFTER, *shape[1:]) if shape else None
    if word == "reshaped_special":
        return _swapped(shape)
    return shape


def _swapped(shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """As many elements, two neighbouring dims changed over, so that channels still are many."""
    for i in range(len(shape) - 2, -1, -1):
        if shape[i] != shape[i + 1]:
            made = (*shape[:i], shape[i + 1], shape[i], *shape[i + 2:])
            if sum(dim > 1 for dim in made[1:]) > 1 or len(made) == 2:
                return made
    return None


def layout_of(kind: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> MemDesc | None:
    """The layout that a kind names, for a storage of this shape; None when it names none."""
    word, *rest = kind.split(":")
    if word == "grouped":
        return tagged_desc(dtype, split_dims(shape, int(rest[0])), rest[1])
    if word in SPECIAL_WORDS or kind.startswith("overlap:special:"):
        return tagged_desc(dtype, shape, rest[-1])
    return None


@lru_cache(maxsize=4096)
def why_not(kind: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> str | None:
    """Why no array of this shape and dtype can be of this kind; None when one can."""
    nbytes = prod(shape) * dtype.itemsize
    if kind == "reused:grown":
        return None if nbytes > 1 else "memory of no bytes does not grow"
    if kind == "reused:kept":
        return _why_no_layout(shape, dtype)
    if word_of(kind) in SPECIAL_WORDS:
        return _why_not_special(kind, shape, dtype)
    return None


def _why_no_layout(shape: tuple[int, ...], dtype: np.dtype[Any]) -> str | None:
    if native_code(dtype) is None or dtype.name not in REORDERED:
        return f"oneDNN does not reorder {dtype}"
    if prod(shape) == 0:
        return "an array without elements has no layout but the default one"
    return None


def _why_not_special(kind: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> str | None:
    reason = _why_no_layout(shape, dtype)
    if reason is not None:
        return reason
    word, _, tag = kind.partition(":")
    if not tag or tag.endswith("None"):
        return f"rank {len(shape)} has no special layout"
    if word == "grouped" and (not shape or shape[0] % int(kind.split(":")[1])):
        return "the first dim can not be split into groups"
    base = base_shape(kind, shape)
    if base is None:
        return f"shape {shape} is a view of no special storage of other shape"
    try:
        desc = layout_of(kind, base, dtype)
    except NdrtError:
        return f"oneDNN has no layout {tag} of rank {len(base)}"
    # where all dims but one are 1, a layout may be the default one under another name
    if desc is None or desc.is_default:
        return "dims of size 1 make the layout the default one"
    return None


def possible(kind: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> bool:
    """Can an array of this shape and dtype be of this kind?"""
    return why_not(kind, shape, dtype) is None
