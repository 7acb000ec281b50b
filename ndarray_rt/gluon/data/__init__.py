"""`gluon.data`: datasets, samplers, and loaders of batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...public import loads, shows
from .dataloader import DataLoader
from .dataset import ArrayDataset, Dataset, RecordFileDataset, SimpleDataset
from .sampler import BatchSampler, FilterSampler, RandomSampler, Sampler, SequentialSampler

if TYPE_CHECKING:
    from . import vision

__all__ = ["ArrayDataset", "BatchSampler", "DataLoader", "Dataset", "FilterSampler",
           "RandomSampler", "RecordFileDataset", "Sampler", "SequentialSampler", "SimpleDataset",
           "vision"]
__dir__ = shows(globals())
__getattr__ = loads(globals(), {"vision": "vision"})
