"""Batches, what is known of their arrays, and the interface of iterators over them."""

from __future__ import annotations

import warnings
from collections import namedtuple
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import TypeMismatch, did_you_mean


def warn_unknown(what: str, name: str, known: Iterable[str]) -> None:
    """Tells of a keyword that an iterator passes over, as MXNet's do.

    For functions that an iterator's `__init__` calls: the warning points to whoever makes it.
    """
    warnings.warn(f"{what}: unknown parameter {name!r} has no effect{did_you_mean(name, known)}",
                  stacklevel=4)


class DataDesc(namedtuple("DataDesc", ["name", "shape"])):
    """Name and shape of an array, as a pair; its dtype and layout besides.

    The layout says which axis is that of samples: the place of 'N' in it.
    """

    # no __slots__: MXNet's programs set attributes, too
    dtype: Any
    layout: str | None

    def __new__(cls, name: str, shape: Any, dtype: Any = np.float32,
                layout: str | None = "NCHW") -> DataDesc:
        made = super().__new__(cls, name, shape)
        made.dtype = dtype
        made.layout = layout
        return made

    def __repr__(self) -> str:
        return f"DataDesc[{self.name},{self.shape},{self.dtype},{self.layout}]"

    def __reduce__(self) -> Any:
        return type(self), (self.name, self.shape, self.dtype, self.layout)

    @staticmethod
    def get_batch_axis(layout: str | None) -> int:
        """The axis of samples, 0 where no layout is known, -1 where there is none."""
        return 0 if layout is None else layout.find("N")

    @staticmethod
    def get_list(shapes: Sequence[tuple[str, Any]],
                 types: Iterable[tuple[str, Any]] | Mapping[str, Any] | None) -> list[DataDesc]:
        """Descriptions from pairs of name and shape, and pairs of name and dtype."""
        if types is None:
            return [DataDesc(name, shape) for name, shape in shapes]
        of_name = dict(types)
        return [DataDesc(name, shape, of_name[name]) for name, shape in shapes]


class DataBatch:
    """Arrays of one batch: lists `data` and `label`.

    `pad` says how many samples at the end are only there to fill the batch, `index` the numbers of
    the samples, `bucket_key` which graph it is for; `provide_data` and `provide_label` describe
    the arrays where they are other than the iterator's. Raises TypeMismatch for data or labels
    that are no lists.
    """

    def __init__(self, data: Any, label: Any = None, pad: int | None = None, index: Any = None,
                 bucket_key: Any = None, provide_data: Any = None,
                 provide_label: Any = None) -> None:
        for what, given in (("Data", data), ("Label", label)):
            if given is not None and not isinstance(given, (list, tuple)):
                raise TypeMismatch(f"DataBatch: {what} must be list of NDArrays, got a "
                                   f"{type(given).__name__}")
        self.data = data
        self.label = label
        self.pad = pad
        self.index = index
        self.bucket_key = bucket_key
        self.provide_data = provide_data
        self.provide_label = provide_label

    def __str__(self) -> str:
        data = [x.shape for x in self.data]
        label = [x.shape for x in self.label] if self.label else None
        return f"{type(self).__name__}: data shapes: {data} label shapes: {label}"


class DataIter:
    """The interface of iterators over batches.

    A subclass has the attributes `provide_data` and `provide_label`, lists of DataDesc, and defines
    either `next`, or `iter_next` and the `get` methods for the batch that it went to.
    """

    provide_data: Any
    provide_label: Any

    def __init__(self, batch_size: int = 0) -> None:
        self.batch_size = batch_size

    def __iter__(self) -> DataIter:
        return self

    def reset(self) -> None:
        """Goes back to the beginning."""

    def next(self) -> DataBatch:
        """The next batch. Raises StopIteration at the end."""
        if not self.iter_next():
            raise StopIteration
        return DataBatch(self.getdata(), self.getlabel(), self.getpad(), self.getindex())

    def __next__(self) -> DataBatch:
        return self.next()

    def iter_next(self) -> Any:
        """Goes to the next batch; says whether there is one."""

    def getdata(self) -> Any:
        """Data of this batch."""

    def getlabel(self) -> Any:
        """Labels of this batch."""

    def getindex(self) -> Any:
        """Numbers of the samples of this batch, where they are known."""
        return None

    def getpad(self) -> Any:
        """How many samples only fill this batch."""


def as_desc(given: Any) -> DataDesc:
    """A description, or what it is made of: (name, shape) and perhaps dtype and layout."""
    return given if isinstance(given, DataDesc) else DataDesc(*given)
