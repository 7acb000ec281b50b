"""Environments of the other runtimes: python -m benchmarks.peers [NAME ...] makes them.

Each gets a virtual environment of its own under benchmarks/.venvs (or --venvs), filled from the
package index that pip is set up for. What can not be had is skipped with a word.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
VENVS = HERE / ".venvs"


@dataclass(frozen=True)
class Peer:
    """What is installed for one other runtime. `python`: the only CPython its wheels are for."""

    packages: tuple[str, ...]
    python: str = ""


PEERS: dict[str, Peer] = {
    "mxnet": Peer(("mxnet==1.9.1", "numpy<1.24"), python="3.11"),
    "torch": Peer(("torch==2.13.0", "numpy")),
    "onnxruntime": Peer(("onnxruntime", "onnx", "numpy")),
    "openvino": Peer(("openvino", "onnx", "numpy")),
}


def python_of(peer: str, venvs: Path) -> Path | None:
    """The interpreter of a peer's environment; None when it is not installed."""
    python = venvs / peer / "bin" / "python"
    return python if python.exists() else None


def find_interpreter(version: str) -> str | None:
    """An interpreter that makes environments: of a version, or the running one for an empty one."""
    if not version or sys.version.startswith(f"{version}."):
        return sys.executable
    found = shutil.which(f"python{version}")
    if found is None:
        return None
    # a launcher may be on the path without the interpreter that it launches
    told = subprocess.run([found, "-c", "import ensurepip, sys; print(sys.version)"],
                          capture_output=True, text=True)
    return found if told.stdout.startswith(f"{version}.") else None


def install(name: str, venvs: Path) -> str:
    """Makes a peer's environment unless it is there; returns a word on how that went."""
    peer, folder = PEERS[name], venvs / name
    if python_of(name, venvs):
        return f"{name}: is there already"
    interpreter = find_interpreter(peer.python)
    if interpreter is None:
        return f"{name}: skipped, it needs CPython {peer.python}, which is not on the path"
    making = folder.with_name(f"{name}.part")
    shutil.rmtree(making, ignore_errors=True)
    steps = ([interpreter, "-m", "venv", str(making)],
             [str(making / "bin" / "python"), "-m", "pip", "install", "--quiet", *peer.packages])
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True)
        if done.returncode:
            shutil.rmtree(making, ignore_errors=True)
            lines = done.stderr.strip().splitlines() or ["no message"]
            return f"{name}: skipped, {lines[-1]}"
    making.rename(folder)
    return f"{name}: installed"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help=f"of {', '.join(PEERS)}; all when none is given")
    parser.add_argument("--venvs", type=Path, default=VENVS)
    args = parser.parse_args()
    unknown = sorted(set(args.names) - set(PEERS))
    if unknown:
        parser.error(f"there is no peer {unknown[0]!r}; there are {', '.join(PEERS)}")
    args.venvs.mkdir(parents=True, exist_ok=True)
    for name in args.names or PEERS:
        print(install(name, args.venvs), flush=True)


if __name__ == "__main__":
    main()
