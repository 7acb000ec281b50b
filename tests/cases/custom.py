"""Custom: an operator in Python."""

from __future__ import annotations

from typing import Any

import numpy as np

import ndarray_rt as mx
from ndarray_rt.testing.case import Case, Input


class Gated(mx.operator.CustomOp):
    """x * x * y."""

    def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        x, y = (array.asnumpy() for array in in_data)
        self.assign(out_data[0], req[0], x * x * y)

    def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any,
                 aux: Any) -> None:
        x, y = (array.asnumpy() for array in in_data)
        self.assign(in_grad[0], req[0], out_grad[0].asnumpy() * x * y * 2)
        self.assign(in_grad[1], req[1], out_grad[0].asnumpy() * x * x)


@mx.operator.register("cases_gated")
class GatedProp(mx.operator.CustomOpProp):
    def list_arguments(self) -> list[str]:
        return ["x", "y"]

    def infer_shape(self, in_shape: Any) -> Any:
        whole = in_shape[0] or in_shape[1]
        return [whole, whole], [whole], []

    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Gated:
        return Gated()


CASES = [
    Case("Custom", {"op_type": "cases_gated"}, [Input(shape), Input(shape)],
         reference=lambda x, y: np.square(x) * y, dtypes=("float32", "float64"), native=False)
    for shape in ((3, 5), (2, 20, 3, 2))
]
