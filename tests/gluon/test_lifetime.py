"""What holds a block, and what training leaves alone."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import ndarray_rt as mx
from ndarray_rt import gluon
from ndarray_rt.gluon import nn


def test_a_block_is_gone_with_the_last_who_has_it() -> None:
    class Net(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            with self.name_scope():
                self.dense = nn.Dense(3, in_units=4)

        def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
            return F.relu(self.dense(x))
    gc.collect()
    gc.disable()
    try:
        net = Net()
        net.initialize()
        net.hybridize()
        with mx.autograd.record():
            out = net(mx.nd.ones((2, 4)))
        out.backward()
        seen = weakref.ref(net)
        del net, out
        assert seen() is None
        with Net().name_scope():  # of a block that is gone: names go on as outside of it
            assert nn.Dense(2).prefix.startswith("dense")
    finally:
        gc.enable()


def test_training_passes_constants_over() -> None:
    class Net(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.const = self.params.get_constant("const", [[1, 2], [3, 4]])

        def hybrid_forward(self, F: Any, x: Any, const: Any) -> Any:  # noqa: N803
            return x + const
    net = Net()
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})
    x = mx.nd.ones((2, 2))
    x.attach_grad()
    with mx.autograd.record():
        y = net(x)
    y.backward()
    trainer.step(1)
    assert net.const.data().asnumpy().tolist() == [[1, 2], [3, 4]]
