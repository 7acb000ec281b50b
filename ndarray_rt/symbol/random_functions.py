"""`sym.random`: one function a distribution, for numbers and for symbols as its parameters."""

from __future__ import annotations

from numbers import Number
from typing import Any

from ..errors import TypeMismatch
from ..op.draws import functions
from .create import call
from .symbol import Symbol


def _draw(what: str, parameters: dict[str, Any], shape: Any, dtype: Any, ctx: Any, out: Any,
          kwargs: dict[str, Any]) -> Symbol:
    """`_random_<what>` for numbers, `_sample_<what>` for symbols."""
    given = {"shape": shape, "dtype": dtype, "ctx": ctx, "out": out}
    kwargs.update({key: value for key, value in given.items() if value is not None})
    values = list(parameters.values())
    if all(isinstance(value, Symbol) for value in values):
        return call(f"_sample_{what}", *values, **kwargs)
    if all(isinstance(value, Number) for value in values):
        return call(f"_random_{what}", **parameters, **kwargs)
    raise TypeMismatch(f"random.{what}: {', '.join(parameters)} must all be symbols or all be "
                       f"numbers, got {', '.join(type(v).__name__ for v in values)}")


def multinomial(data: Symbol, shape: Any = None, get_prob: bool = True, dtype: Any = "int32",
                **kwargs: Any) -> Symbol:
    """Indices drawn with the probabilities in data; with `get_prob` their log-likelihoods, too."""
    if shape is not None:
        kwargs["shape"] = shape
    return call("_sample_multinomial", data, get_prob=get_prob, dtype=dtype, **kwargs)


def shuffle(data: Symbol, **kwargs: Any) -> Symbol:
    """The rows of data in random order."""
    return call("_shuffle", data, **kwargs)


FUNCTIONS = functions(_draw, multinomial, shuffle, no_shape=())
