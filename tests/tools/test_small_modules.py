"""runtime, log, libinfo, error, library, util: MXNet's small modules."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

import ndarray_rt as mx
from ndarray_rt.errors import SEE_PORTING


def test_features() -> None:
    features = mx.runtime.Features()
    assert features is mx.runtime.Features()
    assert len(features) == 32
    assert features.is_enabled("mkldnn")
    assert not features.is_enabled("CUDA")
    assert repr(features["OPENMP"]) == "✔ OPENMP"
    assert repr(features).startswith("[✖ CUDA, ✖ CUDNN")
    assert [f.name for f in mx.runtime.feature_list()] == list(features)
    with pytest.raises(RuntimeError, match="Feature 'WINGS' is unknown"):
        features.is_enabled("wings")


def test_a_logger(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    logger = mx.log.get_logger("ndarray_rt.test_log", level=mx.log.INFO)
    assert mx.log.get_logger("ndarray_rt.test_log") is logger
    assert len(logger.handlers) == 1
    handler = logger.handlers[0]
    record = logging.LogRecord("n", logging.WARNING, "here.py", 7, "told", (), None, "f")
    text = handler.format(record)
    assert text.startswith("\x1b[31mW")
    assert text.endswith("here.py:f:7]\x1b[0m told")
    to_file = mx.log.get_logger("ndarray_rt.test_log_file", str(tmp_path / "log"), "w")
    to_file.error("written")
    assert "written" in (tmp_path / "log").read_text()
    with pytest.warns(DeprecationWarning, match="get_logger"):
        assert mx.log.getLogger() is logging.getLogger()


def test_where_the_library_lies() -> None:
    path, = mx.libinfo.find_lib_path()
    assert Path(path).exists()
    assert mx.libinfo.__version__ == "1.9.1"


def test_errors_by_name() -> None:
    @mx.error.register
    class Own(mx.MXNetError):
        pass

    assert mx.error.register("Other", Own) is Own
    assert mx.error.register("Third")(Own) is Own
    assert issubclass(mx.error.InternalError, mx.error.MXNetError)


def test_libraries_are_refused(tmp_path: Path) -> None:
    with pytest.raises(mx.MXNetError, match="does NOT exist"):
        mx.library.load("nowhere.so")
    (tmp_path / "lib.txt").touch()
    with pytest.raises(mx.MXNetError, match="NOT a library"):
        mx.library.load(str(tmp_path / "lib.txt"))
    (tmp_path / "lib.so").touch()
    with pytest.raises(mx.MXNetError, match="own_operators"):
        mx.library.load(str(tmp_path / "lib.so"))


def test_util() -> None:
    assert mx.util.get_gpu_count() == 0
    with pytest.raises(mx.MXNetError, match="CPUs only"):
        mx.util.get_gpu_memory(0)
    with pytest.raises(ValueError, match="Expecting a gpu context"):
        mx.util.get_cuda_compute_capability(mx.cpu())
    with pytest.raises(mx.MXNetError, match="CPUs only"):
        mx.util.get_cuda_compute_capability(mx.gpu())
    mx.util.set_np(shape=True, array=False)
    assert mx.is_np_shape()
    mx.util.reset_np()
    assert not mx.is_np_shape()
    with mx.util.np_array(False):
        assert not mx.util.is_np_array()

    @mx.util.set_module("elsewhere")
    def function() -> None:
        pass

    assert function.__module__ == "elsewhere"


@pytest.mark.parametrize("use", [
    "np", "npx", "np.array", "nd.sparse.csr_matrix", "nd.sparse.zeros", "sym.sparse.zeros",
    "nd.zeros((2, 2), stype='csr')", "nd.ones(2).tostype('row_sparse')", "util.use_np(print)",
    "util.set_np()", "test_utils.rand_ndarray((2, 2), 'csr')"])
def test_what_is_not_here_names_the_page_in_one_sentence(use: str) -> None:
    with pytest.raises((AttributeError, mx.MXNetError)) as raised:
        eval(f"mx.{use}", {"mx": mx})
    text = str(raised.value)
    assert SEE_PORTING in text
    assert "\n" not in text


def test_storage_types_of_custom_operators() -> None:
    prop = mx.operator.CustomOpProp()
    assert prop.infer_storage_type(["default"]) == (["default"], ["default"], [])
    assert prop.infer_storage_type_backward(["x"], ["x"], ["x"], ["x"], []) == (
        ["default"], ["default"], ["default"], ["default"], [])
