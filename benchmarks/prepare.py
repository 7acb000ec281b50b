"""Writes a model's symbol and weights for all runners: python -m benchmarks.prepare FOLDER MODEL

Runs in the environment of ndarray_rt. Weights come from a seed. Statistics of batch normalisation
are the network's own for random images, so activations stay of order one down to the output.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .models import MODELS, Files, Model

SEED = 7
STATISTICS_BATCH = 2
Array = npt.NDArray[np.float32]


class Missing(Exception):
    """A model that this version of ndarray_rt does not have."""


def draw(name: str, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Random values for a parameter, by what its name says it is."""
    if name.endswith("gamma"):
        return rng.uniform(0.8, 1.2, shape).astype(np.float32)
    if name.endswith("beta"):
        # With shifts about 0 each normalisation and its relu enlarge differences 1.2-fold
        # (arXiv:1902.08129): over ResNet-50 rounding errors would grow some hundred times.
        return rng.uniform(0.4, 0.6, shape).astype(np.float32)
    if name.endswith(("bias", "mean")):
        return rng.uniform(-0.05, 0.05, shape).astype(np.float32)
    if name.endswith("var"):
        return np.ones(shape, np.float32)
    if name.endswith("parameters"):  # all of an RNN in one vector
        return rng.uniform(-0.04, 0.04, shape).astype(np.float32)
    values = rng.standard_normal(shape, dtype=np.float32)
    if name.startswith(("word", "pos")):  # looked up, not summed over
        return values
    # Rows that sum to zero keep the mean, which relu makes positive, from growing with depth:
    # else the scores of all inputs would be much alike, and comparing them would show little.
    rows = values.reshape(shape[0], -1)
    rows -= rows.mean(axis=1, keepdims=True)
    rows *= np.sqrt(2 / rows.shape[1], dtype=np.float32)
    return values


def draw_parameters(net: Any, model: Model) -> tuple[dict[str, Array], dict[str, Array]]:
    """Arguments without the inputs, and auxiliary states, by name."""
    given = model.shapes(STATISTICS_BATCH)
    shapes, _, aux_shapes = net.infer_shape(**given)
    rng = np.random.default_rng(SEED)
    args = {name: draw(name, shape, rng)
            for name, shape in zip(net.list_arguments(), shapes, strict=True) if name not in given}
    aux = {name: draw(name, shape, rng)
           for name, shape in zip(net.list_auxiliary_states(), aux_shapes, strict=True)}
    return args, aux


def settle(net: Any, model: Model, args: dict[str, Array], aux: dict[str, Array]) -> None:
    """Sets the statistics of every batch normalisation to those of what it is given.

    In training each normalises by the statistics of its own batch, so one pass gives all of them.
    """
    import ndarray_rt as mx

    nodes = json.loads(net.tojson())["nodes"]
    norms = [node for node in nodes if node["op"] == "BatchNorm"]
    if not norms:
        return
    internals = net.get_internals()
    inputs = mx.sym.Group([internals[f"{nodes[norm['inputs'][0][0]]['name']}_output"]
                           for norm in norms])
    executor = inputs.simple_bind(mx.cpu(), grad_req="null", **model.shapes(STATISTICS_BATCH))
    executor.copy_params_from({name: mx.nd.array(value) for name, value in args.items()},
                              {name: mx.nd.array(value) for name, value in aux.items()},
                              allow_extra_params=True)
    seen = executor.forward(is_train=True, data=model.make_data(STATISTICS_BATCH))
    for norm, array in zip(norms, seen, strict=True):
        mean, variance = (nodes[i[0]]["name"] for i in norm["inputs"][3:5])
        values = array.asnumpy()
        aux[mean] = values.mean(axis=(0, 2, 3))
        aux[variance] = values.var(axis=(0, 2, 3)) + np.float32(1e-3)


def prepare(folder: Path, name: str) -> None:
    """Makes the files of a model unless they are there already.

    Missing when ndarray_rt does not have it and nobody else has written the files.
    """
    import ndarray_rt as mx

    model, files = MODELS[name], Files(folder, name)
    if model.zoo not in mx.model_zoo.symbols.names():
        if files.symbol.exists() and files.params.exists() and files.arrays.exists():
            return
        raise Missing(f"{name}: ndarray_rt has no {model.zoo!r} in model_zoo.symbols")
    # named as in a fresh process, whatever was made before
    with mx.name.NameManager():
        net = mx.model_zoo.symbols.get_symbol(model.zoo)
    text = net.tojson()
    made_from = hashlib.sha256(text.encode() + Path(__file__).read_bytes()).hexdigest()
    if files.stamp.exists() and files.stamp.read_text(encoding="utf-8") == made_from:
        return
    args, aux = draw_parameters(net, model)
    settle(net, model, args, aux)
    files.symbol.write_text(text, encoding="utf-8")
    mx.nd.save(str(files.params), {**{f"arg:{k}": mx.nd.array(v) for k, v in args.items()},
                                   **{f"aux:{k}": mx.nd.array(v) for k, v in aux.items()}})
    arrays: dict[str, Any] = {**args, **aux}
    np.savez(files.arrays, **arrays)
    files.stamp.write_text(made_from, encoding="utf-8")


def main() -> None:
    folder, name = Path(sys.argv[1]), sys.argv[2]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        prepare(folder, name)
    except Missing as missing:
        sys.exit(str(missing))


if __name__ == "__main__":
    main()
