"""Plans give what the same calls one by one give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ndarray_rt.errors import ParameterError
from ndarray_rt.native import call, ffi, lib, own
from tests.native.helpers import Array, Prim, desc, from_numpy, to_numpy

SRC, DST = lib.NDRT_ARG_SRC, lib.NDRT_ARG_DST


class Plan:
    def __init__(self) -> None:
        out = ffi.new("ndrt_plan **")
        call(lib.ndrt_plan_new, out, what="plan")
        self.ptr = own(out[0], lib.ndrt_plan_free)
        self.keep: list[Any] = []

    def add(self, prim: Prim, args: dict[int, Array]) -> None:
        self.keep.append((prim, args))
        call(lib.ndrt_plan_add_prim, self.ptr, prim.ptr, *prim.args(args), what="add")

    def add_kernel(self, kernel: int, dims: list[int], data: list[Any], scalars: Any = ()) -> None:
        step = ffi.new("ndrt_kernel_call *", {"kernel": kernel, "dims": dims, "data": data,
                                              "scalars": list(scalars)})
        call(lib.ndrt_plan_add_kernel, self.ptr, step, what="add")

    def run(self, budget: float = -1.0, cursor: int = 0) -> int:
        at = ffi.new("int64_t *", cursor)
        call(lib.ndrt_plan_run, self.ptr, budget, at, what="plan")
        return int(at[0])


def run_or_add(arrays: list[Array], plan: Plan | None = None) -> None:
    """y = tanh(x), z = y transposed in memory, then z += y, byte after byte."""
    x, y, z = arrays
    tanh = Prim(lib.NDRT_ELTWISE, direction=lib.NDRT_FORWARD_INFERENCE, alg=lib.NDRT_ELTWISE_TANH,
                src=x.desc)
    move = Prim(lib.NDRT_REORDER, src=y.desc, dst=z.desc)
    steps = [(tanh, {SRC: x, DST: y}), (move, {SRC: y, DST: z})]
    for prim, args in steps:
        if plan is None:
            prim.run(args)
        else:
            plan.add(prim, args)
    n = y.desc.info.nelems
    target = plan or Plan()
    target.add_kernel(lib.NDRT_KERNEL_ADD_TO, [n], [z.buffer.data, y.buffer.data])
    if plan is None:
        target.run()


@pytest.mark.parametrize("shape", [(3, 4), (40, 1001)])
def test_a_plan_equals_the_calls(shape: tuple[int, int]) -> None:
    data = np.random.default_rng(0).standard_normal((2, *shape)).astype("f4")
    arrays = [[Array(desc(shape)), Array(desc(shape)), Array(desc(shape, "ba"))] for _ in range(2)]
    for group in arrays:
        group[0].bytes()[:] = data[0].tobytes()
    plan = Plan()
    run_or_add(arrays[0])
    run_or_add(arrays[1], plan)
    assert lib.ndrt_plan_size(plan.ptr) == 3
    assert not arrays[1][2].numpy().any(), "adding runs nothing"
    assert plan.run() == 3
    np.testing.assert_array_equal(arrays[1][2].numpy(), arrays[0][2].numpy())

    for group in arrays:
        group[0].bytes()[:] = data[1].tobytes()
    run_or_add(arrays[0])
    plan.run()
    np.testing.assert_array_equal(arrays[1][2].numpy(), arrays[0][2].numpy())


def test_budget_and_cursor() -> None:
    a = from_numpy(np.zeros(4, "f4"))
    one = from_numpy(np.ones(4, "f4"))
    plan = Plan()
    for number in range(5):
        plan.add_kernel(lib.NDRT_KERNEL_ADD_TO, [4], [a.buffer.data, one.buffer.data])
        if number != 2:
            lib.ndrt_plan_mark_whole(plan.ptr)
    cursor = 0
    stops = []
    while cursor < 5:
        cursor = plan.run(0.0, cursor)
        stops.append(cursor)
    # behind the third step something is half written
    assert stops == [1, 2, 4, 5]
    assert (to_numpy(a) == 5).all()
    assert plan.run(10_000.0) == 5
    assert (to_numpy(a) == 10).all()
    # a short run of the past says nothing about a budget that is shorter still
    assert plan.run(0.0) == 1
    assert plan.run(10_000.0, 1) == 5
    assert (to_numpy(a) == 15).all()
    assert plan.run(cursor=5) == 5
    with pytest.raises(ParameterError, match="step 6 of a plan of 5"):
        plan.run(cursor=6)


def test_a_plan_that_grew_is_not_as_short_as_it_was() -> None:
    """What is whole and takes longer than the budget comes back, step by step."""
    small, large = (from_numpy(np.zeros(n, "f4")) for n in (4, 1 << 22))
    plan = Plan()
    plan.add_kernel(lib.NDRT_KERNEL_ADD_TO, [4], [small.buffer.data, small.buffer.data])
    lib.ndrt_plan_mark_whole(plan.ptr)
    assert plan.run(0.5) == 1
    for _ in range(8):
        plan.add_kernel(lib.NDRT_KERNEL_ADD_TO, [1 << 22], [large.buffer.data, large.buffer.data])
        lib.ndrt_plan_mark_whole(plan.ptr)
    assert plan.run(0.5, 1) < 5, "4 million sums take longer than half a millisecond"
    assert plan.run(0.5) < 5


def test_adding_checks_like_running() -> None:
    x = Array(desc((3, 4)))
    relu = Prim(lib.NDRT_ELTWISE, direction=lib.NDRT_FORWARD_INFERENCE,
                alg=lib.NDRT_ELTWISE_RELU, src=x.desc)
    plan = Plan()
    with pytest.raises(ParameterError, match="argument 17 is missing"):
        plan.add(relu, {SRC: x})
    with pytest.raises(ParameterError, match="kernel 77"):
        plan.add_kernel(77, [1], [])
    assert lib.ndrt_plan_size(plan.ptr) == 0
    assert plan.run() == 0


def test_profiling_is_running_with_times() -> None:
    a = from_numpy(np.zeros(4, "f4"))
    one = from_numpy(np.ones(4, "f4"))
    plan = Plan()
    for _ in range(3):
        plan.add_kernel(lib.NDRT_KERNEL_ADD_TO, [4], [a.buffer.data, one.buffer.data])
    times = ffi.new("double[]", [-1.0] * 4)
    cursor = ffi.new("int64_t *", 1)
    call(lib.ndrt_plan_profile, plan.ptr, -1.0, cursor, times, what="plan")
    assert cursor[0] == 3
    assert (to_numpy(a) == 2).all()
    assert times[0] == times[3] == -1, "steps that did not run have no times"
    assert min(times[1], times[2]) >= 0
    cursor[0] = 4
    with pytest.raises(ParameterError, match="step 4 of a plan of 3"):
        call(lib.ndrt_plan_profile, plan.ptr, -1.0, cursor, times, what="plan")
