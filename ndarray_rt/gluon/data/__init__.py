"""`gluon.data`: datasets, samplers, and loaders of batches."""

from __future__ import annotations

from ...public import shows
from .dataloader import DataLoader
from .dataset import ArrayDataset, Dataset, SimpleDataset
from .sampler import BatchSampler, FilterSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["ArrayDataset", "BatchSampler", "DataLoader", "Dataset", "FilterSampler",
           "RandomSampler", "Sampler", "SequentialSampler", "SimpleDataset"]
__dir__ = shows(globals())
