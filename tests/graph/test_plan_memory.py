"""The memory plan: lives do not overlap, in-place is marked, results do not change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt._array.req import Req
from ndarray_rt.errors import MXNetError
from ndarray_rt.executor.program.plan import Kind

UNARY = ("relu", "tanh", "negative", "square", "identity")


@st.composite
def graphs(draw: st.DrawFn) -> mx.sym.Symbol:
    """A random graph over one input of shape (2, 3, 4, 4) with some convolutions."""
    pool = [mx.sym.Variable("data")]
    for i in range(draw(st.integers(1, 12))):
        kind = draw(st.sampled_from((*UNARY, "add", "mul", "conv", "concat", "split", "bn")))
        a = pool[draw(st.integers(0, len(pool) - 1))]
        b = pool[draw(st.integers(0, len(pool) - 1))]
        name = f"n{i}"
        if kind in UNARY:
            made = [getattr(mx.sym, kind)(a, name=name)]
        elif kind == "add":
            made = [mx.sym.elemwise_add(a, b, name=name)]
        elif kind == "mul":
            made = [mx.sym.tanh(mx.sym.elemwise_mul(a, b), name=name)]
        elif kind == "conv":
            made = [mx.sym.Convolution(a, kernel=(3, 3), pad=(1, 1), num_filter=3, name=name)]
        elif kind == "bn":
            made = [mx.sym.BatchNorm(a, fix_gamma=False, name=name)]
        elif kind == "concat":
            wide = mx.sym.Concat(a, b, dim=1, name=name)
            made = [mx.sym.Convolution(wide, kernel=(1, 1), num_filter=3, name=name + "c")]
        else:
            halves = mx.sym.SliceChannel(a, num_outputs=3, axis=1, name=name)
            made = [mx.sym.Concat(halves[2], halves[0], halves[1], dim=1, name=name + "c")]
        pool += made
    return mx.sym.Group([pool[-1], pool[draw(st.integers(1, len(pool) - 1))] * 1.0])


def run(net: mx.sym.Symbol, seed: int, grad_req: str, planned: bool) -> dict[str, np.ndarray]:
    """Outputs, gradients and aux states after a training step."""
    rng = np.random.default_rng(seed)
    with config.override(NDRT_PLAN_MEMORY=planned):
        exe = net.simple_bind(mx.cpu(), grad_req=grad_req, data=(2, 3, 4, 4))
    for group in (exe.arg_dict, exe.grad_dict, exe.aux_dict):
        for array in group.values():
            if array is not None:
                array[:] = rng.uniform(0.2, 0.9, array.shape)
    exe.forward(is_train=True)
    found = {f"out{i}": out.asnumpy() for i, out in enumerate(exe.outputs)}
    if grad_req != "null":
        exe.backward([mx.nd.array(rng.uniform(-1, 1, o.shape)) for o in exe.outputs])
        found.update({f"grad {n}": g.asnumpy() for n, g in exe.grad_dict.items()})
    found.update({f"aux {n}": a.asnumpy() for n, a in exe.aux_dict.items()})
    return found


@settings(max_examples=60, deadline=None)
@given(net=graphs(), seed=st.integers(0, 1000), grad_req=st.sampled_from(("null", "write", "add")),
       threads=st.integers(1, 3))
def test_planned_equals_unplanned(net: mx.sym.Symbol, seed: int, grad_req: str,
                                  threads: int) -> None:
    before = mx.set_num_threads(threads)
    try:
        planned = run(net, seed, grad_req, True)
        unplanned = run(net, seed, grad_req, False)
    finally:
        mx.set_num_threads(before)
    assert planned.keys() == unplanned.keys()
    for name, value in planned.items():
        np.testing.assert_allclose(value, unplanned[name], rtol=1e-5, atol=1e-5, err_msg=name)


@settings(max_examples=60, deadline=None)
@given(net=graphs(), grad_req=st.sampled_from(("null", "write")))
def test_lives_in_one_storage_do_not_overlap(net: mx.sym.Symbol, grad_req: str) -> None:
    plan = net.simple_bind(mx.cpu(), grad_req=grad_req, data=(2, 3, 4, 4)).plan
    born: dict[int, int] = {}
    dies: dict[int, int] = {}
    for number, step in enumerate(plan.steps):
        for index in step.outs:
            born.setdefault(index, number)
            dies[index] = number
        for index in step.ins:
            dies[index] = number
    for index in plan.heads:
        dies[index] = len(plan.steps)
    own = [v.index for v in plan.values if v.storage >= 0 and v.index in born]
    for a in own:
        for b in own:
            va, vb = plan.values[a], plan.values[b]
            if a < b and va.storage == vb.storage:
                first, second = sorted((a, b), key=lambda i: born[i])
                # the later one may begin where the earlier one ends only in place
                assert dies[first] <= born[second]
                if dies[first] == born[second]:
                    step = plan.steps[born[second]]
                    if first in step.ins:
                        at = step.outs.index(second)
                        assert step.reqs[at] == Req.kWriteInplace


@settings(max_examples=60, deadline=None)
@given(net=graphs(), grad_req=st.sampled_from(("null", "write")))
def test_outputs_share_no_storage_and_nothing_else_grows(net: mx.sym.Symbol, grad_req: str) -> None:
    plan = net.simple_bind(mx.cpu(), grad_req=grad_req, data=(2, 3, 4, 4)).plan
    # whatever stops a run, who reads an output finds what its own step wrote, now or last time
    assert all(v.storage == -1 for v in plan.values if v.kind is Kind.OUTPUT)
    assert plan.planned_bytes <= sum(-(-v.nbytes // 64) * 64 for v in plan.values
                                     if v.kind in (Kind.OUTPUT, Kind.PLANNED))


def test_sharing_saves_memory_and_marks_in_place() -> None:
    net = mx.sym.Variable("data")
    for i in range(6):
        net = mx.sym.relu(net, name=f"r{i}")
    plan = net.simple_bind(mx.cpu(), grad_req="null", data=(64, 64)).plan
    assert plan.planned_bytes * 3 <= plan.naive_bytes
    # the last one writes to the output, which shares memory with nothing before it
    assert [s.reqs[0] for s in plan.steps].count(Req.kWriteInplace) == 4
    assert "kWriteInplace" in str(plan)
    with config.override(NDRT_PLAN_MEMORY=False):
        alone = net.simple_bind(mx.cpu(), grad_req="null", data=(64, 64)).plan
    assert all(r == Req.kWriteTo for s in alone.steps for r in s.reqs)
    assert alone.planned_bytes == alone.naive_bytes


@pytest.mark.parametrize("grad_req", ["write", "add"])
def test_outputs_nobody_reads_are_not_computed(grad_req: str) -> None:
    data = mx.sym.Variable("data")
    net = mx.sym.FullyConnected(data, num_hidden=3, name="fc")
    exe = net.simple_bind(mx.cpu(), grad_req={"fc_weight": grad_req}, data=(2, 5))
    backward = [s for s in exe.plan.steps if s.is_backward]
    assert len(backward) == 1
    kinds = [exe.plan.values[i].kind for i in backward[0].outs]
    assert kinds[1] is Kind.EXTERNAL
    assert kinds[0] is Kind.UNUSED
    assert backward[0].reqs[0] == Req.kNullOp
    assert backward[0].reqs[1] == {"write": Req.kWriteTo, "add": Req.kAddTo}[grad_req]


def gradients(executor: mx.executor.Executor) -> np.ndarray[Any, Any]:
    return np.stack([grad.asnumpy() for grad in executor.grad_arrays])


def test_a_second_backward_is_right_or_refused() -> None:
    """The planned backward lies on forward's memory: run again, it would read garbage."""
    y = mx.sym.Variable("x")
    for i in range(3):
        y = mx.sym.FullyConnected(mx.sym.tanh(y), name=f"fc{i}", num_hidden=6, no_bias=True)
    rng = np.random.default_rng(0)
    values = {name: rng.uniform(-1, 1, (6, 6)) for name in y.list_arguments()}
    found = {}
    for planned in (True, False):
        with config.override(NDRT_PLAN_MEMORY=planned):
            executor = y.bind(mx.cpu(), {n: mx.nd.array(v) for n, v in values.items()},
                              {n: mx.nd.zeros((6, 6)) for n in values}, "add")
        executor.forward(is_train=True)
        head = mx.nd.ones((6, 6))
        executor.backward(head)
        first = gradients(executor)
        if planned:
            assert not executor.plan.backward_repeats
            with pytest.raises(MXNetError, match="second time"):
                executor.backward(head)
            assert (gradients(executor) == first).all()
            executor.forward(is_train=True)
        executor.backward(head)
        found[planned] = gradients(executor)
        np.testing.assert_allclose(found[planned], 2 * first, rtol=1e-6)
    assert (found[True] == found[False]).all()
