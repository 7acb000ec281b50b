"""`gluon.data.vision`: data sets of images, and what is done to images before training."""

from __future__ import annotations

from ....public import shows
from . import transforms
from .datasets import (
    CIFAR10,
    CIFAR100,
    MNIST,
    FashionMNIST,
    ImageFolderDataset,
    ImageRecordDataset,
)

__all__ = ["CIFAR10", "CIFAR100", "MNIST", "FashionMNIST", "ImageFolderDataset",
           "ImageRecordDataset", "transforms"]
__dir__ = shows(globals())
