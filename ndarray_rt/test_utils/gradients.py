"""Gradients by finite differences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import nd
from .. import sym as symbols
from ..context import Context
from ..executor import Executor
from .compare import as_numpy, check_symbol
from .settings import default_context
from .symbolic import (
    assert_gradient,
    check_dtype,
    only_dense,
    parse_aux_states,
    parse_location,
)
from .tolerances import Tolerance, default_numeric_eps, get_tolerance

Array = np.ndarray[Any, np.dtype[Any]]
PROJECTION = "__random_proj"


def numeric_grad(executor: Executor, location: Mapping[str, Any],
                 aux_states: Mapping[str, Any] | None = None, eps: float = 1e-4,
                 use_forward_train: bool = True, dtype: Any = np.float32) -> dict[str, Array]:
    """The slope of the sum of the first output along each element of each float argument.

    `location` are numpy arrays by name. Aux states begin at `aux_states` at each evaluation. The
    arguments of the executor hold `location` afterwards. Costs two forward runs an element.
    """
    check_dtype(dtype, or_as_given=False)
    points = {name: np.array(as_numpy(value), order="C") for name, value in location.items()}
    for name, value in points.items():
        executor.arg_dict[name][:] = value.astype(dtype)

    def evaluate(name: str, value: Array) -> Array:
        executor.arg_dict[name][:] = value.astype(dtype)
        for key, state in (aux_states or {}).items():
            executor.aux_dict[key][:] = state
        found: Array = executor.forward(is_train=use_forward_train)[0].asnumpy()
        return found

    slopes = {name: np.zeros(value.shape, dtype) for name, value in points.items()}
    for name, value in points.items():
        if value.dtype.kind != "f":
            continue
        flat = value.reshape(-1)
        for i in range(flat.size):
            middle = flat[i]
            flat[i] = middle + eps / 2
            above = evaluate(name, value)
            flat[i] = middle - eps / 2
            below = evaluate(name, value)
            flat[i] = middle
            slopes[name].reshape(-1)[i] = (above - below).sum() / eps
        executor.arg_dict[name][:] = value.astype(dtype)
    return slopes


def _requests(grad_nodes: Any, names: list[str]) -> dict[str, str]:
    if grad_nodes is None:
        return dict.fromkeys(names, "write")
    if isinstance(grad_nodes, Mapping):
        return dict(grad_nodes)
    if isinstance(grad_nodes, (list, tuple)):
        return dict.fromkeys(grad_nodes, "write")
    raise ValueError(f"grad_nodes got {grad_nodes!r}, expected None, a list or a dict")


def check_numeric_gradient(sym: Any, location: Any, aux_states: Any = None,
                           numeric_eps: Tolerance = None, rtol: Tolerance = None,
                           atol: Tolerance = None, grad_nodes: Any = None,
                           use_forward_train: bool = True, ctx: Context | None = None,
                           grad_stype_dict: Mapping[str, str] | None = None,
                           dtype: Any = np.float32) -> None:
    """A symbol's gradients must be its slopes, found by finite differences.

    The one output is multiplied by random weights and counted as a loss. `location` are all
    arguments, a list or dict of numpy arrays; `grad_nodes` the arguments to check: None for all, a
    list, or a dict of requests. Raises AssertionError, which names the argument.
    """
    check_symbol(sym, "check_numeric_gradient")
    check_dtype(dtype, or_as_given=False)
    only_dense(grad_stype_dict)
    ctx = ctx or default_context()
    args = parse_location(sym, location, ctx, dtype)
    points = {name: value.asnumpy() for name, value in args.items()}
    aux = parse_aux_states(sym, aux_states, ctx, dtype)
    states = None if aux is None else {name: value.asnumpy() for name, value in aux.items()}
    requests = _requests(grad_nodes, sym.list_arguments())
    shape = sym.infer_shape(**{name: value.shape for name, value in args.items()})[1][0]
    out = symbols.make_loss(sym * symbols.Variable(PROJECTION))
    args[PROJECTION] = nd.array(np.random.rand(*shape) + 0.1, ctx=ctx, dtype=dtype)
    priors = {name: np.random.normal(0, 0.01, size=args[name].shape) for name in requests}
    grads = {name: nd.array(prior, ctx=ctx, dtype=dtype) for name, prior in priors.items()}
    executor = out.bind(ctx, args=args, args_grad=grads, grad_req=requests, aux_states=aux)
    assert len(executor.outputs) == 1
    executor.forward(is_train=True)
    eps = get_tolerance(executor.outputs[0], numeric_eps, default_numeric_eps())
    if dtype != np.float64 and eps < 1e-5:
        raise AssertionError(f"numeric_eps={eps:g} is too small for {np.dtype(dtype)}")
    executor.backward()
    slopes = numeric_grad(executor, points, states, eps, use_forward_train, dtype)
    for name, request in requests.items():
        assert_gradient(slopes[name], grads[name], priors[name].astype(dtype), request, rtol, atol,
                        (f"NUMERICAL_{name}", f"BACKWARD_{name}"))
