"""Writes the golden files of this folder. Run with the real MXNet 1.9.1: python make_golden.py

Each symbol is written as MXNet writes it, together with what MXNet answers when asked about it. For
the files of older versions, what MXNet makes of them is written beside them.
"""

import json
import pathlib
import warnings
from typing import Any

import mxnet as mx
import numpy as np
from symbols import SYMBOLS, mixed_precision

warnings.filterwarnings("ignore")
HERE = pathlib.Path(__file__).parent


def shapes(result: Any) -> list[list[list[int]]]:
    return [[list(shape) for shape in part] for part in result]


def types(result: Any) -> list[list[str]]:
    return [[np.dtype(dtype).name for dtype in part] for part in result]


def answers(symbol: Any, known: dict[str, tuple[int, ...]]) -> dict[str, Any]:
    internals = symbol.get_internals()
    return {
        "known": {name: list(shape) for name, shape in known.items()},
        "arguments": symbol.list_arguments(),
        "outputs": symbol.list_outputs(),
        "aux": symbol.list_auxiliary_states(),
        "inputs": symbol.list_inputs(),
        "internals": internals.list_outputs(),
        "name": symbol.name,
        "attr_dict": symbol.attr_dict(),
        "shapes": shapes(symbol.infer_shape(**known)),
        "internal_shapes": shapes(internals.infer_shape(**known)),
        "types": types(symbol.infer_type(**dict.fromkeys(known, "float32"))),
        "debug_str": symbol.debug_str(),
    }


def main() -> None:
    for make in SYMBOLS:
        with mx.name.NameManager():
            symbol, known = make(mx)
        (HERE / f"{make.__name__}.json").write_text(symbol.tojson(), encoding="utf-8")
        (HERE / f"{make.__name__}.answers.json").write_text(
            json.dumps(answers(symbol, known), indent=1, sort_keys=True), encoding="utf-8")
    kept = mixed_precision(mx)[0].tojson(remove_amp_cast=False)
    (HERE / "mixed_precision.casts.json").write_text(kept, encoding="utf-8")
    for old in sorted(HERE.glob("old_*.json")):
        if not old.name.endswith(".upgraded.json"):
            new = mx.sym.load(str(old)).tojson()
            old.with_suffix(".upgraded.json").write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
