"""Numbers that change from call to call are arguments of a recorded call: nothing grows."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import ndarray_rt as mx
from ndarray_rt import nd
from ndarray_rt.imperative import call
from ndarray_rt.imperative.call_table import CAPACITY, KEYED, CallTable
from ndarray_rt.imperative.tape import STATE
from ndarray_rt.native import lib
from ndarray_rt.op.prim_cache import CACHE, ROOM_OF_CALLS, Group, PrimCache, Tally

X = np.array([[-2.5, -0.0, 0.0, 1.0], [math.nan, math.inf, -math.inf, 3.25]], "float32")
FINITE = np.linspace(-1, 2, 16, dtype="float32").reshape(4, 4)
Form = Callable[[Any, float], Any]


def vectors(n: int) -> list[Any]:
    return [nd.array(FINITE[i] ** 2) for i in range(n)]



def trained(x: Any, eps: float) -> Any:
    with mx.autograd.train_mode():
        return nd.BatchNorm(x, *(nd.array([v]) for v in (1.5, 0.5, 0.0, 1.0)), eps=eps)


FORMS: dict[str, Form] = {
    "x + s": lambda x, s: x + s, "s + x": lambda x, s: s + x, "x - s": lambda x, s: x - s,
    "s - x": lambda x, s: s - x, "x * s": lambda x, s: x * s, "x / s": lambda x, s: x / s,
    "s / x": lambda x, s: s / x, "maximum": nd.maximum, "minimum": nd.minimum,
    "x > s": lambda x, s: x > s, "x >= s": lambda x, s: x >= s, "x < s": lambda x, s: x < s,
    "x <= s": lambda x, s: x <= s, "x == s": lambda x, s: x == s, "x != s": lambda x, s: x != s,
    "clip": lambda x, s: nd.clip(x, -abs(s), abs(s)),
    "clip by name": lambda x, s: nd.clip(x, a_min=-abs(s), a_max=abs(s)),
    "leaky": lambda x, s: nd.LeakyReLU(x, act_type="leaky", slope=s),
    "hard_sigmoid": lambda x, s: nd.hard_sigmoid(x, alpha=s, beta=0.5),
    "softmax": lambda x, s: nd.softmax(x, temperature=s),
    "log_softmax of columns": lambda x, s: nd.log_softmax(x, axis=0, temperature=s),
    "softmin": lambda x, s: nd.softmin(x, temperature=s),
    "gemm2": lambda x, s: nd.linalg.gemm2(x, x, alpha=s, transpose_b=True),
    "syrk": lambda x, s: nd.linalg.syrk(x, alpha=s),
    "nd.sgd_update": lambda x, s: nd.sgd_update(x, x * 1.0, lr=s, wd=s / 2),
    "nd.sgd_mom_update": lambda x, s: nd.sgd_mom_update(x, x * 1.0, x * 2.0, lr=s, momentum=s),
    "nd.adam_update": lambda x, s: nd.adam_update(x, x * 1.0, x * 2.0, x * x, lr=s, beta1=s / 2),
}
FORMS |= {
    "elu": lambda x, s: nd.LeakyReLU(x, act_type="elu", slope=s),
    "smooth_l1": lambda x, s: nd.smooth_l1(x, scalar=s),
    "x ** s": lambda x, s: x ** s, "s ** x": lambda x, s: s ** x, "x % s": lambda x, s: x % s,
    "s % x": lambda x, s: s % x, "hypot": lambda x, s: nd._internal._hypot_scalar(x, scalar=s),
    "float64": lambda x, s: x.astype("float64") / s + s, "int32": lambda x, s: nd.sign(x).astype(
        "int32") * s,
    "float16": lambda x, s: s / x.astype("float16"),
    "LayerNorm": lambda x, s: nd.LayerNorm(x, *vectors(2), eps=abs(s)),
    "GroupNorm": lambda x, s: nd.GroupNorm(x.reshape((2, 4, -1)), *vectors(2), num_groups=4,
                                           eps=abs(s)),
    "BatchNorm": lambda x, s: nd.BatchNorm(x, *vectors(4), eps=abs(s)),
    "training": lambda x, s: trained(x.reshape((2, 1, 8)), abs(s)),
    "L2Normalization": lambda x, s: nd.L2Normalization(x, eps=abs(s)),
    "LRN": lambda x, s: nd.LRN(x.reshape((1, *x.shape, 1)), nsize=3, alpha=s, beta=s / 2, knorm=s),
    "gemm": lambda x, s: nd.linalg.gemm(x, x, x, alpha=s, beta=s / 2, transpose_b=True),
    "pad": lambda x, s: nd.pad(x.reshape((1, 1, *x.shape)), mode="constant", constant_value=s,
                               pad_width=(0, 0, 0, 0, 1, 1, 0, 2)),
    "one_hot": lambda x, s: nd.one_hot(nd.sign(x), depth=2, on_value=s, off_value=-s),
}
WITH_EPS = ("LayerNorm", "GroupNorm", "BatchNorm", "training", "L2Normalization")
SQUARE = ("gemm2", "syrk", "gemm", *WITH_EPS)
# whose numbers are in primitives, or whose operators numpy computes
KEYED_FORMS: dict[str, Form] = {
    "LRN": lambda x, s: nd.LRN(x.tile((33, 33)).reshape((1, 132, 132, 1)), nsize=3, alpha=s),
    "trmm": lambda x, s: nd.linalg.trmm(x, x, alpha=s),
    "quadratic": lambda x, s: nd.contrib.quadratic(x, a=s),
}


@pytest.fixture(autouse=True)
def nothing_recorded() -> None:
    STATE.calls.renew()


def plainly(form: Form, x: Any, s: float) -> Any:
    """What the form gives by the long way."""
    table, STATE.calls = STATE.calls, CallTable()
    try:
        return form(x, s).asnumpy()
    finally:
        STATE.calls = table


def held() -> tuple[int, ...]:
    return (lib.ndrt_prim_count(), CACHE.stats()["entries"], len(STATE.calls),
            len(call._params.made), len(call._facts.made))


@pytest.mark.parametrize("name", FORMS)
def test_new_numbers_leave_nothing(name: str) -> None:
    form, x = FORMS[name], nd.array(FINITE)
    for i in range(4):
        form(x, 2.5 + i)
    before = held()
    for i in range(200):
        form(x, 1.25 + i / 1024)
    assert held() == before
    assert KEYED not in STATE.calls.values()
    assert any(made is not None for made in STATE.calls.values())


@pytest.mark.parametrize("name", FORMS)
def test_new_numbers_are_those_that_count(name: str) -> None:
    """After any other number, of any kind."""
    form = FORMS[name]
    x = nd.array(FINITE if name in SQUARE or "nd." in name else X)
    for s in (2, True, 0.1, -3.5, 1e-3, 0.0, -0.0, 1.0, -1.0, 1e36, 1e39, -math.inf, math.inf,
              math.nan, 1e-39, 7.25, np.float64(0.3), 2):
        if ("soft" in name and not 1e-30 < abs(s) < 1e30) or (name in WITH_EPS and math.isnan(s)):
            continue
        wanted = plainly(form, x, s)
        for _ in range(2):
            np.testing.assert_array_equal(form(x, s).asnumpy(), wanted, str(s))


@given(st.floats(width=32), st.floats())
@example(0.0, -0.0)
def test_numbers_in_bits(first: float, s: float) -> None:
    x = nd.array(X[:, :3])
    for name in ("x + s", "s - x", "x * s", "maximum", "x < s", "leaky"):
        form = FORMS[name]
        for number in (first, 2.0, 3.0):
            form(x, number)
        got, wanted = form(x, s).asnumpy(), plainly(form, x, s)
        np.testing.assert_array_equal(got, wanted)
        np.testing.assert_array_equal(np.signbit(got[got == 0]), np.signbit(wanted[wanted == 0]))


@pytest.mark.parametrize("name", KEYED_FORMS)
def test_numbers_that_are_keys_are_bounded(name: str) -> None:
    form, x = KEYED_FORMS[name], nd.array(FINITE)
    mx.clear_cache()
    for i in range(2 * ROOM_OF_CALLS.entries + 40):
        for _ in range(3 if i % 7 == 0 else 1):
            got = form(x, 1.5 + i / 4096)
    np.testing.assert_array_equal(got.asnumpy(), plainly(form, x, 1.5 + i / 4096))
    assert CACHE.stats()["entries"] <= 4 * (ROOM_OF_CALLS.entries + 1)
    assert lib.ndrt_prim_count() <= 4 * ROOM_OF_CALLS.entries
    assert len(STATE.calls) <= CAPACITY


def test_in_place() -> None:
    w, g, wanted = nd.ones((4, 4)), nd.array(FINITE), np.ones((4, 4), "float32")
    for i in range(50):
        lr = 0.1 / (1 + i)
        w -= lr * g
        wanted -= np.float32(lr) * FINITE
        np.testing.assert_array_equal(w.asnumpy(), wanted)
    for i in range(50):
        nd.sgd_update(w, g, lr=0.1 / (1 + i), out=w)
        wanted = nd.sgd_update(nd.array(wanted), g, lr=0.1 / (1 + i), wd=0.0).asnumpy()
        np.testing.assert_array_equal(w.asnumpy(), wanted)
    assert len(STATE.calls) <= 5


class Forgetful(CallTable):
    """Every call is one's first."""

    __slots__ = ()

    def came_before(self, key: Hashable) -> bool:
        return False


UPDATES = {"sgd_mom_update": 1, "nag_mom_update": 1, "signum_update": 1, "adam_update": 2,
           "rmsprop_update": 1, "rmspropalex_update": 3, "ftrl_update": 2}


@pytest.mark.parametrize("name", UPDATES)
def test_states_change_in_recorded_calls(name: str) -> None:
    def steps(table: CallTable) -> list[np.ndarray[Any, Any]]:
        kept, STATE.calls = STATE.calls, table
        try:
            w, g = nd.array(FINITE), nd.array(FINITE + 0.5)
            states = [nd.ones((4, 4)) * 4 for _ in range(UPDATES[name])]
            for i in range(12):
                if name in ("ftrl_update", "rmspropalex_update") or i % 3:
                    getattr(nd, name)(w, g, *states, lr=0.1 / (1 + i), out=w)
                else:
                    w = getattr(nd, name)(w, g, *states, lr=0.1 / (1 + i), wd=i / 64)
            return [x.asnumpy() for x in (w, *states)]
        finally:
            STATE.calls = kept
    for got, wanted in zip(steps(STATE.calls), steps(Forgetful()), strict=True):
        np.testing.assert_array_equal(got, wanted)
    assert any(made is not None and made is not KEYED for made in STATE.calls.values())


def test_states_that_others_hold_or_share() -> None:
    both, g = nd.array(np.stack([FINITE, FINITE * 2])), nd.array(FINITE)
    for case in range(4):
        w, mom = nd.array(FINITE), nd.array(FINITE * 2)
        wanted_w, wanted_mom = FINITE.copy(), FINITE * 2
        if case == 2:
            w, mom = both[0], both[1]  # one Chunk
        held = mom.__array__(copy=False) if case == 1 else None
        for i in range(8):
            lr = np.float32(0.125 * (i + 1))
            before = mom._chunk.writes
            if case == 3:
                nd.sgd_mom_update(w, g, mom, lr=lr.item(), momentum=0.5, out=w)
            else:
                w[:] = nd.sgd_mom_update(w, g, mom, lr=lr.item(), momentum=0.5)
            wanted_mom = np.float32(0.5) * wanted_mom - lr * FINITE
            wanted_w = wanted_w + wanted_mom
            np.testing.assert_array_equal(mom.asnumpy(), wanted_mom)
            np.testing.assert_array_equal(w.asnumpy(), wanted_w)
            assert mom._chunk.writes > before
        if held is not None:
            np.testing.assert_array_equal(held, wanted_mom)


def test_each_call_on_the_tape_has_its_own_number() -> None:
    x = nd.array(FINITE)
    x.attach_grad()
    for _ in range(3):
        numbers = [2.0, -0.5, 3.25, 2]
        with mx.autograd.record():
            parts = [x * s + nd.LeakyReLU(x, act_type="leaky", slope=s) for s in numbers]
            y = nd.add_n(*parts)
        y.backward()
        wanted = sum(s + np.where(FINITE > 0, 1, s) for s in numbers)
        np.testing.assert_allclose(x.grad.asnumpy(), wanted, rtol=1e-6)
    before = held()
    for i in range(100):
        with mx.autograd.record():
            y = nd.softmax(x * (1 + i / 64), temperature=2 + i / 64)
        y.backward()
    assert held()[:3] == before[:3] or len(STATE.calls) <= before[2] + 4
    assert lib.ndrt_prim_count() <= before[0] + 4


def test_bounds_of_parameters_hold_for_recorded_calls() -> None:
    x = nd.array(FINITE)
    for p in (0.25, 0.5, 0.5, 0.5):
        nd.Dropout(x, p=p)
    with pytest.raises(mx.MXNetError, match="'p'"):
        nd.Dropout(x, p=1.5)
    for s in (1.0, 2.0, 3.0):
        nd.softmax(x, temperature=s)
    warm: Any = "warm"
    none: Any = None
    for _ in range(3):
        with pytest.raises(mx.MXNetError, match="temperature"):
            nd.softmax(x, temperature=warm)
        with pytest.raises(mx.MXNetError, match="slope"):
            nd.LeakyReLU(x, act_type="leaky", slope=none)
        with pytest.raises(mx.MXNetError):
            nd.clip(x, a_min=10 ** 400, a_max=1)


def test_graphs_with_other_numbers_leave_nothing() -> None:
    x, data = mx.sym.var("x"), nd.array(FINITE)

    def bound(s: float) -> np.ndarray[Any, Any]:
        y = mx.sym.clip(mx.sym.LeakyReLU(x * s + s, act_type="leaky", slope=s), -s, s) / s
        return y.bind(mx.cpu(), {"x": data}).forward()[0].asnumpy()
    bound(2.0)
    mx.cache_stats()
    before = lib.ndrt_prim_count(), CACHE.stats()["groups"]
    for i in range(20):
        bound(1 + i / 16)
    assert CACHE.stats()["groups"] <= before[1] + 1
    assert lib.ndrt_prim_count() <= before[0] + 4


def test_parameters_by_position() -> None:
    x = nd.array(FINITE)
    np.testing.assert_array_equal(nd.clip(x, 0, 1).asnumpy(), np.clip(FINITE, 0, 1))
    np.testing.assert_array_equal(nd.clip(x, 0, a_max=1).asnumpy(), np.clip(FINITE, 0, 1))
    clip: Any = nd.clip
    with pytest.raises(mx.MXNetError, match="two values"):
        clip(x, 0, 1, a_max=2)
    with pytest.raises(mx.MXNetError, match="positional"):
        clip(x, 0, 1, 2)


# ---- the store --------------------------------------------------------------------------------


class Relies:
    def __init__(self) -> None:
        self.is_alive, self.told = True, 0

    def __call__(self) -> None:
        self.told += 1


def test_a_full_group_starts_again() -> None:
    cache = PrimCache()
    group, relies = cache.group("calls", ((1,),)), Relies()
    group.tell_leaving(relies)
    for i in range(ROOM_OF_CALLS.entries):
        cache.find(group, (i,), object)
    assert (len(group), relies.told) == (ROOM_OF_CALLS.entries, 0)
    last = cache.find(group, ("more",), object)
    assert (len(group), relies.told) == (1, 1)
    assert cache.find(group, ("more",), object) is last
    assert cache.stats()["evictions"] == 1


def test_who_is_gone_is_not_kept_in_a_group() -> None:
    group = Group(Tally())
    for _ in range(1000):
        relies = Relies()
        relies.is_alive = False
        group.tell_leaving(relies)
    assert len(group._dependents) <= 100


def test_a_table_is_bounded_in_bytes() -> None:
    table = CallTable()
    for i in range(300):
        table.offer(i, object(), 1 << 20)
        assert len(table) <= 64
    assert 299 in table


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_small_numbers_after_large_ones(dtype: str) -> None:
    """Those that a kernel may take for 0 are not given to a recording of others."""
    x = nd.array([0.0, 2e-6, 1.0, 3e-310], dtype=dtype)
    forms: list[Callable[[Any], Any]] = [lambda s: x > s, lambda s: x * s, lambda s: x / s,
                                         lambda s: x ** s]
    for form in forms:
        for number in (0.5, 0.25, 0.125, 1e-6, 1e-40, 1e-309, 1e-6):
            got = form(number).asnumpy()
            np.testing.assert_array_equal(got, plainly(lambda _, s: form(s), x, number))  # noqa: B023
            np.testing.assert_array_equal(got, form(number).asnumpy())
