"""box_nms, box_iou, matching, codes of boxes, MultiBoxPrior, -Target and -Detection, in loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input

FLOATS = ("float32", "float64", "float16")
# parameters have single precision, as in MXNet
SINGLE = {"float64": 1e-6, "float32": 1e-4, "float16": 2e-2}
LOOSE: dict[str, Any] = {"rtol": SINGLE, "atol": SINGLE}


def iou(a: Any, b: Any) -> float:
    """Of two boxes by their corners."""
    width = max(0.0, min(a[2], b[2]) - max(a[0], b[0]))
    height = max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - width * height
    return width * height / union if width * height > 0 else 0.0


def cornered(box: Any) -> list[float]:
    x, y, w, h = box
    return [x - w / 2, y - h / 2, x + w / 2, y + h / 2]


def nms(data: Array, overlap: float = 0.5, valid: float = 0.0, topk: int = -1, ident: int = -1,
        force: bool = False, center: bool = False) -> Array:
    """Rows of class, score, box."""
    made = np.full(data.shape, -1.0)
    for rows, out in zip(data.reshape(-1, *data.shape[-2:]),
                         made.reshape(-1, *data.shape[-2:]), strict=True):
        order = sorted((i for i in range(len(rows)) if rows[i, 1] > valid),
                       key=lambda i: -rows[i, 1])[:topk if topk > 0 else None]
        kept: list[int] = []
        for i in order:
            own = cornered(rows[i, 2:6]) if center else rows[i, 2:6]
            if not any(iou(own, cornered(rows[j, 2:6]) if center else rows[j, 2:6]) > overlap
                       and (ident < 0 or force or rows[i, 0] == rows[j, 0]) for j in kept):
                kept.append(i)
        out[:len(kept)] = rows[kept]
    return made


def boxes(count: int, batch: tuple[int, ...] = (), seed: int = 0) -> Input:
    """Rows of class, score, box; what is equal in exact numbers is far from it in others."""
    rng = np.random.default_rng(seed)
    corner = rng.uniform(0, 0.7, (*batch, count, 2))
    size = rng.uniform(0.1, 0.4, (*batch, count, 2))
    score = (rng.permutation(np.prod(batch, dtype=int) * count).reshape(*batch, count, 1) + 1) / 64
    kind = rng.integers(0, 3, (*batch, count, 1)) + 0.5  # classes are cut off: far from a jump
    values = np.concatenate([kind, score, corner, corner + size], -1)
    return Input((*batch, count, 6), values=values)


def plain_boxes(*shape: int, seed: int = 1) -> Input:
    rng = np.random.default_rng(seed)
    corner, size = rng.uniform(0, 0.6, (*shape, 2)), rng.uniform(0.2, 0.4, (*shape, 2))
    return Input((*shape, 4), values=np.concatenate([corner, corner + size], -1))


def nms_case(data: Input, params: dict[str, Any], note: str = "", **words: Any) -> Case:
    return Case("_contrib_box_nms", params, [data], reference=lambda x: nms(x, **words),
                native=True, native_backward=False, dtypes=("float32", "float64"), note=note)


def all_iou(a: Array, b: Array) -> Array:
    made = [[iou(x, y) for y in b.reshape(-1, 4)] for x in a.reshape(-1, 4)]
    return np.array(made).reshape(*a.shape[:-1], *b.shape[:-1])


def match(scores: Array, threshold: float) -> tuple[Array, Array]:
    rows, columns = -np.ones(scores.shape[:-1]), -np.ones((*scores.shape[:-2], scores.shape[-1]))
    for batch in np.ndindex(scores.shape[:-2]):
        left = scores[batch].copy()
        while (left > threshold).any():
            i, j = np.unravel_index(left.argmax(), left.shape)
            rows[batch][i], columns[batch][j] = j, i
            left[i], left[:, j] = -np.inf, -np.inf
    return rows, columns


def encode(samples: Array, matches: Array, anchors: Array, refs: Array, means: Array,
           stds: Array) -> tuple[Array, Array]:
    made, mask = np.zeros(anchors.shape), np.zeros(anchors.shape)
    for at in np.ndindex(*samples.shape):
        if samples[at] <= 0.5:
            continue
        a, r = anchors[at], refs[at[0], int(matches[at])]
        aw, ah, rw, rh = a[2] - a[0], a[3] - a[1], r[2] - r[0], r[3] - r[1]
        shift = [((r[0] + r[2]) - (a[0] + a[2])) / 2 / aw, ((r[1] + r[3]) - (a[1] + a[3])) / 2 / ah,
                 np.log(rw / aw), np.log(rh / ah)]
        made[at], mask[at] = (np.array(shift) - means) / stds, 1
    return made, mask


def decode(data: Array, anchors: Array, std: tuple[float, ...], corner: bool = False) -> Array:
    made = np.empty(data.shape)
    for at in np.ndindex(*data.shape[:-1]):
        x, y, w, h = anchors[0, at[1]]
        if corner:
            x, y, w, h = (x + w) / 2, (y + h) / 2, w - x, h - y
        d = data[at] * np.array(std)
        made[at] = cornered((d[0] * w + x, d[1] * h + y, np.exp(d[2]) * w, np.exp(d[3]) * h))
    return made


def prior(data: Array, sizes: tuple[float, ...], ratios: tuple[float, ...],
          clip: bool = False) -> Array:
    height, width = data.shape[2:]
    forms = [(s, ratios[0]) for s in sizes] + [(sizes[0], r) for r in ratios[1:]]
    made = []
    for y, x in np.ndindex(height, width):
        for size, ratio in forms:
            box = cornered(((x + 0.5) / width, (y + 0.5) / height,
                            size * height / width * ratio**0.5, size / ratio**0.5))
            made.append([min(max(v, 0), 1) if clip else v for v in box])
    return np.array(made)[None]


def target(anchor: Array, label: Array, pred: Array, threshold: float = 0.5,
           ratio: float = -1) -> tuple[Array, Array, Array]:
    count = anchor.shape[1]
    shift, mask = np.zeros((len(label), count, 4)), np.zeros((len(label), count, 4))
    kinds = -np.ones((len(label), count))
    for n, rows in enumerate(label):
        rows = rows[:next((i for i, row in enumerate(rows) if row[0] == -1), len(rows))]
        if not len(rows):
            continue
        share = all_iou(anchor[0], rows[:, 1:5])
        own: dict[int, int] = {}
        left = share.copy()
        while (left > 1e-6).any():
            i, j = np.unravel_index(left.argmax(), left.shape)
            own[int(i)] = int(j)
            left[i], left[:, j] = -1, -1
        rest = [i for i in range(count) if i not in own]
        own.update({i: int(share[i].argmax()) for i in rest if share[i].max() > threshold})
        rest = [i for i in rest if i not in own]
        if ratio > 0:
            e = np.exp(pred[n])
            hard = sorted((i for i in rest if share[i].max() < 0.5),
                          key=lambda i: e[0, i] / e[:, i].sum())
            rest = hard[:int(min(len(own) * ratio, len(rest)))]
        kinds[n, rest] = 0
        for i, j in own.items():
            kinds[n, i], mask[n, i] = rows[j, 0] + 1, 1
            shift[n, i] = encode(np.ones((1, 1)), np.zeros((1, 1)), anchor[:, i:i + 1],
                                 rows[None, j:j + 1, 1:5], np.zeros(4),
                                 np.array([0.1, 0.1, 0.2, 0.2]))[0]
    return shift.reshape(len(label), -1), mask.reshape(len(label), -1), kinds


def detect(prob: Array, loc: Array, anchor: Array, threshold: float = 0.01, overlap: float = 0.5,
           force: bool = False) -> Array:
    made = np.full((len(prob), prob.shape[2], 6), -1.0)
    all_boxes = decode(loc.reshape(len(prob), -1, 4), anchor, (0.1, 0.1, 0.2, 0.2), True).clip(0, 1)
    for n, out in enumerate(made):
        best = prob[n, 1:].max(0)
        order = sorted((i for i in range(len(best)) if best[i] >= threshold),
                       key=lambda i: -best[i])
        rows = [[prob[n, 1:, i].argmax(), best[i], *all_boxes[n, i]] for i in order]
        for i, row in enumerate(rows):
            if any(other[0] >= 0 and (force or other[0] == row[0])
                   and iou(other[2:], row[2:]) >= overlap for other in rows[:i]):
                row[0] = -1
        if rows:
            out[:len(rows)] = rows
    return made


def zeros(*arrays: Array) -> tuple[Array, ...]:
    """Gradients of operators that have none but zero; the last arrays are the outputs' own."""
    return tuple(np.zeros_like(a) for a in arrays)


LABELS = Input((2, 3, 5), values=[
    [[1, 0.1, 0.1, 0.5, 0.5], [0, 0.4, 0.3, 0.9, 0.8], [-1, -1, -1, -1, -1]],
    [[2, 0.2, 0.25, 0.6, 0.7], [2, 0.15, 0.2, 0.65, 0.75], [0, 0.0, 0.6, 0.3, 1.0]]])


def target_case(count: int, params: dict[str, Any], **words: Any) -> Case:
    return Case("_contrib_MultiBoxTarget", params,
                [plain_boxes(1, count), LABELS, Input((2, 4, count))],
                reference=lambda a, b, c: target(a, b, c, **words),
                gradients=lambda a, b, c, *_: zeros(a, b, c), native=True,
                dtypes=("float32", "float64"), **LOOSE)


def detect_case(count: int, classes: int, params: dict[str, Any], **words: Any) -> Case:
    return Case("_contrib_MultiBoxDetection", params,
                [Input((2, classes, count), kind="distinct", low=0.0), (2, 4 * count),
                 plain_boxes(1, count)], reference=lambda *a: detect(*a, **words),
                gradients=lambda a, b, c, *_: zeros(a, b, c), native=True,
                dtypes=("float32", "float64"), **LOOSE)


CASES = [
    nms_case(boxes(20), {}),
    nms_case(boxes(20), {"id_index": 0, "overlap_thresh": 0.2}, overlap=0.2, ident=0),
    nms_case(boxes(20), {"id_index": 0, "force_suppress": True, "valid_thresh": 0.05,
                         "overlap_thresh": 0.1}, overlap=0.1, ident=0, force=True, valid=0.05),
    nms_case(boxes(9, (2, 3)), {"topk": 4, "overlap_thresh": 0.2}, overlap=0.2, topk=4),
    nms_case(boxes(12), {"in_format": "center", "out_format": "center", "overlap_thresh": 0.2},
             overlap=0.2, center=True),
    Case("_contrib_box_nms", {"topk": 0}, [boxes(5)], reference=lambda x: x, native=False,
         note="as they are"),
    Case("_contrib_box_iou", {}, [plain_boxes(2, 3), plain_boxes(4, seed=2)], reference=all_iou,
         gradients=lambda a, b, _: zeros(a, b), dtypes=FLOATS, **LOOSE),
    Case("_contrib_box_iou", {"format": "center"}, [plain_boxes(3), plain_boxes(4, seed=2)],
         reference=lambda a, b: all_iou(np.array([cornered(x) for x in a]),
                                        np.array([cornered(x) for x in b])),
         gradients=lambda a, b, _: zeros(a, b), dtypes=FLOATS, **LOOSE),
    Case("_contrib_bipartite_matching", {"threshold": 0.1},
         [Input((2, 4, 3), kind="distinct")], reference=lambda x: match(x, 0.1),
         gradients=lambda x, *_: zeros(x), dtypes=FLOATS),
    Case("_contrib_box_encode", {},
         [Input((2, 3), values=[1, 0, 0.6, 0.5, 1, -1]), Input((2, 3), values=[0, 1, 1, 1, 0, 0]),
          plain_boxes(2, 3), plain_boxes(2, 2, seed=3), (4,), Input((4,), kind="positive")],
         reference=encode, dtypes=FLOATS, rtol={"float16": 5e-2}, atol={"float16": 5e-2}),
    Case("_contrib_box_decode", {"std0": 0.1, "std3": 0.5}, [(2, 5, 4), plain_boxes(1, 5)],
         reference=lambda d, a: decode(d, a, (0.1, 1, 1, 0.5)), dtypes=FLOATS, **LOOSE),
    Case("_contrib_box_decode", {"format": "corner"}, [(2, 5, 4), plain_boxes(1, 5)],
         reference=lambda d, a: decode(d, a, (1, 1, 1, 1), True), dtypes=FLOATS, **LOOSE),
    Case("_contrib_MultiBoxPrior", {"sizes": (0.75, 0.5, 0.25), "ratios": (1, 2, 0.5)},
         [(2, 3, 3, 4)], reference=lambda d: prior(d, (0.75, 0.5, 0.25), (1, 2, 0.5)),
         gradients=lambda d, _: zeros(d), native=True, **LOOSE),
    Case("_contrib_MultiBoxPrior", {"sizes": (0.9,), "ratios": (3,), "clip": True},
         [(1, 20, 2, 2)], reference=lambda d: prior(d, (0.9,), (3,), True),
         gradients=lambda d, _: zeros(d), native=True, **LOOSE),
    target_case(20, {}),
    target_case(20, {"overlap_threshold": 0.2}, threshold=0.2),
    target_case(17, {"negative_mining_ratio": 1.5}, ratio=1.5),
    detect_case(16, 3, {}),
    detect_case(9, 4, {"nms_threshold": 0.2, "force_suppress": True, "threshold": 0.5},
                overlap=0.2, force=True, threshold=0.5),
]
