"""_random_pdf_*: densities against their formulas, by the exact functions of Python's math."""

from __future__ import annotations

import math

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input, Reference

lgamma = np.vectorize(math.lgamma, otypes=[np.float64])


def uniform(x: Array, low: Array, high: Array) -> Array:
    return np.log(1 / (high - low)) + 0 * x


def normal(x: Array, mu: Array, sigma: Array) -> Array:
    return np.log(np.exp(-(x - mu) ** 2 / (2 * sigma**2)) / (sigma * np.sqrt(2 * np.pi)))


def gamma(x: Array, a: Array, b: Array) -> Array:
    return a * np.log(b) + (a - 1) * np.log(x) - b * x - lgamma(a)


def exponential(x: Array, lam: Array) -> Array:
    return np.log(lam * np.exp(-lam * x))


def poisson(x: Array, lam: Array) -> Array:
    return x * np.log(lam) - lam - lgamma(x + 1)


def negative_binomial(x: Array, k: Array, p: Array) -> Array:
    choices = lgamma(x + k) - lgamma(x + 1) - lgamma(k)
    return choices + k * np.log(p) + x * np.log(1 - p)


def generalized(x: Array, mu: Array, alpha: Array) -> Array:
    return negative_binomial(x, 1 / alpha + 0 * x, 1 / (mu * alpha + 1))


def dirichlet(x: Array, alpha: Array) -> Array:
    alpha = alpha.reshape(alpha.shape[:-1] + (1,) * (x.ndim - alpha.ndim) + alpha.shape[-1:])
    return (((alpha - 1) * np.log(x)).sum(-1) + lgamma(alpha.sum(-1))
            - lgamma(alpha).sum(-1))


def density(log: Reference, is_log: bool, vectors: bool) -> Reference:
    """A reference; parameters get axes for what lies behind those that they stand for."""
    def reference(x: Array, *parameters: Array) -> Array:
        if not vectors:
            parameters = tuple(p.reshape(p.shape + (1,) * (x.ndim - p.ndim)) for p in parameters)
        made = log(x, *parameters)
        return made if is_log else np.exp(made)
    return reference


PLACES = Input((2, 3, 2), low=0.2, high=0.9)
COUNTS = Input((2, 3, 2), kind="ints", low=0, high=6)


def between(low: float, high: float, *shape: int) -> Input:
    return Input(shape, low=low, high=high)


FAMILIES: dict[str, tuple[Reference, Input, tuple[tuple[float, float], ...]]] = {
    "uniform": (uniform, PLACES, ((-1, 0), (1, 2))),
    "normal": (normal, PLACES, ((-1, 1), (0.5, 2))),
    "gamma": (gamma, PLACES, ((0.5, 3), (0.5, 2))),
    "exponential": (exponential, PLACES, ((0.5, 2),)),
    "poisson": (poisson, COUNTS, ((0.5, 4),)),
    "negative_binomial": (negative_binomial, COUNTS, ((1, 4), (0.2, 0.8))),
    "generalized_negative_binomial": (generalized, COUNTS, ((1, 4), (0.2, 0.8))),
}
NEAR = {"float32": 1e-4, "float16": 2e-2}

CASES = [Case(f"_random_pdf_{name}", {"is_log": True} if is_log else {},
              [sample, *(between(low, high, *shape) for low, high in bounds)],
              reference=density(log, is_log, False), rtol=NEAR, atol=NEAR,
              no_grad={0} if sample is COUNTS or name == "uniform" else set(),
              dtypes=("float32", "float64", "float16"))
         for name, (log, sample, bounds) in FAMILIES.items()
         for is_log, shape in ((False, (2,)), (True, (2, 3)), (False, (2, 3, 2)))]
CASES += [Case("_random_pdf_dirichlet", {"is_log": True} if is_log else {},
               [between(0.1, 0.9, *sample), between(1.0, 3.0, *shape)],
               reference=density(dirichlet, is_log, True), rtol=NEAR, atol=NEAR,
               dtypes=("float32", "float64", "float16"))
          for sample, shape, is_log in (((2, 3, 4), (2, 4), False), ((2, 3, 4), (2, 3, 4), True),
                                        ((3, 2), (2,), False))]
