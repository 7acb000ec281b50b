"""How numbers of each distribution are made from random words, for parameters that are arrays.

Everything is in double precision and element by element, to the same bits as by the native kernel
(native/kernels/random/distributions.c). Registers no operator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..._array.layout import AnyArray
from ...dtypes import DType
from ...errors import ParameterError
from ...native import lib
from ...op.normal import exp, log, log_factorial, standard_normal
from ...op.random_state import RandomState, uniform_floats
from .source import Source, normal, open_unit, unit

# (source, a parameter for each element ...) -> a number for each element
Draw = Callable[..., AnyArray]

FLOATS = ("float16", "float32", "float64")  # dtypes of what is drawn

_SMALL_MEAN = 10.0  # below it Poisson numbers are searched for one by one
_MOST_STEPS = 200  # of that search: far beyond what a double in [0, 1) can tell

# Stages, which have words of their own: those of a number that needs several others.
_BOOST, _POISSON = 1, 2


def draw_uniform(source: Source, low: AnyArray, high: AnyArray) -> AnyArray:
    words = source.row()
    if len(words) > source.n + source.n % 2:
        u = unit(words[::2], words[1::2])
    else:
        u = uniform_floats(words[:source.n]).astype(np.float64)
    made: AnyArray = low + (high - low) * u
    return made


def draw_normal(source: Source, mean: AnyArray, deviation: AnyArray) -> AnyArray:
    made: AnyArray = mean + deviation * standard_normal(source.row())[:source.n]
    return made


def draw_exponential(source: Source, rate: AnyArray) -> AnyArray:
    words = source.row()
    made = -log(open_unit(words[::2], words[1::2])) / rate
    return np.where(rate > 0, made, np.nan)


def draw_gamma(source: Source, alpha: AnyArray, beta: AnyArray) -> AnyArray:
    """By rejection (Marsaglia and Tsang, 2000); a shape below 1 through the one above it."""
    made = np.full(source.n, np.nan)
    d = np.where(alpha < 1, alpha + 1, alpha) - 1 / 3
    c = 1 / np.sqrt(9 * d)
    left = np.flatnonzero((alpha > 0) & np.isfinite(alpha) & (beta > 0))
    attempt = 0
    while left.size:
        words = source.words(left if attempt else _all_or(left, source.n), attempt)
        z = normal(words[:, 0], words[:, 1])
        root = 1 + c[left] * z
        v = root * root * root
        log_u = log(open_unit(words[:, 2], words[:, 3]))
        log_v = log(np.where(v > 0, v, 1.0))
        fits = (v > 0) & (log_u < 0.5 * z * z + d[left] * (1 - v + log_v))
        made[left[fits]] = (d[left] * v)[fits]
        left = left[~fits]
        attempt += 1
    low = np.flatnonzero((alpha > 0) & (alpha < 1))
    if low.size:
        words = source.words(low, 0, _BOOST)
        made[low] *= exp(log(open_unit(words[:, 0], words[:, 1])) / alpha[low])
    return np.where(beta > 0, made * beta, np.nan)


def _all_or(which: AnyArray, n: int) -> AnyArray | None:
    """None, which is faster, where these are all elements."""
    return None if which.size == n else which


def draw_poisson(source: Source, mean: AnyArray, stage: int = 0) -> AnyArray:
    made = np.where(np.isposinf(mean), np.inf, np.nan)
    small = np.flatnonzero((mean >= 0) & (mean < _SMALL_MEAN))
    if small.size:
        made[small] = _poisson_search(source, small, mean[small], stage)
    large = np.flatnonzero((mean >= _SMALL_MEAN) & np.isfinite(mean))
    if large.size:
        made[large] = _poisson_rejection(source, large, mean[large], stage)
    return made


def _poisson_search(source: Source, which: AnyArray, mean: AnyArray, stage: int) -> AnyArray:
    """The least number whose cumulated probability is above one uniform number."""
    words = source.words(None if stage else _all_or(which, source.n), 0, stage)
    if len(words) != len(which):
        words = words[which]
    u = unit(words[:, 0], words[:, 1])
    made = np.zeros(which.size)
    term = exp(-mean)
    total = term.copy()
    left = np.flatnonzero(u >= total)
    for k in range(1, _MOST_STEPS):
        if not left.size:
            break
        made[left] = k
        term[left] *= mean[left] / k
        total[left] += term[left]
        left = left[u[left] >= total[left]]
    return made


def _poisson_rejection(source: Source, which: AnyArray, mean: AnyArray, stage: int) -> AnyArray:
    """Transformed rejection (Hoermann, 1993: PTRS)."""
    made = np.empty(which.size)
    b = 0.931 + 2.53 * np.sqrt(mean)
    a = -0.059 + 0.02483 * b
    scale = log(1.1239 + 1.1328 / (b - 3.4))
    sure = 0.9277 - 3.6224 / (b - 2)
    log_mean = log(mean)
    left = np.arange(which.size)
    attempt = 0
    while left.size:
        words = source.words(which[left], attempt, stage)
        u = unit(words[:, 0], words[:, 1]) - 0.5
        v = open_unit(words[:, 2], words[:, 3])
        near = 0.5 - np.abs(u)
        k = np.floor((2 * a[left] / near + b[left]) * u + mean[left] + 0.43)
        possible = (k >= 0) & ~((near < 0.013) & (v > near))
        bound = k * log_mean[left] - mean[left] - log_factorial(np.where(possible, k, 0.0))
        exact = log(v) + scale[left] - log(a[left] / (near * near) + b[left]) <= bound
        fits = ((near >= 0.07) & (v <= sure[left])) | (possible & exact)
        made[left[fits]] = k[fits]
        left = left[~fits]
        attempt += 1
    return made


def draw_negative_binomial(source: Source, k: AnyArray, p: AnyArray) -> AnyArray:
    """Poisson numbers whose means are gamma numbers."""
    mean = draw_gamma(source, k, np.where(p < 1, (1 - p) / p, 1.0))
    mean = np.where((k == 0) | (p == 1), 0.0, mean)
    return draw_poisson(source, np.where((k >= 0) & (p >= 0) & (p <= 1), mean, np.nan), _POISSON)


def draw_generalized(source: Source, mu: AnyArray, alpha: AnyArray) -> AnyArray:
    """The same by mean and dispersion; without dispersion Poisson numbers."""
    spread = alpha > 0
    mean = draw_gamma(source, np.where(spread, 1 / alpha, 1.0), np.where(mu > 0, mu * alpha, 1.0))
    mean = np.where(spread & (mu > 0), mean, mu)
    return draw_poisson(source, np.where(alpha >= 0, mean, np.nan), _POISSON)


def below(made: AnyArray, low: AnyArray, high: AnyArray, dtype: DType) -> AnyArray:
    """Uniform numbers in a dtype; rounding may reach the end, which is not in the interval."""
    last = last_below(rounded(low, dtype), rounded(high, dtype))
    least: AnyArray = np.minimum(rounded(made, dtype), last.astype(dtype))
    return least


def last_below(first: AnyArray, end: AnyArray) -> AnyArray:
    """The last number of [first, end) in their dtype; infinity where there is none."""
    made: AnyArray = np.where(first < end, np.nextafter(end, first), np.asarray(np.inf, end.dtype))
    return made


def rounded(x: AnyArray, dtype: DType) -> AnyArray:
    """Doubles in a dtype; float16 by way of float32, as processors do it."""
    if dtype.itemsize == 2:
        x = x.astype(np.float32)
    return x.astype(dtype)


class Distribution(NamedTuple):
    """What is drawn, the names of its parameters as arrays, how, by which native name.

    `means` tells for each element of the parameters whether they mean something, `expected` which
    do, in words.
    """

    what: str
    parameters: tuple[str, ...]
    draw: Draw
    code: int
    means: Callable[..., AnyArray]
    expected: str


DISTRIBUTIONS = {
    "uniform": Distribution(
        "Evenly from [low, high)", ("low", "high"), draw_uniform, lib.NDRT_DRAW_UNIFORM,
        lambda low, high: np.isfinite(high - low), "finite numbers, not too far apart"),
    "normal": Distribution(
        "From the normal distribution of mean mu and standard deviation sigma", ("mu", "sigma"),
        draw_normal, lib.NDRT_DRAW_NORMAL,
        lambda mu, sigma: np.isfinite(mu) & np.isfinite(sigma) & (sigma >= 0),
        "finite numbers, sigma at least 0"),
    "gamma": Distribution(
        "From the gamma distribution of shape alpha and scale beta", ("alpha", "beta"), draw_gamma,
        lib.NDRT_DRAW_GAMMA, lambda alpha, beta: (alpha > 0) & np.isfinite(alpha) & (beta > 0),
        "numbers above 0, alpha finite"),
    "exponential": Distribution(
        "From the exponential distribution of rate lam", ("lam",), draw_exponential,
        lib.NDRT_DRAW_EXPONENTIAL, lambda lam: lam > 0, "a number above 0"),
    "poisson": Distribution(
        "From the Poisson distribution of mean lam, as floats", ("lam",), draw_poisson,
        lib.NDRT_DRAW_POISSON, lambda lam: lam >= 0, "a number of at least 0"),
    "negative_binomial": Distribution(
        "Failures before the k-th success, each of probability p, as floats", ("k", "p"),
        draw_negative_binomial, lib.NDRT_DRAW_NEGATIVE_BINOMIAL,
        lambda k, p: (k >= 0) & np.isfinite(k) & (p >= 0) & (p <= 1),
        "k finite and at least 0, p from 0 to 1"),
    "generalized_negative_binomial": Distribution(
        "From the negative binomial distribution of mean mu and dispersion alpha, as floats",
        ("mu", "alpha"), draw_generalized, lib.NDRT_DRAW_GENERALIZED,
        lambda mu, alpha: (mu >= 0) & (alpha >= 0) & np.isfinite(alpha),
        "numbers of at least 0, alpha finite"),
}


def need_meaning(name: str, parameters: list[AnyArray]) -> None:
    """ParameterError for arrays of parameters, in double precision, with some that mean nothing."""
    kind = DISTRIBUTIONS[name]
    with np.errstate(all="ignore"):
        fits = kind.means(*parameters)
    if fits.all():
        return
    i = int(np.argmin(fits))
    got = " and ".join(f"{what}={x[i]:g}" for what, x in zip(kind.parameters, parameters,
                                                             strict=True))
    many = len(parameters) > 1
    raise ParameterError(f"parameter{'s' * many} at place {i} {'are' if many else 'is'} {got}, "
                         f"expected {kind.expected}")


def _words_of(name: str, dtype: DType) -> int:
    """How many words each element has."""
    if name == "uniform":
        return 2 if dtype.itemsize == 8 else 1
    return {"normal": 1, "exponential": 2}.get(name, 4)


def sample(random: RandomState, name: str, parameters: list[AnyArray], dtype: DType) -> AnyArray:
    """A number for each element of the parameters, in a dtype."""
    source = Source(random, len(parameters[0]), _words_of(name, dtype))
    made = DISTRIBUTIONS[name].draw(source, *parameters)
    if name == "uniform":
        low, high = parameters
        return below(made, low, high, dtype)
    return rounded(made, dtype)
