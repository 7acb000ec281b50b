"""Two operators of one's own, registered and tested: pytest examples/test_my_operator.py

The first is NumPy alone. The second computes with oneDNN, in whatever layout its input has; its
NumPy form is then what is right, and what runs when oneDNN can not. `check_operator` puts both
through every kind of memory, request, runtime and dtype.
"""

from __future__ import annotations

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import op
from ndarray_rt.testing import Input, check_consistency, check_gradient, check_operator

# ---- cubic: y = x^3 + shift, in NumPy ---------------------------------------------------------


@op.params_class
class CubicParams(op.Params):
    shift: float = op.number(0.0, doc="what is added to the cube")


def cubic(ctx, p, ins, outs):
    outs[0].write(ins[0] ** 3 + np.asarray(p.shift, ins[0].dtype))


def cubic_gradient(emit, node, out_grads):
    """dx = 3 x^2 dy, made of operators that exist: so it serves graphs and autograd."""
    square = emit("square", None, node.inputs[0])
    slope = emit("_mul_scalar", {"scalar": 3.0}, *square)
    return emit("elemwise_mul", None, out_grads[0], *slope)


op.register(op.OpDef(
    "my_cubic", CubicParams, inputs=("data",), infer_shape=op.same_shape, infer_type=op.same_type,
    compute=cubic, gradient=cubic_gradient, doc="The cube of each element, plus `shift`."))


# ---- bounded: y = min(max(x, 0), 6), on oneDNN ------------------------------------------------


def bounded(ctx, p, ins, outs):
    outs[0].write(np.clip(ins[0], 0, 6))


def refuses(p, ins):
    """Why oneDNN may not, or None: then NumPy computes it, and the reason is counted."""
    return op.need_float32(*ins)


def bounded_ex(ctx, p, ins, outs):
    x = op.get_data(ins[0], ctx.stream)  # in the layout that it has

    def build():
        return op.make_primitive(op.Kind.ELTWISE, op.Direction.FORWARD_INFERENCE,
                                 alg=op.lib.NDRT_ELTWISE_CLIP, alpha=0.0, beta=6.0, src=x.desc,
                                 dst=x.desc)
    # all that the primitive depends on is in its signature
    primitive = ctx.primitive(("my_bounded", x.desc.id), build)
    with outs[0].open(x.desc, ctx.stream, inplace_of=x) as y:  # does what the request asks for
        ctx.run(primitive, ((op.Arg.SRC, x), (op.Arg.DST, y)))


op.register(op.OpDef(
    "my_bounded", op.NoParams, inputs=("data",), infer_shape=op.same_shape,
    infer_type=op.same_type, compute=bounded, refuses=refuses, compute_ex=bounded_ex,
    inplace={0: 0}, no_gradient="inference only", doc="Each element, within 0 and 6."))


# ---- the tests --------------------------------------------------------------------------------


def test_cubic_everywhere():
    report = check_operator("my_cubic", [(2, 20, 3, 3)], {"shift": 0.5},
                            reference=lambda x: x ** 3 + 0.5)
    print(report)
    assert report.executed > 100


def test_cubic_has_the_right_slope():
    check_gradient("my_cubic", [(3, 4)])
    check_consistency("my_cubic", [(2, 20, 3, 3)])


@pytest.mark.parametrize("shape", [(7,), (2, 3), (2, 20, 3, 5), (1, 3, 2, 2, 2)])
def test_bounded_everywhere(shape):
    # native=True: a fallback to NumPy in float32 is a failure
    report = check_operator("my_bounded", [Input(shape, low=-9, high=9)],
                            reference=lambda x: np.clip(x, 0, 6), native=True)
    print(report)
    assert report.by_runtime["native"] > 50


def test_both_in_a_script():
    x = mx.nd.array([[-1, 2], [3, 9]])
    assert (mx.nd.my_bounded(x).asnumpy() == [[0, 2], [3, 6]]).all()
    y = mx.sym.my_cubic(mx.sym.my_bounded(mx.sym.Variable("x")), shift=1)
    assert (y.eval(x=x)[0].asnumpy() == [[1, 9], [28, 217]]).all()
