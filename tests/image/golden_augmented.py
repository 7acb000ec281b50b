"""Augmenters and iterators over images, made the same way with MXNet and here.

`mx` is either package; files are written by it, too, from pictures that are drawn alike.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np

from . import golden
from .pictures import drawn

FOLDER = golden.FOLDER
AUGMENTED = {
    "ResizeAug": (20,), "ForceResizeAug": ((20, 30), 9), "RandomCropAug": ((20, 15),),
    "RandomSizedCropAug": ((20, 15), 0.3, (0.5, 2.0), 10), "CenterCropAug": ((20, 15), 1),
    "HorizontalFlipAug": (0.5,), "BrightnessJitterAug": (0.3,), "ContrastJitterAug": (0.3,),
    "SaturationJitterAug": (0.3,), "HueJitterAug": (0.3,), "ColorJitterAug": (0.3, 0.2, 0.1),
    "RandomGrayAug": (0.9,), "CastAug": ("float64",)}
CREATED: dict[str, dict[str, Any]] = {
    "plain": {}, "resized": {"resize": 24, "inter_method": 1},
    "all": {"resize": 30, "rand_crop": True, "rand_resize": True, "rand_mirror": True,
            "mean": True, "std": True, "brightness": 0.1, "contrast": 0.1, "saturation": 0.1,
            "hue": 0.1, "pca_noise": 0.1, "rand_gray": 0.2, "inter_method": 10}}
DETECTED: dict[str, dict[str, Any]] = {
    "plain": {}, "mirrored": {"rand_mirror": True, "mean": True},
    "cropped": {"rand_crop": 0.9, "min_object_covered": [0.1, 0.5, 0.9],
                "min_eject_coverage": 0.4},
    "all": {"resize": 40, "rand_crop": 0.8, "rand_pad": 0.8, "rand_gray": 0.3, "rand_mirror": True,
            "mean": True, "std": True, "brightness": 0.1, "contrast": 0.1, "saturation": 0.1,
            "pca_noise": 0.1, "hue": 0.1, "inter_method": 9, "area_range": (0.1, 4.0),
            "aspect_ratio_range": (0.2, 5)}}
SHAPE = (3, 18, 24)
BOXES = np.array([[3, 0.1, 0.2, 0.5, 0.6], [1, 0.4, 0.3, 0.9, 0.95], [0, 0.02, 0.02, 0.2, 0.3]],
                 np.float32)


def seed(number: int) -> None:
    random.seed(number)
    np.random.seed(number)


def image(mx: Any, dtype: str = "float32") -> Any:
    return mx.nd.array(drawn().astype(dtype), dtype=dtype)


def augmenters(mx: Any) -> dict[str, Any]:
    """What single augmenters give, four times each."""
    made = {}
    for name, arguments in AUGMENTED.items():
        augment = getattr(mx.image, name)(*arguments)
        seed(5)
        for i in range(4):
            made[f"{name}/{i}"] = augment(image(mx)).asnumpy()
    augment = mx.image.LightingAug(0.2, np.array([55.46, 4.794, 1.148]), np.eye(3))
    seed(5)
    made["LightingAug/0"] = augment(image(mx)).asnumpy()
    for name, options in CREATED.items():
        seed(6)
        for i in range(3):
            result = image(mx, "uint8")
            for augment in mx.image.CreateAugmenter(SHAPE, **options):
                result = augment(result)
            made[f"created/{name}/{i}"] = result.asnumpy()
    for name, options in DETECTED.items():
        augs = mx.image.CreateDetAugmenter(SHAPE, **options)
        seed(7)
        for i in range(4):
            result, label = image(mx, "uint8"), BOXES.copy()
            for augment in augs:
                result, label = augment(result, label)
            made[f"detected/{name}/{i}"] = result.asnumpy()
            made[f"detected/{name}/{i}/label"] = label
    return made


def dumps(mx: Any) -> Any:
    """What augmenters say of themselves."""
    made: dict[str, Any] = {name: getattr(mx.image, name)(*arguments).dumps()
                            for name, arguments in AUGMENTED.items()}
    made |= {f"created/{name}": [each.dumps() for each in mx.image.CreateAugmenter(
        SHAPE, **options)] for name, options in CREATED.items()}
    made |= {f"detected/{name}": [each.dumps() for each in mx.image.CreateDetAugmenter(
        SHAPE, **options)] for name, options in DETECTED.items()}
    made["sequential"] = mx.image.SequentialAug([mx.image.CastAug(), mx.image.ResizeAug(3)]).dumps()
    return json.loads(json.dumps(made))


def write_files(mx: Any, folder: Path, count: int = 7) -> None:
    """Images as files and as records, with lists of them; labels are their numbers."""
    import io

    from PIL import Image
    writer = mx.recordio.MXIndexedRecordIO(str(folder / "a.idx"), str(folder / "a.rec"), "w")
    boxes = mx.recordio.MXIndexedRecordIO(str(folder / "b.idx"), str(folder / "b.rec"), "w")
    lines = []
    for i in range(count):
        file = io.BytesIO()
        Image.fromarray(drawn(30 + i, 40, shift=30 * i)).save(file, "PNG")
        (folder / f"{i}.png").write_bytes(file.getvalue())
        writer.write_idx(i, mx.recordio.pack((0, float(i), i, 0), file.getvalue()))
        rows = BOXES[:1 + i % 3] + np.float32(0.01) * i
        label = np.concatenate([[4, 5, 40, 30], rows.ravel()]).astype(np.float32)
        boxes.write_idx(i, mx.recordio.pack((0, label, i, 0), file.getvalue()))
        lines.append(f"{i}\t{10 + i}\t{20 + i}\t{i}.png\n")
    writer.close()
    boxes.close()
    (folder / "a.lst").write_text("".join(lines))


def passes(iterator: Any, count: int = 2) -> list[Any]:
    """(data, label, pad) of the batches of some passes."""
    made = []
    for _ in range(count):
        made.append([(batch.data[0].asnumpy(), batch.label[0].asnumpy(), batch.pad)
                     for batch in iterator])
        iterator.reset()
    return made


def iterators(mx: Any, folder: Path) -> dict[str, Any]:
    """What ImageIter and ImageDetIter give: sums of images, labels, pads."""
    record, index = str(folder / "a.rec"), str(folder / "a.idx")
    listed = {"path_imglist": str(folder / "a.lst"), "path_root": str(folder)}
    sources: dict[str, dict[str, Any]] = {
        "records": {"path_imgrec": record}, "index": {"path_imgrec": record, "path_imgidx": index},
        "part": {"path_imgrec": record, "path_imgidx": index, "part_index": 1, "num_parts": 2},
        "shuffled": {"path_imgrec": record, "path_imgidx": index, "shuffle": True},
        "list": {**listed, "label_width": 2},
        "relabelled": {"path_imgrec": record, "path_imgidx": index,
                       "path_imglist": listed["path_imglist"], "label_width": 2},
        "rows": {"imglist": [[float(i), f"{i}.png"] for i in range(7)], "path_root": str(folder)},
        "augmented": {"path_imgrec": record, "rand_crop": True, "rand_mirror": True, "mean": True}}
    made: dict[str, Any] = {}
    for name, options in sources.items():
        for last in ("pad", "discard", "roll_over"):
            seed(8)
            made[f"{name}/{last}"] = passes(mx.image.ImageIter(
                3, SHAPE, last_batch_handle=last, **options), 3)
    record, index = str(folder / "b.rec"), str(folder / "b.idx")
    for last in ("pad", "discard", "roll_over"):
        for name, options in (("boxes", {}), ("all boxes", DETECTED["all"])):
            seed(8)
            made[f"{name}/{last}"] = passes(mx.image.ImageDetIter(
                3, SHAPE, path_imgrec=record, path_imgidx=index, shuffle=True,
                last_batch_handle=last, **options), 3)
    return {name: [[[float(data.astype(np.float64).mean()), label.tolist(), pad]
                    for data, label, pad in batches] for batches in found]
            for name, found in made.items()}
