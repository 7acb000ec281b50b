"""NDArrayIter: batches out of arrays that are in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import nd
from ..errors import ParameterError, ShapeError, TypeMismatch
from ..nd import NDArray
from .data import DataBatch, DataDesc, DataIter

Named = list[tuple[str, Any]]
LAST_BATCHES = ("pad", "discard", "roll_over")


def _is_file(value: Any) -> bool:
    """A dataset of h5py, which is read where it is needed."""
    return type(value).__module__.partition(".")[0] == "h5py"


def _named(data: Any, may_be_empty: bool, default: str) -> Named:
    """Arrays with names, by name. Raises TypeMismatch for what is no array."""
    if data is None:
        if not may_be_empty:
            raise ParameterError("NDArrayIter: data is None, expected arrays")
        data = []
    if isinstance(data, (np.ndarray, NDArray)) or _is_file(data):
        data = [data]
    if isinstance(data, list):
        if not data and not may_be_empty:
            raise ParameterError("NDArrayIter: data is an empty list, expected arrays")
        names = [default] if len(data) == 1 else [f"_{i}_{default}" for i in range(len(data))]
        data = dict(zip(names, data, strict=True))
    if not isinstance(data, Mapping):
        raise TypeMismatch("NDArrayIter: Input must be NDArray, numpy.ndarray, h5py.Dataset, a "
                           "list of them or dict with them as values, got "
                           f"{type(data).__name__}")
    found = []
    for name, value in data.items():
        if not isinstance(value, NDArray) and not _is_file(value):
            try:
                value = nd.array(value)
            except (TypeError, ValueError) as error:
                raise TypeMismatch(f"NDArrayIter: Invalid type '{type(value)}' for {name}, should "
                                   "be NDArray, numpy.ndarray or h5py.Dataset") from error
        if not value.shape:
            raise ShapeError(f"NDArrayIter: {name} has no axis of samples: its shape is ()")
        found.append((name, value))
    return sorted(found, key=lambda pair: pair[0])


class NDArrayIter(DataIter):
    """Batches of `batch_size` samples of arrays, in their order or, with `shuffle`, in a new one
    at each reset.

    `data` and `label` are arrays (of this package, NumPy, h5py), lists of them, or dicts by name.
    What the last samples of a pass are, when they are too few for a batch, says
    `last_batch_handle`: 'pad' fills the batch with the first ones, 'discard' leaves them out,
    'roll_over' puts them before the next pass. `layout` says which axis samples lie along.

    Source: MXNet's NDArrayIter.
    """

    def __init__(self, data: Any, label: Any = None, batch_size: int = 1, shuffle: bool = False,
                 last_batch_handle: str = "pad", data_name: str = "data",
                 label_name: str = "softmax_label", layout: str = "NCHW") -> None:
        super().__init__(batch_size)
        if not isinstance(batch_size, int) or batch_size < 1:
            raise ParameterError(f"NDArrayIter: batch_size is {batch_size!r}, expected a number "
                                 "from 1 up")
        if last_batch_handle not in LAST_BATCHES:
            raise ParameterError(f"NDArrayIter: last_batch_handle is {last_batch_handle!r}, "
                                 f"expected one of {', '.join(LAST_BATCHES)}")
        self.data = _named(data, False, data_name)
        self.label = _named(label, True, label_name)
        self.layout = layout
        self.axis = layout.find("N")
        if self.axis < 0:
            raise ParameterError(f"NDArrayIter: layout {layout!r} has no axis of samples, 'N'")
        self.num_data = self._count()
        self.idx = np.arange(self.num_data)
        self.shuffle = shuffle
        self.last_batch_handle = last_batch_handle
        self.cursor = -batch_size
        # samples that roll over to the next pass
        self._rest: tuple[list[NDArray], list[NDArray]] | None = None
        self.reset()

    def _count(self) -> int:
        name, first = self.data[0]
        count = int(first.shape[self.axis])
        for other, value in (*self.data, *self.label):
            axis = self.axis if len(value.shape) > self.axis else 0
            # more are left over, as in MXNet
            if value.shape[axis] < count:
                raise ShapeError(f"NDArrayIter: {other} has {value.shape[axis]} samples, {name} "
                                 f"has {count}")
        return count

    @property
    def data_list(self) -> list[Any]:
        """All arrays, data before labels."""
        return [value for _, value in (*self.data, *self.label)]

    @property
    def num_source(self) -> int:
        """How many arrays there are."""
        return len(self.data) + len(self.label)

    @property
    def provide_data(self) -> list[DataDesc]:
        """What the arrays of a batch's data are."""
        return self._described(self.data)

    @property
    def provide_label(self) -> list[DataDesc]:
        """What the arrays of a batch's labels are."""
        return self._described(self.label)

    def _described(self, named: Named) -> list[DataDesc]:
        axis, size = self.axis, self.batch_size
        return [DataDesc(name, (*value.shape[:axis], size, *value.shape[axis + 1:]), value.dtype,
                         layout=self.layout) for name, value in named]

    # ---- passes -------------------------------------------------------------------------------

    def hard_reset(self) -> None:
        """Goes to the beginning; nothing rolls over."""
        if self.shuffle:
            self._shuffle()
        self.cursor = -self.batch_size
        self._rest = None

    def reset(self) -> None:
        """Goes to the beginning, or to the samples that roll over."""
        if self.shuffle:
            self._shuffle()
        if (self.last_batch_handle == "roll_over"
                and self.num_data - self.batch_size < self.cursor < self.num_data):
            self.cursor = self.cursor - self.num_data - self.batch_size
        else:
            self.cursor = -self.batch_size

    def _shuffle(self) -> None:
        # NumPy's generator, as in MXNet: np.random.seed makes it repeatable
        np.random.shuffle(self.idx)
        self.data, self.label = (
            [(name, value if _is_file(value) else self._taken(value, self.idx))
             for name, value in named] for named in (self.data, self.label))

    def _taken(self, value: NDArray, places: Any) -> NDArray:
        axis = self.axis if len(value.shape) > self.axis else 0
        made: NDArray = nd.array(np.take(value.asnumpy(), places, axis=axis), value.context,
                                 dtype=value.dtype)
        return made

    def iter_next(self) -> bool:
        self.cursor += self.batch_size
        return self.cursor < self.num_data

    def next(self) -> DataBatch:
        if not self.iter_next():
            raise StopIteration
        data, label = self._batch()
        if data[0].shape[self.axis] != self.batch_size:
            if self.last_batch_handle == "roll_over":
                self._rest = data, label
            raise StopIteration
        return DataBatch(data=data, label=label, pad=self.getpad(), index=None)

    # ---- batches ------------------------------------------------------------------------------

    def _part(self, named: Named, start: int, stop: int) -> list[NDArray]:
        made = []
        for _, value in named:
            if _is_file(value):
                # h5py takes places in rising order
                places = self.idx[start:stop]
                order = np.argsort(places)
                back = np.empty_like(order)
                back[order] = np.arange(len(order))
                made.append(nd.array(value[places[order].tolist()][back]))
            else:
                axis = self.axis if len(value.shape) > self.axis else 0
                made.append(nd.slice_axis(value, axis=axis, begin=start, end=stop))
        return made

    def _joined(self, parts: list[list[NDArray]]) -> list[NDArray]:
        if len(parts) == 1:
            return parts[0]
        return [nd.concat(*pieces, dim=self.axis if len(pieces[0].shape) > self.axis else 0)
                for pieces in zip(*parts, strict=True)]

    def _wrapped(self, named: Named) -> list[NDArray]:
        """The batch at the cursor, filled up with samples from the beginning, again and again."""
        parts = [self._part(named, self.cursor, self.num_data)]
        missing = self.getpad()
        while missing:
            taken = min(missing, self.num_data)
            parts.append(self._part(named, 0, taken))
            missing -= taken
        return self._joined(parts)

    def _of(self, named: Named, rest: list[NDArray] | None) -> list[NDArray]:
        if not named:
            return []
        if self.cursor >= self.num_data:
            raise ParameterError("NDArrayIter: DataIter needs reset.")
        end = self.cursor + self.batch_size
        if rest is not None:
            # perhaps still too few for a batch
            return self._joined([rest, self._part(named, 0, min(end, self.num_data))])
        if self.last_batch_handle == "pad" and end > self.num_data:
            return self._wrapped(named)
        return self._part(named, self.cursor, min(end, self.num_data))

    def _rolled(self) -> tuple[list[NDArray], list[NDArray]] | None:
        """What is before this batch's own samples."""
        if self.last_batch_handle == "roll_over" and -self.batch_size < self.cursor < 0:
            if self._rest is None:
                raise ParameterError("NDArrayIter: next epoch should have cached data: the last "
                                     "pass did not come to its end")
            return self._rest
        return None

    def _batch(self) -> tuple[list[NDArray], list[NDArray]]:
        rest = self._rolled()
        data = self._of(self.data, None if rest is None else rest[0])
        label = self._of(self.label, None if rest is None else rest[1])
        if rest is not None:
            self._rest = None
        return data, label

    def getdata(self) -> list[NDArray]:
        rest = self._rolled()
        return self._of(self.data, None if rest is None else rest[0])

    def getlabel(self) -> list[NDArray]:
        rest = self._rolled()
        return self._of(self.label, None if rest is None else rest[1])

    def getpad(self) -> int:
        if self.last_batch_handle == "pad" and self.cursor + self.batch_size > self.num_data:
            return self.cursor + self.batch_size - self.num_data
        if self.last_batch_handle == "roll_over" and -self.batch_size < self.cursor < 0:
            return -self.cursor
        return 0
