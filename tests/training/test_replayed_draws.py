"""Native kernels of random operators: numpy's bits, with any number of threads, and replayed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ndarray_rt._array.copy import read_numpy
from ndarray_rt._array.ndarray import NDArray, new_array
from ndarray_rt._array.output import NumpyOutput
from ndarray_rt._array.req import Req
from ndarray_rt.capture.recorder import Recorder, stream_into
from ndarray_rt.nd import array
from ndarray_rt.op.context import OpContext
from ndarray_rt.op.dispatch import dispatch
from ndarray_rt.op.infer import run_infer_shape, run_infer_type
from ndarray_rt.op.random_state import RandomState
from ndarray_rt.op.registry import find
from ndarray_rt.storage.stream import Stream
from ndarray_rt.threads import set_num_threads

Values = np.ndarray[Any, Any]

N = 20001  # more than one thread's, and no whole number of blocks
NUMBERS: list[tuple[str, dict[str, float]]] = [
    ("uniform", {"low": -1, "high": 2}), ("uniform", {"low": 1, "high": 1.0000001}),
    ("normal", {"loc": 1, "scale": 3}), ("exponential", {"lam": 2}),
    ("gamma", {"alpha": 3, "beta": 2}), ("gamma", {"alpha": 0.3, "beta": 2}),
    ("poisson", {"lam": 0}), ("poisson", {"lam": 3}), ("poisson", {"lam": 300}),
    ("poisson", {"lam": 6e4}), ("poisson", {"lam": 1e9}),
    ("negative_binomial", {"k": 3, "p": 0.4}),
    ("negative_binomial", {"k": 3, "p": 0}), ("negative_binomial", {"k": 0, "p": 0.5}),
    ("generalized_negative_binomial", {"mu": 2, "alpha": 0.3}),
    ("generalized_negative_binomial", {"mu": 20, "alpha": 0})]
# those that all distributions take, and others that some of them do
FIRST = [0.5, 3.0, 20.0, 1000.0, 0.3]
SECOND = [0.5, 1.0, 0.3, 0.75, 1.0]
MORE = {"poisson": [[0.0, np.inf]], "exponential": [[np.inf, 1e-30]], "gamma": [[2.0], [np.inf]],
        "uniform": [[5.0, -3.0], [5.0, -4.0]], "normal": [[-3.0, 0.0], [0.0, 1e30]],
        "negative_binomial": [[0.0, 3.0], [0.0, 0.0]],
        "generalized_negative_binomial": [[np.inf, 0.0], [0.0, 2.0]]}
NAMES = sorted({name for name, _ in NUMBERS})
BY_ONE = ("exponential", "poisson")
PROBABILITIES = np.random.default_rng(0).dirichlet(np.ones(50), 20)
PROBABILITIES[3] *= 0.5
PROBABILITIES[4, -3:] = 0

Call = tuple[str, dict[str, Any], list[Values]]


def calls() -> list[Call]:
    found: list[Call] = [(f"_random_{name}", {**numbers, "shape": (N,), "dtype": dtype}, [])
                         for dtype in ("float16", "float32", "float64")
                         for name, numbers in NUMBERS
                         if max(numbers.values()) <= float(np.finfo(dtype).max)]
    found += [(f"_random_{name}_like", numbers, [np.zeros((3, 67), "f4")])
              for name, numbers in NUMBERS]
    for kind in ("float16", "float32", "float64", "int32", "int64"):
        given = [np.array(FIRST), np.array(SECOND)]
        if kind.startswith("int"):
            given = [np.ceil(x) for x in given]
        found += [(f"_sample_{name}", {"shape": (2801,), "dtype": dtype},
                   [x.astype(kind) for x in given][:1 if name in BY_ONE else 2])
                  for name in NAMES for dtype in ("float32", "float64")]
    found += [(f"_sample_{name}", {"shape": (501,), "dtype": dtype},
               [np.array(x, "f4") for x in MORE[name]])
              for name in NAMES for dtype in ("float32", "float64")]
    found += [("_random_randint", {"low": low, "high": high, "shape": (N,)}, [])
              for low, high in ((-5, 1000), (-2**31, 2**31), (7, 8), (0, 2**31))]
    found += [("_sample_multinomial", {"shape": (1001,), "dtype": dtype, "get_prob": True},
               [PROBABILITIES.astype(kind)])
              for dtype, kind in (("uint8", "f4"), ("int32", "f4"), ("float16", "f8"),
                                  ("float32", "f2"), ("float64", "f4"))]
    found += [("_sample_multinomial", {}, [PROBABILITIES[0].astype("f4")])]
    found += [("_shuffle", {}, [np.arange(np.prod(shape)).reshape(shape).astype(kind)])
              for shape, kind in (((N,), "f4"), ((N,), "f8"), ((1,), "f4"), ((17, 3, 2), "i4"),
                                  ((300, 5), "u1"))]
    return found


def name_of(call: Call) -> str:
    op, params, ins = call
    given = ",".join(f"{key}={value}" for key, value in params.items() if key != "shape")
    return f"{op}-{given}-{','.join(f'{x.dtype}{list(x.shape)}' for x in ins)}"


def outputs(call: Call) -> list[NDArray]:
    op, params, ins = call
    definition = find(op)
    made = definition.params.parse(params, op, None)
    left = [None] * len(definition.output_names(made))
    _, shapes = run_infer_shape(definition, made, [x.shape for x in ins], left, None)
    _, types = run_infer_type(definition, made, [x.dtype for x in ins], left, None)
    return [new_array(shape or (), np.dtype(dtype))
            for shape, dtype in zip(shapes, types, strict=True)]


def in_numpy(call: Call, ctx: OpContext) -> list[Values]:
    op, params, ins = call
    definition = find(op)
    outs = [NumpyOutput(out, Req.kWriteTo) for out in outputs(call)]
    with np.errstate(all="ignore"):
        definition.compute(ctx, definition.params.parse(params, op, None), ins, outs)
    values = [out.value for out in outs]
    assert None not in [type(value) for value in values]
    return values  # type: ignore[return-value]


@pytest.mark.parametrize("call", calls(), ids=name_of)
def test_replays_draw_what_numpy_draws(call: Call) -> None:
    """Recorded and replayed twice, by two threads = three calls in numpy, to the bit."""
    op, params, ins = call
    definition = find(op)
    naive = OpContext(random=RandomState(5))
    want = [in_numpy(call, naive) for _ in range(3)]
    recorder = Recorder(0)
    stream = stream_into(recorder)
    ctx = OpContext(stream, random=RandomState(5))
    outs = outputs(call)
    before = set_num_threads(2)
    try:
        for i, expected in enumerate(want):
            if i:
                recorder.recording.replay()
            else:
                dispatch(definition, definition.params.parse(params, op, None), ctx,
                         [array(x, dtype=x.dtype) for x in ins], outs,
                         [Req.kWriteTo] * len(outs))
            for got, value in zip(outs, expected, strict=True):
                np.testing.assert_array_equal(read_numpy(got, Stream()), value)
    finally:
        set_num_threads(before)
    assert recorder.recording.segments == 1
    assert stream.counters.callbacks == 0
    assert ctx.fallbacks == 0
    assert ctx.random.get_state() == naive.random.get_state()


def test_draws_that_no_kernel_makes_are_the_same_numbers() -> None:
    """int64 has no layouts: numpy draws."""
    made = []
    for dtype in ("int32", "int64"):
        call: Call = ("_random_randint", {"low": -7, "high": 90, "shape": (50,), "dtype": dtype},
                      [])
        ctx, outs = OpContext(random=RandomState(1)), outputs(call)
        dispatch(find(call[0]), find(call[0]).params.parse(call[1], call[0], None), ctx, [], outs,
                 [Req.kWriteTo])
        made.append(read_numpy(outs[0], Stream()))
        assert ctx.fallbacks == (dtype == "int64")
    np.testing.assert_array_equal(made[0], made[1])
