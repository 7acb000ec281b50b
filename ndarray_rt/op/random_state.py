"""Random bits: the counter-based generator Philox 4x32-10 (Salmon et al., 2011)."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from ..context import Context, current_context
from ..fork import renew_in_child
from ..native import ffi, lib
from .normal import F64, U32, standard_normal

F32 = np.ndarray[tuple[int], np.dtype[np.float32]]
U64 = np.ndarray[tuple[int], np.dtype[np.uint64]]
Words = np.ndarray[tuple[int, int], np.dtype[np.uint32]]

_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = 0x9E3779B9, 0xBB67AE85
_MASK = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)
_WORD = 0xFFFFFFFFFFFFFFFF


def philox_blocks(index: U64, key: int, attempt: int = 0, stage: int = 0) -> Words:
    """The four words of each block of the stream `key`, in NumPy: the definition.

    `attempt` and `stage` form the upper half of the counter, which is 0 in the stream itself: they
    give more words to an element that needs more than its own block.
    """
    c0, c1 = index & _MASK, index >> _SHIFT
    c2, c3 = np.full_like(c0, attempt), np.full_like(c0, stage)
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p0, p1 = _M0 * c0, _M1 * c2
        c0, c1, c2, c3 = ((p1 >> _SHIFT) ^ c1 ^ np.uint64(k0), p1 & _MASK,
                          (p0 >> _SHIFT) ^ c3 ^ np.uint64(k1), p0 & _MASK)
        k0, k1 = (k0 + _W0) & 0xFFFFFFFF, (k1 + _W1) & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3], axis=1).astype(np.uint32)


def philox_numpy(n: int, key: int, counter: int) -> U32:
    """`n` words of the stream `key`, starting at block `counter`, in NumPy."""
    index = np.arange((n + 3) // 4, dtype=np.uint64) + np.uint64(counter)
    made: U32 = philox_blocks(index, key).reshape(-1)[:n]
    return made


def philox(n: int, key: int, counter: int) -> U32:
    """The same words as `philox_numpy`, from the native kernel."""
    out = np.empty(n, np.uint32)
    if n:
        packed = ffi.new("ndrt_kernel_call *")
        packed.kernel = lib.NDRT_KERNEL_PHILOX
        packed.counts = [n, _signed(key), _signed(counter), 0]
        packed.data[0] = ffi.from_buffer(out)
        if lib.ndrt_kernel_run(packed) != lib.NDRT_OK:
            return philox_numpy(n, key, counter)
    return out


def _signed(word: int) -> int:
    return word - (1 << 64) if word >= 1 << 63 else word


def uniform_floats(words: U32) -> F32:
    """Words as float32 in [0, 1), multiples of 2**-24."""
    made: F32 = (words >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)
    return made


class RandomState:
    """A stream of random words defined by seed and position; both can be saved and restored.

    They are in native memory, where kernels read them when they run (`NDRT_KERNEL_DROPOUT`), so
    that a replayed run draws the next numbers. Thread-safe: each draw gets its own span of the
    stream.
    """

    __slots__ = ("_memory", "ptr")

    def __init__(self, seed: int = 0) -> None:
        # twice the size, so that it can be aligned to its size
        self._memory: Any = ffi.new("ndrt_random[2]")
        size = ffi.sizeof("ndrt_random")
        beyond = int(ffi.cast("uintptr_t", self._memory)) % size
        self.ptr: Any = ffi.cast("ndrt_random *",
                                 ffi.cast("char *", self._memory) + (size - beyond) % size)
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Starts the stream of `seed` at its beginning."""
        self.set_state((seed, 0))

    def words(self, n: int) -> U32:
        """The next `n` words; whole blocks of four are used up."""
        begin = ffi.new("ndrt_random *")
        lib.ndrt_random_draw(self.ptr, n, begin)
        return philox(n, begin.key, begin.counter)

    def reserve(self, blocks: int) -> tuple[int, int]:
        """Advances the stream by this many blocks of four words; returns where they begin."""
        begin = ffi.new("ndrt_random *")
        lib.ndrt_random_draw(self.ptr, 4 * blocks, begin)
        return begin.key, begin.counter

    def uniform(self, n: int) -> F32:
        """`n` float32 in [0, 1)."""
        return uniform_floats(self.words(n))

    def normal(self, n: int) -> F64:
        """`n` float64 from the standard normal distribution."""
        return standard_normal(self.words(n + n % 2))[:n]

    def get_state(self) -> tuple[int, int]:
        """(seed, position), for `set_state`."""
        begin = ffi.new("ndrt_random *")
        lib.ndrt_random_draw(self.ptr, 0, begin)
        return begin.key, begin.counter

    def set_state(self, state: tuple[int, int]) -> None:
        """Continues where `get_state` was called."""
        key, counter = (int(part) & _WORD for part in state)
        lib.ndrt_random_set(self.ptr, key, counter)


class RandomStreams:
    """One stream of random words per device context, made on first use."""

    def __init__(self) -> None:
        self._streams: dict[tuple[str, int], RandomState] = {}
        self._seed = 0
        self._renew_locks()
        renew_in_child(self)

    def _renew_locks(self) -> None:
        self._lock = threading.Lock()

    def of(self, ctx: Context) -> RandomState:
        """The stream of a context; always the same object."""
        place = ctx.device_type, ctx.device_id
        found = self._streams.get(place)
        if found is None:
            with self._lock:
                found = self._streams.get(place)
                if found is None:
                    found = self._streams[place] = RandomState(self._key(ctx))
        return found

    def seed(self, seed: int) -> None:
        """Restarts all streams, also those not made yet; each gets another sequence."""
        with self._lock:
            self._seed = seed
            for (kind, number), stream in self._streams.items():
                stream.seed(self._key(Context(kind, number)))

    def _key(self, ctx: Context) -> int:
        """The seed itself for cpu(0), a distant key for other contexts."""
        place = (ctx.device_typeid - 1 << 32) + ctx.device_id
        return self._seed + _SPREAD * place & _WORD


_SPREAD = 0x9E3779B97F4A7C15
_STREAMS = RandomStreams()
_CPU0 = Context("cpu", 0)


def random_state(ctx: Context | None = None) -> RandomState:
    """The stream of a context; None: of the current one."""
    return _STREAMS.of(current_context() if ctx is None else ctx)


def default_random_state() -> RandomState:
    """The stream of cpu(0)."""
    return _STREAMS.of(_CPU0)


def seed_all(seed: int) -> None:
    """Restarts the streams of all contexts."""
    _STREAMS.seed(seed)
