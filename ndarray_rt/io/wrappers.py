"""Iterators over iterators: another length, and batches made ahead in threads."""

from __future__ import annotations

import threading
from queue import Queue
from typing import Any

from ..errors import ParameterError
from .data import DataBatch, DataDesc, DataIter, as_desc


class _OverBatches(DataIter):
    """An iterator whose `iter_next` leaves a batch of another one in `current_batch`."""

    current_batch: Any = None

    def getdata(self) -> Any:
        return self.current_batch.data

    def getlabel(self) -> Any:
        return self.current_batch.label

    def getindex(self) -> Any:
        return self.current_batch.index

    def getpad(self) -> Any:
        return self.current_batch.pad


class ResizeIter(_OverBatches):
    """`size` batches of an iterator a pass, which begins anew in between where it ends.

    With `reset_internal` the iterator is reset with this one. Source: MXNet's ResizeIter.
    """

    def __init__(self, data_iter: Any, size: int, reset_internal: bool = True) -> None:
        super().__init__(data_iter.batch_size)
        self.data_iter = data_iter
        self.size = size
        self.reset_internal = reset_internal
        self.cur = 0
        self.provide_data = data_iter.provide_data
        self.provide_label = data_iter.provide_label
        if hasattr(data_iter, "default_bucket_key"):
            self.default_bucket_key = data_iter.default_bucket_key

    def reset(self) -> None:
        self.cur = 0
        if self.reset_internal:
            self.data_iter.reset()

    def iter_next(self) -> bool:
        if self.cur == self.size:
            return False
        try:
            self.current_batch = self.data_iter.next()
        except StopIteration:
            self.data_iter.reset()
            self.current_batch = self.data_iter.next()
        self.cur += 1
        return True


class _Ahead:
    """A thread that makes one batch ahead of an iterator; what it raises comes out of `take`."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self._wanted: Queue[bool] = Queue()
        self._made: Queue[Any] = Queue()
        # the thread holds the queues and the source alone, so that this object can die
        self._thread = threading.Thread(target=_make_ahead, daemon=True,
                                        args=(source, self._wanted, self._made))
        self._thread.start()
        self._wanted.put(True)
        self._is_on = True

    def take(self) -> Any:
        """The batch that was made, None at the end; the next one is begun."""
        found = self._made.get()
        self._is_on = isinstance(found, DataBatch) or hasattr(found, "data")
        if isinstance(found, BaseException):
            raise found
        if self._is_on:
            self._wanted.put(True)
        return found

    def reset(self) -> None:
        """The source from its beginning."""
        if self._is_on:
            self._made.get()
        self._source.reset()
        self._wanted.put(True)
        self._is_on = True

    def close(self) -> None:
        self._wanted.put(False)


def _make_ahead(source: Any, wanted: Queue[bool], made: Queue[Any]) -> None:
    while wanted.get():
        try:
            found = source.next()
        except StopIteration:
            found = None
        except BaseException as error:  # it is raised where the batch is taken
            found = error
        made.put(found)


class PrefetchingIter(_OverBatches):
    """Batches of several iterators as one, the next ones made in threads meanwhile.

    `rename_data` and `rename_label` have a dict of new names for each iterator. What an iterator
    raises is raised here. Source: MXNet's PrefetchingIter.
    """

    def __init__(self, iters: Any, rename_data: list[dict[str, str]] | None = None,
                 rename_label: list[dict[str, str]] | None = None) -> None:
        self.iters = iters if isinstance(iters, list) else [iters]
        if not self.iters:
            raise ParameterError("PrefetchingIter: no iterators")
        self.n_iter = len(self.iters)
        self.rename_data = rename_data
        self.rename_label = rename_label
        super().__init__(self.provide_data[0][1][0])
        self._ahead = [_Ahead(one) for one in self.iters]

    def __del__(self) -> None:
        for ahead in getattr(self, "_ahead", ()):
            ahead.close()

    def _joined(self, what: str, names: list[dict[str, str]] | None) -> list[Any]:
        found = [list(getattr(one, what)) for one in self.iters]
        if names is None:
            return [desc for descs in found for desc in descs]
        return [DataDesc(new[desc.name], desc.shape, desc.dtype) for new, descs in
                zip(names, found, strict=True) for desc in map(as_desc, descs)]

    @property
    def provide_data(self) -> list[Any]:
        """What the arrays of all iterators' data are."""
        return self._joined("provide_data", self.rename_data)

    @property
    def provide_label(self) -> list[Any]:
        """What the arrays of all iterators' labels are."""
        return self._joined("provide_label", self.rename_label)

    def reset(self) -> None:
        for ahead in self._ahead:
            ahead.reset()

    def iter_next(self) -> bool:
        found = [ahead.take() for ahead in self._ahead]
        if any(batch is None for batch in found):
            if not all(batch is None for batch in found):
                raise ParameterError("PrefetchingIter: Number of entry mismatches between "
                                     "iterators")
            return False
        if len({batch.pad for batch in found}) > 1:
            raise ParameterError("PrefetchingIter: batches of the iterators are padded differently")
        self.current_batch = DataBatch(
            [array for batch in found for array in batch.data],
            [array for batch in found for array in batch.label or ()], found[0].pad,
            found[0].index, provide_data=self.provide_data, provide_label=self.provide_label)
        return True

    def next(self) -> DataBatch:
        if not self.iter_next():
            raise StopIteration
        batch: DataBatch = self.current_batch
        return batch
