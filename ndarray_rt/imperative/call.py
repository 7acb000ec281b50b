"""One operator call on arrays: parameters, inference, context. Records nothing.

Parsed parameters and inferred shapes are cached from the second call on.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._array.ndarray import NDArray
from .._array.req import Req
from ..dtypes import DType
from ..errors import NameMismatch, ShapeError, TypeMismatch, where
from ..np_shape import NumpyShapeScope
from ..op.context import INFERENCE, TRAINING, thread_context
from ..op.dispatch import dispatch
from ..op.infer import known, run_infer_shape, run_infer_type
from ..op.params import Params
from ..op.random_state import RandomState, random_state
from ..op.registry import OpDef
from ..value_key import float_key
from .kept import Kept

Facts = list[tuple[tuple[int, ...], DType]]

_params: Kept[Params] = Kept()
_facts: Kept[Facts] = Kept()
_SIMPLE = (int, bool, float, type(None))
# longest strings and tuples in cached keys, so that the cache is bounded in bytes; equal to that in
# native/replay/call_parameters.c
MOST_LETTERS, MOST_ITEMS = 256, 64


def parse(op: OpDef, attrs: Mapping[str, Any], name: str | None) -> Params:
    """The parameters of a call, cached if the attributes are plain values."""
    key: list[Any] = [op]
    for attr, value in attrs.items():
        kind = type(value)
        if kind is tuple:
            if len(value) > MOST_ITEMS or not all(type(item) is int for item in value):
                return _parse(op, attrs, name)
        elif kind is str:
            if len(value) > MOST_LETTERS:
                return _parse(op, attrs, name)
        elif kind not in _SIMPLE:
            return _parse(op, attrs, name)
        key += (attr, kind, float_key(value) if kind is float else value)
    index = tuple(key)
    found = _params.made.get(index)
    if found is None:
        found = _parse(op, attrs, name)
        if op.pure:
            _params.offer(index, found)
    return found


def _parse(op: OpDef, attrs: Mapping[str, Any], name: str | None) -> Params:
    return op.params.parse(attrs, op.name, name)


def infer_outputs(op: OpDef, params: Params, ins: Sequence[NDArray], name: str | None = None,
                  outs: Sequence[NDArray] = ()) -> Facts:
    """Shape and dtype of each output; raises if the inputs do not match.

    `outs` are given outputs; they determine the results of an operator without inputs.
    """
    hints = [(y.shape, y.dtype) for y in outs] if not ins else []
    key = (op, params, *[(x.shape, x.dtype) for x in ins], *hints)
    found = _facts.made.get(key)
    if found is None:
        found = _infer(op, params, ins, name, hints)
        if may_keep(op, params):
            _facts.offer(key, found)
    return found


def may_keep(op: OpDef, params: Params) -> bool:
    """Whether cache keys may contain these parameters: no objects of users, nothing long."""
    if not op.pure:
        return False
    for value in params.by_name().values():
        if len(value) > MOST_ITEMS if isinstance(value, tuple) else (
                isinstance(value, str) and len(value) > MOST_LETTERS):
            return False
    return True


def _infer(op: OpDef, params: Params, ins: Sequence[NDArray], name: str | None,
           hints: Facts) -> Facts:
    left = [None] * (len(op.output_names(params)) - len(hints))
    in_shapes = [x.shape for x in ins]
    # for an array made from nothing, a 0 in the shape is not an unknown dimension
    with NumpyShapeScope(None if ins or hints else True):
        shapes, out_shapes = run_infer_shape(op, params, in_shapes,
                                             [*(shape for shape, _ in hints), *left], name)
    in_types = [x.dtype for x in ins]
    types, out_types = run_infer_type(op, params, in_types,
                                      [*(dtype for _, dtype in hints), *left], name)
    names = (*op.input_names(params), *op.aux_names(params))
    for what, got, wanted in zip(names, in_shapes, shapes, strict=False):
        if wanted != got:
            raise ShapeError(f"{where(op.name, name)}: {what} has shape {got}, expected {wanted} "
                             "from the other inputs")
    for what, dtype, wants in zip(names, in_types, types, strict=False):
        if wants is not None and wants != dtype:
            raise TypeMismatch(f"{where(op.name, name)}: {what} has dtype {dtype}, expected "
                               f"{wants} from the other inputs")
    made: Facts = []
    for what, shape, out_type in zip(op.output_names(params), out_shapes, out_types, strict=True):
        if shape is None or not known(shape):
            raise ShapeError(f"{where(op.name, name)}: the shape of {what} can not be found from "
                             f"input shapes {in_shapes}")
        if out_type is None:
            raise TypeMismatch(f"{where(op.name, name)}: the dtype of {what} can not be found "
                               "from the inputs")
        made.append((shape, np.dtype(out_type)))
    return made


def check_inputs(op: OpDef, params: Params, ins: Sequence[Any], name: str | None) -> None:
    """Checks their number, and that all are arrays."""
    wanted = op.num_inputs(params)
    if len(ins) != wanted:
        names = _listed_names(op, params)
        raise NameMismatch(f"{where(op.name, name)}: takes {wanted} inputs{names}, got {len(ins)}")
    for i, x in enumerate(ins):
        if not isinstance(x, NDArray):
            what = (*op.input_names(params), *op.aux_names(params))[i]
            raise TypeMismatch(f"{where(op.name, name)}: {what} must be an NDArray, "
                               f"got {type(x).__name__}")


def _listed_names(op: OpDef, params: Params) -> str:
    """The names of the inputs in brackets; for counted inputs the parameter that counts them."""
    if op.num_args is not None:
        return f" ({op.num_args})"
    return f" ({', '.join((*op.input_names(params), *op.aux_names(params))) or 'none'})"


def check_count(op: OpDef, params: Params, given: int, name: str | None) -> None:
    """NameMismatch if the number of inputs differs from the parameter that counts them.

    Checked before names are made, as a wrong count would make any number of them.
    """
    if op.num_args is not None and given != op.num_inputs(params):
        raise NameMismatch(f"{where(op.name, name)}: takes {op.num_inputs(params)} inputs"
                           f"{_listed_names(op, params)}, got {given}")


class _Depth(threading.local):
    """The nesting depth of this thread's operator calls."""

    def __init__(self) -> None:
        self.depth = 0


_calls = _Depth()


def depth() -> int:
    """The nesting depth of this thread's operator calls."""
    return _calls.depth


def run_op(op: OpDef, params: Params, ins: Sequence[NDArray], outs: Sequence[NDArray],
           reqs: Sequence[Req], name: str | None, is_train: bool) -> None:
    """Dispatches in this thread's context; nested calls have contexts of their own."""
    depth = _calls.depth
    ctx = thread_context(depth)
    if op.is_random and not ctx.is_drawing_elsewhere:
        ctx.random = random_state((ins or outs)[0].ctx)
    _calls.depth = depth + 1
    try:
        dispatch(op, params, ctx, ins, outs, reqs, name, TRAINING if is_train else INFERENCE)
    finally:
        _calls.depth = depth


@contextmanager
def drawing_from(random: RandomState) -> Iterator[None]:
    """Inside it operators of this thread draw random numbers from this stream."""
    ctx = thread_context(_calls.depth)
    before = ctx.random, ctx.is_drawing_elsewhere
    ctx.random, ctx.is_drawing_elsewhere = random, True
    try:
        yield
    finally:
        ctx.random, ctx.is_drawing_elsewhere = before
