"""Plans give what the same calls one by one give."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from ndarray_rt.errors import MXNetError, ParameterError
from ndarray_rt.native import call, ffi, lib, own
from tests.native.helpers import F32, Array, Prim, desc, from_numpy, to_numpy

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
        step = ffi.new("ndrt_kernel_call *", {"kernel": kernel, "counts": dims, "data": data,
                                              "numbers": list(scalars)})
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
            lib.ndrt_plan_mark_consistent(plan.ptr)
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
    lib.ndrt_plan_mark_consistent(plan.ptr)
    assert plan.run(0.5) == 1
    for _ in range(8):
        plan.add_kernel(lib.NDRT_KERNEL_ADD_TO, [1 << 22], [large.buffer.data, large.buffer.data])
        lib.ndrt_plan_mark_consistent(plan.ptr)
    assert plan.run(0.5, 1) < 5, "4 million sums take longer than half a millisecond"
    assert plan.run(0.5) < 5


def test_adding_checks_like_running() -> None:
    x = Array(desc((3, 4)))
    relu = Prim(lib.NDRT_ELTWISE, direction=lib.NDRT_FORWARD_INFERENCE,
                alg=lib.NDRT_ELTWISE_RELU, src=x.desc)
    plan = Plan()
    with pytest.raises(ParameterError, match="argument 17 is missing"):
        plan.add(relu, {SRC: x})
    with pytest.raises(ParameterError, match="kernel 999"):
        plan.add_kernel(999, [1], [])
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


def lanes_of(plan: Plan, begin: int, *ends: int) -> None:
    call(lib.ndrt_plan_add_lanes, plan.ptr, begin, len(ends), list(ends), what="lanes")


def chains(lanes: int, steps: int) -> tuple[Plan, list[Array]]:
    """For each lane an array that so many steps count up, each of which reads the one before."""
    plan, arrays = Plan(), []
    for lane in range(lanes):
        one, y = from_numpy(np.full(5, lane + 1, "f4")), from_numpy(np.zeros(5, "f4"))
        arrays.append(y)
        plan.keep.append(one)
        for _ in range(steps):
            plan.add_kernel(lib.NDRT_KERNEL_ADD_TO, [5], [y.buffer.data, one.buffer.data])
    return plan, arrays


@pytest.mark.parametrize("lanes", [1, 2, 3, 7])
@pytest.mark.parametrize("cursor", [0, 1, 5])
def test_lanes_equal_their_steps_one_by_one(lanes: int, cursor: int) -> None:
    plan, arrays = chains(lanes, 40)
    lanes_of(plan, 0, *range(40, 40 * lanes + 1, 40))
    for runs in (1, 2):
        assert plan.run(cursor=cursor) == 40 * lanes
        for lane, y in enumerate(arrays):
            skipped = cursor if lane == 0 else 0
            np.testing.assert_array_equal(to_numpy(y), runs * (40 - skipped) * (lane + 1))


def test_lanes_have_steps_before_and_behind_them() -> None:
    plan, arrays = chains(6, 10)
    lanes_of(plan, 10, 20, 30)
    lanes_of(plan, 30, 30, 40)  # the first one has nothing to do
    at = 0
    while at < 60:
        before, at = at, plan.run(budget=0, cursor=at)
        assert at > before
    for lane, y in enumerate(arrays):
        np.testing.assert_array_equal(to_numpy(y), 10 * (lane + 1))


def test_lanes_go_with_their_steps() -> None:
    plan, (one, *others) = chains(3, 10)
    lanes_of(plan, 0, 10)
    lanes_of(plan, 10, 20, 30)
    lib.ndrt_plan_cut(plan.ptr, 29)
    lanes_of(plan, 10, 20, 29)
    assert plan.run() == 29
    assert [float(to_numpy(y)[0]) for y in (one, *others)] == [10, 20, 27]


def test_a_failure_in_a_lane_says_where() -> None:
    plan, _ = chains(2, 3)
    rows = from_numpy(np.zeros((4, 2), "f4"))
    places = from_numpy(np.full((1, 3), 9, "f4"))
    bad = [rows.buffer.data, places.buffer.data]
    plan.keep.append((rows, places))
    plan.add_kernel(lib.NDRT_KERNEL_FLAT_PLACES, [1, 3, F32, 4], bad)
    lanes_of(plan, 0, 3, 7)
    at = ffi.new("int64_t *")
    with pytest.raises(MXNetError):
        call(lib.ndrt_plan_run, plan.ptr, -1.0, at, what="plan")
    assert at[0] == 6


@pytest.mark.parametrize(("begin", "ends", "error"), [
    (0, (), "0 lanes"), (-1, (3,), "from step -1"), (0, (31,), "up to step 31 of 30"),
    (5, (4,), "up to step 4 of 30, from 5"), (0, (9, 8), "up to step 8")])
def test_lanes_that_do_not_fit(begin: int, ends: tuple[int, ...], error: str) -> None:
    plan, _ = chains(3, 10)
    with pytest.raises(ParameterError, match=error):
        lanes_of(plan, begin, *ends)
    lanes_of(plan, 0, 10)
    with pytest.raises(ParameterError, match="where others end at 10"):
        lanes_of(plan, 9, 12)


def test_steps_of_several_threads_are_in_no_lane(threads: int) -> None:
    plan = Plan()
    y = from_numpy(np.zeros(1 << 16, "f4"))
    plan.keep.append(y)
    plan.add_kernel(lib.NDRT_KERNEL_FILL, [1 << 16], [y.buffer.data], (1,))
    if threads == 1:
        lanes_of(plan, 0, 1)
        return
    with pytest.raises(ParameterError, match="step 0 of a lane works with 2 threads"):
        lanes_of(plan, 0, 1)


def test_a_thread_may_be_told_of_other_threads(threads: int) -> None:
    lib.ndrt_threads_here(5)
    try:
        assert lib.ndrt_threads_get() == 5
        with ThreadPoolExecutor(1) as other:
            assert other.submit(lib.ndrt_threads_get).result() == threads
    finally:
        lib.ndrt_threads_here(0)
    assert lib.ndrt_threads_get() == threads


def test_runs_end_at_a_stop() -> None:
    plan, x = Plan(), from_numpy(np.ones(4, np.float32), "a")
    n = [x.desc.info.nelems]

    def double() -> None:
        plan.add_kernel(lib.NDRT_KERNEL_ADD_TO, n, [x.buffer.data, x.buffer.data])
    call(lib.ndrt_plan_add_stop, plan.ptr, what="stop")
    double()
    call(lib.ndrt_plan_add_stop, plan.ptr, what="stop")
    double()
    assert [lib.ndrt_plan_stops_at(plan.ptr, at) for at in range(5)] == [1, 0, 1, 0, 0]
    assert plan.run() == 0
    assert plan.run(cursor=1) == 2
    assert plan.run(cursor=2) == 2
    assert (to_numpy(x) == 2).all()
    assert plan.run(cursor=3) == 4
    assert (to_numpy(x) == 4).all()
    with pytest.raises(ParameterError, match="step 0 of a lane is a stop"):
        call(lib.ndrt_plan_add_lanes, plan.ptr, 0, 2, [1, 2], what="lanes")
