"""KeptRuns: intermediate results that forward keeps for the backward call of the same inputs.

Without them a backward that needs more than forward's inputs and outputs computes them again. Knows
no operator.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from .._array.ndarray import NDArray
from ..storage.desc import MemDesc
from ..storage.handle import Handle
from ..storage.primitive import Primitive
from ..storage.stream import Mem, Stream

# most calls of one executor that keep results
MOST_RUNS = 256


class _Run:
    """Memory that one call left, and the write counters of its inputs at that time."""

    __slots__ = ("contents", "descs", "handles", "primitives")

    def __init__(self, descs: Sequence[MemDesc], primitives: Sequence[Primitive]) -> None:
        self.descs = list(descs)
        self.primitives = list(primitives)
        self.handles = [Handle(desc.nbytes) for desc in descs]
        self.contents: list[tuple[int, int]] | None = None

    def mems(self, stream: Stream) -> list[Mem]:
        return [Mem(desc, handle.ptr, handle, stream.epoch)
                for desc, handle in zip(self.descs, self.handles, strict=True)]


class KeptRuns:
    """An executor's memory for what training's forward keeps, by signature and inputs.

    It does not move, so that recorded runs can write and read there. `epoch` changes when it is
    freed; earlier recordings must then not be replayed any more.
    """

    def __init__(self) -> None:
        self.epoch = 0
        self._runs: dict[Hashable, _Run] = {}

    def begin(self, sign: Hashable, inputs: Sequence[NDArray], primitives: Sequence[Primitive],
              descs: Sequence[MemDesc], stream: Stream) -> list[Mem]:
        """Memory of these layouts for a forward call, which must write all of it.

        `primitives` are those that forward ran; backward may need to know them.
        """
        key = _key(sign, inputs)
        run = self._runs.get(key)
        if run is None or run.primitives != list(primitives) or run.descs != list(descs):
            self.epoch += run is not None
            if len(self._runs) >= MOST_RUNS:
                self.forget()  # the inputs are other arrays each time
            run = self._runs[key] = _Run(descs, primitives)
        run.contents = _contents(inputs)
        return run.mems(stream)

    def find(self, sign: Hashable, inputs: Sequence[NDArray], primitives: Sequence[Primitive],
             stream: Stream) -> list[Mem] | None:
        """What the last forward call of these inputs left; None if there is nothing, or if the
        inputs were written to since."""
        run = self._runs.get(_key(sign, inputs))
        if (run is None or run.primitives != list(primitives) or run.contents is None
                or run.contents != _contents(inputs)):
            return None
        return run.mems(stream)

    def forget(self) -> None:
        """Invalidates everything: forward keeps nothing, or something else, from now on."""
        if self._runs:
            self.epoch += 1
            self._runs.clear()


def _key(sign: Hashable, inputs: Sequence[NDArray]) -> Hashable:
    return sign, tuple([(x._chunk.native.id, x._byte_offset) for x in inputs])


def _contents(inputs: Sequence[NDArray]) -> list[tuple[int, int]] | None:
    """Equal as long as nobody writes to them; None if a write could go unnoticed."""
    chunks = [x._chunk for x in inputs]
    if any(chunk.writable_pins for chunk in chunks):
        return None
    return [(chunk.writes, chunk.changes) for chunk in chunks]
