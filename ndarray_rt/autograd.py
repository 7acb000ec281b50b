"""autograd: recording computations and differentiating them.

    with autograd.record():
        loss = ((net - target) ** 2).sum()
    loss.backward()
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ._array.ndarray import NDArray
from ._array.req import parse_grad_req
from .errors import MXNetError, TypeMismatch
from .imperative import backward as _backward
from .imperative.function import PythonFunction, record_call
from .imperative.tape import STATE, entry_of, set_variable
from .op.infer import need_like
from .public import shows

__all__ = ["Function", "NDArray", "backward", "get_symbol", "grad", "is_recording", "is_training",
           "mark_variables", "pause", "predict_mode", "record", "set_recording", "set_training",
           "train_mode"]
__dir__ = shows(globals())


def is_recording() -> bool:
    """Are operator calls of this thread recorded?"""
    return STATE.recording


def is_training() -> bool:
    """Do Dropout, BatchNorm and their like behave as in training?"""
    return STATE.training


def set_recording(is_recording: bool) -> bool:
    """Switches recording on or off; gives the mode before."""
    before, STATE.recording = STATE.recording, bool(is_recording)
    return before


def set_training(train_mode: bool) -> bool:
    """Switches training mode on or off; gives the mode before."""
    before, STATE.training = STATE.training, bool(train_mode)
    return before


class _Scope:
    """Modes inside a `with`; None leaves a mode as it is."""

    __slots__ = ("_before", "_recording", "_training")

    def __init__(self, recording: bool | None, training: bool | None) -> None:
        self._recording = recording
        self._training = training
        self._before: list[tuple[bool, bool]] = []

    def __enter__(self) -> None:
        self._before.append((STATE.recording, STATE.training))
        if self._recording is not None:
            STATE.recording = self._recording
        if self._training is not None:
            STATE.training = self._training

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        STATE.recording, STATE.training = self._before.pop()


def record(train_mode: bool = True) -> _Scope:
    """A `with` block whose operator calls are recorded, in training mode unless told otherwise."""
    return _Scope(True, train_mode)


def pause(train_mode: bool = False) -> _Scope:
    """A `with` block whose operator calls are not recorded."""
    return _Scope(False, train_mode)


def train_mode() -> _Scope:
    """A `with` block in training mode; recording stays as it is."""
    return _Scope(None, True)


def predict_mode() -> _Scope:
    """A `with` block in inference mode; recording stays as it is."""
    return _Scope(None, False)


def mark_variables(variables: Any, gradients: Any, grad_reqs: str | Sequence[str] = "write",
                   ) -> None:
    """Makes arrays leaves whose gradients go to the arrays `gradients`."""
    if isinstance(variables, NDArray):
        variables, gradients = [variables], [gradients]
    if isinstance(grad_reqs, str):
        grad_reqs = [grad_reqs] * len(variables)
    if not len(variables) == len(gradients) == len(grad_reqs):
        raise MXNetError(f"mark_variables: got {len(variables)} variables, {len(gradients)} "
                         f"gradients and {len(grad_reqs)} requests")
    for variable, gradient, req in zip(variables, gradients, grad_reqs, strict=True):
        need_like(gradient, variable, "mark_variables: the gradient", "its variable")
        set_variable(variable, gradient, parse_grad_req(req))


def _heads(heads: Any, head_grads: Any) -> tuple[list[NDArray], list[NDArray | None]]:
    if isinstance(heads, NDArray):
        heads = [heads]
        head_grads = None if head_grads is None else (
            list(head_grads) if isinstance(head_grads, (list, tuple)) else [head_grads])
    if head_grads is None:
        head_grads = [None] * len(heads)
    elif isinstance(head_grads, NDArray):
        head_grads = [head_grads]
    if len(heads) != len(head_grads):
        raise MXNetError(f"heads and head_grads must be lists of the same length, got "
                         f"{len(heads)} and {len(head_grads)}")
    for array in [*heads, *(g for g in head_grads if g is not None)]:
        if not isinstance(array, NDArray):
            raise TypeMismatch(f"heads and head_grads must be NDArrays, "
                               f"got {type(array).__name__}")
    return list(heads), list(head_grads)


def backward(heads: Any, head_grads: Any = None, retain_graph: bool = False,
             train_mode: bool = True) -> None:
    """Computes the gradients of `heads` for all arrays with `attach_grad`.

    Each goes to its array's `.grad`, written or added as its `grad_req` says. `head_grads` are ones
    where not given. The graph is freed unless `retain_graph`.
    """
    _backward.backward(*_heads(heads, head_grads), retain_graph, train_mode)


def grad(heads: Any, variables: Any, head_grads: Any = None, retain_graph: bool | None = None,
         create_graph: bool = False, train_mode: bool = True) -> list[NDArray]:
    """The gradients of `heads` for `variables` as new arrays.

    With `create_graph` they can be differentiated again, if the operators' gradients can.
    `retain_graph` is `create_graph` where not given.
    """
    if isinstance(variables, NDArray):
        variables = [variables]
    if not variables:
        raise MXNetError("grad: variables cannot be an empty list")
    retain = create_graph if retain_graph is None else retain_graph
    found, grads = _heads(heads, head_grads)
    return _backward.grad(found, list(variables), grads, retain, create_graph, train_mode)


class Function:
    """A computation with a gradient of one's own: override `forward` and `backward`.

    Both take and give NDArrays. `backward` gets the gradients of all outputs and gives one for each
    input (None: zeros). What `forward` saves with `save_for_backward` is in `saved_tensors`.

        class Sigmoid(autograd.Function):
            def forward(self, x):
                y = 1 / (1 + nd.exp(-x))
                self.save_for_backward(y)
                return y

            def backward(self, dy):
                y, = self.saved_tensors
                return dy * y * (1 - y)

        y = Sigmoid()(x)
    """

    # on the class, for subclasses whose __init__ does not call this one's
    _used = False
    saved_tensors: tuple[NDArray, ...] = ()

    def save_for_backward(self, *args: NDArray) -> None:
        """Keeps arrays for `backward`."""
        self.saved_tensors = args

    def __call__(self, *inputs: NDArray) -> Any:
        if self._used:
            raise MXNetError("Each Function instance can only be called once. Create another "
                             "instance.")
        self._used = True
        for x in inputs:
            if not isinstance(x, NDArray):
                from .symbol.symbol import Symbol
                if isinstance(x, Symbol):
                    # a hybridized block is traced, while recording or not: its graph gets the
                    # operators of forward
                    return self.forward(*inputs)
                raise TypeMismatch(f"{type(self).__name__}: inputs must be NDArrays, "
                                   f"got {type(x).__name__}")
        with pause(STATE.training):
            made = self.forward(*inputs)
        several = isinstance(made, (list, tuple))
        for y in made if several else [made]:
            if not isinstance(y, NDArray):
                raise TypeMismatch(f"{type(self).__name__}: forward gave a {type(y).__name__}, "
                                   "expected NDArrays")
        # handles of their own: forward may give back an input
        outputs = [y.detach() for y in (made if several else [made])]
        record_call(PythonFunction(type(self).__name__, inputs, self.backward), inputs, outputs)
        return outputs if several else outputs[0]

    if TYPE_CHECKING:
        # with keywords type checkers let subclasses take as many arrays as they have
        def forward(self, *inputs: Any, **kwargs: Any) -> Any: ...
        def backward(self, *output_grads: Any, **kwargs: Any) -> Any: ...
    else:
        def forward(self, *inputs):
            """The outputs: an NDArray or a list of them."""
            raise NotImplementedError(f"{type(self).__name__} has no forward")

        def backward(self, *output_grads):
            """The gradients of the inputs: an NDArray or a list of them."""
            raise NotImplementedError(f"{type(self).__name__} has no backward")


def get_symbol(x: NDArray) -> Any:
    """The recorded history of x as a Symbol; its variables are called var0, var1, ..."""
    from .imperative.history import history
    from .symbol.symbol import Symbol
    entry = entry_of(x)
    if entry is None:
        raise MXNetError(_backward.NOT_RECORDED)
    return Symbol([history(entry)])
