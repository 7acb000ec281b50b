"""What an executor's outputs hold before it ran."""

from __future__ import annotations

import ndarray_rt as mx


def test_outputs_are_zeros_before_a_run() -> None:
    used = mx.nd.ones((64, 64)) * 7
    used.wait_to_read()
    del used  # whose memory may be taken
    x = mx.sym.Variable("x")
    exe = mx.sym.Group([x + 1, x]).bind(mx.cpu(), {"x": mx.nd.ones((64, 64))})
    assert (exe.outputs[0].asnumpy() == 0).all()
    assert (exe.outputs[1].asnumpy() == 1).all()
    assert (exe.forward()[0].asnumpy() == 2).all()
