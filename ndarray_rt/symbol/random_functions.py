"""`sym.random`: one function a distribution, for numbers and for symbols as its parameters."""

from __future__ import annotations

from numbers import Number
from typing import Any

from ..errors import TypeMismatch
from ..op.registry import REGISTRY
from .create import call
from .symbol import Symbol


def _draw(what: str, parameters: dict[str, Any], shape: Any, dtype: Any,
          kwargs: dict[str, Any], sample: str | None = None) -> Symbol:
    """`_random_<what>` for numbers, `_sample_<what>` for symbols."""
    if shape is not None:
        kwargs["shape"] = shape
    if dtype is not None:
        kwargs["dtype"] = dtype
    values = list(parameters.values())
    if all(isinstance(value, Symbol) for value in values):
        return call(f"_sample_{sample or what}", *values, **kwargs)
    if all(isinstance(value, Number) for value in values):
        return call(f"_random_{what}", **parameters, **kwargs)
    raise TypeMismatch(f"random.{what}: {', '.join(parameters)} must all be symbols or all be "
                       f"numbers, got {', '.join(type(v).__name__ for v in values)}")


def uniform(low: Any = 0, high: Any = 1, shape: Any = None, dtype: Any = None,
            **kwargs: Any) -> Symbol:
    """Uniform in [low, high)."""
    return _draw("uniform", {"low": low, "high": high}, shape, dtype, kwargs)


def normal(loc: Any = 0, scale: Any = 1, shape: Any = None, dtype: Any = None,
           **kwargs: Any) -> Symbol:
    """Normal with mean loc and standard deviation scale."""
    return _draw("normal", {"loc": loc, "scale": scale}, shape, dtype, kwargs)


def randn(*shape: int, loc: Any = 0, scale: Any = 1, dtype: Any = None, **kwargs: Any) -> Symbol:
    """As `normal`, with the shape as positional ints; `data` is ignored, as in MXNet."""
    kwargs.pop("data", None)
    return normal(loc, scale, shape, dtype, **kwargs)


def poisson(lam: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Poisson with rate lam."""
    return _draw("poisson", {"lam": lam}, shape, dtype, kwargs)


def exponential(scale: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Exponential with mean scale."""
    return _draw("exponential", {"lam": 1.0 / scale}, shape, dtype, kwargs)


def gamma(alpha: Any = 1, beta: Any = 1, shape: Any = None, dtype: Any = None,
          **kwargs: Any) -> Symbol:
    """Gamma with shape alpha and scale beta."""
    return _draw("gamma", {"alpha": alpha, "beta": beta}, shape, dtype, kwargs)


def negative_binomial(k: Any = 1, p: Any = 1, shape: Any = None, dtype: Any = None,
                      **kwargs: Any) -> Symbol:
    """Failures before k successes of probability p."""
    return _draw("negative_binomial", {"k": k, "p": p}, shape, dtype, kwargs)


def generalized_negative_binomial(mu: Any = 1, alpha: Any = 1, shape: Any = None,
                                  dtype: Any = None, **kwargs: Any) -> Symbol:
    """Negative binomial with mean mu and dispersion alpha."""
    return _draw("generalized_negative_binomial", {"mu": mu, "alpha": alpha}, shape, dtype, kwargs)


def multinomial(data: Symbol, shape: Any = None, get_prob: bool = True, dtype: Any = "int32",
                **kwargs: Any) -> Symbol:
    """Indices drawn with the probabilities in data; with `get_prob` their log-likelihoods, too."""
    if shape is not None:
        kwargs["shape"] = shape
    return call("_sample_multinomial", data, get_prob=get_prob, dtype=dtype, **kwargs)


def shuffle(data: Symbol, **kwargs: Any) -> Symbol:
    """The rows of data in random order."""
    return call("_shuffle", data, **kwargs)


def randint(low: int, high: int, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Whole numbers uniform in [low, high)."""
    return _draw("randint", {"low": low, "high": high}, shape, dtype, kwargs)


# function -> the operator it needs
_NEEDS = {uniform: "_random_uniform", normal: "_random_normal", randn: "_random_normal",
          poisson: "_random_poisson", exponential: "_random_exponential", gamma: "_random_gamma",
          negative_binomial: "_random_negative_binomial",
          generalized_negative_binomial: "_random_generalized_negative_binomial",
          multinomial: "_sample_multinomial", shuffle: "_shuffle", randint: "_random_randint"}

FUNCTIONS = {function.__name__: function for function, needed in _NEEDS.items()
             if needed in REGISTRY}
