"""Random numbers by distribution: the right ones, the same in each way of running, and errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.errors import ParameterError
from ndarray_rt.threads import set_num_threads

nd = mx.nd
N = 40000


@pytest.fixture(autouse=True)
def _seed() -> None:
    mx.random.seed(20)


# ---- distributions ------------------------------------------------------------------------------


def gamma_cdf(shape: int, scale: float) -> Callable[[float], float]:
    """Of a whole shape: the chance of that many events of a Poisson process."""
    def cdf(x: float) -> float:
        t = x / scale
        return 1 - math.exp(-t) * sum(t**k / math.factorial(k) for k in range(shape))
    return cdf


def two(make: Any, *parameters: float) -> Any:
    """Draws by numbers, and by arrays of one element."""
    arrays = [nd.array([value]) for value in parameters]
    return [make(*parameters, shape=(N,)), make(*arrays, shape=(N,)).reshape((N,))]


CONTINUOUS: dict[str, tuple[Any, tuple[float, ...], Callable[[float], float]]] = {
    "uniform": (nd.random.uniform, (-1, 3), lambda x: (x + 1) / 4),
    "normal": (nd.random.normal, (2, 3), lambda x: (1 + math.erf((x - 2) / 3 / 2**0.5)) / 2),
    "exponential": (nd.random.exponential, (2.5,), lambda x: 1 - math.exp(-x / 2.5)),
    "gamma 3": (nd.random.gamma, (3, 2), gamma_cdf(3, 2)),
    "gamma 1": (nd.random.gamma, (1, 0.5), gamma_cdf(1, 0.5)),
    "gamma 40": (nd.random.gamma, (40, 2), gamma_cdf(40, 2)),
    "gamma 1/2": (nd.random.gamma, (0.5, 2), lambda x: math.erf((x / 2) ** 0.5)),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name: str) -> None:
    """Kolmogorov's distance: above 1.95 / sqrt(n) once in a thousand times."""
    make, parameters, cdf = CONTINUOUS[name]
    for drawn in two(make, *parameters):
        values = np.sort(drawn.asnumpy().astype(np.float64))
        chances = np.array([cdf(x) for x in values])
        steps = np.arange(N + 1) / N
        distance = max(np.abs(chances - steps[1:]).max(), np.abs(chances - steps[:-1]).max())
        assert distance < 1.95 / N**0.5


def negative_binomial(k: float, p: float) -> Callable[[int], float]:
    def chance(x: int) -> float:
        log = math.lgamma(x + k) - math.lgamma(x + 1) - math.lgamma(k)
        return math.exp(log + k * math.log(p) + x * math.log(1 - p))
    return chance


def poisson(mean: float) -> Callable[[int], float]:
    return lambda x: math.exp(x * math.log(mean) - mean - math.lgamma(x + 1))


DISCRETE = {
    "poisson 0.3": (nd.random.poisson, (0.3,), poisson(0.3)),
    "poisson 9.9": (nd.random.poisson, (9.9,), poisson(9.9)),
    "poisson 10": (nd.random.poisson, (10.0,), poisson(10.0)),
    "poisson 300": (nd.random.poisson, (300.0,), poisson(300.0)),
    "negative binomial": (nd.random.negative_binomial, (3, 0.4), negative_binomial(3, 0.4)),
    "generalized": (nd.random.generalized_negative_binomial, (6.0, 0.25),
                    negative_binomial(4, 0.4)),
    "generalized without dispersion": (nd.random.generalized_negative_binomial, (6.0, 0.0),
                                       poisson(6.0)),
}


def assert_frequencies(values: Any, chances: Any) -> None:
    """Chi-square: more than its mean and five deviations comes once in some thousand times."""
    counts = np.bincount(values.astype(np.int64), minlength=len(chances))[:len(chances)]
    often = np.asarray(chances) * len(values) >= 10
    expected = np.append(np.asarray(chances)[often], 1 - np.asarray(chances)[often].sum())
    expected = np.maximum(expected, 1e-12) * len(values)
    got = np.append(counts[often], len(values) - counts[often].sum())
    if expected[-1] < 1:
        assert got[-1] <= 10
        got, expected = got[:-1], expected[:-1]
    freedom = max(len(got) - 1, 1)
    assert ((got - expected) ** 2 / expected).sum() < freedom + 5 * (2 * freedom) ** 0.5


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete(name: str) -> None:
    make, parameters, chance = DISCRETE[name]
    for drawn in two(make, *parameters):
        assert_frequencies(drawn.asnumpy(), [chance(x) for x in range(500)])


def test_whole_numbers() -> None:
    values = nd.random.randint(-3, 7, shape=(N,)).asnumpy()
    assert_frequencies(values + 3, [0.1] * 10)
    wide = nd.random.randint(-2**62, 2**62, shape=(N,), dtype="int64").asnumpy()
    assert abs((wide > 0).mean() - 0.5) < 0.02
    assert len(np.unique(wide)) == N


def test_places() -> None:
    chances = [[0.1, 0.0, 0.6, 0.3], [0.25, 0.25, 0.25, 0.25]]
    drawn, logs = nd.random.multinomial(nd.array(chances), shape=(N,), get_prob=True)
    for row, log, want in zip(drawn.asnumpy(), logs.asnumpy(), chances, strict=True):
        assert_frequencies(row, want)
        np.testing.assert_allclose(log, np.log(np.array(want)[row]), rtol=1e-5)


def test_orders() -> None:
    data = nd.arange(3)
    orders = [tuple(nd.random.shuffle(data).asnumpy().astype(int)) for _ in range(3000)]
    ranks = np.array([x * 9 + y * 3 + z for x, y, z in orders])
    codes = {5: 0, 7: 1, 11: 2, 15: 3, 19: 4, 21: 5}
    assert_frequencies(np.array([codes[rank] for rank in ranks]), [1 / 6] * 6)


def test_unique_numbers() -> None:
    numbers, tries = nd._internal._sample_unique_zipfian(793472, shape=(4, 8192))
    for row in numbers.asnumpy():
        assert len(np.unique(row)) == 8192
    assert ((tries.asnumpy() > 14500) & (tries.asnumpy() < 17000)).all()
    whole = nd._internal._sample_unique_zipfian(4, shape=(3, 4))[0].asnumpy()
    assert np.array_equal(np.sort(whole, axis=1), [[0, 1, 2, 3]] * 3)
    firsts = nd._internal._sample_unique_zipfian(20, shape=(4000, 1))[0].asnumpy()[:, 0]
    assert_frequencies(firsts, [math.log((c + 2) / (c + 1), 21) for c in range(20)])


# ---- the same numbers everywhere ----------------------------------------------------------------


def all_kinds() -> list[Any]:
    draw, data = mx.sym.random, mx.sym.var("data")
    return [draw.uniform(shape=(40,)), draw.normal(shape=(40,)), draw.gamma(0.7, 2, shape=(40,)),
            draw.exponential(3, shape=(40,)), draw.poisson(30, shape=(40,)),
            draw.negative_binomial(3, 0.4, shape=(40,)), draw.randint(0, 9, shape=(40,)),
            draw.generalized_negative_binomial(3, 0.4, shape=(40,)), draw.shuffle(data),
            draw.multinomial(data, get_prob=False), draw.gamma(data, data, shape=2),
            draw.uniform_like(data)]


def runs(threads: int, capture: bool) -> list[Any]:
    data = nd.array(np.full((6, 4), 0.25))
    before = set_num_threads(threads)
    try:
        with config.override(NDRT_CAPTURE=capture):
            mx.random.seed(4)
            executor = mx.sym.Group(all_kinds()).bind(mx.cpu(), {"data": data})
            return [y.asnumpy() for _ in range(5) for y in executor.forward()]
    finally:
        set_num_threads(before)


def test_captured_and_naive_and_any_number_of_threads() -> None:
    want = runs(1, False)
    for threads, capture in ((1, True), (3, False), (3, True)):
        for got, right in zip(runs(threads, capture), want, strict=True):
            np.testing.assert_array_equal(got, right)


def test_a_draw_does_not_depend_on_the_other_elements() -> None:
    """Rejections of one element take no words from the next."""
    draws = []
    for shapes in ([0.3, 5.0, 0.3], [7.0, 5.0, 9.0]):
        mx.random.seed(9)
        draws.append(nd.random.gamma(nd.array(shapes), nd.ones(3)).asnumpy())
    assert draws[0][1] == draws[1][1]


# ---- arguments ----------------------------------------------------------------------------------


@pytest.mark.parametrize("call", [
    lambda: nd.random.uniform(3, 1), lambda: nd.random.normal(0, -1),
    lambda: nd.random.gamma(0, 1), lambda: nd.random.gamma(1, -1),
    lambda: nd.random.exponential(-1), lambda: nd.random.poisson(-1),
    lambda: nd.random.negative_binomial(1.5, 0.5), lambda: nd.random.negative_binomial(2, 1.5),
    lambda: nd.random.generalized_negative_binomial(-1, 1),
    lambda: nd.random.generalized_negative_binomial(1, -1),
    lambda: nd.random.poisson(4, dtype="int32"), lambda: nd.random.randint(3, 3),
    lambda: nd.random.randint(None, 3), lambda: nd.random.randint(3, None),
    lambda: nd.random.randint(0, 2**63), lambda: nd.random.randn(-1), lambda: nd.random.randn((2,)),
    lambda: nd.random.uniform(shape=(2, -1)), lambda: nd.random.normal(shape=-1),
    lambda: nd.random.normal(shape=3, dtype="bfloat16"),
    lambda: nd.random.uniform(out=nd.zeros(3, dtype="int32")),
    lambda: nd.random.uniform(dtype="float32", out=nd.zeros(3, dtype="float64")),
    lambda: nd.random.uniform(shape=2, out=nd.zeros(3)), lambda: nd.random.normal(0, 0),
    lambda: nd.random.randint(0.5, 3.5), lambda: nd.random.randint(0, 5, dtype="float32"),
    lambda: nd.random.randint(0, 5, dtype="uint8"),
    lambda: nd.random.uniform(nd.ones(2), nd.ones(3)),
    lambda: nd.random.uniform(nd.ones(2), nd.ones(2, dtype="float64")),
    lambda: nd.random.uniform(nd.ones(2), 2),
    lambda: nd.random.uniform(nd.ones(2), nd.ones(2), shape=-1),
    lambda: nd.random.multinomial(nd.ones(2, dtype="int32")),
    lambda: nd.random.multinomial(nd.ones(2), dtype="int64"),
    lambda: nd.random.multinomial(nd.ones(257), dtype="uint8"),
    lambda: nd.random.uniform_like(nd.ones(2, dtype="int32")),
    lambda: nd._internal._sample_unique_zipfian(100, shape=(5,)),
    lambda: nd._internal._sample_unique_zipfian(4, shape=(1, 5)),
    lambda: nd.random_pdf_normal(nd.ones((2, 3)), nd.ones(3), nd.ones(3))])
def test_wrong_arguments(call: Any) -> None:
    with pytest.raises((mx.MXNetError, TypeError, ValueError)):
        call()


def test_one_number_without_axes_and_no_numbers() -> None:
    """As NumPy has them; a shape of () or with a 0 is unknown in symbols alone."""
    for draw in (nd.random.uniform, nd.random.normal, nd.random.poisson):
        assert draw(shape=()).shape == ()
        assert draw(shape=0).shape == (0,)
    assert nd.random.randint(0, 3, shape=()).shape == ()
    assert nd.random.randn(0).shape == (0,)
    assert nd.random.uniform(nd.ones(2), nd.ones(2), shape=0).shape == (2, 0)


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize(("name", "arrays", "told"), [
    ("uniform", [[0.0, -INF], [1.0, 1.0]], "place 1 are low=-inf and high=1, expected finite"),
    ("uniform", [[0.0, 0.0], [NAN, 1.0]], "place 0 are low=0 and high=nan, expected finite"),
    ("normal", [[0.0, 0.0], [1.0, -1.0]], "place 1 are mu=0 and sigma=-1, expected .* at least 0"),
    ("normal", [[NAN, 0.0], [1.0, 0.0]], "place 0 are mu=nan and sigma=1, expected finite"),
    ("gamma", [[1.0, 0.0], [1.0, 1.0]], "place 1 are alpha=0 and beta=1, expected .* above 0"),
    ("gamma", [[1.0, 1.0], [1.0, NAN]], "place 1 are alpha=1 and beta=nan"),
    ("exponential", [[1.0, 0.0]], "place 1 is lam=0, expected a number above 0"),
    ("poisson", [[-1.0, 0.0]], "place 0 is lam=-1, expected .* at least 0"),
    ("negative_binomial", [[1.0, 1.0], [1.0, 1.5]], "k=1 and p=1.5, expected .* p from 0 to 1"),
    ("generalized_negative_binomial", [[1.0, 1.0], [0.0, -0.5]], "mu=1 and alpha=-0.5"),
])
def test_parameters_without_a_meaning_are_refused(name: str, arrays: Any, told: str,
                                                  native: bool) -> None:
    given, out = [nd.array(x) for x in arrays], nd.full((2, 3), 7)
    state = mx.random.get_state()
    with config.override(NDRT_ONEDNN=native), pytest.raises(
            ParameterError, match=f"^_sample_{name}: parameters? at .*{told}"):
        getattr(nd, f"sample_{name}")(*given, shape=3, out=out)
    assert (out.asnumpy() == 7).all()
    assert mx.random.get_state() == state
    assert getattr(nd, f"sample_{name}")(*given, shape=0).shape == (2, 0)


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(("row", "told"), [
    ([0.5, -0.25, 0.75], "row 1 of data has -0.25 at place 1, expected probabilities"),
    ([0.5, 0.5, NAN], "row 1 of data has nan at place 2, expected probabilities"),
    ([0.0, 0.0, 0.0], "row 1 of data adds up to 0, expected probabilities: 1"),
    ([0.5, 0.25, 0.375], "row 1 of data adds up to 1.125, expected probabilities: 1"),
    ([0.5, INF, 0.0], "row 1 of data adds up to inf, expected probabilities: 1"),
])
def test_what_are_no_probabilities(row: list[float], told: str, dtype: str, native: bool) -> None:
    data = nd.array([[0.5, 0.25, 0.25], row], dtype=dtype)
    out = nd.full((2, 4), 7, dtype="int32")
    state = mx.random.get_state()
    with config.override(NDRT_ONEDNN=native), pytest.raises(
            ParameterError, match=f"^_sample_multinomial: {told}"):
        nd.sample_multinomial(data, shape=4, out=out)
    assert (out.asnumpy() == 7).all()
    assert mx.random.get_state() == state


@pytest.mark.parametrize("native", [True, False])
def test_many_rounded_probabilities_are_some(native: bool) -> None:
    """Those of half precision add up to 1.013, of which places beyond 1 never come."""
    data = nd.full((1_000_000,), 1e-6, dtype="float16")
    with config.override(NDRT_ONEDNN=native):
        places = nd.random.multinomial(data, shape=100).asnumpy()
    assert places.min() >= 0
    assert places.max() < 1_000_000


def test_executors_refuse_parameters_each_time() -> None:
    """A replay names the node as the first run does, and goes on when the numbers mean something.
    """
    sigma, chances = nd.ones((2,)), nd.array([[0.5, 0.5]])
    for make, array, good, bad, told in (
            (lambda x: mx.sym.sample_normal(x, x, shape=3, name="noise"), sigma, 1, -1, "noise"),
            (lambda x: mx.sym.sample_multinomial(x, name="places"), chances, 0.5, 0, "places")):
        executor = make(mx.sym.var("x")).bind(mx.cpu(), {"x": array}, grad_req="null")
        for value in (good, good, good, bad, bad, good, good, good, bad):
            array[:] = value
            if value == good:
                assert np.isfinite(executor.forward()[0].asnumpy()).all()
            else:
                with pytest.raises(ParameterError, match=f'"{told}": .*expected'):
                    executor.forward()


@pytest.mark.parametrize("native", [True, False])
def test_whole_numbers_that_the_dtype_holds(native: bool) -> None:
    with config.override(NDRT_ONEDNN=native):
        high = nd.random.randint(2**31 - 1, 2**31, shape=3)
        assert high.asnumpy().tolist() == [2**31 - 1] * 3
        low = nd.random.randint(-2**31, 1 - 2**31, shape=3)
        assert low.asnumpy().tolist() == [-2**31] * 3
        wide = nd.random.randint(2**40 + 5, 2**40 + 6, shape=3, dtype="int64")
        assert wide.asnumpy().tolist() == [2**40 + 5] * 3
        for low, high in ((2**40 + 5, 2**40 + 6), (0, 2**31 + 1), (-2**31 - 1, 0)):
            with pytest.raises(ParameterError, match=f"low={low} and high={high}, .*int32 holds"):
                nd.random.randint(low, high, shape=3)


def test_nothing_flows_back_through_draws() -> None:
    mean, deviation = nd.ones(3), nd.ones(3)
    mean.attach_grad()
    with mx.autograd.record():
        y = nd.random.normal(mean, deviation, shape=4).sum() + mean.sum()
    y.backward()
    assert mean.grad.asnumpy().tolist() == [1, 1, 1]
    with mx.autograd.record():
        y = nd.random.shuffle(mean)
    with pytest.raises(mx.MXNetError, match="no gradient"):
        y.backward()


def test_policy_gradient() -> None:
    """The use that get_prob is for: a slope through the logarithm of what was drawn."""
    x = nd.array([[0.2, 0.8]])
    x.attach_grad()
    with mx.autograd.record():
        drawn, log = nd.random.multinomial(x, shape=6, get_prob=True)
    mx.autograd.backward([log])
    counts = np.bincount(drawn.asnumpy()[0], minlength=2)
    np.testing.assert_allclose(x.grad.asnumpy(), [counts / [0.2, 0.8]], rtol=1e-6)
