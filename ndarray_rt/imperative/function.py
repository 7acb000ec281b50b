"""Records computations whose gradient is Python code.

Used by autograd.Function, and for whole graphs that run as one call under the tape.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import field
from functools import lru_cache
from typing import Any

from .._array.access import Access
from .._array.copy import copy_into
from .._array.create import array, full, zeros
from .._array.interop import asnumpy
from .._array.layout import AnyArray
from .._array.ndarray import NDArray
from .._array.output import NumpyOutput
from .._array.req import Req
from ..context import Context
from ..dtypes import DType
from ..errors import NameMismatch, ShapeError, TypeMismatch, shown
from ..op.context import OpContext
from ..op.infer import ShapeList, TypeList
from ..op.params import Params, params_class
from ..op.registry import Emit, GradNode, OpDef, register
from ..symbol.node import Entry
from .dependency import Needs
from .tape import STATE, TapeNode, needs_record, record

# shape, dtype, context
ArrayFacts = tuple[tuple[int, ...], DType, Context | None]


class PythonCall(ABC):
    """One recorded computation. What it keeps for its gradient lives as long as the graph."""

    # for calls similar to earlier ones: what they have in common
    kind: Any = None

    def __init__(self, name: str, inputs: Sequence[NDArray]) -> None:
        self.name = name
        self.facts = [(x.shape, x.dtype) for x in inputs]

    @abstractmethod
    def backward(self, out_grads: Sequence[NDArray], outs: Sequence[NDArray],
                 reqs: Sequence[Req]) -> None:
        """Stores the gradients of the inputs in `outs`, as `reqs` say.

        `out_grads` are those of all outputs. At least one request is not kNullOp.
        """

    @property
    def inlined(self) -> Sequence[Entry] | None:
        """The outputs of the graph that a history shows in place of the call, or None."""
        return None

    def own_gradient(self, position: int) -> NDArray | None:
        """The array in which `backward` computes the gradient of an input, if it has one.

        Its contents are valid until the next backward. `outs` may contain it, which saves a copy.
        """
        return None

    def replay_backward(self, out_grad: NDArray) -> bool:
        """`backward` by replay, for a call similar to an earlier one with one output, into the
        arrays of that backward or those of `own_gradient`. Returns False and does nothing if
        `backward` has to be called."""
        return False

    def ones(self, position: int, like: ArrayFacts) -> NDArray:
        """The gradient of an output that has none but its own."""
        shape, dtype, ctx = like
        return full(shape, 1, ctx, dtype)


class PythonFunction(PythonCall):
    """A PythonCall that wraps a function from output gradients to input gradients."""

    def __init__(self, name: str, inputs: Sequence[NDArray], function: Any) -> None:
        super().__init__(name, inputs)
        self._function = function

    def backward(self, out_grads: Sequence[NDArray], outs: Sequence[NDArray],
                 reqs: Sequence[Req]) -> None:
        made = self._function(*out_grads)
        grads = list(made) if isinstance(made, (list, tuple)) else [made]
        for grad in grads:
            if grad is not None and not isinstance(grad, NDArray):
                raise TypeMismatch(f"{self.name}.backward gave {shown(grad)}, expected NDArrays")
        if len(grads) != len(outs):
            raise NameMismatch(f"{self.name}.backward gave {len(grads)} gradients, expected "
                               f"{len(outs)}: one for each input of forward")
        for grad, out, req in zip(grads, outs, reqs, strict=True):
            if req != Req.kNullOp:
                self._give(grad, out, req)

    def _give(self, grad: NDArray | None, out: NDArray, req: Req) -> None:
        if grad is None:
            grad = zeros(out.shape, out.ctx, out.dtype)
        if grad.shape != out.shape:
            raise ShapeError(f"{self.name}.backward gave a gradient of shape {grad.shape}, "
                             f"expected {out.shape} from the input")
        if needs_record((grad,)):
            grad.copyto(out)  # recorded, for a gradient of the gradient
            return
        with Access(read=(grad,), written=(out,)) as stream:
            copy_into(grad, out, stream, add=req == Req.kAddTo)


@params_class
class FunctionParams(Params):
    call: PythonCall = field(metadata={"doc": "the recorded computation", "wants": "a PythonCall",
                                       "parse": lambda value: value, "check": None})


def _input_names(p: FunctionParams) -> tuple[str, ...]:
    return tuple(f"input{i}" for i in range(len(p.call.facts)))


def _infer_shape(p: FunctionParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    return ins, [shape for shape, _ in p.call.facts]


def _infer_type(p: FunctionParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    return ins, [dtype for _, dtype in p.call.facts]


def _compute(ctx: OpContext, p: FunctionParams, ins: list[AnyArray],
             outs: list[NumpyOutput]) -> None:
    """Used if only NumPy arrays are available; the tape calls `backward` itself."""
    grads = [zeros(shape, None, dtype) for shape, dtype in p.call.facts]
    p.call.backward([array(dy, None, dy.dtype) for dy in ins], grads,
                    [Req.kWriteTo if out.requested else Req.kNullOp for out in outs])
    for out, grad in zip(outs, grads, strict=True):
        if out.requested:
            out.write(asnumpy(grad))


def _refuse(ctx: OpContext, p: FunctionParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    raise NameMismatch(f"{p.call.name}: ran when it was recorded and can not be run again")


def _gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> Sequence[Any]:
    return emit("_backward_function", node.params, *out_grads)


BACKWARD = register(OpDef(
    "_backward_function", FunctionParams, inputs=("out_grads",), outputs=_input_names,
    infer_shape=_infer_shape, infer_type=_infer_type, compute=_compute, is_backward=True,
    pure=False, no_gradient="its own steps are recorded instead",
    doc="The gradient of a recorded Python computation, one output for each of its inputs."))


def record_like(operator: OpDef, call: PythonCall, entries: list[Entry],
                outputs: Sequence[NDArray]) -> None:
    """`record_call` for inputs with these entries; `operator` comes from `operator_of`."""
    params = _new_params(FunctionParams)
    params.__dict__["call"] = call
    node = TapeNode(operator, params, entries, "", outputs)
    for i, y in enumerate(outputs):
        y._entry = _new_entry(Entry, (node, i))


_new_params, _new_entry = object.__new__, tuple.__new__


def record_call(call: PythonCall, inputs: Sequence[NDArray], outputs: Sequence[NDArray]) -> None:
    """Puts a computation on the tape, if recording and if an input has a gradient."""
    if needs_record(inputs):
        record(operator_of(call.name, len(outputs)), FunctionParams(call=call), inputs, outputs,
               needs=_NOTHING)


_NOTHING = Needs(frozenset(), frozenset(), frozenset())


@lru_cache(maxsize=256)
def operator_of(name: str, outputs: int) -> OpDef:
    """The operator that the tape shows for a computation. Not registered, so nobody can call it."""
    return OpDef(name, FunctionParams, inputs=_input_names,
                 outputs=tuple(f"output{i}" for i in range(outputs)),
                 infer_shape=_infer_shape, infer_type=_infer_type, compute=_refuse,
                 gradient=_gradient)


def run_backward(params: FunctionParams, ins: Sequence[NDArray], outs: Sequence[NDArray],
                 reqs: Sequence[Req], train_mode: bool) -> None:
    """Runs the Python code of a gradient in the given mode; it takes its own leases."""
    if all(req == Req.kNullOp for req in reqs):
        return
    training = STATE.training
    STATE.training = train_mode
    try:
        params.call.backward(ins, outs, reqs)
    finally:
        STATE.training = training

