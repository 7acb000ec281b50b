"""What the golden numbers are made of: configurations of RNN, and their inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

STEPS, BATCH, FEATURES, STATE = 4, 3, 5, 6
GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}

CONFIGS: dict[str, dict[str, Any]] = {
    f"{mode}_{layers}{'_both' if both else ''}":
        {"mode": mode, "num_layers": layers, "bidirectional": both}
    for mode in GATES for layers, both in ((1, False), (2, False), (2, True))
}
# inference only: MXNet has no gradient of a projection on CPUs
CONFIGS["projected"] = {"mode": "lstm", "num_layers": 2, "bidirectional": True,
                        "projection_size": 4}
# without effect on CPUs: bounds and lengths here change nothing elsewhere either
CONFIGS["clipped"] = {"mode": "lstm", "num_layers": 1, "lstm_state_clip_min": -10,
                      "lstm_state_clip_max": 10}
CONFIGS["lengths"] = {"mode": "gru", "num_layers": 1, "use_sequence_length": True}


def inputs(config: dict[str, Any]) -> list[np.ndarray[Any, Any]]:
    """data, parameters, state, for lstm state_cell, and sequence_length where it is used."""
    rows, both = GATES[config["mode"]] * STATE, 2 if config.get("bidirectional") else 1
    hidden = config.get("projection_size", STATE)
    projection = hidden * STATE if "projection_size" in config else 0
    cells = config["num_layers"] * both
    size = sum(both * (rows * ((hidden * both if layer else FEATURES) + hidden + 2) + projection)
               for layer in range(config["num_layers"]))
    shapes = [(STEPS, BATCH, FEATURES), (size,), (cells, BATCH, hidden)]
    if config["mode"] == "lstm":
        shapes.append((cells, BATCH, STATE))
    rng = np.random.RandomState(5)
    made = [rng.uniform(-1, 1, shape).astype(np.float32) for shape in shapes]
    if config.get("use_sequence_length"):
        made.append(np.full(BATCH, STEPS, np.float32))
    return made


def heads(outputs: list[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    """Gradients of the outputs."""
    rng = np.random.RandomState(6)
    return [rng.uniform(-1, 1, out.shape).astype(np.float32) for out in outputs]
