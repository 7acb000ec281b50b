"""RNN: each mode with its gradients; one vector holds all parameters."""

from __future__ import annotations

from typing import Any

from ..call import Array, Call

STEPS, BATCH, FEATURES, STATE = 4, 2, 3, 5
GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


def rnn(mode: str, layers: int = 1, both: bool = False, **params: Any) -> Call:
    ways, rows = 1 + both, GATES[mode] * STATE
    size = sum(ways * rows * ((STATE * ways if layer else FEATURES) + STATE + 2)
               for layer in range(layers))
    state = Array((layers * ways, BATCH, STATE), seed=3)
    inputs = [Array((STEPS, BATCH, FEATURES), seed=1), Array((size,), -0.5, 0.5, seed=2), state]
    if mode == "lstm":
        inputs.append(state._replace(seed=4))
    return Call("RNN", inputs, {"mode": mode, "state_size": STATE, "num_layers": layers,
                                "bidirectional": both, **params},
                tuple(range(len(inputs))), head_scale=20, rtol=1e-4, atol=1e-4)


CALLS = [
    *(rnn(mode, state_outputs=states) for mode in GATES for states in (False, True)),
    *(rnn(mode, 2, True, state_outputs=True) for mode in GATES),
    rnn("lstm", 2)._replace(train=False, grads=()),
    rnn("gru", 2)._replace(train=False, grads=()),
]
