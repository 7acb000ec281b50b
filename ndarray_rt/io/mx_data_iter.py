"""MXDataIter: the base of iterators over files, which keep the batch that they went to."""

from __future__ import annotations

import logging
from typing import Any

from ..errors import MXNetError
from ..nd import NDArray
from .data import DataBatch, DataDesc, DataIter, as_desc


class MXDataIter(DataIter):
    """Batches of `handle`, an iterator, under the names `data_name` and `label_name`.

    The iterators over files (CSVIter, ImageRecordIter, ...) are of this class, too, and define
    `_advance` and `reset`. Source: MXNet's MXDataIter, whose handle is an iterator in C++.
    """

    _handle: Any = None
    _batch: DataBatch | None = None
    _first_batch: DataBatch | None = None
    _debug_skip_load = False

    def __init__(self, handle: Any, data_name: str = "data", label_name: str = "softmax_label",
                 **_: Any) -> None:
        super().__init__(handle.batch_size)
        self._handle = handle
        self.provide_data = _renamed(handle.provide_data, data_name)
        self.provide_label = _renamed(handle.provide_label, label_name)

    def debug_skip_load(self) -> None:
        """From now on gives the first batch again and again, to see what reading costs."""
        self._debug_skip_load = True
        logging.info("Set debug_skip_load to be true, will simply return first batch")

    def reset(self) -> None:
        self._handle.reset()

    def _advance(self) -> DataBatch | None:
        """The next batch, None at the end."""
        try:
            made: DataBatch = self._handle.next()
        except StopIteration:
            return None
        return made

    def iter_next(self) -> bool:
        if self._debug_skip_load and self._first_batch is not None:
            self._batch = self._first_batch
            return True
        self._batch = None  # also where reading fails
        self._batch = self._advance()
        if self._first_batch is None:
            self._first_batch = self._batch
        return self._batch is not None

    def next(self) -> DataBatch:
        if not self.iter_next():
            raise StopIteration
        return self._now()

    def _now(self) -> DataBatch:
        if self._batch is None:
            raise MXNetError(f"{type(self).__name__}: there is no batch now: call next first")
        return self._batch

    def getdata(self) -> NDArray:
        found: NDArray = self._now().data[0]
        return found

    def getlabel(self) -> NDArray:
        found: NDArray = self._now().label[0]
        return found

    def getindex(self) -> Any:
        return self._now().index

    def getpad(self) -> Any:
        return self._now().pad


def _renamed(descs: Any, name: str) -> list[DataDesc]:
    """Descriptions, the first of them under another name."""
    found = [as_desc(desc) for desc in descs]
    return [DataDesc(name if not i else desc.name, desc.shape, desc.dtype, desc.layout)
            for i, desc in enumerate(found)]
