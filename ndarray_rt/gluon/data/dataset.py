"""Datasets: objects with `len()` and `[]`, and what is made of them sample by sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from os.path import splitext
from typing import Any

from ...errors import ParameterError, ShapeError, TypeMismatch
from ...nd import NDArray
from ...public import shows
from ...recordio import MXIndexedRecordIO
from .sampler import FilterSampler, Sampler, SequentialSampler

__all__ = ["ArrayDataset", "Dataset", "RecordFileDataset", "SimpleDataset"]
__dir__ = shows(globals())


class Dataset:
    """The base of datasets: subclasses define `__getitem__` and `__len__`.

    A sample is any object; one of several parts, such as an image and its label, is a tuple.
    """

    def __getitem__(self, idx: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} has no __len__")

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def filter(self, fn: Callable[[Any], Any]) -> Dataset:
        """The samples for which `fn` is true. It is called here, once for each sample."""
        return _SampledDataset(self, FilterSampler(fn, self))

    def shard(self, num_shards: int, index: int) -> Dataset:
        """Part `index` of `num_shards`, in order; the first parts are longer by one where uneven.

        Raises ParameterError, an AssertionError too, for a part that there is not.
        """
        if not 0 <= index < num_shards:
            raise _WrongShard(f"shard: index is {index}, expected 0 to {num_shards - 1}"
                              if num_shards > 0 else
                              f"shard: num_shards is {num_shards}, expected 1 or more")
        each, longer = divmod(len(self), num_shards)
        start = each * index + min(index, longer)
        return _SampledDataset(self, SequentialSampler(each + (index < longer), start))

    def take(self, count: int | None) -> Dataset:
        """The first `count` samples, or all where there are fewer or it is None."""
        if count is not None and count < 0:
            raise ParameterError(f"take: count is {count}, expected 0 or more")
        count = len(self) if count is None else min(count, len(self))
        return _SampledDataset(self, SequentialSampler(count))

    def sample(self, sampler: Sampler) -> Dataset:
        """The samples whose indices a sampler gives, in its order. It is asked once, here."""
        if not isinstance(sampler, Sampler):
            raise TypeMismatch(f"Invalid sampler type: {type(sampler)}. Expected "
                               "gluon.data.Sampler instead.")
        return _SampledDataset(self, sampler)

    def transform(self, fn: Callable[..., Any], lazy: bool = True) -> Dataset:
        """Each sample as `fn` gives it; a tuple's parts are its arguments.

        `lazy` calls `fn` whenever a sample is asked for; otherwise it is called here, once for
        each, so that a random `fn` gives the same in all epochs.
        """
        made = _TransformedDataset(self, fn)
        return made if lazy else SimpleDataset(list(made))

    def transform_first(self, fn: Callable[[Any], Any], lazy: bool = True) -> Dataset:
        """As `transform`, but `fn` gets and gives the first part of each sample only."""
        return self.transform(_First(fn), lazy)


class _WrongShard(ParameterError, AssertionError):
    """MXNet asserts this."""


class SimpleDataset(Dataset):
    """The samples of a list, an array, or whatever has `len()` and `[]`."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: Any) -> Any:
        return self._data[idx]


class _TransformedDataset(Dataset):
    """Samples as a function gives them, when asked for."""

    def __init__(self, data: Any, fn: Callable[..., Any]) -> None:
        self._data = data
        self._fn = fn

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: Any) -> Any:
        sample = self._data[idx]
        return self._fn(*sample) if isinstance(sample, tuple) else self._fn(sample)


class _First:
    """A function applied to the first of its arguments; picklable, as no closure is."""

    def __init__(self, fn: Callable[[Any], Any]) -> None:
        self._fn = fn

    def __call__(self, first: Any, *others: Any) -> Any:
        made = self._fn(first)
        return (made, *others) if others else made


class _SampledDataset(Dataset):
    """Those samples of another dataset whose indices a sampler gave."""

    def __init__(self, dataset: Dataset, sampler: Sampler) -> None:
        self._dataset = dataset
        self._indices = list(sampler)

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, idx: Any) -> Any:
        return self._dataset[self._indices[idx]]


class ArrayDataset(Dataset):
    """Samples made of the rows of one or more arrays, lists or datasets of one length.

    A sample of several is a tuple. Rows of an NDArray of rank 1 are NumPy scalars. Raises
    ShapeError, an AssertionError too, for lengths that differ.
    """

    def __init__(self, *args: Any) -> None:
        if not args:
            raise _WrongLengths("ArrayDataset: got no arrays, expected one or more")
        self._length = len(args[0])
        self._data: list[Any] = []
        for i, data in enumerate(args):
            if len(data) != self._length:
                raise _WrongLengths("All arrays must have the same length; array[0] has length "
                                    f"{self._length} while array[{i}] has {len(data)}.")
            flat = isinstance(data, NDArray) and len(data.shape) == 1
            self._data.append(data.asnumpy() if flat else data)

    def __getitem__(self, idx: Any) -> Any:
        if len(self._data) == 1:
            return self._data[0][idx]
        return tuple(data[idx] for data in self._data)

    def __len__(self) -> int:
        return self._length


class _WrongLengths(ShapeError, AssertionError):
    """MXNet asserts this."""


class RecordFileDataset(Dataset):
    """The records, bytes, of a file with an index beside it: the same name with the ending .idx.

    Raises MXNetError for files that can not be read. Source: MXNet's RecordFileDataset.
    """

    def __init__(self, filename: str) -> None:
        self.idx_file = splitext(filename)[0] + ".idx"
        self.filename = filename
        self._record = MXIndexedRecordIO(self.idx_file, filename, "r")

    def __getitem__(self, idx: Any) -> Any:
        return self._record.read_idx(self._record.keys[idx])

    def __len__(self) -> int:
        return len(self._record.keys)
