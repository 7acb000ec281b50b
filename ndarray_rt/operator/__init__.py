"""mx.operator: operators that users write in Python, and what operators there are."""

from ..public import shows
from .arguments import OperatorArguments, get_all_registered_operators, get_operator_arguments
from .custom import CustomOp, CustomOpProp, register, unregister
from .python_op import NDArrayOp, NumpyOp, PythonOp

__all__ = [
    "CustomOp",
    "CustomOpProp",
    "NDArrayOp",
    "NumpyOp",
    "OperatorArguments",
    "PythonOp",
    "get_all_registered_operators",
    "get_operator_arguments",
    "register",
    "unregister",
]
__dir__ = shows(globals())
