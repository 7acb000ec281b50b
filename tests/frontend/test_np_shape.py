"""np_shape: 0 and () are real in symbols and files, and an index that leaves no axis gives ()."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import nd, sym
from ndarray_rt.errors import MXNetError, TypeMismatch
from ndarray_rt.util import getenv, setenv, use_np_shape

X, Y = sym.var("x"), sym.var("y")


@pytest.fixture(autouse=True)
def _off() -> Iterator[None]:
    yield
    mx.set_np_shape(False)


def test_scopes_nest_and_end() -> None:
    assert not mx.is_np_shape()
    with mx.np_shape():
        assert mx.is_np_shape()
        with mx.np_shape(False):
            assert not mx.is_np_shape()
            with mx.np_shape(None):
                assert not mx.is_np_shape()
        assert mx.is_np_shape()
    with pytest.raises(ZeroDivisionError), mx.np_shape():
        _ = 1 // 0
    assert not mx.is_np_shape()


def test_setting_says_what_was() -> None:
    assert [mx.set_np_shape(value) for value in (True, False, 1, 0)] == [False, True, False, True]
    for wrong in ("x", 3, None):
        with pytest.raises(TypeMismatch):
            mx.set_np_shape(wrong)  # type: ignore[arg-type]


def _elsewhere() -> bool:
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(mx.is_np_shape()))
    thread.start()
    thread.join()
    return found[0]


def test_the_mode_is_one_threads() -> None:
    mx.set_np_shape(True)
    assert not _elsewhere()
    mx.set_np_shape(2)
    assert mx.is_np_shape()
    assert _elsewhere()
    with mx.np_shape(False):
        assert not mx.is_np_shape()
        assert _elsewhere()
    mx.set_np_shape(False)
    assert not _elsewhere()


def test_decorator() -> None:
    @use_np_shape
    class Both:
        def __init__(self) -> None:
            self.made = mx.is_np_shape()

        def method(self) -> bool:
            return mx.is_np_shape()

        @property
        def value(self) -> bool:
            return mx.is_np_shape()

        @staticmethod
        def alone() -> bool:
            return mx.is_np_shape()

    both = Both()
    assert (both.made, both.method(), both.value, Both.alone()) == (True,) * 4
    assert use_np_shape(mx.is_np_shape)()
    assert not mx.is_np_shape()
    with pytest.raises(TypeError):
        use_np_shape(3)  # type: ignore[type-var]


# symbol, shapes given, answer of infer_shape_partial under np_shape
PARTIAL: list[tuple[Any, dict[str, Any], Any]] = [
    (sym.sin(X), {}, ([None], [None], [])),
    (sym.sin(X), {"x": (-1, 3)}, ([(-1, 3)], [(-1, 3)], [])),
    (sym.sin(X), {"x": (0, 3)}, ([(0, 3)], [(0, 3)], [])),
    (sym.sin(X), {"x": ()}, ([()], [()], [])),
    (sym.sum(X), {"x": (2, 3)}, ([(2, 3)], [(1,)], [])),
    (sym.broadcast_add(X, Y), {"x": (), "y": (1, 3)}, ([(), (1, 3)], [(1, 3)], [])),
    (sym.FullyConnected(X, num_hidden=3, name="fc"), {"x": (0, 4)},
     ([(0, 4), (3, 4), (3,)], [(0, 3)], [])),
    (sym.FullyConnected(X, num_hidden=3, name="fc"), {"x": (-1, 4)},
     ([(-1, 4), (3, 4), (3,)], [(-1, 3)], [])),
    (sym.batch_dot(X, Y), {"x": (-1, 3, 4), "y": (-1, -1, 5)},
     ([(-1, 3, 4), (-1, -1, 5)], [None], [])),
    (sym.sin(sym.var("v", shape=(0, 2))), {}, ([(0, 2)], [(0, 2)], [])),
    (sym.sin(sym.var("v", shape=())), {}, ([()], [()], [])),
    (sym.zeros((0, 2)), {}, ([], [(0, 2)], [])),
    (sym.zeros(()), {}, ([], [()], [])),
    (sym.random.uniform(shape=(0, 2)), {}, ([], [(0, 2)], [])),
]


@pytest.mark.parametrize(("symbol", "given", "wanted"), PARTIAL)
def test_inference(symbol: Any, given: dict[str, Any], wanted: Any) -> None:
    with mx.np_shape():
        assert symbol.infer_shape_partial(**given) == wanted


def test_disagreement_and_what_is_missing() -> None:
    with mx.np_shape():
        with pytest.raises(MXNetError):
            (X + Y).infer_shape(x=(0, 3), y=(2, 3))
        with pytest.warns(UserWarning, match="-1s in shape"):
            assert sym.sin(X).infer_shape(x=(-1,)) == (None, None, None)


def test_without_it_nothing_is_said_too_early() -> None:
    """MXNet's rules of these operators wait for what the test leaves out."""
    assert sym.FullyConnected(X, num_hidden=3, name="fc").infer_shape_partial() == (
        [(), (), ()], [()], [])
    assert sym.batch_dot(X, Y).infer_shape_partial(x=(0, 3, 4), y=(0, 0, 5))[1] == [()]
    assert sym.batch_dot(X, Y).infer_shape_partial(x=(0, 3, 4), y=(0, 4, 5))[1] == [(0, 3, 5)]
    where = sym.where(sym.var("c"), X, Y)
    assert where.infer_shape_partial(c=(0, 2), x=(0, 2), y=(0, 2))[1] == [()]
    assert where.infer_shape_partial(c=(0,), x=(2, 2), y=(2, 2))[1] == [()]
    assert where.infer_shape_partial(c=(2,), x=(2, 0), y=(0, 2))[1] == [(2, 2)]


def test_arrays() -> None:
    x = nd.array([1, 2, 3])
    with mx.np_shape():
        assert x[0].shape == x[-1].shape == x[1:2][0].shape == ()
        assert nd.array([[[1]]])[0, 0, 0].shape == ()
        assert [row.shape for row in x] == [()] * 3
        assert nd.array(5)[()].shape == ()
        assert x[0:1].shape == x.sum().shape == (1,)
        assert nd.stack(x[0], x[1]).shape == (2,)
        assert nd.random.uniform(shape=()).shape == ()
        assert nd.random.uniform(shape=(0, 2)).shape == (0, 2)
    outside = x[0]
    assert outside.shape == (1,)


def test_gradient_through_an_index() -> None:
    x = nd.array([1, 2, 3])
    x.attach_grad()
    with mx.np_shape(), mx.autograd.record():
        y = x[1] * 5
    y.backward()
    assert x.grad is not None
    assert x.grad.asnumpy().tolist() == [0, 5, 0]


def test_executor() -> None:
    with mx.np_shape():
        for shape in ((), (0, 2)):
            exe = sym.sin(X).simple_bind(mx.cpu(), x=shape)
            assert exe.forward()[0].shape == shape


def test_symbol_files() -> None:
    net = sym.FullyConnected(X, sym.var("w", shape=(4, 0)), num_hidden=4, name="fc")
    plain = net.tojson()
    assert "is_np_shape" not in json.loads(plain)["attrs"]
    with mx.np_shape():
        marked = net.tojson()
        assert '"attrs": {\n    "is_np_shape": ["int", 1], \n    "mxnet_version"' in marked
        # 0 was unknown when the one was written, and real in the other
        loaded = sym.load_json(plain)
        assert loaded.infer_shape(x=(2, 5))[0] == [(2, 5), (4, 5), (4,)]
        assert loaded.attr_dict()["w"]["__shape__"] == "(4, -1)"
        with pytest.raises(MXNetError):
            sym.load_json(marked).infer_shape(x=(2, 5))
    assert sym.load_json(marked).infer_shape(x=(2, 5))[0] == [(2, 5), (4, 5), (4,)]


SHAPES = [(2, 0, 1), (0,), (3, 0), (2, 1)]


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("read", [False, True])
def test_files_of_arrays(tmp_path: Path, written: bool, read: bool) -> None:
    file = str(tmp_path / "arrays")
    arrays = [nd.array(np.ones(shape)) for shape in SHAPES]
    with mx.np_shape(written):
        nd.save(file, arrays)
        with mx.np_shape(read):
            if read == written:
                assert [x.shape for x in nd.load(file)] == SHAPES
            else:
                with pytest.raises(MXNetError, match="np_shape"):
                    nd.load(file)
        # arrays that have elements mean the same in both
        nd.save(file, arrays[-1:])
        with mx.np_shape(read):
            assert nd.load(file)[0].shape == (2, 1)


def test_environment() -> None:
    assert getenv("NDRT_NO_SUCH_VARIABLE") is None
    setenv("NDRT_NO_SUCH_VARIABLE", "7")
    assert getenv("NDRT_NO_SUCH_VARIABLE") == "7"
    setenv("NDRT_NO_SUCH_VARIABLE", None)
    assert getenv("NDRT_NO_SUCH_VARIABLE") is None


def test_long_names_are_functions() -> None:
    assert mx.ndarray.reshape(nd.ones((2, 3)), shape=(3, 2)).shape == (3, 2)
    modules = {path.stem for path in Path(str(mx.symbol.__file__)).parent.glob("*.py")}
    assert not set(dir(sym)) & modules, "an operator is hidden by a module"


def test_the_package_has_the_decorators_of_util() -> None:
    from ndarray_rt import util
    assert mx.use_np_shape is util.use_np_shape
    assert mx.use_np_shape(mx.is_np_shape)() is True
    assert mx.is_np_array() is False
    for refused in (mx.use_np, mx.use_np_array):
        with pytest.raises(mx.MXNetError, match=r"docs/porting\.md"):
            refused(mx.is_np_shape)


def test_arrays_of_np_are_refused_where_a_scope_begins() -> None:
    from ndarray_rt.util import _NumpyArrayScope
    assert isinstance(mx.np_array(False), _NumpyArrayScope)
    with mx.np_array(False):
        assert mx.is_np_array() is False
    with pytest.raises(mx.MXNetError, match=r"mx\.np"), mx.np_array():
        pass
