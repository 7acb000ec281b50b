"""Programs in processes of their own: what happens to a whole process can not be tested in ours."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"
ROOT = Path(__file__).parents[2]


def run_program(name: str, *arguments: object, threads: int = 2, timeout: float = 240,
                **environment: str) -> str:
    """Runs programs/<name>.py and gives what it printed; fails when it fails or does not end."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("NDRT_")}
    env |= {"OMP_NUM_THREADS": str(threads), "PYTHONPATH": str(ROOT), **environment}
    command = [sys.executable, str(PROGRAMS / f"{name}.py"), *map(str, arguments)]
    # a session of its own, so that its children can be ended with it
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, start_new_session=True) as process:
        try:
            printed, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGABRT)
            printed, _ = process.communicate()
            raise AssertionError(f"{name} hangs:\n{printed}") from None
    assert process.returncode == 0, f"{name} ended with {process.returncode}:\n{printed}"
    return printed
