"""Post-ops: what a primitive does to its result before writing it. Runs no primitive.

A chain of them is a string, so that it can be a parameter: "add,relu" adds the next operand and
then takes the positive part; "clip:0:6" has an alpha of 0 and a beta of 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ...dtypes import DType
from ...errors import ParameterError, ShapeError
from ...native import lib
from ...op.elementwise import Chain, PostOp
from ...op.infer import merge
from ...op.params import Params
from ...op.registry import Shape
from ...storage.desc import MemDesc, default_desc
from ...storage.primitive import SUM_POST, PostSpec, binary_post, eltwise_post
from ...value_key import same_value
from ..tensor.numeric import erf, sigmoid


def _gelu_tanh(x: AnyArray) -> AnyArray:
    made: AnyArray = 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))
    return made


def _relu(x: AnyArray, slope: float) -> AnyArray:
    made: AnyArray = np.where(x > 0, x, x * slope) if slope else np.maximum(x, 0)
    return made


# name -> (oneDNN's algorithm, the function)
ELTWISE: dict[str, tuple[int, Callable[[AnyArray, float, float], Any]]] = {
    "relu": (lib.NDRT_ELTWISE_RELU, lambda x, a, b: _relu(x, a)),
    "tanh": (lib.NDRT_ELTWISE_TANH, lambda x, a, b: np.tanh(x)),
    "elu": (lib.NDRT_ELTWISE_ELU,
            lambda x, a, b: np.where(x > 0, x, a * np.expm1(np.minimum(x, 0)))),
    "square": (lib.NDRT_ELTWISE_SQUARE, lambda x, a, b: np.square(x)),
    "abs": (lib.NDRT_ELTWISE_ABS, lambda x, a, b: np.abs(x)),
    "sqrt": (lib.NDRT_ELTWISE_SQRT, lambda x, a, b: np.sqrt(x)),
    "linear": (lib.NDRT_ELTWISE_LINEAR, lambda x, a, b: a * x + b),
    "softrelu": (lib.NDRT_ELTWISE_SOFT_RELU, lambda x, a, b: np.logaddexp(a * x, 0) / a),
    "sigmoid": (lib.NDRT_ELTWISE_LOGISTIC, lambda x, a, b: sigmoid(x)),
    "gelu_tanh": (lib.NDRT_ELTWISE_GELU_TANH, lambda x, a, b: _gelu_tanh(x)),
    "gelu": (lib.NDRT_ELTWISE_GELU_ERF, lambda x, a, b: 0.5 * x * (1 + erf(x / np.sqrt(2.0)))),
    "swish": (lib.NDRT_ELTWISE_SWISH, lambda x, a, b: x * sigmoid(a * x)),
    "clip": (lib.NDRT_ELTWISE_CLIP, lambda x, a, b: np.clip(x, a, b)),
    "hardsigmoid": (lib.NDRT_ELTWISE_HARDSIGMOID, lambda x, a, b: np.clip(a * x + b, 0, 1)),
    "hardswish": (lib.NDRT_ELTWISE_HARDSWISH, lambda x, a, b: x * np.clip(a * x + b, 0, 1)),
    "mish": (lib.NDRT_ELTWISE_MISH, lambda x, a, b: x * np.tanh(np.logaddexp(x, 0))),
}
BINARY: dict[str, tuple[int, Callable[[AnyArray, AnyArray], Any]]] = {
    "add": (lib.NDRT_BINARY_ADD, np.add),
    "sub": (lib.NDRT_BINARY_SUB, np.subtract),
    "mul": (lib.NDRT_BINARY_MUL, np.multiply),
    "div": (lib.NDRT_BINARY_DIV, np.divide),
}
FUNCTIONS = frozenset(ELTWISE)


@lru_cache(maxsize=1024)
def parse_chain(text: str) -> Chain:
    """The post-ops of a chain's string; ParameterError for a word that is none."""
    made = []
    for part in filter(None, text.split(",")):
        name, *numbers = part.split(":")
        if name not in ELTWISE and name not in BINARY:
            raise ParameterError(f"post_ops: {name!r} is none of "
                                 f"{', '.join([*ELTWISE, *BINARY])}")
        made.append(PostOp(name, *map(float, numbers)))
    return tuple(made)


def chain_of_params(p: Params) -> Chain:
    """What is done to the result of a layer with these parameters; () where they do not say."""
    return parse_chain(getattr(p, "post_ops", ""))


def chain_text(chain: Sequence[PostOp]) -> str:
    """The string of a chain; floats as they are."""
    return ",".join(op.name if same_value((op.alpha, op.beta), (0.0, 0.0))
                    else f"{op.name}:{op.alpha!r}:{op.beta!r}" for op in chain)


def num_operands(chain: Sequence[PostOp]) -> int:
    """How many tensors the chain takes."""
    return sum(op.has_operand for op in chain)


def apply_chain(chain: Chain, value: AnyArray, operands: Sequence[AnyArray]) -> AnyArray:
    """What the chain makes of `value`, in its dtype: the definition of correct."""
    left = iter(operands)
    for op in chain:
        made = (BINARY[op.name][1](value, next(left)) if op.has_operand
                else ELTWISE[op.name][1](value, op.alpha, op.beta))
        value = np.asarray(made).astype(value.dtype, copy=False)
    return value


def chain_bounds(chain: Chain) -> tuple[float, float] | None:
    """(low, high) where all that the chain does is to keep values between them, else None."""
    if not chain:
        return -math.inf, math.inf
    name, alpha, beta = chain[0]
    if len(chain) > 1 or name not in ("relu", "clip") or (name == "relu" and alpha):
        return None
    return (0.0, math.inf) if name == "relu" else (alpha, beta)


def post_specs(chain: Chain, dst: MemDesc, dtype: DType, shapes: Sequence[tuple[int, ...]],
               in_place: bool) -> list[PostSpec]:
    """Each post-op, for `make_primitive`.

    An operand of the result's own shape is read in the result's layout, a smaller one in the
    default layout. `in_place`: the first operand is what the destination holds.
    """
    made: list[PostSpec] = []
    left = iter(shapes)
    for op in chain:
        if not op.has_operand:
            made.append(eltwise_post(ELTWISE[op.name][0], op.alpha, op.beta))
            continue
        shape = next(left)
        if in_place and op.name == "add":
            in_place = False
            made.append(SUM_POST)
        else:
            made.append(binary_post(BINARY[op.name][0], operand_desc(shape, dst, dtype)))
    return made


def operand_desc(shape: tuple[int, ...], dst: MemDesc, dtype: DType) -> MemDesc:
    """The layout that a post-op reads its operand in."""
    return dst if shape == dst.dims else default_desc(dtype, shape)


def infer_operands(chain: Chain, shapes: Sequence[Shape | None], out: Shape | None,
                   ) -> tuple[list[Shape | None], Shape | None]:
    """Shapes of the operands and of the result; ShapeError where one does not broadcast to it."""
    ops = [op for op in chain if op.has_operand]
    if not ops:
        return [], out
    for op, shape in zip(ops, shapes, strict=True):
        if op.alpha:
            out = merge(out, shape, "shapes of operands and output")
    made = [out if op.alpha else shape for op, shape in zip(ops, shapes, strict=True)]
    for i, shape in enumerate(made):
        if shape is None or out is None or -1 in shape or -1 in out:
            continue
        if len(shape) != len(out) or any(a not in (1, b) for a, b in zip(shape, out, strict=True)):
            raise ShapeError(f"operand{i} has shape {shape}, expected {out} or one that "
                             "broadcasts to it")
    return made, out


def operand_names(chain: Sequence[PostOp]) -> tuple[str, ...]:
    """Names of the inputs that the chain takes."""
    return tuple(f"operand{i}" for i in range(num_operands(chain)))
