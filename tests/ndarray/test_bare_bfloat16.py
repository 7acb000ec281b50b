"""bfloat16 without ml_dtypes: arrays hold it, operators compute with it, NumPy does not get it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from ndarray_rt._array.bare import cast, numbers_of
from ndarray_rt.dtypes import _BARE

HIDDEN = """
import sys
sys.modules["ml_dtypes"] = None
import numpy as np
import ndarray_rt as mx
from ndarray_rt.errors import MissingPackage

def refused(make):
    try:
        make()
    except MissingPackage as error:
        assert "pip install 'ndarray_rt[bfloat16]'" in str(error), error
        return True
    return False

def wide(x):
    assert x.dtype.name == "bfloat16", x.dtype
    return x.astype("float32").asnumpy().tolist()
"""
PROGRAMS = {
    "made": """
assert wide(mx.nd.zeros((2,), dtype="bfloat16")) == [0, 0]
assert wide(mx.nd.ones((2,), dtype="bfloat16")) == [1, 1]
assert wide(mx.nd.full((2,), 2.5, dtype="bfloat16")) == [2.5, 2.5]
assert wide(mx.nd.array([1, 2.5, 1.003], dtype="bfloat16")) == [1, 2.5, 1]
assert wide(mx.nd.arange(4, dtype="bfloat16")) == [0, 1, 2, 3]
assert wide(mx.nd.array([3, 4], dtype="int32").astype("bfloat16")) == [3, 4]
assert wide(mx.nd.zeros((2,), dtype=np.dtype([("bfloat16", np.uint16)]))) == [0, 0]
x = mx.nd.array([1, 2.5], dtype="bfloat16")
assert x.dtype == mx.nd.zeros((1,), dtype="bfloat16").dtype and x.dtype.itemsize == 2
assert wide(mx.nd.array(x)) == wide(x.copy()) == wide(x[:]) == [1, 2.5]
assert x.astype("int32").asnumpy().tolist() == [1, 2]
""",
    "written": """
x = mx.nd.zeros((2, 3), dtype="bfloat16")
x[:] = 1.5
x[1] = mx.nd.array([1, 2, 3])
x[0, 1] = -4
x[:, 2] = mx.nd.array([7, 8], dtype="bfloat16")
assert wide(x) == [[1.5, -4, 7], [1, 2, 8]]
x[mx.nd.array([0])] = np.array([[5, 5, 5]])
assert wide(x) == [[5, 5, 5], [1, 2, 8]]
x += 1
assert wide(mx.nd.concatenate([x, x], axis=1)[0]) == [6] * 6
assert wide(mx.nd.concat(x, x, dim=0)[3]) == [2, 3, 9]
""",
    "computed": """
x = mx.nd.array([[1, 2], [3, 4]], dtype="bfloat16")
assert wide(mx.nd.dot(x, x)) == [[7, 10], [15, 22]]
assert wide(x + x * 2) == [[3, 6], [9, 12]]
assert wide(x.sum(axis=0)) == [4, 6]
assert wide(mx.nd.cumsum(x, axis=1)) == [[1, 3], [3, 7]]
assert mx.nd.argmax(x, axis=1).astype("float32").asnumpy().tolist() == [1, 1]
with mx.config.override(NDRT_ONEDNN=False):
    assert wide(mx.nd.dot(x, x)) == [[7, 10], [15, 22]]
    out = mx.nd.ones((2, 2), dtype="bfloat16")
    assert wide(mx.nd.relu(x, out=out)) == [[1, 2], [3, 4]]
with mx.config.override(NDRT_VALIDATE=True):
    assert wide(mx.nd.dot(x, x)) == [[7, 10], [15, 22]]
w = mx.nd.ones((1, 1, 2, 2), dtype="bfloat16")
w.attach_grad()
with mx.autograd.record():
    y = mx.nd.Convolution(x.reshape((1, 1, 2, 2)), w, kernel=(2, 2), num_filter=1, no_bias=True)
y.backward()
assert wide(w.grad.reshape((-1,))) == [1, 2, 3, 4]
""",
    "kept": """
import os, tempfile
x = mx.nd.array([1, 2.5], dtype="bfloat16")
with tempfile.TemporaryDirectory() as folder:
    name = os.path.join(folder, "x.params")
    mx.nd.save(name, {"x": x})
    assert wide(mx.nd.load(name)["x"]) == [1, 2.5]
assert "2.5" in str(x) and "2.5" in repr(x)
assert "NaN" in str(mx.nd.array([np.nan], dtype="bfloat16")).replace("nan", "NaN")
""",
    "refused": """
x = mx.nd.array([1, 2.5], dtype="bfloat16")
assert refused(x.asnumpy) and refused(x[:1].asscalar)
assert refused(lambda: np.asarray(x)) and refused(lambda: np.asarray(x, copy=False))
assert sys.version_info < (3, 12) or refused(lambda: memoryview(x))
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_in_a_process_without_the_package(name: str) -> None:
    subprocess.run([sys.executable, "-c", HIDDEN + PROGRAMS[name]], check=True, timeout=120)


def test_rounds_as_the_package_does() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 1 << 32, 100_000, np.uint32)
    ends = np.array([0, -0.0, np.inf, -np.inf, 3.4e38, -3.4e38, 1e-45, 1.00390625, 1.01171875],
                    np.float32)
    with np.errstate(all="ignore"):
        x = np.concatenate([bits.view(np.float32), ends])
        want = x.astype(ml_dtypes.bfloat16)
    made = cast(x, _BARE)
    is_nan = np.isnan(x)
    np.testing.assert_array_equal(made.view(np.uint16)[~is_nan], want.view(np.uint16)[~is_nan])
    assert np.isnan(numbers_of(made)[is_nan]).all()
    np.testing.assert_array_equal(numbers_of(made), want.astype(np.float32))
    assert cast(np.float64(2.5), _BARE).shape == ()
