"""DataLoaderIter: batches of gluon's loaders for modules. Source: MXNet's `mx.contrib.io`."""

from __future__ import annotations

from typing import Any

from .. import nd
from ..errors import ParameterError
from ..io import DataDesc, DataIter
from ..nd import NDArray
from ..public import shows

__all__ = ["DataLoaderIter"]
__dir__ = shows(globals())


class DataLoaderIter(DataIter):
    """An iterator over a gluon DataLoader of pairs of data and label.

    Parameters
    ----------
    loader : DataLoader
    data_name, label_name : str
    dtype : str
        What data and labels are cast to.

    A last batch with fewer samples is filled with zeros, `pad` says how many. ParameterError for
    a loader without batches.
    """

    def __init__(self, loader: Any, data_name: str = "data", label_name: str = "softmax_label",
                 dtype: Any = "float32") -> None:
        super().__init__()
        self._loader = loader
        first = next(iter(loader), None)
        if first is None:
            raise ParameterError("DataLoaderIter: the loader has no batch")
        data, label = first
        self.batch_size = data.shape[0]
        self.dtype = dtype
        self.provide_data = [DataDesc(data_name, data.shape, dtype)]
        self.provide_label = [DataDesc(label_name, label.shape, dtype)]
        self._current_batch: Any = None
        self.reset()

    def reset(self) -> None:
        """Begins with the first batch again."""
        self._iter = iter(self._loader)

    def iter_next(self) -> bool:
        """Goes to the next batch; whether there is one."""
        self._current_batch = next(self._iter, None)
        return self._current_batch is not None

    def _filled(self, array: Any) -> list[NDArray]:
        """The array, with zeros up to the batch size."""
        made = array.astype(self.dtype)
        if self.getpad():
            missing = (self.getpad(), *made.shape[1:])
            made = nd.concat(made, nd.zeros(missing, dtype=self.dtype), dim=0)
        return [made]

    def getdata(self) -> list[NDArray]:
        """The data of this batch."""
        return self._filled(self._current_batch[0])

    def getlabel(self) -> list[NDArray]:
        """The labels of this batch."""
        return self._filled(self._current_batch[1])

    def getpad(self) -> int:
        """How many samples were added at the end."""
        pad: int = self.batch_size - self._current_batch[0].shape[0]
        return pad

    def getindex(self) -> None:
        """None: the numbers of the samples are not known."""
        return
