"""What is called, for every framework alike."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

SIDE = 4096  # a matrix of 16 M elements


@dataclass(frozen=True)
class Case:
    """One operator on arrays of these shapes. `calls` of them are timed together.

    `recorded`: for a gradient of the first array.
    """

    op: str
    shapes: tuple[tuple[int, ...], ...]
    dtype: str = "float32"
    params: dict[str, Any] = field(default_factory=dict)
    calls: int = 1
    recorded: bool = False

    @property
    def name(self) -> str:
        words = [f"{key}={value}" for key, value in self.params.items()]
        shapes = " ".join("x".join(map(str, shape)) for shape in self.shapes)
        kind = "" if self.dtype == "float32" else f" {self.dtype}"
        how = ["recorded"] if self.recorded else []
        return " ".join([self.op, *words, f"({shapes}{kind})", *how])

    def arrays(self) -> list[Any]:
        """The inputs: positive numbers, positions for `take`."""
        rng = np.random.RandomState(0)
        made = []
        for i, shape in enumerate(self.shapes):
            if self.op == "take" and i == 1:
                made.append(rng.randint(0, self.shapes[0][0], shape).astype("int32"))
            elif self.dtype == "int32":
                made.append(rng.randint(0, 100, shape).astype("int32"))
            else:
                made.append(rng.uniform(0.1, 1, shape).astype(self.dtype))
        return made


SQUARE, ROW, COLUMN = (SIDE, SIDE), (1, SIDE), (SIDE, 1)
SMALL = [
    Case("add", ((16,), (16,)), calls=1000),
    Case("relu", ((16,),), calls=1000),
    Case("convolution", ((1, 8, 8, 8), (8, 8, 3, 3), (8,)), calls=500),
    Case("add_scalar", ((16,),), calls=1000),
    Case("dot", ((16, 16), (16, 16)), calls=1000),
    Case("softmax", ((4, 16),), params={"axis": 1}, calls=1000),
]
SMALL += [replace(case, recorded=True) for case in SMALL[:3]]
LARGE = [
    *(Case("add", (SQUARE, SQUARE), dtype) for dtype in ("float32", "float64", "int32")),
    *(Case("greater", (SQUARE, SQUARE), dtype) for dtype in ("float32", "float64", "int32")),
    *(Case("sum", (SQUARE,), dtype, {"axis": axis}) for axis in (0, 1)
      for dtype in ("float32", "float64", "int32")),
    Case("exp", (SQUARE,)),
    *(Case("softmax", (SQUARE,), params={"axis": axis}) for axis in (0, 1)),
    Case("transpose", (SQUARE,)),
    *(Case("broadcast_add", shapes) for shapes in ((SQUARE, ROW), (SQUARE, COLUMN), (ROW, SQUARE),
                                                   (COLUMN, SQUARE))),
    Case("take", (SQUARE, (SIDE,))),
    *(Case("argmax", (SQUARE,), params={"axis": axis}) for axis in (0, 1)),
    Case("topk", (SQUARE,), params={"k": 10}),
    *(Case("cumsum", (SQUARE,), params={"axis": axis}) for axis in (0, 1)),
    Case("layer_norm", (SQUARE, (SIDE,), (SIDE,))),
]
SETS = {"small": SMALL, "large": LARGE}
