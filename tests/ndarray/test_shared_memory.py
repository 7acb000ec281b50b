"""Memory that others see too: operators, packing and the tape must not be fooled by it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt._array import layout
from ndarray_rt._array.access import Access
from ndarray_rt.storage.desc import tagged_desc
from ndarray_rt.storage.lease import Exclusive

nd = mx.nd


@pytest.mark.parametrize("size", [1000, 100_000])
@pytest.mark.parametrize("name", ["relu", "_mul_scalar", "softmax", "tanh"])
def test_operators_see_that_imports_overlap(name: str, size: int) -> None:
    values = np.random.default_rng(0).random(size, np.float32)
    op = getattr(nd.op, name)
    attrs = {"scalar": 2.0} if name == "_mul_scalar" else {}
    wanted = op(nd.array(values[:-1]), **attrs).asnumpy()
    foreign = values.copy()
    source, target = nd.from_dlpack(foreign[:-1]), nd.from_dlpack(foreign[1:])
    op(source, out=target, **attrs)
    np.testing.assert_array_equal(target.asnumpy(), wanted)
    mine = nd.array(values)
    back = nd.from_dlpack(mine[1:])
    op(mine[:-1], out=back, **attrs)
    np.testing.assert_array_equal(mine[1:].asnumpy(), wanted)


def test_packing_sees_an_export_that_begins_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The export comes between the first look at the pins and the exclusive lease."""
    w = nd.ones((16, 16, 3, 3))
    seen = []

    class Late(Exclusive):
        def __init__(self, chunk: Any, held: int) -> None:
            seen.append(nd.from_dlpack(w))
            super().__init__(chunk, held)

    monkeypatch.setattr(layout, "Exclusive", Late)
    with Access(read=(w,)) as stream:
        assert not layout.pack_weights(w, tagged_desc(w.dtype, w.shape, "ABcd16b16a"), stream)
    assert not w.is_special
    assert (seen[0].asnumpy() == 1).all()


@pytest.mark.parametrize("when", ["before", "after", "imported"])
def test_writes_through_exports_do_not_reach_the_tape(when: str) -> None:
    x = nd.array([1.0, 2.0])
    if when == "imported":
        foreign = np.array([1, 2], np.float32)
        x = nd.from_dlpack(foreign)
    x.attach_grad()
    seen = nd.from_dlpack(x).asnumpy()
    export = nd.from_dlpack(x) if when == "before" else None
    with mx.autograd.record():
        y = nd.exp(x)
        z = (x * x * y[:]).sum()
    if when == "after":
        export = nd.from_dlpack(x)
        nd.from_dlpack(y)[:] = -1
    if export is None:
        foreign[:] = 10
    else:
        export[:] = 10
    z.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), np.exp(seen) * (seen * seen + 2 * seen), 1e-6)
    assert (x.asnumpy() == 10).all()


def test_an_export_does_not_hide_an_earlier_write() -> None:
    x = nd.array([1.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        z = (x * x).sum()
    x[:] = 5
    nd.from_dlpack(x)
    with pytest.raises(mx.MXNetError, match="written"):
        z.backward()
