"""Engine, threads, floating-point mode, loading, error texts."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from ndarray_rt import config, errors, native
from ndarray_rt.errors import ParameterError
from ndarray_rt.native import call, ffi, lib, text
from tests.native.helpers import Array, Prim, desc, from_numpy, to_numpy


def test_version_and_library() -> None:
    version = ffi.new("int[3]")
    lib.ndrt_engine_version(version)
    assert version[0] == 3
    assert version[1] >= 2
    assert Path(text(lib.ndrt_engine_library())).name.startswith("libdnnl")
    assert "av" in text(lib.ndrt_engine_isa())
    assert lib.ndrt_engine_init() == lib.NDRT_OK


@pytest.mark.parametrize("threads", [0, -1, 1025])
def test_thread_counts_that_are_none(threads: int) -> None:
    with pytest.raises(ParameterError, match=f"{threads} threads: expected 1 to "):
        call(lib.ndrt_threads_set, threads, what="threads")


def relu(n: int, nthreads: int = 0) -> Prim:
    return Prim(lib.NDRT_ELTWISE, direction=lib.NDRT_FORWARD_INFERENCE, alg=lib.NDRT_ELTWISE_RELU,
                src=desc((n,)), nthreads=nthreads)


def test_thread_count_of_primitives() -> None:
    lib.ndrt_threads_set(3)
    assert lib.ndrt_threads_get() == 3
    assert lib.ndrt_prim_threads(relu(1 << 20).ptr) == 3
    assert lib.ndrt_prim_threads(relu(1 << 20, 2).ptr) == 2
    assert lib.ndrt_prim_threads(relu(1000).ptr) == 1, "small work is faster on one"
    assert lib.ndrt_prim_threads(relu(1000, 2).ptr) == 1


def test_any_thread_count_gives_the_same() -> None:
    data = np.random.default_rng(0).standard_normal((64, 3000)).astype("f4")
    weights = np.random.default_rng(1).standard_normal((70, 3000)).astype("f4")
    results = []
    for nthreads in (1, 2, 3, 1):
        prim = Prim(lib.NDRT_INNER_PRODUCT, direction=lib.NDRT_FORWARD_INFERENCE, nthreads=nthreads,
                    src=desc(data.shape), weights=desc(weights.shape), dst=desc((64, 70)))
        y = Array(desc((64, 70)))
        prim.run({lib.NDRT_ARG_SRC: from_numpy(data), lib.NDRT_ARG_WEIGHTS: from_numpy(weights),
                  lib.NDRT_ARG_DST: y})
        results.append(to_numpy(y))
    for result in results:
        np.testing.assert_allclose(result, data @ weights.T, rtol=1e-4, atol=1e-3)
    np.testing.assert_array_equal(results[0], results[3])


def default_threads(**environment: str) -> int:
    code = "from ndarray_rt.native import lib; print(lib.ndrt_threads_default(b''))"
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "NDRT_"))}
    done = subprocess.run([sys.executable, "-c", code], env=env | environment, check=True,
                          capture_output=True, text=True)
    return int(done.stdout)


def test_default_threads() -> None:
    available = default_threads()
    assert 1 <= available <= len(os.sched_getaffinity(0))
    assert default_threads(OMP_NUM_THREADS="7") == 7
    assert default_threads(OMP_NUM_THREADS="3,2") == 3
    for nonsense in ("0", "-2", "many", ""):
        assert default_threads(OMP_NUM_THREADS=nonsense) == available


TINY = np.float32(1e-40)


def numpy_keeps_subnormals() -> bool:
    return bool((np.full(1000, TINY) * np.float32(1.0) != 0).all())


@pytest.mark.parametrize("n", [100, 1 << 18])
def test_subnormals_are_flushed_inside_and_kept_outside(n: int) -> None:
    assert numpy_keeps_subnormals()
    double = Prim(lib.NDRT_ELTWISE, direction=lib.NDRT_FORWARD_INFERENCE,
                  alg=lib.NDRT_ELTWISE_LINEAR, alpha=2.0, src=desc((n,)))
    x, y = from_numpy(np.full(n, TINY)), Array(desc((n,)))
    for on in (1, 0, 1):
        lib.ndrt_flush_subnormals_set(on)
        assert lib.ndrt_flush_subnormals_get() == on
        double.run({lib.NDRT_ARG_SRC: x, lib.NDRT_ARG_DST: y})
        assert (y.numpy() == 0).all() == bool(on), "in each thread of the team"
        assert numpy_keeps_subnormals()


def test_each_host_thread_has_its_own_mode_and_stream() -> None:
    seen: list[bool] = []

    def work() -> None:
        n = 1 << 16
        x, y = from_numpy(np.full(n, TINY)), Array(desc((n,)))
        relu(n).run({lib.NDRT_ARG_SRC: x, lib.NDRT_ARG_DST: y})
        seen.append(numpy_keeps_subnormals())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert seen == [True] * 4


def test_last_error_is_the_threads_own() -> None:
    assert lib.ndrt_threads_set(0) == lib.NDRT_INVALID
    other: list[str] = []
    thread = threading.Thread(target=lambda: other.append(text(lib.ndrt_last_error())))
    thread.start()
    thread.join()
    assert other == [""]
    assert text(lib.ndrt_last_error()).startswith("0 threads")


# ---- loading ------------------------------------------------------------------------------------


def import_in_a_child(code: str = "", **environment: str) -> str:
    """The text of the ImportError that `import ndarray_rt.native` raises."""
    program = (f"{code}\ntry:\n    import ndarray_rt.native\n"
               "except ImportError as error:\n    print(type(error).__name__, error)\n")
    done = subprocess.run([sys.executable, "-c", program], env=os.environ | environment, check=True,
                          capture_output=True, text=True)
    return done.stdout.strip()


def test_a_library_that_is_not_there() -> None:
    said = import_in_a_child(NDRT_ONEDNN_LIBRARY="/nowhere/libdnnl.so.3")
    assert said == ("NativeImportError NDRT_ONEDNN_LIBRARY=/nowhere/libdnnl.so.3: there is no such "
                    "file")


def test_a_file_that_is_no_library(tmp_path: Path) -> None:
    fake = tmp_path / "libdnnl.so.3"
    fake.write_text("nonsense")
    assert "could not be loaded" in import_in_a_child(NDRT_ONEDNN_LIBRARY=str(fake))


def test_the_wheel_is_missing() -> None:
    hide = ("import os; real = os.listdir\n"
            "os.listdir = lambda folder: [n for n in real(folder) if 'onednn_cpu_gomp' not in n]")
    assert "install the package onednn-cpu-gomp" in import_in_a_child(hide)


def test_the_extension_is_not_built() -> None:
    hide = "import sys; sys.modules['ndarray_rt._native'] = None"
    assert "is not built" in import_in_a_child(hide)


def test_another_onednn_was_there_first(tmp_path: Path) -> None:
    copy = tmp_path / "libdnnl.so.3"
    copy.write_bytes(Path(text(lib.ndrt_engine_library())).read_bytes())
    said = import_in_a_child(f"import ctypes; ctypes.CDLL({str(copy)!r})")
    assert "another oneDNN 3.2" in said
    assert str(copy) in said


# ---- errors and switches ------------------------------------------------------------------------


def test_statuses_become_exceptions() -> None:
    assert set(native.EXCEPTIONS) == {lib.NDRT_INVALID, lib.NDRT_UNSUPPORTED, lib.NDRT_NOMEM,
                                      lib.NDRT_INTERNAL, lib.NDRT_RANGE, lib.NDRT_VALUE}
    with pytest.raises(errors.NativeError, match="odd"):
        call(lambda: 99, what="odd")


@pytest.mark.parametrize(("kind", "builtin"), [
    (errors.ShapeError, ValueError), (errors.TypeMismatch, TypeError),
    (errors.ParameterError, ValueError), (errors.NameMismatch, KeyError),
    (errors.Unsupported, NotImplementedError), (errors.NativeError, RuntimeError),
    (errors.OutOfMemory, MemoryError), (errors.OutOfBounds, IndexError)])
def test_errors_are_ours_and_builtin(kind: type[Exception], builtin: type[Exception]) -> None:
    error = kind("plain words")
    assert isinstance(error, builtin)
    assert isinstance(error, errors.NdrtError)
    assert isinstance(error, errors.MXNetError)
    assert str(error) == "plain words"


def test_message() -> None:
    assert errors.message("Convolution", "conv1", what="weight", got="shape (64, 4, 7, 7)",
                          expected="(64, 3, 7, 7)", because="data (1, 3, 224, 224), num_group=1") \
        == ('Convolution "conv1": weight has shape (64, 4, 7, 7), expected (64, 3, 7, 7) from data '
            "(1, 3, 224, 224), num_group=1")
    assert errors.message("dot", what="no inputs") == "dot: no inputs"


@pytest.mark.parametrize("text", ["", " "])
@pytest.mark.parametrize("switch", config.SWITCHES, ids=lambda switch: switch.name)
def test_an_empty_switch_is_not_set(switch: config.Switch, text: str,
                                    monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(switch.name, text)
    try:
        config.reset(switch.name)
        assert getattr(config, switch.name) == switch.default
        if not switch.at_import:
            with config.override(**{switch.name: text}):
                assert getattr(config, switch.name) == switch.default
    finally:
        monkeypatch.undo()
        config.reset(switch.name)


def test_import_with_all_switches_empty() -> None:
    empty = {switch.name: "" for switch in config.SWITCHES}
    done = subprocess.run(
        [sys.executable, "-c", "import ndarray_rt as mx; print(mx.config.NDRT_ONEDNN)"],
        env={**os.environ, **empty}, capture_output=True, text=True, timeout=120)
    assert (done.stdout.strip(), done.stderr) == ("True", "")


def test_switches(monkeypatch: pytest.MonkeyPatch) -> None:
    assert config.NDRT_CACHE_SHAPES == 256 or "NDRT_CACHE_SHAPES" in os.environ
    before = config.NDRT_TRACE
    with config.override(NDRT_TRACE="1", NDRT_CACHE_SHAPES=3):
        assert config.NDRT_TRACE is True
        assert config.NDRT_CACHE_SHAPES == 3
        with config.override(NDRT_TRACE=False):
            assert config.NDRT_TRACE is False
        assert config.NDRT_TRACE is True
    assert before == config.NDRT_TRACE
    monkeypatch.setenv("NDRT_CACHE_SHAPES", "9")
    config.reset("NDRT_CACHE_SHAPES")
    assert config.NDRT_CACHE_SHAPES == 9
    monkeypatch.setenv("NDRT_CACHE_SHAPES", "99999999999")
    with pytest.raises(ValueError, match=r"NDRT_CACHE_SHAPES='9+': expected .*below 2\*\*31"):
        config.reset("NDRT_CACHE_SHAPES")
    monkeypatch.setenv("NDRT_CACHE_SHAPES", "-9")
    with pytest.raises(ValueError, match="NDRT_CACHE_SHAPES='-9': expected a number from 0 up"):
        config.reset("NDRT_CACHE_SHAPES")
    monkeypatch.undo()
    config.reset("NDRT_CACHE_SHAPES")
    with pytest.raises(ValueError, match="there is no switch NDRT_NONE"):
        config.set("NDRT_NONE", 1)
    with pytest.raises(ValueError, match="NDRT_FLUSH_SUBNORMALS is read when ndarray_rt is"), \
            config.override(NDRT_FLUSH_SUBNORMALS=False):
        pass
    assert all(s.name in config.table() for s in config.SWITCHES)
