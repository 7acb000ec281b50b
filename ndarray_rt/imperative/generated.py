"""nd.*: a function for every registered operator, made from its declaration on first access."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .._array.ndarray import NDArray
from ..errors import NameMismatch, where
from ..op.registry import OpDef, find
from ..op.signatures import Signature, check_name
from .call import check_count, parse
from .fast_call import NAMED
from .fast_call import call as fast_call
from .invoke import invoke, invoke_params

TRAILING = {"out": "An NDArray, or a list of them for several outputs: takes the results.",
            "name": "What errors call this call."}


def function_of(op_name: str, name: str) -> Callable[..., Any]:
    """The nd function of an operator that is registered as `op_name`, called `name`."""
    return make_function(find(op_name), name)


def make_function(op: OpDef, name: str) -> Callable[..., Any]:
    """The nd function of an operator: inputs, then parameters, by position or by name."""
    signature = Signature(op)
    n_inputs = -1 if signature.takes_any or callable(op.inputs) or callable(op.aux) else (
        len(signature.inputs))

    inputs = frozenset(signature.inputs)
    count = op.num_args
    by_place = signature.places[n_inputs:] if n_inputs >= 0 and not op.by_name else ()

    def call(*args: Any, out: Any = None, name: str | None = None, **kwargs: Any) -> Any:
        if count is not None and args and count not in kwargs:
            kwargs[count] = len(args)
        if by_place and len(args) > n_inputs:
            args, kwargs = named_parameters(args, kwargs)
        if len(args) != n_inputs and not inputs.isdisjoint(kwargs):
            found = in_order(args, kwargs)
            if found is not None:
                check_name(op, name)

                def by_name(op: OpDef, _: tuple[Any, ...], attrs: dict[str, Any],
                            out: Any) -> Any:
                    return slow(op, args, {**kwargs, **attrs}, out, name)
                return fast_call(op, *found, out, by_name, NAMED)
        if name is None:
            return fast_call(op, args, kwargs, out, slow)
        check_name(op, name)

        def named(op: OpDef, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
            return slow(op, args, kwargs, out, name)
        return fast_call(op, args, kwargs, out, named)

    def in_order(args: tuple[Any, ...], kwargs: dict[str, Any],
                 ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """Inputs and parameters, if the first inputs are given by position and the next by name."""
        attrs = dict(kwargs)
        given = list(args)
        for key in signature.inputs[len(args):]:
            if key not in attrs:
                break
            given.append(attrs.pop(key))
        return (tuple(given), attrs) if inputs.isdisjoint(attrs) else None

    def named_parameters(args: tuple[Any, ...], kwargs: dict[str, Any],
                         ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Converts positional parameters to named ones, if all arguments are valid."""
        given = dict(zip(by_place, args[n_inputs:], strict=False))
        if len(given) != len(args) - n_inputs or not given.keys().isdisjoint(kwargs):
            return args, kwargs
        return args[:n_inputs], {**given, **kwargs}

    def slow(op: OpDef, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any,
             name: str | None = None) -> Any:
        if len(args) == n_inputs and inputs.isdisjoint(kwargs):
            for value in args:
                if not isinstance(value, NDArray):
                    break
            else:
                return invoke(op, args, kwargs, out, name)
        given, named, attrs = signature.split(args, kwargs, NDArray)
        if not named:
            return invoke(op, given, attrs, out, name)
        all_by_place = (inputs.isdisjoint(kwargs)
                        and all(isinstance(value, NDArray) for value in args))
        by_place = list(args) if all_by_place else []
        return _call_by_name(op, named, by_place, attrs, out, name)

    call.__name__ = call.__qualname__ = name
    call.__module__ = "ndarray_rt.nd"
    call.__doc__ = signature.docstring("NDArray", TRAILING)
    call.__signature__ = signature.python(("out", "name"))  # type: ignore[attr-defined]
    return call


def _call_by_name(op: OpDef, named: Mapping[str, NDArray], by_place: list[NDArray],
                  attrs: dict[str, Any], out: Any, name: str | None) -> Any:
    if "ctx" in attrs and "ctx" not in op.params.__dataclass_fields__:
        attrs = {key: value for key, value in attrs.items() if key != "ctx"}
    params = parse(op, attrs, name)
    check_count(op, params, len(named), name)
    names = (*op.input_names(params), *op.aux_names(params))
    missing = [key for key in names if key not in named]
    unknown = [key for key in named if key not in names]
    if (missing or unknown) and len(by_place) == len(names):
        # an input that these parameters do not need takes no position, as in MXNet
        return invoke_params(op, params, by_place, out, name)
    if missing or unknown:
        text = f"{where(op.name, name)}: takes the inputs {', '.join(names) or '(none)'}"
        if by_place:
            text += f"; got {len(by_place)} by position, expected {len(names)}"
            missing, unknown = list(names[len(by_place):]), []
        if missing:
            text += f"; missing: {', '.join(missing)}"
        if unknown:
            text += f"; not among them: {', '.join(unknown)}"
        raise NameMismatch(text)
    return invoke_params(op, params, [named[key] for key in names], out, name)
