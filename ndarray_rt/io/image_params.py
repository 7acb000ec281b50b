"""Parameters of the iterators over image records: MXNet's names, defaults and texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from ..errors import ParameterError
from ..op.params import (
    Params,
    boolean,
    choice,
    integer,
    number,
    numbers,
    optional_integer,
    optional_number,
    params_class,
    parse_shape,
    shape,
    text,
)
from .data import warn_unknown

P = TypeVar("P", bound="RecordParams")

SILENT = frozenset({"verbose", "aug_seq", "ctx", "device_id", "shuffle_chunk_size",
                    "shuffle_chunk_seed"})  # taken, and without effect


@params_class
class RecordParams(Params):
    """What all of these iterators take."""

    path_imglist: str = text("", doc="a list of images, for its labels")
    path_imgrec: str = text("", doc="the file of records, several of them with ; between, or a "
                                    "folder of them")
    path_imgidx: str = text("", doc="the index of the file of records")
    data_shape: tuple[int, ...] = shape(low=1, doc="(channels, height, width) of one image")
    preprocess_threads: int = integer(4, low=1, doc="so many threads read and change images")
    num_parts: int = integer(1, low=1, doc="of so many parts")
    part_index: int = integer(0, low=0, doc="this one is read")
    shuffle: bool = boolean(False, doc="another order in each pass")
    seed: int = integer(0, doc="of the order and of what is changed at random")
    batch_size: int = integer(low=1, doc="images in a batch")
    round_batch: bool = boolean(True, doc="the last batch is filled with images of the next pass")
    prefetch_buffer: int = integer(4, low=1, doc="so many batches are made ahead")
    resize: int = integer(-1, low=-1, doc="what the shorter side becomes first; -1: stays")
    fill_value: int = integer(255, low=0, high=255, doc="the level of what lies beyond the image")
    inter_method: int = integer(1, low=0, high=10, doc="how pixels of another size are made: 0 to "
                                                       "4 as in image.imresize, 9, 10")
    mean_img: str = text("", doc="a file of arrays with the mean image, written where there is "
                                 "none")
    mean_r: float = number(0.0, finite=True, doc="what is taken off red")
    mean_g: float = number(0.0, finite=True, doc="off green")
    mean_b: float = number(0.0, finite=True, doc="off blue")
    mean_a: float = number(0.0, finite=True, doc="off alpha")
    std_r: float = number(1.0, finite=True, doc="what red is divided by")
    std_g: float = number(1.0, finite=True, doc="green")
    std_b: float = number(1.0, finite=True, doc="blue")
    std_a: float = number(1.0, finite=True, doc="alpha")
    scale: float = number(1.0, finite=True, doc="what all are multiplied by")


@params_class
class ImageRecordParams(RecordParams):
    """Parameters of ImageRecordIter."""

    label_width: int = integer(1, low=1, doc="how many numbers a label has")
    dtype: str = choice("float32", "uint8", "int8", "None", default="None",
                        doc="of the images; None is float32")
    seed_aug: int | None = optional_integer(None, doc="a seed for changes, which are the same in "
                                                      "each pass then")
    rand_crop: bool = boolean(False, doc="a part from anywhere, not from the middle")
    random_resized_crop: bool = boolean(False, doc="a part of random area and aspect, resized")
    max_rotate_angle: int = integer(0, low=0, doc="turned by up to so many degrees")
    max_aspect_ratio: float = number(0.0, finite=True, doc="the largest width by height; above 1 "
                                                           "without min_aspect_ratio")
    min_aspect_ratio: float | None = optional_number(None, doc="the least")
    max_shear_ratio: float = number(0.0, finite=True, doc="sheared by up to this")
    max_crop_size: int = integer(-1, doc="the largest side of a square part, resized; -1: none")
    min_crop_size: int = integer(-1, doc="the least")
    max_random_scale: float = number(1.0, finite=True, doc="larger by up to this")
    min_random_scale: float = number(1.0, finite=True, doc="and by at least this")
    max_random_area: float = number(1.0, finite=True, doc="for random_resized_crop: the largest "
                                                          "share of the area")
    min_random_area: float = number(1.0, finite=True, doc="and the least")
    max_img_size: float = number(1e10, finite=True, doc="the largest side behind scaling")
    min_img_size: float = number(0.0, finite=True, doc="and the least")
    brightness: float = number(0.0, finite=True, doc="brightness changes by up to this")
    contrast: float = number(0.0, finite=True, doc="contrast")
    saturation: float = number(0.0, finite=True, doc="saturation")
    pca_noise: float = number(0.0, finite=True, doc="deviation of noise along the colours' main "
                                                    "directions")
    random_h: int = integer(0, doc="hue, of 180")
    random_s: int = integer(0, doc="saturation, of 255")
    random_l: int = integer(0, doc="lightness, of 255")
    rotate: int = integer(-1, doc="turned by so many degrees, whatever max_rotate_angle")
    rotate_list: tuple[int, ...] = shape((), doc="turned by one of these")
    pad: int = integer(0, low=0, doc="a margin of so many pixels")
    mirror: bool = boolean(False, doc="left is right")
    rand_mirror: bool = boolean(False, doc="every other time")
    max_random_contrast: float = number(0.0, finite=True, doc="numbers times 1 give or take this")
    max_random_illumination: float = number(0.0, finite=True, doc="plus up to this")


@params_class
class DetRecordParams(RecordParams):
    """Parameters of ImageDetRecordIter."""

    label_width: int = integer(-1, doc="how many numbers a label has; -1: any")
    label_pad_width: int = integer(0, doc="how long labels are made; 0, -1: as the longest one")
    label_pad_value: float = number(-1.0, finite=True, doc="what they are filled with")
    fill_value: int = integer(127, low=0, high=255, doc="the level of what lies beyond the image")
    std_r: float = number(0.0, finite=True, doc="what red is divided by; 0: nothing")
    std_g: float = number(0.0, finite=True, doc="green")
    std_b: float = number(0.0, finite=True, doc="blue")
    std_a: float = number(0.0, finite=True, doc="alpha")
    rand_crop_prob: float = number(0.0, finite=True, doc="probability of a random part")
    min_crop_scales: tuple[float, ...] = numbers((0.0,), doc="of each sampler of parts: the least "
                                                             "share of a side")
    max_crop_scales: tuple[float, ...] = numbers((1.0,), doc="the largest")
    min_crop_aspect_ratios: tuple[float, ...] = numbers((1.0,), doc="the least width by height")
    max_crop_aspect_ratios: tuple[float, ...] = numbers((1.0,), doc="the largest")
    min_crop_overlaps: tuple[float, ...] = numbers((0.0,), doc="intersection by union with an "
                                                               "object: the least")
    max_crop_overlaps: tuple[float, ...] = numbers((1.0,), doc="the largest")
    min_crop_sample_coverages: tuple[float, ...] = numbers((0.0,), doc="share of the part that an "
                                                                       "object covers: the least")
    max_crop_sample_coverages: tuple[float, ...] = numbers((1.0,), doc="the largest")
    min_crop_object_coverages: tuple[float, ...] = numbers((0.0,), doc="share of an object in the "
                                                                       "part: the least")
    max_crop_object_coverages: tuple[float, ...] = numbers((1.0,), doc="the largest")
    num_crop_sampler: int = integer(1, low=0, doc="how many samplers there are")
    crop_emit_mode: str = choice("center", "overlap", default="center",
                                 doc="objects leave the label when their centre is outside, or "
                                     "when little of them is seen")
    emit_overlap_thresh: float = number(0.3, low=0.0, finite=True, doc="how much is little")
    max_crop_trials: tuple[int, ...] = shape((25,), doc="attempts of each sampler")
    rand_pad_prob: float = number(0.0, finite=True, doc="probability of a margin")
    max_pad_scale: float = number(1.0, finite=True, doc="the largest image with a margin")
    max_random_hue: int = integer(0, doc="hue changes by up to this")
    random_hue_prob: float = number(0.0, finite=True, doc="with this probability")
    max_random_saturation: int = integer(0, doc="saturation")
    random_saturation_prob: float = number(0.0, finite=True, doc="with this probability")
    max_random_illumination: int = integer(0, doc="lightness")
    random_illumination_prob: float = number(0.0, finite=True, doc="with this probability")
    max_random_contrast: float = number(0.0, finite=True, doc="contrast")
    random_contrast_prob: float = number(0.0, finite=True, doc="with this probability")
    rand_mirror_prob: float = number(0.0, finite=True, doc="probability that left is right")
    resize_mode: str = choice("force", "shrink", "fit", default="force",
                              doc="to data_shape whatever the aspect, smaller where it does not "
                                  "fit, or as large as it fits")


def parsed(kind: type[P], what: str, given: Mapping[str, Any]) -> P:
    """The parameters of an iterator; unknown names are told by a warning, as MXNet passes them
    over. Raises ParameterError for values that can not be.
    """
    known = {}
    for name, value in given.items():
        if name in kind._known:
            known[name] = value
        elif name not in SILENT:
            warn_unknown(what, name, kind._known)
    if isinstance(known.get("rotate_list"), str):
        known["rotate_list"] = parse_shape(f"({known['rotate_list'].strip('()[]')},)")
    if known.get("dtype", "") is None:
        known["dtype"] = "None"
    made = kind.parse(known, what)
    if len(made.data_shape) != 3 or made.data_shape[0] not in (1, 3, 4):
        raise ParameterError(f"{what}: Invalid output shape {made.data_shape}: data_shape is "
                             "expected to be (channels, height, width) of 1, 3 or 4 channels")
    if made.inter_method not in (0, 1, 2, 3, 4, 9, 10):
        raise ParameterError(f"{what}: inter_method is {made.inter_method}, expected 0 to 4, 9 or "
                             "10")
    if made.part_index >= made.num_parts:
        raise ParameterError(f"{what}: part_index is {made.part_index}, expected 0 to "
                             f"{made.num_parts - 1}")
    if not made.path_imgrec:
        raise ParameterError(f"{what}: path_imgrec, a file of records, is missing")
    return made
