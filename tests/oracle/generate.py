"""Writes answers/FAMILY.npz. Run with the real MXNet 1.9.1: python generate.py [FAMILY ...]"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent


def main(families: list[str]) -> None:
    import mxnet as mx
    sys.path.insert(0, str(HERE.parent.parent))
    from tests.oracle.call import answer
    for path in sorted((HERE / "calls").glob("[a-z]*.py")):
        if families and path.stem not in families:
            continue
        calls = importlib.import_module(f"tests.oracle.calls.{path.stem}").CALLS
        found: dict[str, Any] = {"signs": np.array([call.sign for call in calls], np.uint32)}
        for i, call in enumerate(calls):
            try:
                made = answer(mx, call)
            except Exception as error:
                raise SystemExit(f"{path.stem} {i} {call}: {error}") from None
            found.update({f"{i}.{name}": value for name, value in made.items()})
        np.savez_compressed(HERE / "answers" / f"{path.stem}.npz", **found)
        print(f"{path.stem}: {len(calls)} calls")


if __name__ == "__main__":
    main(sys.argv[1:])
