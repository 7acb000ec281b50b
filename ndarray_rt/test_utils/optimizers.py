"""compare_optimizer: whether two optimizers make the same steps."""

from __future__ import annotations

from typing import Any

from .. import nd
from ..errors import Unsupported
from .compare import assert_almost_equal, compare_ndarray_tuple
from .settings import default_context


def _drawn(shape: Any, dtype: Any, stype: str) -> Any:
    if stype != "default":
        raise Unsupported(f"compare_optimizer: {stype} arrays are not here: docs/porting.md")
    return nd.random.uniform(shape=shape, ctx=default_context(), dtype=dtype)


def compare_optimizer(opt1: Any, opt2: Any, shape: Any, dtype: Any, w_stype: str = "default",
                      g_stype: str = "default", rtol: float = 1e-4, atol: float = 1e-5,
                      compare_states: bool = True, ntensors: int = 1) -> None:
    """Steps weights of random numbers by both and compares them, and the states.

    With a list of `ntensors` shapes `opt2` steps all of them in one call, `opt1` one by one.
    Raises AssertionError where they differ by more than the tolerances.
    """
    shapes = shape if isinstance(shape, list) else [shape]
    weights = [_drawn(one, dtype, w_stype) for one in shapes]
    grads = [_drawn(one, dtype, g_stype) for one in shapes]
    others = [weight.copy() for weight in weights]
    # a rule may change the gradients that it is given
    more_grads = [grad.copy() for grad in grads]
    indices = list(range(len(shapes)))
    first = [opt1.create_state_multi_precision(i, w) for i, w in zip(indices, weights, strict=True)]
    second = [opt2.create_state_multi_precision(i, w) for i, w in zip(indices, others, strict=True)]
    for i, weight, grad, state in zip(indices, weights, grads, first, strict=True):
        opt1.update_multi_precision(i, weight, grad, state)
    if isinstance(shape, list):
        opt2.update_multi_precision(indices, others, more_grads, second)
    else:
        opt2.update_multi_precision(0, others[0], more_grads[0], second[0])
    for one, other, state, its in zip(weights, others, first, second, strict=True):
        if compare_states:
            compare_ndarray_tuple(state, its, rtol=rtol, atol=atol)
        assert_almost_equal(one, other, rtol=rtol, atol=atol)
