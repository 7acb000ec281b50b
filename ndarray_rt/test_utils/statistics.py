"""Does a generator of random numbers follow its distribution? Chi-square needs scipy, an extra."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np

from ..errors import MissingPackage
from .compare import as_numpy

Generator = Callable[[int], Any]
Array = np.ndarray[Any, np.dtype[Any]]
# how many standard deviations a sample's mean or variance may be off
SIGMAS = 3.0


def _samples(generator: Generator, nsamples: int) -> Array:
    return np.asarray(as_numpy(generator(nsamples)), np.float64)


def mean_check(generator: Generator, mu: float, sigma: float, nsamples: int = 1000000) -> bool:
    """Is the mean of the samples within three of its standard deviations of `mu`?"""
    off = abs(float(_samples(generator, nsamples).mean()) - mu)
    return bool(off < SIGMAS * sigma / np.sqrt(nsamples))


def var_check(generator: Generator, sigma: float, nsamples: int = 1000000) -> bool:
    """Is the variance of normal samples within three of its standard deviations of sigma**2?"""
    off = abs(float(_samples(generator, nsamples).var(ddof=1)) - sigma**2)
    return bool(off < SIGMAS * np.sqrt(2 * sigma**4 / (nsamples - 1)))


def normal_check(generator: Generator, mu: float, sigma: float, nsamples: int = 1000000) -> bool:
    """`mean_check` and `var_check` of one normal distribution."""
    return (mean_check(generator, mu, sigma, nsamples) and var_check(generator, sigma, nsamples))


def gen_buckets_probs_with_ppf(ppf: Callable[[float], float], nbuckets: int,
                               ) -> tuple[list[tuple[float, float]], list[float]]:
    """(buckets, probabilities): buckets of equal probability, from a quantile function."""
    if nbuckets <= 0:
        raise AssertionError(f"gen_buckets_probs_with_ppf: {nbuckets} buckets")
    edges = [ppf(i / nbuckets) for i in range(nbuckets + 1)]
    return list(pairwise(edges)), [1.0 / nbuckets] * nbuckets


def _stats() -> Any:
    try:
        return import_module("scipy.stats")
    except ImportError:
        raise MissingPackage.of("chi_square_check", "scipy", "stats") from None


def chi_square_check(generator: Generator, buckets: Sequence[Any], probs: Sequence[float],
                     nsamples: int = 1000000) -> tuple[float, Array, Array]:
    """(p value, observed counts, expected counts) of samples in buckets.

    Buckets are pairs (low, high) in ascending order for a continuous distribution, or the values of
    a discrete one; together they are all that can come. Raises MissingPackage without scipy.
    """
    stats = _stats()
    if not isinstance(buckets, list) or len(buckets) != len(probs):
        raise AssertionError("buckets must be a list with as many entries as probs")
    samples = np.asarray(as_numpy(generator(nsamples))).ravel()
    if isinstance(buckets[0], (list, tuple)):
        edges = np.array([edge for bucket in buckets for edge in bucket], np.float32)
        if not bool(np.all(edges[1:] >= edges[:-1])):
            raise AssertionError("buckets must be in ascending order and not overlap")
        # even places are inside of a bucket's start, odd ones beyond its end
        place = np.searchsorted(edges, samples, side="right")
        observed = np.array([int((place == 2 * i + 1).sum() + ((place == 2 * i + 2) & (
            samples == edges[2 * i + 1])).sum()) for i in range(len(buckets))])
    else:
        found, counts = np.unique(samples, return_counts=True)
        place = np.minimum(np.searchsorted(found, buckets), len(found) - 1)
        observed = np.where(found[place] == buckets, counts[place], 0)
    expected = nsamples * np.asarray(probs, np.float64)
    # samples that are in no bucket count as missing in theirs
    statistic = float(((observed - expected) ** 2 / expected).sum())
    return float(stats.chi2.sf(statistic, len(buckets) - 1)), observed, expected


def verify_generator(generator: Generator, buckets: Sequence[Any], probs: Sequence[float],
                     nsamples: int = 1000000, nrepeat: int = 5, success_rate: float = 0.2,
                     alpha: float = 0.05) -> list[float]:
    """The p values of `nrepeat` chi-square checks, of which a share must be above `alpha`."""
    runs = [chi_square_check(generator, buckets, probs, nsamples) for _ in range(nrepeat)]
    values = [p for p, _, _ in runs]
    if sum(p > alpha for p in values) < nrepeat * success_rate:
        raise AssertionError(f"the generator does not follow its distribution: p={values}, "
                             f"observed={[o.tolist() for _, o, _ in runs]}, "
                             f"expected={runs[0][2].tolist()}, buckets={buckets}, probs={probs}")
    return values
