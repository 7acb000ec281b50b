"""Data from arrays and files, batch by batch. Source: MXNet's `mx.io`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..public import loads, shows

if TYPE_CHECKING:
    from .array_iter import NDArrayIter
    from .data import DataBatch, DataDesc, DataIter
    from .file_iters import CSVIter, LibSVMIter, MNISTIter
    from .image_det_records import ImageDetRecordIter
    from .image_records import (
        ImageRecordInt8Iter,
        ImageRecordIter,
        ImageRecordIter_v1,
        ImageRecordUInt8Iter,
        ImageRecordUInt8Iter_v1,
    )
    from .mx_data_iter import MXDataIter
    from .wrappers import PrefetchingIter, ResizeIter

_PLACES = {
    "NDArrayIter": "array_iter", "DataBatch": "data", "DataDesc": "data", "DataIter": "data",
    "CSVIter": "file_iters", "LibSVMIter": "file_iters", "MNISTIter": "file_iters",
    "PrefetchingIter": "wrappers", "ResizeIter": "wrappers", "MXDataIter": "mx_data_iter",
    "ImageDetRecordIter": "image_det_records", "ImageRecordInt8Iter": "image_records",
    "ImageRecordIter": "image_records", "ImageRecordIter_v1": "image_records",
    "ImageRecordUInt8Iter": "image_records", "ImageRecordUInt8Iter_v1": "image_records"}

__all__ = ["CSVIter", "DataBatch", "DataDesc", "DataIter", "ImageDetRecordIter",
           "ImageRecordInt8Iter", "ImageRecordIter", "ImageRecordIter_v1", "ImageRecordUInt8Iter",
           "ImageRecordUInt8Iter_v1", "LibSVMIter", "MNISTIter", "MXDataIter", "NDArrayIter",
           "PrefetchingIter", "ResizeIter"]

__getattr__ = loads(globals(), {name: f"{module}:{name}" for name, module in _PLACES.items()})
__dir__ = shows(globals())
