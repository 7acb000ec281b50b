"""Images from files, changed at random, batch by batch. Source: MXNet's `mx.image`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..public import loads, shows

if TYPE_CHECKING:
    from . import detection, image
    from . import detection as det
    from .augmenters import (
        Augmenter,
        BrightnessJitterAug,
        CastAug,
        CenterCropAug,
        ColorJitterAug,
        ColorNormalizeAug,
        ContrastJitterAug,
        CreateAugmenter,
        ForceResizeAug,
        HorizontalFlipAug,
        HueJitterAug,
        LightingAug,
        RandomCropAug,
        RandomGrayAug,
        RandomOrderAug,
        RandomSizedCropAug,
        ResizeAug,
        SaturationJitterAug,
        SequentialAug,
    )
    from .det_augmenters import (
        CreateDetAugmenter,
        CreateMultiRandCropAugmenter,
        DetAugmenter,
        DetBorrowAug,
        DetHorizontalFlipAug,
        DetRandomCropAug,
        DetRandomPadAug,
        DetRandomSelectAug,
    )
    from .det_iterator import ImageDetIter
    from .geometry import (
        center_crop,
        color_normalize,
        copyMakeBorder,
        fixed_crop,
        imresize,
        imrotate,
        random_crop,
        random_rotate,
        random_size_crop,
        resize_short,
        scale_down,
    )
    from .iterator import ImageIter
    from .read import imdecode, imread

__all__ = ["Augmenter", "BrightnessJitterAug", "CastAug", "CenterCropAug", "ColorJitterAug",
           "ColorNormalizeAug", "ContrastJitterAug", "CreateAugmenter", "CreateDetAugmenter",
           "CreateMultiRandCropAugmenter", "DetAugmenter", "DetBorrowAug", "DetHorizontalFlipAug",
           "DetRandomCropAug", "DetRandomPadAug", "DetRandomSelectAug", "ForceResizeAug",
           "HorizontalFlipAug", "HueJitterAug", "ImageDetIter", "ImageIter", "LightingAug",
           "RandomCropAug", "RandomGrayAug", "RandomOrderAug", "RandomSizedCropAug", "ResizeAug",
           "SaturationJitterAug", "SequentialAug", "center_crop", "color_normalize",
           "copyMakeBorder", "det", "detection", "fixed_crop", "image", "imdecode", "imread",
           "imresize", "imrotate", "random_crop", "random_rotate", "random_size_crop",
           "resize_short", "scale_down"]

_PLACES = {
    "augmenters": (
        "Augmenter", "BrightnessJitterAug", "CastAug", "CenterCropAug", "ColorJitterAug",
        "ColorNormalizeAug", "ContrastJitterAug", "CreateAugmenter", "ForceResizeAug",
        "HorizontalFlipAug", "HueJitterAug", "LightingAug", "RandomCropAug",
        "RandomGrayAug", "RandomOrderAug", "RandomSizedCropAug", "ResizeAug",
        "SaturationJitterAug", "SequentialAug"),
    "det_augmenters": (
        "CreateDetAugmenter", "CreateMultiRandCropAugmenter", "DetAugmenter",
        "DetBorrowAug", "DetHorizontalFlipAug", "DetRandomCropAug", "DetRandomPadAug",
        "DetRandomSelectAug"),
    "det_iterator": ("ImageDetIter",),
    "geometry": (
        "center_crop", "color_normalize", "copyMakeBorder", "fixed_crop", "imresize",
        "imrotate", "random_crop", "random_rotate", "random_size_crop", "resize_short",
        "scale_down"),
    "iterator": ("ImageIter",), "read": ("imdecode", "imread")}

__getattr__ = loads(globals(), {
    "image": "image", "detection": "detection", "det": "detection",
    **{name: f"{module}:{name}" for module, names in _PLACES.items() for name in names}})
__dir__ = shows(globals())
