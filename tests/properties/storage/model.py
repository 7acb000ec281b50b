"""What every reader of a storage must see, byte for byte: the model of the state machine.

A storage's model is the row-major bytes of its life (what its owner was made as), and which of
them are known: memory that grew or began a new life holds garbage.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ndarray_rt._array.layout import grouped_dims
from ndarray_rt._array.ndarray import NDArray
from ndarray_rt.storage.desc import MemDesc, default_desc, tagged_desc
from ndarray_rt.storage.lease import Leases, Packed
from ndarray_rt.storage.stream import Mem, Stream
from ndarray_rt.testing.layout_model import offsets, physical

Array = np.ndarray[Any, np.dtype[Any]]
Shape = tuple[int, ...]
F32, I32, F16 = (np.dtype(name) for name in ("float32", "int32", "float16"))
DTYPES = (F32, F32, F32, I32, F16)
# what was reached, over all examples of a run
REACHED: Counter[str] = Counter()

# weights in groups, channels that do not fill a block, ones, no elements, rank 0 and 5
SHAPES: tuple[Shape, ...] = (
    (2, 3, 2, 3), (8, 4, 2, 1), (1, 16, 2, 2), (8, 4, 1, 2), (3, 20, 1, 2), (4, 6), (5,),
    (2, 3, 4), (2, 2, 3, 1, 2), (), (0, 3), (1, 1))
TAGS = {5: ("acdeb", "aBcde8b"), 4: ("acdb", "aBcd16b", "aBcd8b", "bacd"), 3: ("acb", "aBc8b"),
        2: ("ba",)}
GROUPED = ((2, "aBCde8c8b"), (2, "abdec"), (4, "acbde"))
# dtypes that every CPU's oneDNN reorders
WITH_LAYOUTS = (F32, I32)


@lru_cache(maxsize=1024)
def special_layouts(shape: Shape, dtype: np.dtype[Any]) -> tuple[MemDesc, ...]:
    """Special layouts that an array can be in, those of one rank more for grouped weights too."""
    if dtype not in WITH_LAYOUTS or prod(shape) == 0:
        return ()
    found = [tagged_desc(dtype, shape, tag) for tag in TAGS.get(len(shape), ())]
    if len(shape) == 4:
        found += [tagged_desc(dtype, grouped_dims(shape, g), tag) for g, tag in GROUPED
                  if shape[0] % g == 0]
    return tuple(desc for desc in found if not desc.is_default)


def all_layouts(array: NDArray) -> tuple[MemDesc, ...]:
    """Layouts to write or read an array in, the default one first; none for rank 0 and size 0."""
    if not array.shape or not array.size or array.dtype not in WITH_LAYOUTS:
        return ()
    return (default_desc(array.dtype, array.shape), *special_layouts(array.shape, array.dtype))


@lru_cache(maxsize=1024)
def places(desc: MemDesc) -> Array:
    """The place of each element in memory, in row-major order of the elements."""
    return offsets(desc).ravel()


class Held:
    """An array under test, and the place of its first byte in the model.

    No dataclass: Hypothesis would print their fields, and printing an array converts its storage.
    """

    def __init__(self, array: NDArray, home: Storage, start: int) -> None:
        self.array = array
        self.home = home
        self.start = start

    @property
    def part(self) -> slice:
        return slice(self.start, self.start + self.array.nbytes)

    def overlaps(self, other: Held) -> bool:
        return (self.home is other.home and self.start < other.part.stop
                and other.start < self.part.stop)

    def value(self) -> Array:
        """A copy of what the array must show; garbage where it is not known."""
        made = self.home.data[self.part].copy().view(self.array.dtype)
        return made.reshape(self.array.shape)

    def known(self) -> Array:
        """Which elements are known."""
        cells = self.home.known[self.part].reshape(-1, self.array.dtype.itemsize)
        return cells.all(axis=1).reshape(self.array.shape)

    def seen(self) -> Array | None:
        """What its bytes are, read without the code under test; None where there are none."""
        found = self.home.seen()
        if found is None:
            return None
        return found[self.part].view(self.array.dtype).reshape(self.array.shape)

    def is_known(self) -> bool:
        return bool(self.home.known[self.part].all())

    def wrote(self, value: Array, known: Array | None = None) -> None:
        """The array now has these contents; `known` None: all of them are known."""
        assert value.dtype == self.array.dtype
        assert value.shape == self.array.shape
        self.home.data[self.part] = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
        cells = True if known is None else known.ravel().repeat(value.dtype.itemsize)
        self.home.known[self.part] = cells

    def compare(self, got: Array, what: str) -> None:
        """Asserts that `got` is what a reader of this array must see."""
        assert got.shape == self.array.shape, f"{what}: shape {got.shape}"
        assert got.dtype == self.array.dtype, f"{what}: dtype {got.dtype}"
        mask, want = self.known(), self.value()
        assert same_bits(got[mask], want[mask]), f"{what}: {got.ravel()} is not {want.ravel()}"

    def __repr__(self) -> str:
        return f"Held({self.array.dtype} {self.array.shape} at byte {self.start} of {self.home!r})"


def same_bits(a: Array, b: Array) -> bool:
    """Equal byte for byte."""
    return np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()


@dataclass(eq=False)
class Reader:
    """Somebody inside an operator call: a shared lease, and memory that must stay as it is."""

    leases: Leases
    stream: Stream
    mem: Mem
    seen: bytes


@dataclass(eq=False, repr=False)
class Export:
    """A buffer handed out: a numpy array over the bytes, and the array it came from."""

    buffer: Array
    held: Held
    address: int
    writable: bool


class Storage:
    """A Chunk under test, the arrays on it, and what their contents must be."""

    def __init__(self, array: NDArray, name: int, known: bool) -> None:
        self.chunk = array._chunk
        self.name = name
        self.exports: list[Export] = []
        self.readers: list[Reader] = []
        self.packers: list[Packed] = []  # plans that rely on the layout
        # version -> (address, layout): what a pointer cached under that version relies on
        self.versions: dict[int, tuple[int, MemDesc | None]] = {}
        # (changes, contents, known) when it was last looked at without a writable export
        self.last: tuple[int, Array, Array] | None = None
        self.begin_life(array, known)

    def give_back_packers(self) -> None:
        """The plans that rely on the layout end."""
        for packer in self.packers:
            packer.give_back()
        self.packers.clear()

    def begin_life(self, array: NDArray, known: bool = False) -> None:
        """`array` owns the memory from now on; its contents are zeros if known, else garbage."""
        self.held = [Held(array, self, 0)]
        self.data = np.zeros(array.nbytes, np.uint8)
        self.known = np.full(array.nbytes, known)
        self.shape, self.dtype = array.shape, array.dtype
        self.last = None

    def state(self) -> tuple[int, MemDesc | None, int, int]:
        """Pointer, layout, version and write counter: all that a reader may notice."""
        chunk = self.chunk
        address = chunk.handle.address if chunk.is_allocated else 0
        return address, chunk.mkl_mem, chunk.version, chunk.writes

    def seen(self) -> Array | None:
        """The contents as bytes in row-major order, read without the code under test.

        None when there are none: no memory yet, or the layout of an earlier life.
        """
        chunk, size = self.chunk, self.data.size
        if not chunk.is_allocated:
            return np.zeros(size, np.uint8) if chunk.zero else None
        desc = chunk.mkl_mem
        if desc is None:
            return np.frombuffer(chunk.handle.buffer(), np.uint8, size).copy()
        found = physical(chunk, desc)[places(desc)].view(np.uint8)
        return found if found.size == size else None

    def __repr__(self) -> str:
        desc = self.chunk.mkl_mem
        return f"storage {self.name} ({'default' if desc is None else desc.layout()})"
