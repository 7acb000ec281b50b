"""Random bits: Philox 4x32-10 (Salmon et al., 2011), counter based. Knows no distribution."""

from __future__ import annotations

import threading

import numpy as np

from ..fork import renew_in_child
from ..native import ffi, lib

U32 = np.ndarray[tuple[int], np.dtype[np.uint32]]
F32 = np.ndarray[tuple[int], np.dtype[np.float32]]

_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = 0x9E3779B9, 0xBB67AE85
_MASK = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)


def philox_numpy(n: int, key: int, counter: int) -> U32:
    """`n` words of the stream `key` from block `counter` on, in numpy: the definition."""
    blocks = (n + 3) // 4
    index = np.arange(blocks, dtype=np.uint64) + np.uint64(counter)
    c0, c1 = index & _MASK, index >> _SHIFT
    c2, c3 = np.zeros_like(c0), np.zeros_like(c0)
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p0, p1 = _M0 * c0, _M1 * c2
        c0, c1, c2, c3 = ((p1 >> _SHIFT) ^ c1 ^ np.uint64(k0), p1 & _MASK,
                          (p0 >> _SHIFT) ^ c3 ^ np.uint64(k1), p0 & _MASK)
        k0, k1 = (k0 + _W0) & 0xFFFFFFFF, (k1 + _W1) & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3], axis=1).astype(np.uint32).reshape(-1)[:n]


def philox(n: int, key: int, counter: int) -> U32:
    """The same words as `philox_numpy`, from the native kernel."""
    out = np.empty(n, np.uint32)
    if n:
        packed = ffi.new("ndrt_kernel_call *")
        packed.kernel = lib.NDRT_KERNEL_PHILOX
        packed.dims = [n, _signed(key), _signed(counter), 0]
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
    """A stream of random words by seed and position; both can be saved and set.

    Thread-safe: each draw gets a span of the stream of its own.
    """

    def __init__(self, seed: int = 0) -> None:
        self._lock = threading.Lock()
        self.seed(seed)
        renew_in_child(self)

    def renew_locks(self) -> None:
        """In a forked child, which goes on with the same stream as its parent."""
        self._lock = threading.Lock()

    def seed(self, seed: int) -> None:
        """Starts the stream of `seed` at its beginning."""
        with self._lock:
            self._key = int(seed) & 0xFFFFFFFFFFFFFFFF
            self._counter = 0

    def words(self, n: int) -> U32:
        """The next `n` words."""
        with self._lock:
            start = self._counter
            self._counter = (start + (n + 3) // 4) & 0xFFFFFFFFFFFFFFFF
            key = self._key
        return philox(n, key, start)

    def reserve(self, blocks: int) -> tuple[int, int]:
        """Takes so many blocks of four words off the stream; says where they begin."""
        with self._lock:
            start = self._counter
            self._counter = (start + blocks) & 0xFFFFFFFFFFFFFFFF
            return self._key, start

    def uniform(self, n: int) -> F32:
        """`n` float32 in [0, 1)."""
        return uniform_floats(self.words(n))

    def normal(self, n: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """`n` float64 from the standard normal distribution (Box and Muller, 1958)."""
        half = (n + 1) // 2
        words = self.words(2 * half)
        # (0, 1]: the logarithm of 0 is none
        u = (words[:half].astype(np.float64) + 1.0) * 2.0**-32
        angle = words[half:].astype(np.float64) * (2.0 * np.pi * 2.0**-32)
        radius = np.sqrt(-2.0 * np.log(u))
        return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:n]

    def get_state(self) -> tuple[int, int]:
        """(seed, position), for `set_state`."""
        with self._lock:
            return self._key, self._counter

    def set_state(self, state: tuple[int, int]) -> None:
        """Goes on where `get_state` was called."""
        with self._lock:
            self._key, self._counter = int(state[0]), int(state[1])


_DEFAULT = RandomState()


def default_random_state() -> RandomState:
    """The process's stream: the one that `random.seed` sets."""
    return _DEFAULT
