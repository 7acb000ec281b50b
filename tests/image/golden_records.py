"""Passes of the iterators over image records, made the same way with MXNet and here.

Only what is not drawn at random is compared, and the order of shuffled records, which is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .golden_augmented import passes

SHAPE = (3, 20, 30)
# name -> (iterator, keywords); files are those of golden_augmented.write_files
ITERATORS: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("ImageRecordIter", {}),
    "not round": ("ImageRecordIter", {"round_batch": False}),
    "shuffled": ("ImageRecordIter", {"shuffle": True}),
    "shuffled by index": ("ImageRecordIter", {"shuffle": True, "seed": 5, "index": True}),
    "listed": ("ImageRecordIter", {"list": True, "label_width": 2}),
    "bytes": ("ImageRecordIter", {"dtype": "uint8"}),
    "bytes by name": ("ImageRecordUInt8Iter", {"mirror": True}),
    "signed": ("ImageRecordInt8Iter", {"mean_r": 120.4, "mean_g": 100.5, "mean_b": 7}),
    "grey": ("ImageRecordIter", {"data_shape": (1, 20, 30)}),
    "normalized": ("ImageRecordIter", {"mean_r": 120, "mean_g": 110, "mean_b": 100, "std_r": 50,
                                       "std_g": 60, "std_b": 70, "scale": 0.5, "mirror": True}),
    "larger": ("ImageRecordIter", {"data_shape": (3, 50, 60)}),
    "wider": ("ImageRecordIter", {"data_shape": (3, 20, 60), "inter_method": 2}),
    "turned": ("ImageRecordIter", {"rotate": 30, "fill_value": 7}),
    "turned by 90": ("ImageRecordIter", {"rotate_list": "90", "fill_value": 200}),
    "margin": ("ImageRecordIter", {"pad": 9, "data_shape": (3, 44, 56)}),
    "square": ("ImageRecordIter", {"max_crop_size": 24, "min_crop_size": 24}),
    "scaled": ("ImageRecordIter", {"min_random_scale": 1.5, "max_random_scale": 1.5}),
    "wide": ("ImageRecordIter", {"min_aspect_ratio": 1.5, "max_aspect_ratio": 1.5,
                                 "inter_method": 2}),
    "least": ("ImageRecordIter", {"min_img_size": 64, "inter_method": 4}),
    "area one": ("ImageRecordIter", {"random_resized_crop": True}),
    **{f"resized {interp}": ("ImageRecordIter", {"resize": 24, "inter_method": interp})
       for interp in (1, 2, 3, 4, 9)},
    **{f"part {i} of 3": ("ImageRecordIter", {"num_parts": 3, "part_index": i, "batch_size": 1})
       for i in range(3)},
    **{f"part {i} of 3 by index": ("ImageRecordIter", {
        "num_parts": 3, "part_index": i, "batch_size": 1, "index": True}) for i in range(3)},
    "boxes": ("ImageDetRecordIter", {}),
    "boxes, longer": ("ImageDetRecordIter", {"label_pad_width": 30, "label_pad_value": -3}),
    "boxes, shrink": ("ImageDetRecordIter", {"resize_mode": "shrink"}),
    "boxes, fit": ("ImageDetRecordIter", {"resize_mode": "fit", "inter_method": 2}),
    "boxes, mirrored": ("ImageDetRecordIter", {"rand_mirror_prob": 1.0}),
    "boxes, normalized": ("ImageDetRecordIter", {"mean_r": 100, "std_g": 50, "scale": 0.1}),
    "boxes, resized": ("ImageDetRecordIter", {"resize": 50, "inter_method": 3}),
}


def make(mx: Any, folder: Path, name: str, **more: Any) -> Any:
    """An iterator by its name."""
    kind, given = ITERATORS[name]
    options = {"data_shape": SHAPE, "batch_size": 3, "preprocess_threads": 1, "verbose": False,
               **given, **more}
    file = "b" if kind == "ImageDetRecordIter" else "a"
    options["path_imgrec"] = str(folder / f"{file}.rec")
    if options.pop("index", False):
        options["path_imgidx"] = str(folder / f"{file}.idx")
    if options.pop("list", False):
        options["path_imglist"] = str(folder / "a.lst")
    return getattr(mx.io, kind)(**options)


def told(mx: Any, folder: Path) -> dict[str, Any]:
    """(label, pad) of all batches."""
    return {name: [[(label.tolist(), pad) for _, label, pad in one]
                   for one in passes(make(mx, folder, name), 3)] for name in ITERATORS}


def first(mx: Any, folder: Path) -> dict[str, Any]:
    """Images of the first batch."""
    made = {}
    for name in ITERATORS:
        data = next(iter(make(mx, folder, name))).data[0].asnumpy()
        made[name] = data if data.dtype != np.float32 else data.astype(np.float32)
    return made
