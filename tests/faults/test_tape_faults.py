"""The tape after an exception: what was recorded in vain is in nobody's way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ndarray_rt import autograd, nd
from ndarray_rt.errors import MXNetError
from ndarray_rt.storage.lease import LeaseError


class Fails(autograd.Function):
    def forward(self, x: nd.NDArray) -> nd.NDArray:
        return x * 1

    def backward(self, dy: nd.NDArray) -> Any:
        raise KeyboardInterrupt


def test_new_data_after_a_backward_that_was_interrupted() -> None:
    x = nd.array([1.0, 2.0])
    x.attach_grad()
    with autograd.record():
        square = x * x
        y = Fails()(square)
    with pytest.raises(KeyboardInterrupt):
        y.backward()
    assert not autograd.is_recording()
    x[:] = [3.0, 4.0]
    with autograd.record():
        z = x * x
    z.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [6, 8])
    with autograd.record():
        w = square + x * x
    with pytest.raises(MXNetError, match="written to after"):
        w.backward()


def test_parts_recorded_before_and_after_a_write_are_summed() -> None:
    x = nd.array([1.0, 2.0])
    x.attach_grad()
    with autograd.record():
        unused = x * x
        part = x + 1
    x[:] = [3.0, 4.0]
    with autograd.record():
        whole = part + x * x
    with pytest.raises(MXNetError, match="was written to"):
        autograd.grad(whole, [x], retain_graph=True)
    whole.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [7, 9])
    with pytest.raises(MXNetError):
        unused.backward()


def test_a_failed_write_is_no_write() -> None:
    x, out = nd.array([1.0, 2.0]), nd.zeros((2,))
    x.attach_grad()
    with autograd.record():
        y = x * x
    with pytest.raises(ValueError, match="shape"):
        x[:] = [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="shape"):
        x[[0, 1]] = [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="out has shape"):
        nd.elemwise_add(nd.ones((3,)), nd.ones((3,)), out=out)
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [2, 4])


def test_code_inside_a_call_that_uses_what_the_call_writes_is_told() -> None:
    from ndarray_rt._array.req import Req
    from ndarray_rt.op.context import OpContext
    from ndarray_rt.op.dispatch import dispatch
    from ndarray_rt.op.infer import same_shape, same_type
    from ndarray_rt.op.params import NoParams
    from ndarray_rt.op.registry import OpDef
    x, y = nd.ones((2, 3)), nd.full((2, 3), 5)

    def compute(ctx: OpContext, p: NoParams, ins: list[Any], outs: list[Any]) -> None:
        assert (x.asnumpy() == 1).all(), "reading what the call reads is no conflict"
        outs[0].write(y.asnumpy())
    op = OpDef("reads_its_output", NoParams, inputs=("data",), infer_shape=same_shape,
               infer_type=same_type, compute=compute, no_gradient="none")
    with pytest.raises(LeaseError, match="this very call"):
        dispatch(op, NoParams(), OpContext(), [x], [y], [Req.kWriteTo])
    assert (y.asnumpy() == 5).all()
    y[:] = 6
    assert (y.asnumpy() == 6).all()
