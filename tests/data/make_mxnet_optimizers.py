"""Writes mxnet_optimizers/. Run with the real MXNet 1.9.1 (and numpy<1.24), from this folder:
python make_mxnet_optimizers.py

steps.json: for each optimizer with its parameters, three weights after 20 steps on gradients that
tests make the same way (tests/optimizer/golden.py). rates.json: each schedule's rates.
states_*.bin: what MXNet's Updater pickles.
"""

import json
import pathlib
import sys

import mxnet as mx

FOLDER = pathlib.Path(__file__).parent
sys.path.insert(0, str(FOLDER.parents[1]))

from tests.optimizer import golden  # noqa: E402 - needs the path

OUT = FOLDER / "mxnet_optimizers"


def main() -> None:
    OUT.mkdir(exist_ok=True)
    steps = {}
    for case in golden.CASES:
        apart, together = (
            [w.asnumpy().astype("float32").ravel().tolist() for w in golden.run(mx, case, way)]
            for way in (False, True))
        steps[golden.name_of(case)] = apart
        if case in golden.DEPENDS_ON_CALLS:
            steps[f"{golden.name_of(case)} together"] = together
    lines = [f"{json.dumps(name)}: {json.dumps(found)}" for name, found in steps.items()]
    (OUT / "steps.json").write_text("{" + ",\n".join(lines) + "}\n")
    rates = {name: golden.rates(mx, name, params) for name, params in golden.SCHEDULES}
    lines = [f"{json.dumps(name)}: {json.dumps(found)}" for name, found in rates.items()]
    (OUT / "rates.json").write_text("{" + ",\n".join(lines) + "}\n")
    for name in golden.PICKLED:
        updater = golden.trained(mx, name)
        (OUT / f"states_{name}.bin").write_bytes(updater.get_states(dump_optimizer=True))
        (OUT / f"states_{name}_alone.bin").write_bytes(updater.get_states())


if __name__ == "__main__":
    main()
