"""nd.random: random numbers by distribution. The operators draw; here they are chosen."""

from __future__ import annotations

from typing import Any

from .._array.ndarray import NDArray
from ..errors import ParameterError, TypeMismatch
from ..op.registry import keep_registered
from .arithmetic import NUMBERS
from .invoke import invoke

__all__ = ["exponential", "gamma", "generalized_negative_binomial", "multinomial",
           "negative_binomial", "normal", "poisson", "randint", "randn", "shuffle", "uniform"]


def _draw(name: str, params: dict[str, Any], shape: Any, dtype: Any, ctx: Any, out: Any,
          sampler: str | None = None) -> Any:
    """One operator for numbers as parameters, another for arrays: a sample for each element."""
    options = {"shape": shape, "dtype": dtype}
    attrs = {key: value for key, value in options.items() if value is not None}
    values = list(params.values())
    if all(isinstance(value, NDArray) for value in values):
        if sampler is None:
            raise TypeMismatch(f"random.{name}: its parameters must be numbers")
        return invoke(sampler, values, attrs, out)
    if not all(isinstance(value, NUMBERS) for value in values):
        kinds = ", ".join(type(value).__name__ for value in values)
        raise TypeMismatch(f"random.{name}: its parameters must all be numbers or all be NDArrays, "
                           f"got {kinds}")
    if ctx is not None:
        attrs["ctx"] = ctx
    if out is None:
        attrs.setdefault("shape", (1,))
    return invoke(f"_random_{name}", [], {**params, **attrs}, out)


def uniform(low: Any = 0, high: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None,
            out: NDArray | None = None) -> Any:
    """Uniform in [low, high); for arrays `low` and `high`, `shape` samples for each element."""
    return _draw("uniform", {"low": low, "high": high}, shape, dtype, ctx, out,
                 "_sample_uniform")


def normal(loc: Any = 0, scale: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None,
           out: NDArray | None = None) -> Any:
    """Normal with mean `loc` and standard deviation `scale`."""
    return _draw("normal", {"loc": loc, "scale": scale}, shape, dtype, ctx, out,
                 "_sample_normal")


def randn(*shape: int, loc: Any = 0, scale: Any = 1, dtype: Any = None, ctx: Any = None,
          out: NDArray | None = None) -> Any:
    """Normal, with the shape as positional arguments."""
    return normal(loc, scale, shape or None, dtype, ctx, out)


def gamma(alpha: Any = 1, beta: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None,
          out: NDArray | None = None) -> Any:
    """Gamma with shape parameter `alpha` and scale `beta`."""
    return _draw("gamma", {"alpha": alpha, "beta": beta}, shape, dtype, ctx, out,
                 "_sample_gamma")


def exponential(scale: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None,
                out: NDArray | None = None) -> Any:
    """Exponential with mean `scale`."""
    return _draw("exponential", {"lam": 1.0 / scale}, shape, dtype, ctx, out,
                 "_sample_exponential")


def poisson(lam: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None,
            out: NDArray | None = None) -> Any:
    """Poisson with mean `lam`, as floats."""
    return _draw("poisson", {"lam": lam}, shape, dtype, ctx, out, "_sample_poisson")


def negative_binomial(k: Any = 1, p: Any = 1, shape: Any = None, dtype: Any = None,
                      ctx: Any = None, out: NDArray | None = None) -> Any:
    """Failures before the k-th success, each of probability p; as floats."""
    return _draw("negative_binomial", {"k": k, "p": p}, shape, dtype, ctx, out,
                 "_sample_negative_binomial")


def generalized_negative_binomial(mu: Any = 1, alpha: Any = 1, shape: Any = None,
                                  dtype: Any = None, ctx: Any = None,
                                  out: NDArray | None = None) -> Any:
    """Negative binomial by mean `mu` and dispersion `alpha`; as floats."""
    return _draw("generalized_negative_binomial", {"mu": mu, "alpha": alpha}, shape, dtype, ctx,
                 out, "_sample_generalized_negative_binomial")


def randint(low: Any, high: Any, shape: Any = None, dtype: Any = None, ctx: Any = None,
            out: NDArray | None = None) -> Any:
    """Whole numbers in [low, high), int32 unless told otherwise."""
    if all(isinstance(value, NUMBERS) for value in (low, high)) and low >= high:
        raise ParameterError(f"random.randint: low {low} must be less than high {high}")
    return _draw("randint", {"low": low, "high": high}, shape, dtype, ctx, out)


def multinomial(data: NDArray, shape: Any = None, get_prob: bool = False, out: Any = None,
                dtype: Any = None) -> Any:
    """Indices by the probabilities in `data`'s last axis; with `get_prob` their logs too."""
    attrs = {"get_prob": get_prob}
    attrs.update({key: value for key, value in (("shape", shape), ("dtype", dtype))
                  if value is not None})
    return invoke("_sample_multinomial", [data], attrs, out)


def shuffle(data: NDArray, out: NDArray | None = None) -> Any:
    """The rows of `data` in random order."""
    return invoke("_shuffle", [data], {}, out)


def available() -> dict[str, Any]:
    """The functions whose operators are registered, by name."""
    found = {name: globals()[name] for name in __all__}
    needs = {name: f"_random_{name}" for name in __all__}
    needs.update(randn="_random_normal", multinomial="_sample_multinomial", shuffle="_shuffle")
    keep_registered(found, needs)
    return found
