"""Pooling and Pooling_v1 against plain loops over the output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input, Kind, Native

Reduce = Callable[[Array, int], Array]


def outputs(dim: int, kernel: int, stride: int, pad: int, convention: str) -> int:
    """How many windows fit, as MXNet's documentation has it."""
    if convention == "same":
        return int(np.ceil(dim / stride))
    steps = (dim + 2 * pad - kernel) / stride
    return int(np.ceil(steps) if convention == "full" else np.floor(steps)) + 1


def pool(x: Array, kernel: tuple[int, ...], stride: tuple[int, ...], pad: tuple[int, ...],
         convention: str, reduce: Reduce, include: bool) -> Array:
    """One output element at a time; `reduce` gets the data of a window and what it counts."""
    spatial = x.shape[2:]
    out = [outputs(*axis, convention) for axis in zip(spatial, kernel, stride, pad, strict=True)]
    y = np.zeros((*x.shape[:2], *out))
    for at in product(*map(range, out)):
        window, count = [], 1
        for i, d, k, s, p in zip(at, spatial, kernel, stride, pad, strict=True):
            start = i * s - p
            stop = min(start + k, d + p)
            data = slice(max(start, 0), max(0, min(stop, d)))
            window.append(data)
            count *= max(0, stop - start) if include else max(0, data.stop - data.start)
        read: tuple[Any, ...] = (slice(None), slice(None), *window)
        written: tuple[Any, ...] = (slice(None), slice(None), *at)
        seen = x[read]
        y[written] = reduce(
            seen.reshape(*x.shape[:2], int(np.prod(seen.shape[2:]))), count)
    return y


REDUCE: dict[str, Reduce] = {
    "max": lambda seen, count: seen.max(axis=2),
    "sum": lambda seen, count: seen.sum(axis=2),
    "avg": lambda seen, count: seen.sum(axis=2) / max(count, 1),
    "lp1": lambda seen, count: seen.sum(axis=2),
    "lp2": lambda seen, count: np.sqrt((seen ** 2).sum(axis=2)),
    "lp3": lambda seen, count: np.cbrt((seen ** 3).sum(axis=2)),
}


def case(pool_type: str, data: tuple[int, ...], kernel: tuple[int, ...] = (), note: str = "",
         native: Native = True, v1: bool = False, native_backward: Native | None = None,
         **params: Any) -> Case:
    rank = len(data) - 2
    given: dict[str, Any] = {"pool_type": pool_type, **params}
    if kernel:
        given["kernel"] = kernel
    name = pool_type + str(params.get("p_value", ""))
    last = str(params.get("layout", "")).endswith("C")
    spatial = data[1:-1] if last else data[2:]
    window = kernel
    stride = params.get("stride", (1,) * rank)
    pad = params.get("pad", (0,) * rank)
    if params.get("global_pool"):
        window, stride, pad = spatial, (1,) * rank, (0,) * rank
    convention = str(params.get("pooling_convention", "valid"))
    include = params.get("count_include_pad", True) is not False

    def reference(x: Array) -> Array:
        if last:
            x = np.moveaxis(x, -1, 1)
        y = pool(x, window, stride, pad, convention, REDUCE[name], include)
        return np.moveaxis(y, 1, -1) if last else y
    kinds: dict[str, Kind] = {"max": "distinct", "lp": "positive"}
    contents = Input(data, kind=kinds.get(pool_type, "uniform"))
    rtol = {"float32": 1e-4} if pool_type == "lp" else None
    return Case("Pooling_v1" if v1 else "Pooling", given, [contents],
                reference=reference, native=native,
                native_backward=native if native_backward is None else native_backward,
                dtypes=("float32", "float64", "float16"), rtol=rtol, note=note)


KINDS = ("max", "avg", "sum")
CASES = []
for kind in KINDS:
    CASES += [
        case(kind, (2, 3, 5, 5), (2, 2), stride=(2, 2)),
        case(kind, (1, 20, 6, 5), (3, 3), stride=(2, 2), pad=(1, 1), note="20 channels"),
        case(kind, (2, 16, 4, 4), (3, 2), pad=(1, 0)),
        case(kind, (1, 3, 7, 7), (2, 2), stride=(3, 3), note="stride above kernel"),
        case(kind, (2, 20, 4, 5), global_pool=True),
        case(kind, (2, 3, 1, 1), (1, 1)),
        case(kind, (1, 3, 5, 6), (2, 3), stride=(2, 2), pooling_convention="full",
             note="beyond the end"),
        case(kind, (1, 5, 6, 6), (3, 3), stride=(2, 2), pad=(1, 1), pooling_convention="full",
             note="beyond the padding", native=kind != "avg"),
        case(kind, (2, 3, 7), (3,), stride=(2,), pad=(1,)),
        case(kind, (2, 20, 5), (2,), stride=(2,), pooling_convention="full"),
        case(kind, (1, 3, 7), (3,), stride=(2,), pooling_convention="same"),
        # another window begins in the last place of the data, which the first one has whole
        case(kind, (2, 3, 3), (3,), stride=(2,), pooling_convention="same"),
        case(kind, (1, 3, 4, 5, 4), (2, 3, 2), stride=(2, 1, 2), pad=(0, 1, 0)),
        case(kind, (1, 3, 3, 4, 2), global_pool=True),
        case(kind, (1, 5, 4, 3), (2, 2), layout="NHWC"),
        case(kind, (2, 5, 3), (2,), stride=(2,), layout="NWC"),
        case(kind, (1, 2, 3, 4, 3), global_pool=True, layout="NDHWC"),
        case(kind, (0, 3, 4, 4), (2, 2), native=False, note="no images"),
        case(kind, (2, 0, 4, 4), (2, 2), native=False, note="no channels"),
    ]
CASES += [
    case("avg", (1, 20, 6, 5), (3, 3), stride=(2, 2), pad=(1, 1), count_include_pad=False),
    case("avg", (1, 3, 6, 6), (3, 3), stride=(2, 2), pad=(1, 1), pooling_convention="full",
         count_include_pad=False),
    case("avg", (1, 3, 6), (3,), stride=(2,), pad=(2,), count_include_pad=False),
    case("avg", (1, 2, 4, 4), (2, 2), pad=(2, 2), native=False, note="windows of padding"),
    case("sum", (1, 2, 7), (2,), stride=(2,), pad=(1,), pooling_convention="full", native=False,
         note="windows of padding"),
    *[case("lp", (1, 3, 5, 5), (3, 3), stride=(2, 2), pad=(1, 1), p_value=p, native=False)
      for p in (1, 2, 3)],
    case("lp", (2, 3, 4, 4), global_pool=True, p_value=2, native=False),
]


def case_v1(pool_type: str, data: tuple[int, ...], kernel: tuple[int, ...] = (),
            **more: Any) -> Case:
    """Padding is zeros of the data, and avg divides by the whole kernel."""
    pad = more.get("pad", (0, 0))
    made = case(pool_type, data, kernel, v1=True, **more)
    whole = kernel or data[2:]
    stride = more.get("stride", (1, 1)) if kernel else (1, 1)
    convention = str(more.get("pooling_convention", "valid"))
    reduce = (lambda seen, count: seen.sum(axis=2) / np.prod(whole)) if (
        pool_type == "avg") else REDUCE[pool_type]

    def reference(x: Array) -> Array:
        padded = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in pad)])
        return pool(padded, whole, stride, (0, 0), convention, reduce, True)
    return replace(made, reference=reference)


for kind in KINDS:
    not_max = kind != "max"
    CASES += [
        case_v1(kind, (2, 3, 5, 5), (2, 2), stride=(2, 2), native_backward=not_max),
        case_v1(kind, (1, 20, 6, 5), (3, 3), stride=(2, 2), pad=(1, 1), native=not_max),
        case_v1(kind, (1, 3, 6, 6), (3, 3), stride=(2, 2), pooling_convention="full",
                native_backward=not_max),
        case_v1(kind, (2, 4, 3, 5), global_pool=True, native_backward=not_max),
    ]
