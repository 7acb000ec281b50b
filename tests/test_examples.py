"""The examples run, and training that was killed goes on to the same bits."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.cpu_level import has_avx512

EXAMPLES = Path(__file__).parent.parent / "examples"
README = EXAMPLES.parent / "README.md"


def start(*args: object, cwd: Path) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent)}
    return subprocess.Popen([sys.executable, *map(str, args)], cwd=cwd, env=env, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def run(*args: object, cwd: Path) -> str:
    process = start(*args, cwd=cwd)
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0, out
    return out


def train(folder: Path, *args: object) -> str:
    return run(EXAMPLES / "train_digits.py", "--out", folder, "--seed", 3, *args, cwd=folder.parent)


def state(folder: Path) -> dict[str, np.ndarray]:
    return {name: a.asnumpy() for name, a in mx.nd.load(str(folder / "digits.params")).items()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A training of three epochs without interruption."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    out = train(folder, "--epochs", 3)
    return folder, out


def test_training_learns_and_reports(whole: tuple[Path, str]) -> None:
    folder, out = whole
    assert float(re.findall(r"test accuracy (\d\.\d+) \(seed", out)[0]) > 0.85
    assert "total" in out
    assert re.search(r"_fused_Convolution.*\s(brgconv|jit|ndrt:)", out)
    assert "0 in numpy, 0 reference" in out
    assert "reorders" in out
    pytest.importorskip("matplotlib", reason="the curve is drawn with matplotlib")
    assert (folder / "digits_curve.png").read_bytes().startswith(b"\x89PNG")


def test_resumed_equals_uninterrupted(whole: tuple[Path, str], tmp_path: Path) -> None:
    """Killed with SIGKILL in the middle of the second epoch, then resumed."""
    folder, _ = whole
    process = start(EXAMPLES / "train_digits.py", "--out", tmp_path / "run", "--seed", 3,
                    "--epochs", 3, cwd=tmp_path)
    saved = tmp_path / "run" / "digits.params"
    deadline = time.time() + 120
    while not saved.exists() and time.time() < deadline:
        time.sleep(0.02)
    time.sleep(0.3)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert int(state(tmp_path / "run")["epoch"][0]) < 3
    train(tmp_path / "run", "--epochs", 3, "--resume")
    expected, got = state(folder), state(tmp_path / "run")
    assert expected.keys() == got.keys()
    for name, value in expected.items():
        assert value.tobytes() == got[name].tobytes(), name


def test_resnet50_runs_without_numpy_and_reference(tmp_path: Path) -> None:
    out = run(EXAMPLES / "resnet50.py", "--batch", 1, "--runs", 2, "--picture",
              "net.html", cwd=tmp_path)
    assert re.search(r"images/s", out)
    total = next(line for line in out.splitlines() if line.startswith("total"))
    reorders = re.search(r"0 in numpy, 0 reference +(\d+) ", total)
    # the user's plain input, and nothing between operators; with AVX2 the first layer reads it as
    # it is, and the two convolutions that read its pooled blocks change them
    assert reorders is not None
    assert int(reorders[1]) <= (1 if has_avx512() else 2)
    assert (tmp_path / "net.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


# example -> (epochs, how little accuracy is too little with each of three seeds)
LEAST = {"lenet_gluon": (6, 0.965), "lenet_module": (6, 0.965), "train_digits": (6, 0.965),
         "mlp_table": (20, 0.95), "bucketing": (2, 0.95), "resnet_shapes": (2, 0.95),
         "custom_operator": (15, 0.94), "fine_tuning": (20, 0.92), "vae": (30, 0.92)}


@pytest.mark.parametrize("name", LEAST)
def test_accuracy_on_held_out_data(name: str, tmp_path: Path) -> None:
    epochs, least = LEAST[name]
    scores = []
    for seed in range(3):
        out = run(EXAMPLES / f"{name}.py", "--epochs", epochs, "--seed", seed, "--out",
                  tmp_path / "out", cwd=tmp_path)
        scores.append(float(re.findall(r"test accuracy (\d\.\d+) \(seed", out)[0]))
    assert min(scores) >= least, scores
    pytest.importorskip("matplotlib", reason="curves are drawn with matplotlib")
    pictures = list((tmp_path / "out").glob("*.png"))
    assert pictures
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in pictures)


def test_a_language_model_learns(tmp_path: Path) -> None:
    out = run(EXAMPLES / "language_model.py", "--epochs", 3, cwd=tmp_path)
    # a letter costs more than 4.5 bits when only how often it comes is known
    assert float(re.findall(r"held-out text: (\d\.\d+) bits", out)[0]) < 3.4


def test_fine_tuning_gains(tmp_path: Path) -> None:
    """Against a network that begins from scratch on the same images."""
    out = run(EXAMPLES / "fine_tuning.py", "--epochs", 20, "--seed", 3, cwd=tmp_path)
    scratch, tuned = (float(re.findall(rf"{text}: test accuracy (\d\.\d+)", out)[0])
                      for text in ("from scratch", "fine-tuned"))
    assert tuned > scratch + 0.2


def test_a_variational_autoencoder_compresses(tmp_path: Path) -> None:
    out = run(EXAMPLES / "vae.py", "--epochs", 15, cwd=tmp_path)
    # the mean of the training images costs 27.1 nats
    assert float(re.findall(r"held-out images: (\d+\.\d+) nats", out)[0]) < 26.5


def test_an_operator_of_ones_own(tmp_path: Path) -> None:
    out = run("-m", "pytest", "-q", "-s", "-p", "no:cacheprovider",
              EXAMPLES / "test_my_operator.py", cwd=tmp_path)
    assert "7 passed" in out
    assert re.search(r"my_bounded-2x20x3x5: \d{3,} calls compared", out)


@pytest.mark.parametrize("number", range(7))
def test_code_of_the_readme_runs(number: int, tmp_path: Path) -> None:
    code = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)[number]
    assert run("-c", code, cwd=tmp_path).strip()
