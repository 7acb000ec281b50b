"""Checking a symbol's outputs and gradients against given numpy arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import nd
from .._array.ndarray import NDArray
from ..context import Context
from ..errors import no_storage
from .compare import Names, as_numpy, assert_almost_equal, check_symbol
from .settings import default_context
from .tolerances import Tolerance

FLOATS = (np.float16, np.float32, np.float64)


def check_dtype(dtype: Any, or_as_given: bool = True) -> None:
    """AssertionError unless dtype is a float's, or "asnumpy" where that is allowed."""
    if or_as_given and isinstance(dtype, str) and dtype == "asnumpy":
        return
    if dtype not in FLOATS:
        raise AssertionError(f"dtype got {dtype!r}, expected np.float16, np.float32 or np.float64"
                             + (' or "asnumpy"' if or_as_given else ""))


def as_array(value: Any, ctx: Context, dtype: Any) -> Any:
    """A numpy array as an NDArray of `dtype`, or of its own for "asnumpy"; others as they are."""
    if not isinstance(value, np.ndarray):
        return value
    own = isinstance(dtype, str) and dtype == "asnumpy"
    return nd.array(value, ctx=ctx, dtype=value.dtype if own else dtype)


def named(given: Any, names: Sequence[str], what: str) -> dict[str, Any]:
    """`given` by name: a dict with exactly these names, or a list in their order.

    ValueError for a dict with other names; AssertionError for anything else.
    """
    if isinstance(given, Mapping):
        if set(given) != set(names):
            raise ValueError(f"names of the symbol and of the given {what} do not match: "
                             f"{sorted(names)} and {sorted(given)}")
        return dict(given)
    if not isinstance(given, (list, tuple)):
        raise AssertionError(f"{what} got {type(given).__name__}, expected a list or dict")
    return dict(zip(names, given, strict=False))


def parse_location(sym: Any, location: Any, ctx: Context, dtype: Any) -> dict[str, NDArray]:
    """The values of all arguments as NDArrays by name."""
    found = named(location, sym.list_arguments(), "location")
    return {name: as_array(value, ctx, dtype) for name, value in sorted(found.items())}


def parse_aux_states(sym: Any, aux_states: Any, ctx: Context, dtype: Any,
                     ) -> dict[str, NDArray] | None:
    """The values of all aux states as NDArrays by name, None where none are given."""
    if aux_states is None:
        return None
    found = named(aux_states, sym.list_auxiliary_states(), "aux_states")
    return {name: as_array(np.asarray(as_numpy(value)), ctx, dtype)
            for name, value in found.items()}


def only_dense(stypes: Mapping[str, str | None] | None) -> None:
    """MXNetError for sparse storage types."""
    for name, stype in (stypes or {}).items():
        if stype not in (None, "default"):
            raise no_storage(stype, name)


def requests_of(grad_req: Any, names: Sequence[str]) -> dict[str, str]:
    """grad_req by name."""
    if isinstance(grad_req, str):
        return dict.fromkeys(names, grad_req)
    if isinstance(grad_req, (list, tuple)):
        return dict(zip(names, grad_req, strict=False))
    return dict(grad_req)


def assert_gradient(want: Any, got: NDArray, prior: Any, request: str, rtol: Tolerance,
                    atol: Tolerance, names: Names, equal_nan: bool = False) -> None:
    """`got` is what a backward with this request leaves of `prior` where the gradient is `want`."""
    if request == "write":
        assert_almost_equal(want, got, rtol, atol, names, equal_nan)
    elif request == "add":
        assert_almost_equal(want, got.asnumpy() - prior, rtol, atol, names, equal_nan)
    elif request == "null":
        assert_almost_equal(prior, got, rtol, atol, names, equal_nan)
    else:
        raise ValueError(f"{names[1]}: grad_req got {request!r}, expected 'write', 'add' or 'null'")


def simple_forward(sym: Any, ctx: Context | None = None, is_train: bool = False,
                   **inputs: Any) -> Any:
    """The outputs of a symbol as numpy arrays: one, or a list of several."""
    check_symbol(sym, "simple_forward")
    ctx = ctx or default_context()
    executor = sym.bind(ctx, args={name: nd.array(value) for name, value in inputs.items()})
    made = [out.asnumpy() for out in executor.forward(is_train=is_train)]
    return made[0] if len(made) == 1 else made


def check_symbolic_forward(sym: Any, location: Any, expected: Any, rtol: Tolerance = None,
                           atol: Tolerance = None, aux_states: Any = None,
                           ctx: Context | None = None, equal_nan: bool = False,
                           dtype: Any = np.float32) -> list[NDArray]:
    """Outputs of an inference run must be as expected; gives the outputs.

    `location` (all arguments), `expected` (outputs) and `aux_states` are lists in the symbol's
    order or dicts by name. `dtype` "asnumpy" keeps the dtypes of numpy arrays.
    Raises AssertionError, which names the output, and ValueError for names that do not match.
    """
    check_symbol(sym, "check_symbolic_forward")
    check_dtype(dtype)
    ctx = ctx or default_context()
    args = parse_location(sym, location, ctx, dtype)
    aux = parse_aux_states(sym, aux_states, ctx, dtype)
    outputs = sym.list_outputs()
    if isinstance(expected, Mapping):
        expected = [expected[name] for name in outputs]
    executor = sym.bind(ctx, args=args, grad_req="null", aux_states=aux)
    found: list[NDArray] = executor.forward(is_train=False)
    for name, want, got in zip(outputs, expected, found, strict=False):
        assert_almost_equal(want, got, rtol, atol, (f"EXPECTED_{name}", f"FORWARD_{name}"),
                            equal_nan=equal_nan)
    return found


def _head_gradients(out_grads: Any, ctx: Context, dtype: Any) -> Any:
    if out_grads is None:
        return None
    if isinstance(out_grads, Mapping):
        return {name: as_array(value, ctx, dtype) for name, value in out_grads.items()}
    if not isinstance(out_grads, Iterable):
        raise AssertionError(f"out_grads got {out_grads!r}, expected None, a list or a dict")
    return [as_array(value, ctx, dtype) for value in out_grads]


def check_symbolic_backward(sym: Any, location: Any, out_grads: Any, expected: Any,
                            rtol: Tolerance = None, atol: Tolerance = None, aux_states: Any = None,
                            grad_req: Any = "write", ctx: Context | None = None,
                            grad_stypes: Mapping[str, str | None] | None = None,
                            equal_nan: bool = False, dtype: Any = np.float32,
                            ) -> dict[str, NDArray]:
    """Gradients of a training run must be as expected; gives the gradient arrays by name.

    Only the arguments in `expected` have a gradient array. `grad_req` is honoured: with 'add' the
    expected gradient must have been added to random numbers, with 'null' these must still be there.
    Raises AssertionError, which names the argument.
    """
    check_symbol(sym, "check_symbolic_backward")
    check_dtype(dtype)
    only_dense(grad_stypes)
    ctx = ctx or default_context()
    args = parse_location(sym, location, ctx, dtype)
    aux = parse_aux_states(sym, aux_states, ctx, dtype)
    if isinstance(expected, (list, tuple)):
        expected = dict(zip(sym.list_arguments(), expected, strict=False))
    expected = dict(sorted(expected.items()))
    own = isinstance(dtype, str)
    priors = {name: np.random.normal(size=np.shape(as_numpy(value)))
              for name, value in expected.items()}
    # a gradient has its argument's dtype, whatever is expected comes as
    grads = {name: nd.array(prior, ctx=ctx, dtype=args[name].dtype if own else dtype)
             for name, prior in priors.items()}
    requests = requests_of(grad_req, sym.list_arguments())
    executor = sym.bind(ctx, args=args, args_grad=grads, grad_req=requests, aux_states=aux)
    executor.forward(is_train=True)
    executor.backward(_head_gradients(out_grads, ctx, dtype))
    for name, want in expected.items():
        assert_gradient(want, grads[name], priors[name].astype(grads[name].dtype),
                        requests.get(name, "null"), rtol, atol,
                        (f"EXPECTED_{name}", f"BACKWARD_{name}"), equal_nan)
    return grads


