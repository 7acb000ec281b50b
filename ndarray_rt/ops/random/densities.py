"""Logarithms of densities and their slopes, in numpy. Registers no operator.

Discrete distributions have no slope by their sample. As MXNet's, densities are not cut off where a
distribution ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..._array.layout import AnyArray
from ..tensor.special import digamma, log_gamma

Function = Callable[..., Any]


class Density(NamedTuple):
    """`log` and `slopes` take sample and parameters; a slope that is None is 0.

    `vectors`: a sample lies along the last axis, which the parameters have, too. `edges` give, by
    position among the slopes, the slope of the density itself where the density is 0 and that of
    its logarithm infinite.
    """

    name: str
    what: str
    parameters: tuple[str, ...]
    log: Function
    slopes: tuple[Function | None, ...]
    vectors: bool = False
    edges: Mapping[int, Function] = {}


def _power(x: AnyArray, exponent: AnyArray) -> Any:
    """exponent log(x), where 0 log(0) is 0."""
    return np.where(exponent == 0, 0.0, exponent * np.log(x))


def _ratio(x: AnyArray, y: AnyArray) -> Any:
    """x / y, where 0 / 0 is 0."""
    return np.where(x == 0, 0.0, x / y)


def _log_normal(x: AnyArray, mu: AnyArray, sigma: AnyArray) -> Any:
    return -0.5 * ((x - mu) / sigma) ** 2 - np.log(sigma) - 0.5 * math.log(2 * math.pi)


def _log_gamma_density(x: AnyArray, a: AnyArray, b: AnyArray) -> Any:
    return a * np.log(b) + _power(x, a - 1) - b * x - log_gamma(a)


def _gamma_edge(x: AnyArray, a: AnyArray, b: AnyArray) -> Any:
    return (a - 1) * np.exp(a * np.log(b) + _power(x, a - 2) - b * x - log_gamma(a))


def _log_poisson(x: AnyArray, lam: AnyArray) -> Any:
    return _power(lam, x) - lam - log_gamma(x + 1)


def _poisson_edge(x: AnyArray, lam: AnyArray) -> Any:
    return np.exp(_power(lam, x - 1) - lam - log_gamma(x))


def _log_negative_binomial(x: AnyArray, k: AnyArray, p: AnyArray) -> Any:
    return (log_gamma(x + k) - log_gamma(x + 1) - log_gamma(k) + k * np.log(p)
            + _power(1 - p, x))


def _slope_k(x: AnyArray, k: AnyArray, p: AnyArray) -> Any:
    return digamma(x + k) - digamma(k) + np.log(p)


def _slope_p(x: AnyArray, k: AnyArray, p: AnyArray) -> Any:
    return k / p - _ratio(x, 1 - p)


def _edge_p(x: AnyArray, k: AnyArray, p: AnyArray) -> Any:
    logs = log_gamma(x + k) - log_gamma(x) - log_gamma(k) + _power(1 - p, x - 1)
    return np.where(p == 1, -np.exp(logs), np.nan)


def _by_mean(mu: AnyArray, alpha: AnyArray) -> tuple[Any, Any]:
    """k and p of a mean and a dispersion."""
    return 1 / alpha, 1 / (mu * alpha + 1)


def _log_generalized(x: AnyArray, mu: AnyArray, alpha: AnyArray) -> Any:
    return _log_negative_binomial(x, *_by_mean(mu, alpha))


def _slope_mu(x: AnyArray, mu: AnyArray, alpha: AnyArray) -> Any:
    k, p = _by_mean(mu, alpha)
    return _slope_p(x, k, p) * (-alpha * p * p)


def _slope_alpha(x: AnyArray, mu: AnyArray, alpha: AnyArray) -> Any:
    k, p = _by_mean(mu, alpha)
    return -_slope_k(x, k, p) * k * k - _slope_p(x, k, p) * mu * p * p


def _log_dirichlet(x: AnyArray, alpha: AnyArray) -> Any:
    total = log_gamma(alpha.sum(axis=-1)) - log_gamma(alpha).sum(axis=-1)
    return _power(x, alpha - 1).sum(axis=-1) + total


def _dirichlet_edge(x: AnyArray, alpha: AnyArray) -> Any:
    logs = _power(x, alpha - 1)
    lowest = np.isneginf(logs)
    others = np.where(lowest, 0.0, logs).sum(axis=-1, keepdims=True) - np.where(lowest, 0.0, logs)
    others = np.where(lowest.sum(axis=-1, keepdims=True) > lowest, -np.inf, others)
    total = log_gamma(alpha.sum(axis=-1)) - log_gamma(alpha).sum(axis=-1)
    return (alpha - 1) * np.exp(total[..., None] + others + _power(x, alpha - 2))


DENSITIES = (
    Density("uniform", "The density of the uniform distribution of [low, high)", ("low", "high"),
            lambda x, low, high: -np.log(high - low) + 0.0 * x,
            (None, lambda x, low, high: 1 / (high - low), lambda x, low, high: -1 / (high - low))),
    Density("normal", "The density of the normal distribution of mean mu and standard deviation "
            "sigma", ("mu", "sigma"), _log_normal,
            (lambda x, mu, sigma: (mu - x) / sigma**2, lambda x, mu, sigma: (x - mu) / sigma**2,
             lambda x, mu, sigma: ((x - mu) ** 2 / sigma**2 - 1) / sigma)),
    Density("gamma", "The density of the gamma distribution of shape alpha and rate beta",
            ("alpha", "beta"), _log_gamma_density,
            (lambda x, a, b: _ratio(a - 1, x) - b, lambda x, a, b: np.log(b * x) - digamma(a),
             lambda x, a, b: a / b - x),
            edges={0: _gamma_edge, 1: lambda x, a, b: np.zeros_like(x)}),
    Density("exponential", "The density of the exponential distribution of rate lam", ("lam",),
            lambda x, lam: np.log(lam) - lam * x,
            (lambda x, lam: -lam + 0.0 * x, lambda x, lam: 1 / lam - x)),
    Density("poisson", "The probability in the Poisson distribution of mean lam", ("lam",),
            _log_poisson, (None, lambda x, lam: _ratio(x, lam) - 1),
            edges={1: _poisson_edge}),
    Density("negative_binomial", "The probability in the negative binomial distribution of k "
            "successes of probability p", ("k", "p"), _log_negative_binomial,
            (None, _slope_k, _slope_p), edges={2: _edge_p}),
    Density("generalized_negative_binomial", "The probability in the negative binomial "
            "distribution of mean mu and dispersion alpha", ("mu", "alpha"), _log_generalized,
            (None, _slope_mu, _slope_alpha)),
    Density("dirichlet", "The density of the Dirichlet distribution of concentrations alpha",
            ("alpha",), _log_dirichlet,
            (lambda x, alpha: _ratio(alpha - 1, x),
             lambda x, alpha: (digamma(alpha.sum(axis=-1, keepdims=True)) - digamma(alpha)
                               + np.log(x))), vectors=True,
            edges={0: _dirichlet_edge, 1: lambda x, alpha: np.zeros_like(x)}),
)
