"""Custom: operators that users write in Python. Their base classes are in `operator`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np

from .._array.create import array, zeros
from .._array.interop import asnumpy
from .._array.layout import AnyArray
from .._array.ndarray import NDArray
from .._array.output import NumpyOutput
from ..context import cpu
from ..dtypes import DType, find_dtype
from ..errors import (
    CustomError,
    MXNetError,
    NameMismatch,
    ParameterError,
    ShapeError,
    TypeMismatch,
    shown,
    where,
)
from ..op.context import OpContext
from ..op.infer import ShapeList, TypeList, known, merge
from ..op.params import Params, attr_text, params_class, parse_shape, text
from ..op.registry import Emit, GradNode, OpDef, Shape, register
from .tape import STATE

# operators of one node that live at the same time: one per executor
SESSIONS = 64


class Kinds:
    """The operators that users have registered, by op_type."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def add(self, op_type: str, prop: Any) -> None:
        """A later one replaces an earlier one of the same name, as in MXNet."""
        self._made[op_type] = prop

    def forget(self, op_type: str) -> None:
        self._made.pop(op_type, None)

    def find(self, op_type: str, node: str | None) -> Any:
        found = self._made.get(op_type)
        if found is None:
            known_ones = ", ".join(sorted(self._made)) or "none"
            raise NameMismatch(f"{where('Custom', node)}: op_type {op_type!r} is not registered; "
                               f"there are: {known_ones}")
        return found


KINDS = Kinds()


class _UsersCode:
    """Turns errors of user code into MXNetErrors that say where they come from.

    Not a contextlib manager, which takes a RuntimeError caused by StopIteration for its own.
    """

    def __init__(self, op_type: str, what: str) -> None:
        self.source = f"{op_type}.{what}"

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, MXNetError):
            text = f"Custom: {self.source} raised {type(error).__name__}: {error}"
            raise CustomError.of(text, error) from error


@params_class
class CustomParams(Params):
    """op_type and the user's parameters as strings, with the user's objects.

    The object that describes the operator is made once per node or call; the one that computes,
    once per executor, for its forward and backward.
    """

    op_type: str = text(doc="the name that the operator is registered under")

    @classmethod
    def parse(cls, attrs: Mapping[str, object], op: str,
              node: str | None = None) -> CustomParams:
        given = {name: value if isinstance(value, str) else attr_text(value)
                 for name, value in attrs.items()
                 if not (name.startswith("__") and name.endswith("__"))}
        op_type = given.pop("op_type", None)
        if op_type is None:
            raise ParameterError(f"{where(op, node)}: required parameter 'op_type' is missing (a "
                                 "string: the name that the operator is registered under)")
        made = cls(op_type=op_type)
        with _UsersCode(op_type, "__init__"):
            prop = KINDS.find(op_type, node)(**given)
        made.__dict__.update(_given=tuple(sorted(given.items())), prop=prop, _operators={},
                             inputs=_names(prop, op_type, "list_arguments"),
                             outputs=_names(prop, op_type, "list_outputs"),
                             aux=_names(prop, op_type, "list_auxiliary_states"))
        return made

    def _key(self) -> tuple[Any, ...]:
        return self.op_type, self.__dict__["_given"]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CustomParams) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def to_attrs(self) -> dict[str, str]:
        return {"op_type": self.op_type, **dict(self.__dict__["_given"])}

    @property
    def prop(self) -> Any:
        return self.__dict__["prop"]

    @property
    def names(self) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """Inputs, outputs, aux states."""
        own = self.__dict__
        return own["inputs"], own["outputs"], own["aux"]

    def operator(self, session: object, inputs: Sequence[AnyArray]) -> Any:
        """The object that computes in one executor, for inputs of these shapes and dtypes."""
        operators: dict[Any, Any] = self.__dict__["_operators"]
        shapes = tuple(x.shape for x in inputs)
        types = tuple(x.dtype for x in inputs)
        key = (session, shapes, types)
        found = operators.get(key)
        if found is None:
            while len(operators) >= SESSIONS:
                operators.pop(next(iter(operators)))
            with _UsersCode(self.op_type, "create_operator"):
                found = self.prop.create_operator(
                    cpu(), [list(shape) for shape in shapes], [dtype.type for dtype in types])
            if not (hasattr(found, "forward") and hasattr(found, "backward")):
                raise TypeMismatch(f"Custom: {self.op_type}.create_operator gave {shown(found)}, "
                                   "expected a CustomOp")
            operators[key] = found
        return found


def _names(prop: Any, op_type: str, what: str) -> tuple[str, ...]:
    """The names that a list_... method of the user's class returns."""
    with _UsersCode(op_type, what):
        given = getattr(prop, what)()
    if not isinstance(given, (list, tuple)) or not all(isinstance(name, str) for name in given):
        raise TypeMismatch(f"Custom: {op_type}.{what} gave {shown(given)}, expected a list of "
                           "names")
    return tuple(given)


# ---- rules --------------------------------------------------------------------------------------


def _split(p: CustomParams, ins: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Inputs, aux states."""
    count = len(p.names[0])
    return list(ins[:count]), list(ins[count:])


def _answer(p: CustomParams, what: str, given: list[Any]) -> tuple[list[Any], ...]:
    """The result of the user's infer_shape or infer_type: inputs, outputs, aux states."""
    with _UsersCode(p.op_type, what):
        made = getattr(p.prop, what)(given)
    if not isinstance(made, (list, tuple)) or len(made) not in (2, 3):
        raise ShapeError(f"{p.op_type}.{what} gave {made!r}, expected 2 or 3 lists")
    if not all(isinstance(part, (list, tuple)) for part in made):
        raise ShapeError(f"{p.op_type}.{what} gave {shown(made)}, expected 2 or 3 lists")
    lists = [list(part) for part in made] + [[]] * (3 - len(made))
    for part, names, kind in zip(lists, p.names, ("inputs", "outputs", "aux states"),
                                 strict=True):
        if len(part) != len(names):
            raise ShapeError(f"{p.op_type}.{what} gave {len(part)} {kind}, expected {len(names)}: "
                             f"{', '.join(names)}")
    return tuple(lists)


def _infer_shape(p: CustomParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    given, aux = _split(p, ins)
    whole = all(known(shape) for shape in given)
    if given and not any(known(shape) for shape in given):
        return ins, outs
    try:
        # MXNet's marks for unknown: no dimensions, or 0
        asked = [[] if s is None else [max(dim, 0) for dim in s] if not known(s) else list(s)
                 for s in given]
        lists = _answer(p, "infer_shape", asked)
    except Exception:
        if whole:
            raise
        return ins, outs

    def read(shape: Any) -> Shape | None:
        dims = _dims(p, shape)
        if whole:
            return dims
        return tuple(dim if dim > 0 else -1 for dim in dims) or None
    made_in, made_out, made_aux = ([read(shape) for shape in part] for part in lists)
    found = [merge(a, b, f"{p.op_type}: shapes of an input") for a, b in
             zip([*given, *aux], [*made_in, *made_aux], strict=True)]
    return found, [merge(a, b, f"{p.op_type}: shapes of an output") for a, b in
                   zip(outs, made_out, strict=True)]


def _dims(p: CustomParams, shape: Any) -> Shape:
    try:
        return parse_shape(shape)
    except (TypeError, ValueError, OverflowError):
        raise ShapeError(f"{p.op_type}.infer_shape gave {shown(shape)} as a shape, expected "
                         "ints") from None


def _infer_type(p: CustomParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    given, _ = _split(p, ins)
    if given and all(dtype is None for dtype in given):
        return ins, outs
    try:
        lists = _answer(p, "infer_type", [None if d is None else d.type for d in given])
    except Exception:
        if None not in given:
            raise
        return ins, outs

    def read(dtype: Any) -> DType | None:
        return None if dtype is None else find_dtype(dtype)
    made_in, made_out, made_aux = ([read(dtype) for dtype in part] for part in lists)
    return ([a if b is None else b for a, b in zip(ins, [*made_in, *made_aux], strict=True)],
            [a if b is None else b for a, b in zip(outs, made_out, strict=True)])


# ---- running ------------------------------------------------------------------------------------


@contextmanager
def _modes(is_train: bool, name: str) -> Iterator[None]:
    """User code is not recorded: its gradient is user code too."""
    before = STATE.recording, STATE.training, STATE.custom
    STATE.recording, STATE.training, STATE.custom = False, is_train, name
    try:
        yield
    finally:
        STATE.recording, STATE.training, STATE.custom = before


def _arrays(values: Sequence[AnyArray]) -> list[NDArray]:
    return [array(value, None, value.dtype) for value in values]


def _blank(outs: Sequence[NumpyOutput]) -> list[NDArray]:
    return [zeros(out.array.shape, None, out.array.dtype) for out in outs]


def _requests(outs: Sequence[NumpyOutput]) -> list[str]:
    # kAddTo is done afterwards
    return ["write" if out.requested else "null" for out in outs]


def _give(made: Sequence[NDArray], outs: Sequence[NumpyOutput]) -> None:
    for value, out in zip(made, outs, strict=True):
        if out.requested:
            out.write(asnumpy(value))


def _keep(states: Sequence[NDArray], targets: Sequence[AnyArray]) -> None:
    for state, target in zip(states, targets, strict=True):
        target[...] = asnumpy(state)


def _compute(ctx: OpContext, p: CustomParams, ins: list[AnyArray],
             outs: list[NumpyOutput]) -> None:
    given, states = _split(p, ins)
    made, aux = _blank(outs), _arrays(states)
    with _modes(ctx.is_train, p.op_type), _UsersCode(p.op_type, "forward"):
        p.operator(ctx.session, given).forward(
            is_train=ctx.is_train, req=_requests(outs), in_data=_arrays(given), out_data=made,
            aux=aux)
    _give(made, outs)
    _keep(aux, states)


# ---- gradient -----------------------------------------------------------------------------------


@params_class
class BackwardParams(Params):
    """The operator whose gradient is computed, and the positions of its inputs among these."""

    forward: CustomParams = dataclasses.field(metadata={
        "doc": "the operator", "wants": "its parameters", "parse": lambda value: value,
        "check": None})

    def __hash__(self) -> int:
        return hash(self.forward)

    @property
    def names(self) -> tuple[str, ...]:
        inputs, outputs, aux = self.forward.names
        return (*(f"grad_{name}" for name in outputs), *(f"in_{name}" for name in inputs),
                *(f"out_{name}" for name in outputs), *(f"aux_{name}" for name in aux))

    def parts(self, values: Sequence[Any]) -> tuple[list[Any], ...]:
        """Gradients of outputs, inputs, outputs, aux states."""
        n_in, n_out = len(self.forward.names[0]), len(self.forward.names[1])
        ends = (0, n_out, n_out + n_in, 2 * n_out + n_in, len(self.names))
        return tuple(list(values[a:b]) for a, b in pairwise(ends))

    @property
    def ignored(self) -> tuple[int, ...]:
        """Positions that the user's backward does not depend on."""
        grads, inputs, outputs, _ = self.parts(range(len(self.names)))
        needed = set(self.forward.prop.declare_backward_dependency(grads, inputs, outputs))
        return tuple(i for i in (*grads, *inputs, *outputs) if i not in needed)

    @property
    def states(self) -> tuple[int, ...]:
        return tuple(self.parts(range(len(self.names)))[3])


def _backward_shape(p: BackwardParams, ins: ShapeList, outs: ShapeList,
                    ) -> tuple[ShapeList, ShapeList]:
    inputs = p.parts(ins)[1]
    return ins, [merge(a, b) for a, b in zip(outs, inputs, strict=True)]


def _backward_type(p: BackwardParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    return ins, list(p.parts(ins)[1])


def _compute_backward(ctx: OpContext, p: BackwardParams, ins: list[AnyArray],
                      outs: list[NumpyOutput]) -> None:
    ignored = p.ignored
    values = [np.zeros_like(x) if i in ignored else x for i, x in enumerate(ins)]
    grads, inputs, outputs, states = p.parts(values)
    made, aux = _blank(outs), _arrays(states)
    op_type = p.forward.op_type
    with _modes(ctx.is_train, f"_backward_{op_type}"), _UsersCode(op_type, "backward"):
        p.forward.operator(ctx.session, inputs).backward(
            req=_requests(outs), out_grad=_arrays(grads), in_data=_arrays(inputs),
            out_data=_arrays(outputs), in_grad=made, aux=aux)
    _give(made, outs)
    _keep(aux, p.parts(ins)[3])


def _gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> Sequence[Any]:
    p: CustomParams = node.params
    inputs, aux = _split(p, node.inputs)
    params = BackwardParams(forward=p)
    # a gradient that is not read is replaced by an array of its shape, as a loss needs none
    grads = [out if i in params.ignored else grad
             for i, (grad, out) in enumerate(zip(out_grads, node.outputs, strict=True))]
    made = emit("_backward_Custom", params, *grads, *inputs, *node.outputs, *aux)
    return [*made, *[None] * len(aux)]


def _aux_positions(p: CustomParams) -> tuple[int, ...]:
    inputs, _, aux = p.names
    return tuple(range(len(inputs), len(inputs) + len(aux)))


CUSTOM = register(OpDef(
    "Custom", CustomParams, inputs=lambda p: p.names[0], outputs=lambda p: p.names[1],
    aux=lambda p: p.names[2], takes_any=True, infer_shape=_infer_shape, infer_type=_infer_type,
    compute=_compute, gradient=_gradient, mutates=_aux_positions, is_random=True, pure=False,
    names_data=True,
    doc="An operator that is written in Python and registered with mx.operator.register.\n\n"
        "op_type names it; all other parameters go to its class as strings. Inputs, outputs, aux "
        "states, shapes and dtypes are what the class says; what it raises is the cause of a "
        "CustomError. Its code gets copies, is not recorded and never replayed. Source: MXNet's "
        "Custom."))
BACKWARD = register(OpDef(
    "_backward_Custom", BackwardParams, inputs=lambda p: p.names,
    outputs=lambda p: p.forward.names[0], infer_shape=_backward_shape, infer_type=_backward_type,
    compute=_compute_backward, ignores=lambda p: p.ignored, mutates=lambda p: p.states,
    is_random=True, is_backward=True, pure=False,
    no_gradient="it is the user's code",
    doc="The gradient of Custom: the user's backward."))
