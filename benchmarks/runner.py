"""Who takes part, and how each is started."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from . import peers
from .graph import Unsupported
from .models import MODELS, Files
from .onnx_files import OnnxFile, inputs_path
from .to_bound import write_floats

HERE = Path(__file__).resolve().parent
CACHE = HERE / ".cache"
# What a shell may have set for one library would favour some runners and not others.
SCRUBBED = ("OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "DNNL_", "ONEDNN_", "MXNET_", "ORT_",
            "TORCH", "NDRT_")
KEPT = ("NDRT_ONEDNN_LIBRARY",)


class Skipped(Exception):
    """A runner that can not take part in a row; the message says why."""


@dataclass(frozen=True)
class Runner:
    """`peer`: whose environment it runs in, empty for ours. `module`: under runners, empty for the
    C program, whose options are `bound` then. `onnx`: the module for ONNX files, empty where it
    takes none."""

    module: str = ""
    peer: str = ""
    variant: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    bound: tuple[str, ...] = ()

    onnx: str = ""

    @property
    def needs_onnx(self) -> bool:
        return self.peer in ("onnxruntime", "openvino") or self.module == "ours_onnx"


RUNNERS: dict[str, Runner] = {
    "ours:captured": Runner("ours", onnx="ours_onnx"),
    "ours:tuned": Runner("ours", variant="tuned", onnx="ours_onnx"),
    "ours:fused": Runner("ours", env={"NDRT_CAPTURE": "0"}, onnx="ours_onnx"),
    "ours:plain": Runner("ours", env={"NDRT_CAPTURE": "0", "NDRT_SKIP_PASSES": "all"},
                         onnx="ours_onnx"),
    "ours:uncached": Runner("ours", variant="uncached", env={"NDRT_CAPTURE": "0"}),
    "ours:mapped": Runner("ours", variant="mapped"),
    "ours:onnx": Runner("ours_onnx", onnx="ours_onnx"),
    "mxnet": Runner("mxnet", "mxnet"),
    "torch:eager": Runner("pytorch", "torch", "eager"),
    "torch:channels_last": Runner("pytorch", "torch", "channels_last"),
    "torch:inductor": Runner("pytorch", "torch", "inductor"),
    "onnxruntime": Runner("ort", "onnxruntime", onnx="ort"),
    "openvino": Runner("openvino", "openvino", onnx="openvino"),
    "bound:nhwc": Runner(bound=("--mode", "fused", "--layout", "nhwc")),
    "bound:blk": Runner(bound=("--mode", "fused", "--layout", "blk")),
    "bound:unfused": Runner(bound=("--mode", "unfused")),
    "bound:naive": Runner(bound=("--mode", "naive")),
}
OURS = "ours:captured"  # what all others are compared with
DEFAULT = tuple(name for name in RUNNERS
                if name not in ("ours:mapped", "ours:onnx", "bound:unfused"))
ONNX_DEFAULT = (OURS, "onnxruntime", "openvino")


@dataclass(frozen=True)
class Row:
    """One model at one batch size on a number of threads."""

    model: str
    batch: int
    threads: int

    def __str__(self) -> str:
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        return f"{self.model}, batch {self.batch}, {threads}"


@dataclass(frozen=True)
class Place:
    """Where models, environments and outputs of a comparison are. `files`: rows' models that are
    ONNX files, by name. `cpu_time`: steps are timed by what the process computes, not by the
    clock."""

    models: Path = CACHE / "models"
    venvs: Path = peers.VENVS
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, OnnxFile] = field(default_factory=dict)
    cpu_time: bool = False

    def environment(self, runner: Runner, threads: int) -> dict[str, str]:
        """The variables of a runner's process.

        No wait policy is set: teams of threads wait actively, as they do when nobody says
        anything, and a runner whose turn is over is stopped as a whole.
        """
        env = {key: value for key, value in os.environ.items()
               if key in KEPT or not key.startswith(SCRUBBED)}
        env |= {key: str(threads) for key in ("OMP_NUM_THREADS", "MKL_NUM_THREADS",
                                              "OPENBLAS_NUM_THREADS")}
        env["TORCHINDUCTOR_CACHE_DIR"] = str(CACHE / "inductor")
        return {**env, **runner.env, **self.env}

    def command(self, name: str, row: Row, dump: Path, program: Path | None) -> list[str]:
        """What starts a runner; Skipped when it does not have that model or is not installed."""
        runner, files = RUNNERS[name], Files(self.models, row.model)
        shape = ["--batch", str(row.batch), "--threads", str(row.threads), "--dump", str(dump)]
        file = self.files.get(row.model)
        if file is not None and not runner.onnx:
            raise Skipped("takes no ONNX files")
        if runner.bound and self.cpu_time:
            raise Skipped("tells no CPU time")
        if runner.bound:
            return self._bound(runner, row, program, shape)
        python: str | Path | None = sys.executable
        if runner.peer:
            python = peers.python_of(runner.peer, self.venvs)
        if python is None:
            raise Skipped(f"{runner.peer} is not installed (make bench-peers)")
        module = runner.module
        if self.cpu_time:
            shape.append("--cpu-time")
        if file is not None:
            module = runner.onnx
            shape += ["--onnx", str(file.path(self.models)),
                      "--inputs", str(inputs_path(self.models, file.name, row.batch))]
        elif runner.needs_onnx:
            self._make_onnx(python, files)
        return [str(python), "-m", f"benchmarks.runners.{module}", "--folder",
                str(self.models), "--model", row.model, "--variant", runner.variant, *shape]

    def _bound(self, runner: Runner, row: Row, program: Path | None,
               shape: list[str]) -> list[str]:
        net = MODELS[row.model].bound
        if net is None:
            raise Skipped("benchmarks/bound has no such network")
        if program is None:
            raise Skipped("benchmarks/bound could not be built (see above)")
        path = Files(self.models, row.model).floats(row.batch)
        if not path.exists():
            try:
                write_floats(program, Files(self.models, row.model), row.batch)
            except Unsupported as unsupported:
                raise Skipped(str(unsupported)) from None
        return [str(program), "--serve", "--net", net, "--load", str(path), *runner.bound, *shape]

    def _make_onnx(self, python: str | Path, files: Files) -> None:
        sources = [files.symbol, files.arrays, HERE / "to_onnx.py", HERE / "graph.py"]
        newest = max(path.stat().st_mtime for path in sources)
        if files.onnx.exists() and files.onnx.stat().st_mtime >= newest:
            return
        done = subprocess.run([python, "-m", "benchmarks.to_onnx", files.folder, files.model],
                              cwd=HERE.parent, capture_output=True, text=True)
        if done.returncode:
            raise Skipped(f"no ONNX: {last_line(done.stderr)}")


def prepare_model(place: Place, model: str, batch: int) -> None:
    """Symbol and weights of a model, or the inputs of an ONNX file; Skipped when there is no such
    model, or its inputs are not known."""
    file = place.files.get(model)
    what: list[str | Path] = (
        ["benchmarks.prepare", place.models, model] if file is None else
        ["benchmarks.prepare_onnx", place.models, str(batch), file.word])
    done = subprocess.run([sys.executable, "-m", *what], cwd=HERE.parent, capture_output=True,
                          text=True)
    if done.returncode:
        raise Skipped(last_line(done.stderr))


def build_bound() -> Path | None:
    """The C program; None when it can not be built, which the compiler or the script explains."""
    done = subprocess.run([sys.executable, HERE / "bound" / "build.py"], text=True,
                          stdout=subprocess.PIPE)
    return Path(done.stdout.strip()) if done.returncode == 0 else None


def measure_peak(program: Path, threads: int) -> float:
    """The most multiply-adds on registers that the cores reach, in GFLOP/s."""
    done = subprocess.run([program, "--peak", "--json", "--threads", str(threads)], text=True,
                          check=True, stdout=subprocess.PIPE)
    found: dict[str, float] = json.loads(done.stdout)["peak"]
    return max(found.values())


def last_line(text: str) -> str:
    """The last line that says something, which of a traceback is the error."""
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no message"
