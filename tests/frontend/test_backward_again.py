"""Backwards of one form again and again: the program that is kept gives what a new one gives."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import autograd, nd
from ndarray_rt.errors import OutOfMemory
from ndarray_rt.imperative import gradient_program
from ndarray_rt.imperative.tape import STATE
from ndarray_rt.native import lib
from ndarray_rt.op.dispatch import observe
from ndarray_rt.op.registry import find
from ndarray_rt.testing.case import Case
from ndarray_rt.testing.operator import why_no_gradient
from tests.case_table import all_cases, unique_ids

ROUNDS = 5
CASES = [case for case in all_cases() if not why_no_gradient(case)]
REQUESTS = ("write", "add", "null")


def programs() -> dict[Any, Any]:
    return gradient_program._programs.made


def forget() -> None:
    STATE.calls.renew()
    gradient_program._programs.clear()


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    forget()
    yield
    forget()


@contextlib.contextmanager
def long_way() -> Iterator[None]:
    """Nothing is done again natively, and no program is kept."""
    stop = observe(lambda told: None, replays=True)
    forget()
    try:
        yield
    finally:
        stop()
        forget()


def assert_same(got: Sequence[Any], wanted: Sequence[Any]) -> None:
    """The same bits, but for the payloads of NaN."""
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def part_of(x: np.ndarray[Any, Any]) -> Any:
    """The same numbers as rows of a larger array."""
    return nd.array(np.concatenate([x[:1], x, x[:1]]), dtype=x.dtype)[1:1 + len(x)]


def gradients_of(case: Case, drawn: Sequence[Any], requests: Sequence[str], of_parts: bool,
                 ) -> list[Any]:
    """What the gradients of the float inputs hold after two backwards of one call."""
    make = part_of if of_parts else lambda x: nd.array(x, dtype=x.dtype)
    ins = [make(x) for x in drawn]
    leaves = [x for x, _ in zip(ins, case.inputs, strict=False) if x.dtype.kind == "f"]
    grads = [make(np.full(x.shape, 0.5, x.dtype)) for x in leaves]
    for i, (x, grad) in enumerate(zip(leaves, grads, strict=True)):
        autograd.mark_variables(x, grad, requests[i % len(requests)])
    if all(requests[i % len(requests)] == "null" for i in range(len(leaves))):
        return []
    for _ in range(2):
        mx.random.seed(3)
        with autograd.record(train_mode=case.is_train):
            made = call(case, ins)
        heads = made if isinstance(made, list) else [made]
        autograd.backward(heads, [nd.ones(y.shape, dtype=y.dtype) for y in heads],
                          train_mode=case.is_train)
    return [grad.asnumpy() for grad in grads]


def call(case: Case, ins: Sequence[Any]) -> Any:
    from ndarray_rt.imperative.fast_call import call as fast_call
    from ndarray_rt.imperative.invoke import invoke
    return fast_call(find(case.op), tuple(ins), dict(case.params), None, invoke)


@pytest.mark.parametrize("case", CASES, ids=unique_ids(tuple(CASES)))
def test_every_gradient_again(case: Case) -> None:
    """Written, added to and left out, into arrays and parts of arrays: bit for bit."""
    drawn = case.draw(case.dtypes[0])
    for turn, of_parts in enumerate((False, True)):
        if of_parts and (0 in [x.size for x in drawn] or not all(x.shape for x in drawn)):
            continue
        for first in range(len(REQUESTS)):
            requests = REQUESTS[first:] + REQUESTS[:first]
            with long_way():
                wanted = gradients_of(case, drawn, requests, of_parts)
            for _ in range(ROUNDS - 2 + turn):
                assert_same(gradients_of(case, drawn, requests, of_parts), wanted)


def leaf(values: Any, req: str = "write") -> Any:
    x = nd.array(values)
    x.attach_grad(req)
    return x


def again(step: Callable[[], Sequence[Any]]) -> None:
    """Each round gives what the first gives, without anything kept."""
    with long_way():
        wanted = step()
    for _ in range(ROUNDS):
        assert_same(step(), wanted)


def net_step(x: Any, w: Any, v: Any) -> Any:
    y = nd.Convolution(x, w, kernel=(3, 3), num_filter=16, no_bias=True)
    y = nd.relu(y - 0.1) * 2
    y = nd.Pooling(y, kernel=(2, 2), stride=(2, 2), pool_type="max")
    return (nd.FullyConnected(y, v, num_hidden=5, no_bias=True) ** 2).mean()


def net_arrays() -> list[Any]:
    rng = np.random.default_rng(5)
    return [nd.array(rng.standard_normal(shape).astype("f"))
            for shape in ((2, 16, 8, 8), (16, 16, 3, 3), (5, 144))]


@pytest.mark.parametrize("wanted", [(0,), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("req", ["write", "add"])
def test_a_net_in_special_layouts(wanted: tuple[int, ...], req: str) -> None:
    """The data's gradient too, which may be left in a special layout, read between or not."""
    arrays = net_arrays()
    for i in wanted:
        arrays[i].attach_grad(req)
    for reads in (True, False):
        def step(reads: bool = reads) -> list[Any]:
            for i in wanted:
                arrays[i].grad[:] = 1
            found = []
            for _ in range(3):
                with autograd.record():
                    loss = net_step(*arrays)
                loss.backward()
                if reads:
                    found += [arrays[i].grad.asnumpy() for i in wanted]
            return found + [arrays[i].grad.asnumpy() for i in wanted]
        again(step)
    assert programs()


@pytest.mark.parametrize("n", [2, 9, 33, 64, 65])
def test_calls_of_many_arrays(n: int) -> None:
    """Of inputs and outputs, some of them one array; more than 64 are not recorded."""
    def step() -> list[Any]:
        found = []
        for same in (n - 1, 0):
            leaves = [leaf([[1.0, i]]) for i in range(n)]
            leaves[-1] = leaves[same]
            with autograd.record():
                parts = nd.split(nd.stack(*leaves, axis=1) * 2, num_outputs=n, axis=1)
                y = parts[0] * parts[-1] + parts[n // 2]
            y.backward()
            found += [x.grad.asnumpy() for x in leaves]
        return found
    again(step)
    calls: list[Any] = list(STATE.calls.items())
    kept = [key[0].name for key, made in calls if made is not None]
    assert ("stack" in kept) == ("SliceChannel" in kept) == (n <= 64)


def test_forms_are_told_apart() -> None:
    """By wiring, by which inputs have gradients, by heads and by what they are given."""
    def gradients(function: Callable[..., Any], marked: Sequence[bool], given: bool) -> list[Any]:
        ins = [nd.array([1.5, -2.0]), nd.array([3.0, 0.25])]
        for x, wants in zip(ins, marked, strict=True):
            if wants:
                x.attach_grad()
        with autograd.record():
            made = function(*ins)
        heads = made if isinstance(made, list) else [made]
        autograd.backward(heads, [nd.array([2.0, 5.0]) for _ in heads] if given else None)
        return [x.grad.asnumpy() for x in ins if x.grad is not None]

    functions = [lambda a, b: a / b, lambda a, b: b / a, lambda a, b: a / (a * b),
                 lambda a, b: b / (a * b), lambda a, b: [a / b, a * b], lambda a, b: [a * b, a / b],
                 lambda a, b: (a / b) * (a / b), lambda a, b: a * b * b, lambda a, b: a * (b * b),
                 lambda a, b: a * 2 + b * 3, lambda a, b: a * 3 + b * 2]
    wanted = {}
    cases = [(f, marked, given) for f in functions for given in (False, True)
             for marked in ((True, True), (True, False), (False, True))]
    for case in cases:
        with long_way():
            wanted[case] = gradients(*case)
    for _ in range(3):
        for case in cases:
            assert_same(gradients(*case), wanted[case])
    # some are the same form with other names
    assert len(cases) / 2 < len(programs()) <= len(cases)


def test_gradients_that_share_memory() -> None:
    """Of two leaves one array, of one leaf the head's own gradient, of parts of one array."""
    def step() -> list[Any]:
        a, b = nd.array([1.5, -2.0]), nd.array([3.0, 0.25])
        one = nd.zeros((2,))
        autograd.mark_variables([a, b], [one, one], "add")
        with autograd.record():
            y = nd.exp(a) * b
        y.backward(nd.array([1.0, 3.0]))
        found = [one.asnumpy()]
        both = nd.zeros((2, 2))
        autograd.mark_variables([a, b], [both[0], both[1]])
        with autograd.record():
            y = nd.exp(a) * b
        y.backward(nd.array([1.0, 3.0]))
        found.append(both.asnumpy())
        a.attach_grad()
        a.grad[:] = 4
        with autograd.record():
            y = nd.exp(a) * b
        y.backward(a.grad)
        return [*found, a.grad.asnumpy()]
    again(step)


def test_exported_gradients() -> None:
    """They are written where they are."""
    a = leaf([1.5, -2.0])
    for i in range(ROUNDS):
        pinned = a.grad.__array__(copy=False) if i % 2 else None
        with autograd.record():
            y = nd.square(a) * (i + 1)
        y.backward()
        if pinned is not None:
            assert pinned.tolist() == [3 * (i + 1), -4 * (i + 1)]
        assert a.grad.asnumpy().tolist() == [3 * (i + 1), -4 * (i + 1)]


def test_kept_graphs() -> None:
    a, b = leaf([1.0, 2.0], "add"), leaf([3.0, 4.0])
    for i in range(ROUNDS):
        a.grad[:] = 0
        with autograd.record():
            y = nd.square(a) * b
        for _ in range(3):
            y.backward(retain_graph=True)
        y.backward()
        assert a.grad.asnumpy().tolist() == [4 * 6, 4 * 16], i
        assert b.grad.asnumpy().tolist() == [1, 4]
        with pytest.raises(mx.MXNetError):
            y.backward()


def test_gradients_of_gradients() -> None:
    def step() -> list[Any]:
        x, w = leaf([[0.5, -1.0]]), leaf([[1.0, 2.0], [0.5, -3.0]])
        with autograd.record():
            y = nd.tanh(nd.FullyConnected(x, w, num_hidden=2, no_bias=True)) * x
            first = autograd.grad(y, [x, w], create_graph=True, retain_graph=True)
            z = (first[0] ** 2).sum() + (first[1] * w).sum()
        z.backward()
        return [x.grad.asnumpy(), w.grad.asnumpy(), *[g.asnumpy() for g in first]]
    again(step)


def test_python_among_operators() -> None:
    class Double(autograd.Function):
        def forward(self, x: Any) -> Any:
            return x * 2

        def backward(self, dy: Any) -> Any:
            return dy * 2

    def step() -> list[Any]:
        x = leaf([0.5, -1.0])
        with autograd.record():
            y = nd.exp(Double()(nd.square(x)) + x)
        y.backward()
        return [x.grad.asnumpy()]
    again(step)
    assert not programs()


def test_numbers_that_change_leave_nothing() -> None:
    x = leaf([0.5, -1.0])
    for i in range(400):
        with autograd.record():
            y = nd.square(x) * (1 + i / 8)
        y.backward()
        assert x.grad.asnumpy().tolist() == [1 + i / 8, -2 * (1 + i / 8)]
    assert len(programs()) < 10
    assert len(STATE.calls) < 10


def test_programs_count_by_their_size() -> None:
    x = leaf([0.5, -1.0])
    for _ in range(3):
        with autograd.record():
            y = x
            for _ in range(30):
                y = nd.square(y)
        y.backward()
    program, = programs().values()
    assert gradient_program._programs._count == 31 + len(program.steps) > 60


def test_an_operator_that_goes_takes_programs_along() -> None:
    from ndarray_rt import op
    x = leaf([0.5, -1.0])
    for slope in (3, 4):
        def backward(ctx: Any, p: Any, ins: Any, outs: Any, slope: int = slope) -> None:
            outs[0].write(ins[0] * slope)
        op.register(op.OpDef(
            "_backward_steep", op.NoParams, inputs=("dy",), infer_shape=op.same_shape,
            infer_type=op.same_type, is_backward=True, no_gradient="a test", compute=backward))
        if slope == 3:
            op.register(op.OpDef(
                "steep", op.NoParams, inputs=("x",), infer_shape=op.same_shape,
                infer_type=op.same_type,
                compute=lambda ctx, p, ins, outs: outs[0].write(ins[0] * 3),
                gradient=lambda emit, node, dys: emit("_backward_steep", None, dys[0])))
        for _ in range(ROUNDS):
            with autograd.record():
                y = nd.steep(x)
            y.backward()
            assert x.grad.asnumpy().tolist() == [slope, slope]
        op.unregister("_backward_steep")
    op.unregister("steep")


def test_a_value_that_was_written_to_is_refused_every_time() -> None:
    x, w = leaf([0.5, -1.0]), nd.array([2.0, 3.0])
    for _ in range(ROUNDS):
        with autograd.record():
            y = nd.exp(x) * w
        w[:] = 1
        with pytest.raises(mx.MXNetError, match="was written to"):
            y.backward()


def test_each_lack_of_memory_is_one_exception() -> None:
    """Each gradient holds its old or its new value, and the next backward is right."""
    arrays = net_arrays()
    for x in arrays:
        x.attach_grad()

    def step() -> None:
        with autograd.record():
            loss = net_step(*arrays)
        loss.backward(retain_graph=True)
        loss.backward()
    for _ in range(ROUNDS):
        step()
    wanted = [x.grad.asnumpy() for x in arrays]
    gc.collect()
    live = mx.memory_stats()["live"]
    failures = 0
    for n in range(300):
        for x in arrays:
            x.grad[:] = 7
        with autograd.record():
            loss = net_step(*arrays)
        lib.ndrt_memory_fail_after(n)
        try:
            loss.backward()
        except OutOfMemory:
            failures += 1
        else:
            break
        finally:
            lib.ndrt_memory_fail_after(-1)
        for x, new in zip(arrays, wanted, strict=True):
            got = x.grad.asnumpy()
            assert (got == 7).all() or (got == new).all()
    assert failures >= 5
    step()
    assert_same([x.grad.asnumpy() for x in arrays], wanted)
    del loss
    gc.collect()
    assert mx.memory_stats()["live"] == live


def test_threads() -> None:
    """Each has calls of its own; programs are everybody's."""
    wrong: list[object] = []

    def work(number: int) -> None:
        x = leaf(np.arange(4096, dtype="f") / 4096)
        for _ in range(100):
            with autograd.record():
                y = nd.exp(x) * (nd.sigmoid(x) + number)
            y.backward()
            e, s = np.exp(x.asnumpy()), 1 / (1 + np.exp(-x.asnumpy()))
            if not np.allclose(x.grad.asnumpy(), e * (s + number) + e * s * (1 - s), rtol=1e-4):
                wrong.append(x)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_observers_see_each_call() -> None:
    x = leaf([0.5, -1.0])

    def step() -> None:
        with autograd.record():
            y = nd.exp(x) * x
        y.backward()
    for _ in range(ROUNDS):
        step()
    seen: list[str] = []
    stop = observe(lambda told: seen.append(told.op.name))
    step()
    stop()
    wanted = list(seen)
    assert len(wanted) >= 5
    with long_way():
        seen.clear()
        stop = observe(lambda told: seen.append(told.op.name))
        step()
        stop()
    assert seen == wanted
