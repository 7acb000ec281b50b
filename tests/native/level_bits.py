"""What kernels element by element compute on this process's level of the CPU, as digests.

`python -m tests.native.level_bits` prints them as JSON; `test_levels.py` compares those of a
process kept to AVX2 with its own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from ndarray_rt.native import ffi, lib
from ndarray_rt.storage.kernels import random as draws
from tests.native.helpers import kernel, over_arrays, run_kernel
from tests.native.optimizer_steps import STEPS, arguments

N = 1237  # no multiple of any vector
FUNCTIONS = {name: number for number, name in ffi.typeof("ndrt_function_id").elements.items()}
ARITHMETIC = range(lib.NDRT_ARITHMETIC_LAST + 1)


def _numbers(seed: int, n: int = N) -> Any:
    made = np.random.default_rng(seed).standard_normal(n).astype("f4") * 3
    made[:9] = [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-30, -1e30]
    return made


def results() -> Iterator[tuple[str, Any]]:
    """Names, and what is computed under them."""
    x, y, dy = _numbers(1), _numbers(2), np.random.default_rng(3).random(N).astype("f4")
    for name, which in FUNCTIONS.items():
        out = np.empty_like(x)
        kernel(lib.NDRT_KERNEL_FUNCTION, [N, which], [out, x, dy], [1.7, 0.3], 1)
        yield name, out
    for kind, dtype in ((lib.NDRT_F32, "f4"), (lib.NDRT_F64, "f8"), (lib.NDRT_S32, "i4")):
        left, right = ((np.nan_to_num(a, posinf=5, neginf=-5, nan=0).clip(-9, 9).astype(dtype)
                        if dtype == "i4" else a.astype(dtype)) for a in (x, y))
        for which in ARITHMETIC:
            out = np.empty_like(left)
            kernel(lib.NDRT_KERNEL_ARITHMETIC, [N, kind, which], [out, left, right], (), 1)
            yield f"arithmetic {which} {dtype}", out
    out = np.empty_like(x)
    kernel(lib.NDRT_KERNEL_EXP, [N], [out, x], (), 1)
    yield "exp", out
    finite = np.nan_to_num(x, posinf=4, neginf=-4, nan=0.5)[:1200].copy()
    for log in (0, 1):
        out = np.empty_like(finite)
        kernel(lib.NDRT_KERNEL_SOFTMAX_COLUMNS, [2, 12, 50, log], [out, finite],
               [1.3, 1], 1)
        yield f"softmax {log}", out
        for part in ((2, 12, 50), (24, 50, 1)):
            back = np.empty_like(finite)
            kernel(lib.NDRT_KERNEL_SOFTMAX_GRAD, [*part, log], [back, out, finite], [1.3, 1], 1)
            yield f"softmax_grad {log} {part}", back
    for step in STEPS:
        given = arguments(step, N, lambda i: np.nan_to_num(
            np.abs(_numbers(10 + i)), posinf=2, nan=1).clip(0, 4))
        run_kernel(step(**given), 1)
        yield step.__name__, np.stack([a for a in given.values() if np.size(a) == N])
    for draw, numbers in ((draws.uniform, {"low": -1.0, "width": 3.0, "limit": 2.0}),
                          (draws.normal, {"loc": 0.5, "scale": 2.0}),
                          (draws.dropout_mask, {"bound": 1 << 23, "factor": 2.0})):
        space = np.zeros(64, np.uint8)
        stream = space[-space.ctypes.data % 16 :][:16].view(np.uint64)
        stream[:] = [7, 3]
        out = np.empty_like(x)
        run_kernel(over_arrays(draw)(out=out, stream=stream, n=N, **numbers), 1)
        yield draw.__name__, out


def digests() -> dict[str, str]:
    """A digest of each result's bits; NaN is NaN, whichever."""
    made = {}
    for name, values in results():
        if values.dtype.kind == "f":
            values[np.isnan(values)] = np.nan
        made[name] = hashlib.sha256(values.tobytes()).hexdigest()[:16]
    return made


if __name__ == "__main__":
    print(json.dumps(digests()))
