"""Programs written for MXNet run unmodified. Each in a process of its own: names stay there."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PROGRAM = """
    import sys
    import mxnet as mx
    from mxnet import autograd, gluon, nd
    from mxnet.gluon import nn
    from mxnet.ndarray import NDArray, contrib
    import mxnet.gluon.nn.basic_layers, mxnet.io.io, mxnet.optimizer.optimizer
    import mxnet.image.detection, mxnet.recordio
    from mxnet import img

    def size(n):
        import mxnet
        return mxnet.nd.ones((n,)).size

    if __name__ == "__main__":
        import multiprocessing
        import ndarray_rt
        assert mx.__version__ == "1.9.1" and mx is sys.modules["mxnet"]
        assert img is mx.image and img.image.imread is mx.img.imread
        assert gluon is ndarray_rt.gluon is mx.gluon and nn is mx.gluon.nn
        assert nn.__spec__.name == "ndarray_rt.gluon.nn"
        assert NDArray is nd.NDArray is ndarray_rt.nd.NDArray and contrib is nd.contrib
        assert "gluon" in dir(mx)
        net = nn.Dense(2)
        net.initialize(mx.init.One())
        with autograd.record():
            out = net(nd.ones((1, 3)))
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            print(sys.argv[1:], out.asnumpy().tolist(), pool.map(size, [3, 4]))
"""


def run(*arguments: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "ndarray_rt.mxnet", *arguments], cwd=folder,
                          capture_output=True, text=True, timeout=300,
                          env={**os.environ, "PYTHONPATH": repository(), **variables})


def repository() -> str:
    return str(Path(__file__).parents[2])


def test_a_program_runs_with_arguments_and_processes(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAM))
    done = run("program.py", "a", "-b", folder=tmp_path)
    assert done.stdout == "['a', '-b'] [[3.0, 3.0]] [3, 4]\n", done.stderr


def test_a_module_runs(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("import mxnet\ndef test_one():\n"
                                         "    assert mxnet.nd.ones((2,)).sum().asscalar() == 2\n")
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py", folder=tmp_path)
    assert "1 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(("line", "error"), [
    ("import mxnet.no_such_part", "No module named 'mxnet.no_such_part'"),
    ("import mxnet.gluon.no_such_part", "No module named 'mxnet.gluon.no_such_part'"),
    ("import mxnet; mxnet.no_such_name", "module 'mxnet' has no attribute 'no_such_name'"),
    ("from mxnet import no_such_name", "no_such_name")])
def test_what_is_not_here_is_named(line: str, error: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(line)
    done = run("program.py", folder=tmp_path)
    assert done.returncode == 1
    assert error in done.stderr.splitlines()[-1]


def test_an_installed_mxnet_is_not_shadowed_unasked(tmp_path: Path) -> None:
    (tmp_path / "mxnet").mkdir()
    (tmp_path / "mxnet" / "__init__.py").write_text("__version__ = 'their own'\n")
    (tmp_path / "program.py").write_text("import mxnet; print(mxnet.__version__)")
    path = os.pathsep.join([repository(), str(tmp_path)])
    done = run("program.py", folder=tmp_path, PYTHONPATH=path)
    assert done.returncode == 1
    assert "an MXNet is installed" in done.stderr
    done = run("program.py", folder=tmp_path, PYTHONPATH=path, NDRT_SHADOW_MXNET="1")
    assert done.stdout == "1.9.1\n", done.stderr
    program = "import ndarray_rt, mxnet; print(mxnet.__version__)"
    done = subprocess.run([sys.executable, "-c", program],
                          env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    assert done.stdout == "their own\n"


def test_wrong_command_lines(tmp_path: Path) -> None:
    assert run(folder=tmp_path).returncode == 2
    assert run("-m", folder=tmp_path).returncode == 2
    done = run("nothing.py", folder=tmp_path)
    assert (done.returncode, "can't open file 'nothing.py'" in done.stderr) == (2, True)
    assert run("--help", folder=tmp_path).stdout.startswith("usage: ")


def test_names_that_numpy_took_away_mean_what_they_meant(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text(textwrap.dedent("""
        import multiprocessing
        import numpy as np

        def old(n):
            import mxnet
            return np.zeros(n, np.int).tolist() + [np.NINF, int(np.product([2, 3]))]

        if __name__ == "__main__":
            assert np.float is float and np.asfarray([1]).dtype == np.float64
            assert np.asscalar(np.ones(1)) == 1 and np.msort(np.array([2, 1])).tolist() == [1, 2]
            label = np.fromstring(b"\\x03\\xff", dtype=np.int8)
            label += 1  # an array of its own, not a view of the bytes
            assert label.tolist() == [4, 0] and np.fromstring("1 2", sep=" ").tolist() == [1, 2]
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(old(1), pool.map(old, [2]))
    """))
    done = run("old.py", folder=tmp_path)
    assert done.stdout == "[0, -inf, 6] [[0, 0, -inf, 6]]\n", done.stderr


def test_mixed_precision_has_both_its_names(tmp_path: Path) -> None:
    program = ("from mxnet.contrib.amp import amp\n"
               "import mxnet.contrib.amp\n"
               "print(mxnet.contrib.amp.amp is amp, mxnet.contrib.amp.init is amp.init)\n")
    (tmp_path / "uses_amp.py").write_text(program)
    done = run("uses_amp.py", folder=tmp_path)
    assert done.stdout == "True True\n", done.stderr


def test_an_import_of_the_package_leaves_numpy_alone(tmp_path: Path) -> None:
    program = ("import numpy as np\n"
               "import ndarray_rt.mxnet, mxnet\nassert not {'int', 'asfarray'} & set(vars(np))")
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, timeout=300,
                   env={**os.environ, "PYTHONPATH": repository(), "NDRT_SHADOW_MXNET": "1"})


def test_np_can_be_imported_and_not_used(tmp_path: Path) -> None:
    program = ("import mxnet.numpy as np, mxnet.numpy_extension as npx\n"
               "for module in (np, npx):\n"
               "    try:\n"
               "        module.array\n"
               "    except AttributeError as error:\n"
               "        assert 'docs/porting.md' in str(error)\n"
               "    else:\n"
               "        raise SystemExit('it is there')\n"
               "try:\n"
               "    from mxnet import np\n"
               "except ImportError:\n"
               "    print('not there')\n")
    (tmp_path / "uses_np.py").write_text(program)
    done = run("uses_np.py", folder=tmp_path)
    assert done.stdout == "not there\n", done.stderr


def test_numbers_of_storage_types() -> None:
    from ndarray_rt.nd import _STORAGE_TYPE_STR_TO_ID
    assert _STORAGE_TYPE_STR_TO_ID["row_sparse"] == 1
