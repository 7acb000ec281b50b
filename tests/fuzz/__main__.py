"""Fuzzes the readers of files, one after the other: `python -m tests.fuzz --seconds 600 json`.

Without names it takes all targets. What was found to lead to new paths is kept in build/fuzz, and a
later run begins with it; bytes that a reader failed on are kept beside it. Needs atheris.
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

FOLDER = Path("build/fuzz")
MOST_MEGABYTES = 1024  # of the process, of which the package itself takes some 200
LONGEST_SECONDS = 10  # for one file
LONGEST_FILE = 1 << 14


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", help="which; without any all of them")
    parser.add_argument("--seconds", type=int, default=600, help="for each target")
    parser.add_argument("--in-process", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.in_process:
        fuzz(given.targets[0], given.seconds)
    from .targets import TARGETS
    names = given.targets or list(TARGETS)
    for name in names:
        if name not in TARGETS:
            parser.error(f"there is no target {name!r}; there are: {', '.join(TARGETS)}")
    bad = []
    for name in names:
        print(f"== {name}", flush=True)
        command = [sys.executable, "-m", "tests.fuzz", "--in-process", "--seconds",
                   str(given.seconds), name]
        if subprocess.run(command, check=False).returncode:
            bad.append(name)
    if bad:
        print(f"findings in {', '.join(bad)}: see {FOLDER}")
    return bool(bad)


def fuzz(name: str, seconds: int) -> None:
    """Fuzzes one target; ends the process."""
    import atheris

    from .targets import TARGETS
    target = TARGETS[name]
    corpus = FOLDER / name
    corpus.mkdir(parents=True, exist_ok=True)
    for i, seed in enumerate(target.seeds()):
        (corpus / f"seed-{i}").write_bytes(seed)
    for module in target.modules:
        if importlib.util.find_spec(module) is not None:  # not each NumPy has all of its own
            _instrument(atheris, module)
    how = {}
    if target.mutate is not None:
        mutate = target.mutate

        def either(data: bytes, most: int, seed: int) -> bytes:
            # one half of the files keeps its form
            return mutate(data, most, seed) if seed % 2 else atheris.Mutate(data, most)
        how["custom_mutator"] = either
    atheris.Setup([sys.argv[0], f"-max_total_time={seconds}", f"-rss_limit_mb={MOST_MEGABYTES}",
                   f"-timeout={LONGEST_SECONDS}", f"-max_len={LONGEST_FILE}",
                   f"-artifact_prefix={FOLDER}/{name}-", "-print_final_stats=1", "-verbosity=0",
                   str(corpus)], target.check, **how)
    atheris.Fuzz()


def _instrument(atheris: Any, name: str) -> None:
    """Lets the functions of a module, and their methods, tell which paths they take."""
    module = importlib.import_module(name)
    for value in list(vars(module).values()):
        if getattr(value, "__module__", None) != name:
            continue
        # methods of a class, functions that an object holds, or one function
        inside = [value] if hasattr(value, "__code__") else getattr(value, "__dict__", {}).values()
        for function in list(inside):
            function = getattr(function, "__wrapped__", function)
            if hasattr(function, "__code__"):
                atheris.instrument_func(function)


if __name__ == "__main__":
    sys.exit(main())
