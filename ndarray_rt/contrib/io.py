"""`contrib.io`: batches of a gluon DataLoader for modules. Source: MXNet's `contrib.io`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import nd
from ..io import DataDesc, DataIter
from ..nd import NDArray
from ..public import shows

__all__ = ["DataLoaderIter"]
__dir__ = shows(globals())


class DataLoaderIter(DataIter):
    """Iterates over a DataLoader's pairs of data and label, as modules want them.

    The first batch says the shapes; one with fewer samples is filled up to them (`pad` says by how
    many, and what they hold is not defined). Arrays are converted to `dtype`.
    """

    def __init__(self, loader: Any, data_name: str = "data", label_name: str = "softmax_label",
                 dtype: str = "float32") -> None:
        super().__init__()
        self._loader = loader
        data, label = next(iter(loader))
        self.batch_size = data.shape[0]
        self.dtype = dtype
        self.provide_data = [DataDesc(data_name, data.shape, dtype)]
        self.provide_label = [DataDesc(label_name, label.shape, dtype)]
        self._current_batch: Any = None
        self._iter: Iterator[Any]
        self.reset()

    def reset(self) -> None:
        """Begins with the first batch again."""
        self._iter = iter(self._loader)

    def iter_next(self) -> bool:
        """Goes to the next batch; whether there is one."""
        self._current_batch = next(self._iter, None)
        return self._current_batch is not None

    def getdata(self) -> list[NDArray]:
        """The data of this batch."""
        return [self._whole(self._current_batch[0])]

    def getlabel(self) -> list[NDArray]:
        """The labels of this batch."""
        return [self._whole(self._current_batch[1])]

    def _whole(self, array: NDArray) -> NDArray:
        missing = self.batch_size - array.shape[0]
        array = array.astype(self.dtype)
        if not missing:
            return array
        made: NDArray = nd.concat(array, nd.zeros((missing, *array.shape[1:]), dtype=self.dtype),
                                  dim=0)
        return made

    def getpad(self) -> int:
        """How many samples were added at the end."""
        return int(self.batch_size - self._current_batch[0].shape[0])

    def getindex(self) -> None:
        """None: the numbers of the samples are not known."""
        return
