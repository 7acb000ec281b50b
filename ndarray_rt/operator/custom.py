"""CustomOp and CustomOpProp: operators that users write in Python.

    @mx.operator.register("double")
    class DoubleProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Double()

    mx.nd.Custom(x, op_type="double")
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..errors import TypeMismatch, shown
from ..imperative.custom import KINDS

T = TypeVar("T", bound="type[CustomOpProp]")


class CustomOp:
    """What computes. Derive from it, and write results with `assign`."""

    def forward(self, is_train: bool, req: list[str], in_data: list[Any], out_data: list[Any],
                aux: list[Any]) -> None:
        """Fills `out_data`; `req` says for each output whether it is wanted."""

    def backward(self, req: list[str], out_grad: list[Any], in_data: list[Any],
                 out_data: list[Any], in_grad: list[Any], aux: list[Any]) -> None:
        """Fills `in_grad` with the gradients of the inputs."""

    def assign(self, dst: Any, req: str, src: Any) -> None:
        """Does with `src` what `req` asks for: 'null', 'write', 'inplace' or 'add'."""
        if req in ("write", "inplace"):
            dst[:] = src
        elif req == "add":
            dst[:] += src


class CustomOpProp:
    """What describes an operator: names, shapes, dtypes, and what its backward depends on.

    With `need_top_grad` false the gradients of the outputs are not read, as in a loss.
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad

    def infer_shape(self, in_shape: list[list[int]]) -> Any:
        """Shapes of the inputs, of the outputs, of the aux states. Every output is like the first
        input unless this is overridden."""
        return in_shape, [in_shape[0]] * len(self.list_outputs()), []

    def infer_type(self, in_type: list[Any]) -> Any:
        """Dtypes of the inputs, of the outputs, of the aux states: those of the first input."""
        first = in_type[0]
        return ([first if dtype is None else dtype for dtype in in_type],
                [first] * len(self.list_outputs()), [first] * len(self.list_auxiliary_states()))

    def infer_storage_type(self, in_stype: list[str]) -> Any:
        """Storage types of the inputs, of the outputs, of the aux states: "default", all of them.

        Nothing calls this, as there are no others; a class that extends it may.
        """
        dense = "default"
        return ([dense] * len(in_stype), [dense] * len(self.list_outputs()),
                [dense] * len(self.list_auxiliary_states()))

    def infer_storage_type_backward(self, ograd_stype: list[str], in_stype: list[str],
                                    out_stype: list[str], igrad_stype: list[str],
                                    aux_stype: list[str]) -> Any:
        """The same for backward, in the order of its parameters: "default", all of them."""
        return tuple(["default"] * len(stypes) for stypes in (
            ograd_stype, in_stype, out_stype, igrad_stype, aux_stype))

    def list_arguments(self) -> list[str]:
        """Names of the inputs."""
        return ["data"]

    def list_outputs(self) -> list[str]:
        """Names of the outputs."""
        return ["output"]

    def list_auxiliary_states(self) -> list[str]:
        """Names of the arrays that forward and backward may change."""
        return []

    def declare_backward_dependency(self, out_grad: list[int], in_data: list[int],
                                    out_data: list[int]) -> list[int]:
        """Those of the numbers given whose arrays backward reads."""
        return [*(out_grad if self.need_top_grad_ else []), *in_data, *out_data]

    def create_operator(self, ctx: Any, in_shapes: list[list[int]], in_dtypes: list[Any]) -> Any:
        """The CustomOp for inputs of these shapes and dtypes."""
        return CustomOp()


def register(reg_name: str) -> Callable[[T], T]:
    """A decorator that makes a CustomOpProp known as an op_type of Custom."""
    if not isinstance(reg_name, str):
        raise TypeMismatch(f"register: reg_name got {shown(reg_name)}, expected a string")

    def do_register(prop_cls: T) -> T:
        KINDS.add(reg_name, prop_cls)
        return prop_cls
    return do_register


def unregister(reg_name: str) -> None:
    """Forgets an op_type; symbols that were made with it keep it."""
    KINDS.forget(reg_name)
