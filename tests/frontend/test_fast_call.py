"""Calls that were made before: what they give, what they count, and what sends them the long way.

A call of one kind is recorded the second time and done again natively from the third time on.
"""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config, nd
from ndarray_rt.errors import OutOfMemory, ParameterError, ShapeError
from ndarray_rt.imperative.fast_call import call
from ndarray_rt.imperative.generated import make_function
from ndarray_rt.imperative.invoke import invoke
from ndarray_rt.imperative.tape import STATE
from ndarray_rt.native import lib
from ndarray_rt.op.dispatch import observe
from ndarray_rt.op.registry import OpDef, find
from ndarray_rt.testing.case import Case
from tests.case_table import all_cases, unique_ids

ROUNDS = 5
CASES = [case for case in all_cases() if case.inputs and all(i.shape for i in case.all_inputs())]


@pytest.fixture(autouse=True)
def nothing_recorded() -> None:
    STATE.calls.renew()


def kept() -> int:
    """Calls that are done again natively."""
    return sum(made is not None for made in STATE.calls.values())


def again(function: Callable[..., Any], *inputs: Any) -> Any:
    for _ in range(ROUNDS):
        made = function(*inputs)
    return made


def part_of(x: np.ndarray[Any, Any]) -> mx.nd.NDArray:
    """The same numbers as rows of a larger array."""
    return nd.array(np.concatenate([x[:1], x, x[:1]]), dtype=x.dtype)[1:1 + len(x)]


def values(made: Any) -> list[np.ndarray[Any, Any]]:
    return [y.asnumpy() for y in (made if isinstance(made, list) else [made])]


def assert_same(got: Any, wanted: Any) -> None:
    for y, expected in zip(values(got), values(wanted), strict=True):
        np.testing.assert_array_equal(y, expected)


def renumbered(op: OpDef, params: Mapping[str, Any], turn: int) -> dict[str, Any]:
    """The parameters with other numbers in each turn, where the operator's kernels take them."""
    made = dict(params)
    for name in op.numbers:
        if isinstance(params.get(name), float):
            other = {**made, name: params[name] * (1 + turn / 8)}
            with contextlib.suppress(ParameterError):
                op.params.parse(other, op.name)
                made = other
    return made


@pytest.mark.parametrize("case", CASES, ids=unique_ids(tuple(CASES)))
def test_every_case_again(case: Case) -> None:
    """Other arrays of the same kinds, parts of arrays among them, and other numbers: what the long
    way gives."""
    op = find(case.op)
    params = op.params.parse(case.params, op.name)
    if op.draws(params):
        pytest.skip("two calls give different numbers")
    before, STATE.training = STATE.training, case.is_train
    rng = np.random.default_rng(7)
    try:
        for turn in range(ROUNDS):
            drawn = [given.draw(rng, case.dtypes[0]) for given in case.all_inputs()]
            make = part_of if turn == ROUNDS - 1 else (lambda x: nd.array(x, dtype=x.dtype))
            if 0 in [x.size for x in drawn]:
                make = lambda x: nd.array(x, dtype=x.dtype)  # noqa: E731
            ins, copies = [make(x) for x in drawn], [make(x) for x in drawn]
            attrs = renumbered(op, case.params, turn)
            got = call(op, tuple(ins), dict(attrs), None, invoke)
            assert_same(got, invoke(op, copies, attrs))
            assert_same(ins, copies)
    finally:
        STATE.training = before


NAMED_CASES = [case for case in CASES if find(case.op).is_public]


@pytest.mark.parametrize("case", NAMED_CASES, ids=unique_ids(tuple(NAMED_CASES)))
def test_inputs_by_name(case: Case) -> None:
    """All of them or all but the first: the same as by place, and what is wrong is refused."""
    op = find(case.op)
    params = op.params.parse(case.params, op.name)
    names = (*op.input_names(params), *op.aux_names(params))
    if op.num_args is not None or op.takes_any or op.draws(params):
        pytest.skip("any number of inputs, or two calls give different numbers")
    function = make_function(op, op.name)
    drawn = case.draw(case.dtypes[0])
    with mx.autograd.train_mode() if case.is_train else mx.autograd.predict_mode():
        for by_place in (0, 1):
            for _ in range(ROUNDS - 1):
                ins, copies = ([nd.array(x, dtype=x.dtype) for x in drawn] for _ in range(2))
                got = function(*ins[:by_place], **dict(zip(names[by_place:], ins[by_place:],
                                                           strict=True)), **case.params)
                assert_same(got, invoke(op, copies, case.params))
                assert_same(ins, copies)


def test_inputs_by_a_wrong_name() -> None:
    """Whatever was recorded of calls that give as many."""
    x, w, b = nd.ones((2, 3)), nd.ones((3, 3)), nd.ones((3, 3))
    call: Any = nd.FullyConnected
    for _ in range(ROUNDS):
        nd.FullyConnected(x, w, num_hidden=3, no_bias=True)
        nd.FullyConnected(data=x, weight=w, num_hidden=3, no_bias=True)
        for given in ({"bias": b}, {"weight": w, "bias": b}, {"wait": w}):
            with pytest.raises(mx.MXNetError):
                call(data=x, num_hidden=3, no_bias=True, **given)
        with pytest.raises(mx.MXNetError):
            call(x, w, data=x, num_hidden=3, no_bias=True)
        with pytest.raises(mx.MXNetError):
            call(data=x, weight=1, num_hidden=3, no_bias=True)
        assert nd.FullyConnected(data=x, weight=w, bias=None, num_hidden=3,
                                 no_bias=True).asnumpy()[0, 0] == 3


def test_gradients_of_calls_by_name() -> None:
    x, w, b = nd.ones((2, 3)), nd.ones((4, 3)), nd.zeros((4,))
    for array in (x, w, b):
        array.attach_grad()
    for _ in range(ROUNDS):
        with mx.autograd.record():
            y = nd.FullyConnected(data=x, weight=w, bias=b, num_hidden=4)
        y.backward()
        assert x.grad.asnumpy().tolist() == [[4, 4, 4]] * 2
        assert w.grad.asnumpy().tolist() == [[2, 2, 2]] * 4
        assert b.grad.asnumpy().tolist() == [2] * 4


@pytest.mark.parametrize(("name", "attrs", "shape", "dtype"), [
    ("topk", {"k": 2, "ret_typ": "both", "dtype": "float16"}, (1, 2100), "float32"),
    ("argmax", {"axis": 0}, (200, 2), "int8")])
def test_what_is_refused_is_refused_every_time(name: str, attrs: dict[str, Any],
                                               shape: tuple[int, ...], dtype: str) -> None:
    """With the long way's error, whether inference or the kernel refuses, and nothing is kept."""
    op, x = find(name), nd.zeros(shape, dtype=dtype)
    with pytest.raises(ShapeError, match="places") as wanted:
        invoke(op, [x], attrs)
    for _ in range(ROUNDS):
        with pytest.raises(ShapeError) as got:
            call(op, (x,), dict(attrs), None, invoke)
        assert str(got.value) == str(wanted.value)
    assert kept() == 0


def test_arrays_are_ordinary_ones() -> None:
    """Memory, layouts, counters and views of what a recorded call made."""
    a = nd.array(np.arange(16, dtype="f").reshape(4, 4))
    y = again(nd.square, a)
    assert kept() == 1
    assert (y.shape, y.dtype, y.ctx, y.layout) == (a.shape, a.dtype, a.ctx, "default")
    assert (y._chunk.writes, y._chunk.moves, y._chunk.nbytes) == (1, 0, 64)
    row = y[1]
    row[:] = -1
    assert (y.asnumpy()[1] == -1).all()
    assert y._chunk.writes == 2
    pinned = y.__array__(copy=False)
    y += 1
    assert pinned[1, 0] == 0
    taken = np.from_dlpack(y)
    del y
    assert taken[0, 1] == 2


def test_memory_comes_back() -> None:
    a = nd.ones((32, 32))
    again(nd.exp, a)
    gc.collect()
    before = mx.memory_stats()["live"]
    for _ in range(100):
        y = nd.exp(a)
    assert mx.memory_stats()["live"] - before == 4096
    y._chunk.handle  # noqa: B018 - an owner of its own for the memory
    del y
    assert mx.memory_stats()["live"] == before


def test_chains_in_special_layouts() -> None:
    x = nd.random.uniform(shape=(1, 16, 9, 9))
    w = nd.random.uniform(shape=(16, 16, 3, 3))

    def net() -> Any:
        y = nd.Convolution(x, w, kernel=(3, 3), num_filter=16, no_bias=True)
        y = nd.relu(y - 1)
        return nd.Pooling(y, kernel=(2, 2), stride=(2, 2), pool_type="max")
    wanted = net().asnumpy()
    np.testing.assert_array_equal(again(net).asnumpy(), wanted)
    w *= 2  # packed anew when it is next read
    y = net()
    with config.override(NDRT_ONEDNN=False):
        np.testing.assert_allclose(y.asnumpy(), net().asnumpy(), rtol=1e-5)


def test_outputs_that_are_given() -> None:
    a, b, y = nd.array([1, 2, 3]), nd.array([4, 5, 6]), nd.zeros(3)
    for _ in range(ROUNDS):
        writes = y._chunk.writes
        assert nd.elemwise_add(a, b, out=y) is y
        assert y._chunk.writes == writes + 1
        assert y.asnumpy().tolist() == [5, 7, 9]
        y[:] = 0
    held = a
    for i in range(ROUNDS):
        a += b
        assert a is held
        assert a.asnumpy().tolist() == [1 + 4 * (i + 1), 2 + 5 * (i + 1), 3 + 6 * (i + 1)]
    rows = nd.array(np.arange(8, dtype="f").reshape(4, 2))
    for _ in range(ROUNDS):
        before = rows.asnumpy()
        nd.elemwise_add(rows[0:3], rows[0:3], out=rows[1:4])  # shifted onto itself
        np.testing.assert_array_equal(rows.asnumpy()[1:], before[:3] * 2)
    with pytest.raises(mx.errors.ShapeError):
        nd.elemwise_add(a, b, out=nd.zeros(4))


def test_one_array_twice() -> None:
    a, b = nd.array([1, 2, 3]), nd.array([4, 5, 6])
    for _ in range(ROUNDS):
        assert (a * a).asnumpy().tolist() == [1, 4, 9]
        assert (a * b).asnumpy().tolist() == [4, 10, 18]
        assert (b - b).asnumpy().tolist() == [0, 0, 0]


def test_numbers_are_told_apart() -> None:
    a = nd.array([1, -1], dtype="int32")
    x = nd.array([1.0, -1.0])
    for _ in range(ROUNDS):
        assert (a * 1).asnumpy().tolist() == [1, -1]
        assert (x + True).asnumpy().tolist() == [2, 0]
        assert (x + 1.0).asnumpy().tolist() == [2, 0]
        assert np.isnan((x + float("nan")).asnumpy()).all()
        assert nd.clip(x, a_min=0.0, a_max=0.5).asnumpy().tolist() == [0.5, 0]


def test_a_name_changes_nothing_but_errors() -> None:
    x, w = nd.ones((2, 3)), nd.ones((4, 3))
    made = again(lambda: nd.FullyConnected(x, w, num_hidden=4, no_bias=True, name="fc"))
    assert (made.asnumpy() == 3).all()
    assert kept() == 1
    with pytest.raises(mx.MXNetError, match='FullyConnected "fc"'):
        nd.FullyConnected(x, nd.ones((4, 5)), num_hidden=4, no_bias=True, name="fc")


def test_the_tape_sees_recorded_calls() -> None:
    a, w = nd.array([0.5, -2.0]), nd.array([3.0, 4.0])
    a.attach_grad()
    for _ in range(ROUNDS):
        with mx.autograd.record():
            y = nd.sigmoid(a) * w
            z = y + nd.relu(a)
        z.backward()
        s = 1 / (1 + np.exp(-a.asnumpy()))
        np.testing.assert_allclose(a.grad.asnumpy(), 3 * s * (1 - s) * [1, 4 / 3] + [1, 0],
                                   rtol=1e-5)
    with mx.autograd.record():
        z = again(nd.exp, a)
    z[:] = 0
    with pytest.raises(mx.MXNetError, match="was written to"):
        z.backward()


def hides_outputs(case: Case) -> bool:
    op = find(case.op)
    params = op.params.parse(case.params, op.name)
    return op.gradient is not None and op.num_visible(params) < len(op.output_names(params))


HIDING = tuple(case for case in CASES if hides_outputs(case))


def gradients_of(case: Case, training: bool, arrays: list[Any]) -> list[Any]:
    """A recorded call's gradients for its float inputs."""
    ins = [nd.array(x, dtype=x.dtype) for x in arrays]
    leaves = [x for x, given in zip(ins, case.inputs, strict=False) if x.dtype.kind == "f"]
    for x in leaves:
        x.attach_grad()
    mx.random.seed(3)
    with mx.autograd.record(train_mode=training):
        made = call(find(case.op), tuple(ins), dict(case.params), None, invoke)
    heads = made if isinstance(made, list) else [made]
    mx.autograd.backward(heads, [nd.ones(y.shape, dtype=y.dtype) for y in heads],
                         train_mode=training)
    return [x.grad for x in leaves] + ins


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("case", HIDING, ids=unique_ids(HIDING))
def test_hidden_outputs_on_the_tape_again(case: Case, training: bool) -> None:
    """Which of them are made depends on parameters and on the mode; gradients stay the same."""
    arrays = case.draw(case.dtypes[0])
    wanted = gradients_of(case, training, arrays)
    for _ in range(ROUNDS - 1):
        assert_same(gradients_of(case, training, arrays), wanted)


def test_switches_observers_and_caches_end_it() -> None:
    a = nd.array([1.0, 2.0])
    again(nd.sqrt, a)
    assert kept() == 1
    seen: list[object] = []
    stop = observe(seen.append, replays=True)
    again(nd.sqrt, a)
    stop()
    assert len(seen) == ROUNDS
    again(nd.sqrt, a)
    assert kept() == 1
    mx.clear_cache()
    assert kept() == 0
    again(nd.sqrt, a)
    with config.override(NDRT_ONEDNN=False):
        again(nd.sqrt, a)
        assert kept() == 0


def test_groups_that_leave_the_store_take_their_calls_along() -> None:
    with config.override(NDRT_CACHE_SHAPES=4):
        for n in range(1, 30):
            again(nd.sqrt, nd.ones((n,)))
        assert kept() <= 4


def test_the_number_of_threads_counts() -> None:
    a = nd.ones((64, 64))
    before = mx.num_threads() if hasattr(mx, "num_threads") else lib.ndrt_threads_get()
    again(nd.exp, a)
    try:
        lib.ndrt_threads_set(before + 1)
        assert (again(nd.exp, a).asnumpy() == nd.exp(nd.ones((1, 1))).asnumpy()[0, 0]).all()
    finally:
        lib.ndrt_threads_set(before)


def test_each_lack_of_memory_is_one_exception() -> None:
    a = nd.ones((8, 8))
    again(nd.softmax, a)
    live = mx.memory_stats()["live"]
    failures = 0
    for n in range(10):
        lib.ndrt_memory_fail_after(n)
        try:
            y = nd.softmax(a)
        except OutOfMemory:
            failures += 1
            continue
        finally:
            lib.ndrt_memory_fail_after(-1)
            gc.collect()
        assert y.asnumpy()[0, 0] == 0.125
        break
    assert failures >= 2
    del y
    assert mx.memory_stats()["live"] == live


def test_arrays_that_others_hold_wait_or_are_refused() -> None:
    a = nd.array([1.0, 2.0])
    again(nd.sqrt, a)
    from ndarray_rt.storage.lease import LeaseError, Leases
    with Leases([], [a._chunk]), pytest.raises(LeaseError):
        nd.sqrt(a)
    with Leases([a._chunk], []):
        assert nd.sqrt(a).asnumpy()[0] == 1


def test_threads_have_tables_of_their_own() -> None:
    a = nd.array(np.arange(4096, dtype="f"))
    wanted = np.sqrt(np.arange(4096, dtype="f")) + np.arange(4096, dtype="f")
    wrong: list[object] = []

    def work() -> None:
        for _ in range(200):
            y = nd.sqrt(a) + a
            if not np.allclose(y.asnumpy(), wanted, rtol=1e-6):
                wrong.append(y)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_what_is_wrong_is_said_as_ever() -> None:
    a, b = nd.ones((2, 3)), nd.ones((2, 4))
    add: Any = nd.elemwise_add
    softmax: Any = nd.softmax
    for _ in range(ROUNDS):
        with pytest.raises(mx.errors.ShapeError):
            add(a, b)
        with pytest.raises(mx.errors.TypeMismatch):
            add(a, np.ones((2, 3)))
        with pytest.raises(mx.errors.NameMismatch):
            add(a)
        with pytest.raises(mx.errors.ParameterError):
            softmax(a, axs=1)
    assert kept() == 0




@pytest.mark.parametrize("recorded", [False, True], ids=["plain", "recorded"])
def test_after_a_change_of_threads_calls_are_recorded_anew(recorded: bool) -> None:
    """However often the number changes: two calls of one kind go the long way for each number."""
    a = nd.ones((4, 4))
    if recorded:
        a.attach_grad()
    went = []

    def slow(*given: Any) -> Any:
        went.append(mx.get_num_threads())
        return invoke(*given)

    before = mx.get_num_threads()
    try:
        for threads in (1, 2, 3, 2, 1, 3, 1):
            mx.set_num_threads(threads)
            for _ in range(ROUNDS):
                with mx.autograd.record(recorded):
                    y = call(find("square"), (a,), {}, None, slow)
                assert y.asnumpy().tolist() == np.ones((4, 4)).tolist()
    finally:
        mx.set_num_threads(before)
    assert sorted(went) == [1, 1, 2, 2, 3, 3]
