"""nd.random: random numbers by distribution. The operators draw; here they are chosen."""

from __future__ import annotations

from typing import Any

from .._array.ndarray import NDArray
from ..errors import ParameterError, TypeMismatch
from ..op.draws import functions
from .arithmetic import NUMBERS
from .invoke import invoke


def _draw(name: str, params: dict[str, Any], shape: Any, dtype: Any, ctx: Any, out: Any,
          kwargs: dict[str, Any]) -> Any:
    """One operator for numbers as parameters, another for arrays: a sample for each element."""
    for key in kwargs:
        raise TypeError(f"{name}() got an unexpected keyword argument {key!r}")
    attrs = {key: value for key, value in (("shape", shape), ("dtype", dtype)) if value is not None}
    values = list(params.values())
    if all(isinstance(value, NDArray) for value in values):
        if name == "randint":
            raise TypeMismatch("random.randint: its parameters must be numbers")
        return invoke(f"_sample_{name}", values, attrs, out)
    if not all(isinstance(value, NUMBERS) for value in values):
        kinds = ", ".join(type(value).__name__ for value in values)
        raise TypeMismatch(f"random.{name}: its parameters must all be numbers or all be NDArrays, "
                           f"got {kinds}")
    if name == "randint" and params["low"] >= params["high"]:
        raise ParameterError(f"random.randint: low {params['low']} must be less than high "
                             f"{params['high']}")
    if ctx is not None:
        attrs["ctx"] = ctx
    if out is None:
        attrs.setdefault("shape", (1,))
    return invoke(f"_random_{name}", [], {**params, **attrs}, out)


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


FUNCTIONS = functions(_draw, multinomial, shuffle, no_shape=None)
