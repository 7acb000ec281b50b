"""Layers on quantized numbers that bring their sums to 8 bits themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input
from tests.cases.quantization import ENDS, conv, dense, ends, requantize, summed, whole

GIVEN: tuple[dict[str, Any], ...] = (
    {"out_type": "int8", "min_calib_range": -9.5, "max_calib_range": 7.75, "rectify": True},
    {"out_type": "int8", "min_calib_range": -3.0, "max_calib_range": 0.5},
    {"out_type": "uint8", "min_calib_range": 0.0, "max_calib_range": 12.0, "rectify": True},
    {"out_type": "auto", "min_calib_range": 0.0, "max_calib_range": 5.0})


def narrowed(sums: Callable[..., Any], given: dict[str, Any]) -> Callable[..., Any]:
    kind = "int8" if given["out_type"] == "int8" else "uint8"
    made = requantize(kind, {key: given[key] for key in ("min_calib_range", "max_calib_range")})

    def reference(*arrays: Array) -> Any:
        y, low, high = made(*sums(*arrays))
        return np.maximum(y, 0) if given.get("rectify") else y, low, high
    return reference


def case(op: str, given: dict[str, Any], params: dict[str, Any], inputs: list[Input],
         sums: Callable[..., Any]) -> Case:
    return Case(f"_fused_quantized_{op}", {**params, **given}, inputs,
                reference=narrowed(sums, given), exact=True, dtypes=("float32",))


CASES = [
    *(case("conv", given, {"kernel": (3, 3), "num_filter": 20, "pad": (1, 1), "stride": (2, 2)},
           [whole((2, channels, 5, 6), dtype), whole((20, channels, 3, 3), weight_groups=1),
            whole((20,)), *ENDS, *ends(-1.5, 1.0)], conv(stride=2, pad=1))
      for dtype in ("int8", "uint8") for channels, given in zip((1, 3, 4, 7), GIVEN, strict=True)),
    *(case("conv", given, {"kernel": (2, 3), "num_filter": 7, "no_bias": True, "dilate": (2, 2)},
           [whole((1, 3, 7, 8), dtype), whole((7, 3, 2, 3), weight_groups=1), *ENDS],
           conv(dilate=2)) for dtype in ("int8", "uint8") for given in GIVEN[:1]),
    case("conv", GIVEN[0],
         {"kernel": (3, 3), "num_filter": 20, "num_group": 20, "no_bias": True},
         [whole((1, 20, 5, 6), "uint8"), whole((20, 1, 3, 3), weight_groups=20), *ENDS],
         conv(groups=20)),
    *(case("fully_connected", given, {"num_hidden": hidden},
           [whole((rows, features), dtype), whole((hidden, features), weight_groups=1),
            whole((hidden,)), *ENDS, *ends(-1.5, 1.0)], dense)
      for dtype in ("int8", "uint8") for given, (rows, features, hidden) in zip(
          GIVEN, ((3, 70, 20), (1, 5, 1), (7, 33, 17), (2, 64, 32)), strict=True)),
    *(case("elemwise_add", given, {},
           [whole(shape, a), whole(shape, b), *ends(-1.5, 2.25, -0.5, 3.0)], summed({}))
      for given, (a, b, shape) in zip(
          GIVEN, (("int8", "int8", (2, 20, 3, 3)), ("uint8", "uint8", (3, 7)),
                  ("int8", "uint8", (2, 20, 3, 3)), ("uint8", "int8", (1, 3, 4, 5, 2))),
          strict=True)),
]
