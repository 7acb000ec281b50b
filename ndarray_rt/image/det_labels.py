"""Labels of images with boxes, as they stand in files."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ShapeError

AnyArray = np.ndarray[Any, Any]

# numbers before the objects, and of an object: class, left, top, right, bottom
LEAST_HEADER, LEAST_OBJECT = 2, 5


def parsed_label(raw: AnyArray) -> tuple[AnyArray, AnyArray]:
    """(header, a row for each object whose box has an area) of a file's numbers.

    The first two say how long the header is and how many numbers an object has. Raises ShapeError
    for other numbers.
    """
    if raw.size < LEAST_HEADER + LEAST_OBJECT:
        raise ShapeError(f"Label shape is invalid: {raw.shape}, expected at least "
                         f"{LEAST_HEADER + LEAST_OBJECT} numbers")
    header, width = int(raw[0]), int(raw[1])
    if header < LEAST_HEADER or width < LEAST_OBJECT or (raw.size - header) % width:
        raise ShapeError(f"Label shape {raw.shape} inconsistent with a header of {header} and "
                         f"annotation width {width}")
    rows = raw[header:].reshape(-1, width)
    return raw[:header], rows[(rows[:, 3] > rows[:, 1]) & (rows[:, 4] > rows[:, 2])]
