"""The functions of nd.random and sym.random, over the `draw` of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import ParameterError
from .registry import REGISTRY


def functions(draw: Callable[..., Any], *others: Callable[..., Any],
              no_shape: tuple[()] | None) -> dict[str, Callable[..., Any]]:
    """The functions, and `others`, whose operators are registered, by name.

    `draw(name, parameters, shape, dtype, ctx, out, kwargs)` calls the operator of a distribution:
    one for numbers as parameters, another for arrays, or symbols. `no_shape`: the shape of a
    `randn()` without one.
    """
    def uniform(low: Any = 0, high: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None,
                out: Any = None, **kwargs: Any) -> Any:
        """Uniform in [low, high); for arrays `low` and `high`, `shape` samples for each element."""
        return draw("uniform", {"low": low, "high": high}, shape, dtype, ctx, out, kwargs)

    def normal(loc: Any = 0, scale: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None,
               out: Any = None, **kwargs: Any) -> Any:
        """Normal with mean `loc` and standard deviation `scale`."""
        return draw("normal", {"loc": loc, "scale": scale}, shape, dtype, ctx, out, kwargs)

    def randn(*shape: int, loc: Any = 0, scale: Any = 1, dtype: Any = None, ctx: Any = None,
              out: Any = None, **kwargs: Any) -> Any:
        """As `normal`, with the shape as positional ints; `data` is ignored, as in MXNet."""
        kwargs.pop("data", None)
        return draw("normal", {"loc": loc, "scale": scale}, shape or no_shape, dtype, ctx, out,
                    kwargs)

    def gamma(alpha: Any = 1, beta: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None,
              out: Any = None, **kwargs: Any) -> Any:
        """Gamma with shape parameter `alpha` and scale `beta`."""
        return draw("gamma", {"alpha": alpha, "beta": beta}, shape, dtype, ctx, out, kwargs)

    def exponential(scale: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None,
                    out: Any = None, **kwargs: Any) -> Any:
        """Exponential with mean `scale`; ParameterError for the number 0."""
        if isinstance(scale, (int, float)) and scale == 0:
            raise ParameterError("exponential: scale got 0, expected a number above 0")
        return draw("exponential", {"lam": 1.0 / scale}, shape, dtype, ctx, out, kwargs)

    def poisson(lam: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None,
                out: Any = None, **kwargs: Any) -> Any:
        """Poisson with mean `lam`, as floats."""
        return draw("poisson", {"lam": lam}, shape, dtype, ctx, out, kwargs)

    def negative_binomial(k: Any = 1, p: Any = 1, shape: Any = None, dtype: Any = None,
                          ctx: Any = None, out: Any = None, **kwargs: Any) -> Any:
        """Failures before the k-th success, each of probability p; as floats."""
        return draw("negative_binomial", {"k": k, "p": p}, shape, dtype, ctx, out, kwargs)

    def generalized_negative_binomial(mu: Any = 1, alpha: Any = 1, shape: Any = None,
                                      dtype: Any = None, ctx: Any = None, out: Any = None,
                                      **kwargs: Any) -> Any:
        """Negative binomial by mean `mu` and dispersion `alpha`; as floats."""
        return draw("generalized_negative_binomial", {"mu": mu, "alpha": alpha}, shape, dtype, ctx,
                    out, kwargs)

    def randint(low: Any, high: Any, shape: Any = None, dtype: Any = None, ctx: Any = None,
                out: Any = None, **kwargs: Any) -> Any:
        """Whole numbers in [low, high), int32 unless told otherwise."""
        return draw("randint", {"low": low, "high": high}, shape, dtype, ctx, out, kwargs)

    needs = {"randn": "_random_normal", "multinomial": "_sample_multinomial", "shuffle": "_shuffle"}
    made: tuple[Any, ...] = (
        uniform, normal, randn, gamma, exponential, poisson, negative_binomial,
        generalized_negative_binomial, randint, *others)
    return {function.__name__: function for function in made
            if needs.get(function.__name__, f"_random_{function.__name__}") in REGISTRY}
