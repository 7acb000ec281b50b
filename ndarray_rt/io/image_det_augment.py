"""What ImageDetRecordIter does to an image and its boxes: MXNet's default augmenter for detection.

A label is (header, objects): objects are rows class, left, top, right, bottom as parts of the
image, perhaps with further numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ParameterError
from ..image.det_labels import parsed_label
from .image_augment import margins, resized, shifted_hls, shorter
from .image_params import DetRecordParams

AnyArray = np.ndarray[Any, Any]
Rng = np.random.Generator
Box = tuple[float, float, float, float]  # left, top, width, height

LEAST_MARGIN = 1.05  # images that become larger by less stay as they are

_SAMPLERS = ("min_crop_scales", "max_crop_scales", "min_crop_aspect_ratios",
             "max_crop_aspect_ratios", "min_crop_overlaps", "max_crop_overlaps",
             "min_crop_sample_coverages", "max_crop_sample_coverages",
             "min_crop_object_coverages", "max_crop_object_coverages", "max_crop_trials")


class Sampler:
    """Limits of the parts that one sampler draws."""

    def __init__(self, values: list[Any]) -> None:
        (self.least_scale, self.most_scale, self.least_ratio, self.most_ratio, *limits,
         self.trials) = values
        # (least, most) of overlap, of the part's share, of the object's share
        self.limits = list(zip(limits[::2], limits[1::2], strict=True))


def samplers(p: DetRecordParams) -> list[Sampler]:
    """The samplers of parts. ParameterError where there are not as many limits as samplers."""
    columns = []
    for name in _SAMPLERS:
        values = getattr(p, name)
        if len(values) not in (1, p.num_crop_sampler):
            raise ParameterError(f"ImageDetRecordIter: {name} has {len(values)} values, expected "
                                 f"1 or num_crop_sampler={p.num_crop_sampler}")
        columns.append(values * p.num_crop_sampler if len(values) == 1 else values)
    made = [Sampler(list(values)) for values in zip(*columns, strict=True)]
    for one in made:
        if not (0 <= one.least_scale < one.most_scale <= 1 and 0 <= one.least_ratio
                <= one.most_ratio and all(least <= most for least, most in one.limits)):
            raise ParameterError("ImageDetRecordIter: limits of a sampler of parts are the wrong "
                                 "way round, or its scales are not within 0 and 1")
    return made


def augment(pixels: AnyArray, raw: AnyArray, p: DetRecordParams, parts: list[Sampler],
            rng: Rng) -> tuple[AnyArray, AnyArray]:
    """(image, label) as `p` says: the image (height, width, channels) of uint8, red first."""
    if p.resize > 0:
        pixels = shorter(pixels, p.resize, p.inter_method, rng)
    header, objects = parsed_label(raw)
    pixels = _coloured(pixels, p, rng)
    if p.rand_mirror_prob > 0 and rng.random() < p.rand_mirror_prob:
        pixels, objects = pixels[:, ::-1], objects.copy()
        objects[:, [1, 3]] = 1 - objects[:, [3, 1]]
    if p.max_pad_scale > 1 and rng.random() < p.rand_pad_prob:
        pixels, objects = _padded(pixels, objects, p, rng)
    if parts and rng.random() < p.rand_crop_prob:
        pixels, objects = _cropped(pixels, objects, p, parts, rng)
    return _fitted(pixels, p, rng), np.concatenate([header, objects.ravel()])


def _coloured(pixels: AnyArray, p: DetRecordParams, rng: Rng) -> AnyArray:
    chances = (p.random_hue_prob, p.random_illumination_prob, p.random_saturation_prob,
               p.random_contrast_prob)
    if pixels.shape[2] < 3 or max(chances) <= 0:
        return pixels
    most = (p.max_random_hue, p.max_random_illumination, p.max_random_saturation,
            p.max_random_contrast)
    drawn = rng.uniform(-1, 1, 4) * most * (rng.random(4) < chances)
    turns = [int(turn) for turn in drawn[:3]]
    if any(turns):
        pixels = shifted_hls(pixels, turns)
    if abs(drawn[3]) > 1e-3:
        made: AnyArray = np.clip(np.rint(pixels * (1 + drawn[3])), 0, 255).astype(np.uint8)
        return made
    return pixels


def _seen_from(objects: AnyArray, box: Box) -> AnyArray:
    """Objects by the places in a box, cut off at its sides."""
    left, top, width, height = box
    made: AnyArray = objects.copy()
    made[:, 1] = np.maximum(0, (objects[:, 1] - left) / width)
    made[:, 2] = np.maximum(0, (objects[:, 2] - top) / height)
    made[:, 3] = np.minimum(1, (objects[:, 3] - left) / width)
    made[:, 4] = np.minimum(1, (objects[:, 4] - top) / height)
    return made


def _padded(pixels: AnyArray, objects: AnyArray, p: DetRecordParams,
            rng: Rng) -> tuple[AnyArray, AnyArray]:
    """The image somewhere in a larger one."""
    scale = rng.uniform(1, p.max_pad_scale)
    if scale < LEAST_MARGIN:
        return pixels, objects
    left, top = rng.uniform(0, scale - 1, 2)
    rows, columns = pixels.shape[:2]
    made = margins(pixels, int(top * rows), int((scale - top - 1) * rows), int(left * columns),
                   int((scale - left - 1) * columns), p.fill_value)
    return made, _seen_from(objects, (-left, -top, scale, scale))


def _cropped(pixels: AnyArray, objects: AnyArray, p: DetRecordParams, parts: list[Sampler],
             rng: Rng) -> tuple[AnyArray, AnyArray]:
    """A part by the first sampler, in random order, that finds one; else the whole image."""
    rows, columns = pixels.shape[:2]
    for which in rng.permutation(len(parts)):
        sampler = parts[which]
        for _ in range(sampler.trials):
            box = _box(sampler, columns / rows, rng)
            kept = _kept(objects, box, sampler, p)
            left, top, width, height = (int(part * side) for part, side in
                                        zip(box, (columns, rows) * 2, strict=True))
            if kept is not None and width > 0 and height > 0:
                return pixels[top:top + height, left:left + width], kept
    return pixels, objects


def _box(sampler: Sampler, aspect: float, rng: Rng) -> Box:
    scale = rng.uniform(sampler.least_scale, sampler.most_scale) + 1e-12
    least = max(sampler.least_ratio / aspect, scale * scale)
    most = min(sampler.most_ratio / aspect, 1 / (scale * scale))
    ratio = np.sqrt(rng.uniform(min(least, most), max(least, most)))
    width, height = min(1.0, scale * ratio), min(1.0, scale / ratio)
    return float(rng.uniform(0, 1 - width)), float(rng.uniform(0, 1 - height)), width, height


def _kept(objects: AnyArray, box: Box, sampler: Sampler, p: DetRecordParams) -> AnyArray | None:
    """Objects as seen from a part, None for a part that does not do."""
    if not len(objects):
        return objects
    left, top, width, height = box
    areas = (objects[:, 3] - objects[:, 1]) * (objects[:, 4] - objects[:, 2])
    shared = (np.maximum(0, np.minimum(objects[:, 3], left + width) - np.maximum(objects[:, 1],
                                                                                  left))
              * np.maximum(0, np.minimum(objects[:, 4], top + height) - np.maximum(objects[:, 2],
                                                                                    top)))
    shares = (shared / (areas + width * height - shared), shared / (width * height),
              shared / areas)
    # as in MXNet, limits count only where all of them are narrower than 0 to 1
    if all(least > 0 and most < 1 for least, most in sampler.limits):
        within = [(share >= least) & (share <= most)
                  for share, (least, most) in zip(shares, sampler.limits, strict=True)]
        if not np.logical_and.reduce(within).any():
            return None
    if p.crop_emit_mode == "overlap":
        stays = shares[2] > p.emit_overlap_thresh
    else:
        x, y = (objects[:, 1] + objects[:, 3]) / 2, (objects[:, 2] + objects[:, 4]) / 2
        stays = (x >= left) & (x < left + width) & (y >= top) & (y < top + height)
    return _seen_from(objects[stays], box) if stays.any() else None


def _fitted(pixels: AnyArray, p: DetRecordParams, rng: Rng) -> AnyArray:
    """The image in data_shape's size, or within it in its own aspect."""
    _, height, width = p.data_shape
    rows, columns = pixels.shape[:2]
    if p.resize_mode == "force":
        return resized(pixels, width, height, p.inter_method, rng)
    ratio = min(height / rows, width / columns)
    if p.resize_mode == "shrink" and ratio >= 1:
        return pixels
    return resized(pixels, max(1, int(ratio * columns)), max(1, int(ratio * rows)),
                   p.inter_method, rng)
