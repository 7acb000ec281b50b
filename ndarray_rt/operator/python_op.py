"""NumpyOp and NDArrayOp: MXNet's earlier forms of operators in Python, made of Custom."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

from .. import sym
from ..imperative.custom import KINDS
from .custom import CustomOp, CustomOpProp

NUMBERS = itertools.count()  # tell op_types of the same class apart


class PythonOp:
    """What NumpyOp and NDArrayOp have in common. An instance, called with symbols, is applied.

    Derive from one of the two and override methods.
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad
        warnings.warn(f"{type(self).__name__}: CustomOp has taken the place of NumpyOp and "
                      "NDArrayOp", DeprecationWarning, stacklevel=2)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.get_symbol(*args, **kwargs)

    def get_symbol(self, *args: Any, **kwargs: Any) -> Any:
        """The symbol of one application: inputs by position or by name, `name`, `attr`.

        It can be bound, but not saved: what it does is not in it.
        """
        op_type = f"{type(self).__name__}_{next(NUMBERS)}"
        KINDS.add(op_type, lambda: _Prop(self))
        try:
            return sym.Custom(*args, op_type=op_type, **kwargs)
        finally:
            KINDS.forget(op_type)

    def forward(self, in_data: list[Any], out_data: list[Any]) -> None:
        """Writes into the arrays of `out_data`; a copy of the first input unless overridden."""
        out_data[0][:] = in_data[0]

    def backward(self, out_grad: list[Any], in_data: list[Any], out_data: list[Any],
                 in_grad: list[Any]) -> None:
        """Writes into the arrays of `in_grad`; ones unless overridden."""
        in_grad[0][:] = 1.0

    def infer_shape(self, in_shape: list[list[int]]) -> Any:
        """Shapes of the inputs, and of the outputs."""
        return in_shape, [in_shape[0]]

    def list_outputs(self) -> list[str]:
        """Names of the outputs."""
        return ["output"]

    def list_arguments(self) -> list[str]:
        """Names of the inputs."""
        return ["data"]

    def need_top_grad(self) -> bool:
        """Backward reads gradients of the outputs."""
        return self.need_top_grad_

    def declare_backward_dependency(self, out_grad: list[int], in_data: list[int],
                                    out_data: list[int]) -> list[int]:
        """Those of the numbers given whose arrays backward reads."""
        return [*(out_grad if self.need_top_grad() else []), *in_data, *out_data]

    def _call(self, method: str, given: list[Any], made: list[Any]) -> None:
        """Runs `forward` or `backward` with lists of NDArrays; the last one is written."""
        getattr(self, method)(*given, made)


class NDArrayOp(PythonOp):
    """An operator whose forward and backward take lists of NDArrays."""


class NumpyOp(PythonOp):
    """An operator whose forward and backward take lists of numpy arrays, and write to the last."""

    def _call(self, method: str, given: list[Any], made: list[Any]) -> None:
        arrays = [[x.asnumpy() for x in part] for part in (*given, made)]
        getattr(self, method)(*arrays)
        for target, value in zip(made, arrays[-1], strict=True):
            target[:] = value


class _Prop(CustomOpProp):
    """A PythonOp as what Custom wants."""

    def __init__(self, op: PythonOp) -> None:
        super().__init__(op.need_top_grad())
        self.op = op

    def infer_shape(self, in_shape: list[list[int]]) -> Any:
        return self.op.infer_shape(in_shape)

    def list_arguments(self) -> list[str]:
        return self.op.list_arguments()

    def list_outputs(self) -> list[str]:
        return self.op.list_outputs()

    def declare_backward_dependency(self, out_grad: list[int], in_data: list[int],
                                    out_data: list[int]) -> list[int]:
        return self.op.declare_backward_dependency(out_grad, in_data, out_data)

    def create_operator(self, ctx: Any, in_shapes: list[list[int]], in_dtypes: list[Any]) -> Any:
        return _Op(self.op)


class _Op(CustomOp):
    def __init__(self, op: PythonOp) -> None:
        self.op = op

    def forward(self, is_train: bool, req: list[str], in_data: list[Any], out_data: list[Any],
                aux: list[Any]) -> None:
        self.op._call("forward", [in_data], out_data)

    def backward(self, req: list[str], out_grad: list[Any], in_data: list[Any],
                 out_data: list[Any], in_grad: list[Any], aux: list[Any]) -> None:
        self.op._call("backward", [out_grad, in_data, out_data], in_grad)
