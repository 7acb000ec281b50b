"""Images from files, changed at random, batch by batch. Source: MXNet's `mx.image`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..public import loads, shows

if TYPE_CHECKING:
    from . import detection, image
    from . import detection as det
    from .detection import *  # noqa: F403
    from .image import *  # noqa: F403

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
_NAMES = {name: f"{module}:{name}" for module, names in _PLACES.items() for name in names}

__all__ = ["det", "detection", "image"]
__all__ += list(_NAMES)

__getattr__ = loads(globals(), {
    "image": "image", "detection": "detection", "det": "detection", **_NAMES})
__dir__ = shows(globals())
