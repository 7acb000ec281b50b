"""RNN's parameters, where each weight stands in the one vector of them, and shapes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from ...errors import ParameterError, ShapeError, where
from ...op.infer import ShapeList, TypeList, merge, merge_dim, merge_types, need_rank
from ...op.params import (
    Params,
    boolean,
    choice,
    integer,
    number,
    optional_integer,
    optional_number,
    params_class,
)
from ...op.registry import Shape
from ..floats import need_float_types
from ..nn.shape_rules import expect

P = TypeVar("P", bound="RNNParams")
# rows of weights for each element of the state
GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


@params_class
class RNNParams(Params):
    state_size: int = integer(low=1, doc="length of a layer's state")
    num_layers: int = integer(low=1, doc="how many layers stand on one another")
    bidirectional: bool = boolean(False, doc="each layer also reads backwards in time; both "
                                             "outputs stand behind one another")
    mode: str = choice("rnn_relu", "rnn_tanh", "lstm", "gru", doc="the kind of cell")
    p: float = number(0.0, low=0.0, high=1.0, doc="share of the outputs of each layer but the "
                                                  "last that become 0 in training")
    state_outputs: bool = boolean(False, doc="the last states are outputs too")
    projection_size: int | None = optional_integer(doc="lstm: length that outputs and hidden "
                                                       "states are projected to")
    lstm_state_clip_min: float | None = optional_number(doc="lstm: the least value of a cell; "
                                                            "needs lstm_state_clip_max")
    lstm_state_clip_max: float | None = optional_number(doc="lstm: the greatest value of a cell")
    lstm_state_clip_nan: bool = boolean(False, doc="where cells are clipped, NaN becomes the "
                                                   "least value and does not stay")
    use_sequence_length: bool = boolean(False, doc="an input sequence_length has the number of "
                                                   "steps of each sequence")

    @classmethod
    def parse(cls: type[P], attrs: Mapping[str, object], op: str, node: str | None = None) -> P:
        made = super().parse(attrs, op, node)
        size = made.projection_size
        if size is not None and (made.mode != "lstm" or size < 1):
            wanted = "an int of at least 1" if made.mode == "lstm" else f"None with {made.mode!r}"
            raise ParameterError(f"{where(op, node)}: parameter 'projection_size' got {size!r}, "
                                 f"expected {wanted}")
        low, high = made.lstm_state_clip_min, made.lstm_state_clip_max
        if (low, high) != (None, None):
            name = f"{where(op, node)}: parameters 'lstm_state_clip_min' and 'lstm_state_clip_max'"
            if made.mode != "lstm":
                raise ParameterError(f"{name} got {low} and {high}, expected None with "
                                     f"{made.mode!r}")
            if low is None or high is None or not low <= high:
                raise ParameterError(f"{name} got {low} and {high}, expected both, the first not "
                                     "above the second")
        return made

    @property
    def clip(self) -> tuple[float, float] | None:
        """What cells are clipped to."""
        low, high = self.lstm_state_clip_min, self.lstm_state_clip_max
        return None if low is None or high is None else (low, high)

    @property
    def states(self) -> int:
        """How many states a cell has."""
        return 2 if self.is_lstm else 1

    @property
    def is_lstm(self) -> bool:
        # also while the mode is not known, so that a signature has its input in its place
        return self.mode not in ("rnn_relu", "rnn_tanh", "gru")

    @property
    def gates(self) -> int:
        return GATES[self.mode]

    @property
    def directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def hidden(self) -> int:
        """Length of a hidden state, and of what one direction puts out."""
        return self.state_size if self.projection_size is None else self.projection_size

    @property
    def out_size(self) -> int:
        """Length of what a layer puts out at each step."""
        return self.hidden * self.directions

    @property
    def rows(self) -> int:
        """Rows of a weight matrix."""
        return self.gates * self.state_size

    @property
    def has_mask(self) -> bool:
        """Training may drop outputs between layers."""
        return self.p > 0 and self.num_layers > 1

    def layer_input(self, layer: int, features: int) -> int:
        """Length of what a layer reads at each step."""
        return self.out_size if layer else features


@dataclass(frozen=True)
class Place:
    """Where the parameters of one layer and direction stand in the vector, in elements."""

    i2h: int  # (rows, inputs)
    h2h: int  # (rows, hidden)
    projection: int  # (projection_size, state_size), where there is one
    i2h_bias: int  # (rows,)
    h2h_bias: int  # (rows,)


def _fixed(p: RNNParams) -> int:
    """Elements of the vector but for the weights of the first layer's input."""
    projection = 0 if p.projection_size is None else p.projection_size * p.state_size
    cell = p.rows * (p.hidden + 2) + projection
    above = (p.num_layers - 1) * p.rows * p.out_size
    return p.directions * (p.num_layers * cell + above)


def vector_size(p: RNNParams, features: int) -> int:
    """Elements of the vector of all weights and biases."""
    return _fixed(p) + p.directions * p.rows * features


@lru_cache(maxsize=64)
def places(p: RNNParams, features: int) -> list[list[Place]]:
    """The places of each layer's directions: all weights come first, then all biases."""
    at = 0
    weights: list[tuple[int, int, int]] = []
    for layer in range(p.num_layers):
        for _ in range(p.directions):
            h2h = at + p.rows * p.layer_input(layer, features)
            projection = h2h + p.rows * p.hidden
            weights.append((at, h2h, projection))
            at = projection + (p.projection_size or 0) * p.state_size
    found = [Place(*three, at + 2 * i * p.rows, at + (2 * i + 1) * p.rows)
             for i, three in enumerate(weights)]
    return [found[i:i + p.directions] for i in range(0, len(found), p.directions)]


def input_names(p: RNNParams) -> tuple[str, ...]:
    cell = ("state_cell",) if p.is_lstm else ()
    lengths = ("sequence_length",) if p.use_sequence_length else ()
    return ("data", "parameters", "state", *cell, *lengths)


def visible_outputs(p: RNNParams) -> int:
    return (3 if p.is_lstm else 2) if p.state_outputs else 1


def output_names(p: RNNParams) -> tuple[str, ...]:
    shown = ("output", "state_output", "statecell_output")[:visible_outputs(p)]
    return (*shown, "mask") if p.has_mask else shown


def _features(p: RNNParams, vector: Shape | None) -> int:
    """Length of the input that a vector of parameters is for; -1 where that is unknown."""
    if vector is None or len(vector) != 1 or vector[0] == -1:
        return -1
    features, rest = divmod(vector[0] - _fixed(p), p.directions * p.rows)
    if rest or features < 0:
        raise ShapeError(f"parameters has shape {vector}, expected {_fixed(p)} elements and "
                         f"{p.directions * p.rows} for each element of the input")
    return features


def infer_shape(p: RNNParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    need_rank(ins[0], (3,), "data")
    shown = outs[:visible_outputs(p)]
    cells = p.directions * p.num_layers
    names = input_names(p)
    given = dict(zip(names, ins, strict=True))
    steps, batch, features = given["data"] or (-1, -1, -1)
    output = expect(outs[0], (steps, batch, p.out_size), "output", f"data {ins[0]}")
    steps, batch = output[:2]
    features = merge_dim(features, _features(p, given["parameters"]) if features == -1 else -1)
    states: list[Shape] = []
    for name, size in (("state", p.hidden), ("state_cell", p.state_size))[:p.states]:
        state = expect(given[name], (cells, batch, size), name, f"data {ins[0]}, {_said(p)}")
        if p.state_outputs:
            state = expect(shown[len(states) + 1], state, f"output of {name}", f"data {ins[0]}")
        batch = state[1]
        states.append(state)
    lengths = given.get("sequence_length")
    if p.use_sequence_length:
        lengths = expect(lengths, (batch,), "sequence_length", f"data {ins[0]}")
        batch = lengths[0]
    size = -1 if features == -1 else vector_size(p, features)
    vector = expect(given["parameters"], (size,), "parameters", f"data {ins[0]}, {_said(p)}")
    data = (steps, batch, features)
    states = [(cells, batch, state[2]) for state in states]
    made: ShapeList = [data, vector, *states, *([(batch,)] if p.use_sequence_length else [])]
    results: ShapeList = [(steps, batch, p.out_size), *(states if p.state_outputs else ())]
    if p.has_mask:
        mask = (p.num_layers - 1, steps, batch, p.out_size)
        results.append(merge(outs[-1], mask, "shapes of masks"))
    return made, results


def _said(p: RNNParams) -> str:
    return (f"mode={p.mode}, num_layers={p.num_layers}, state_size={p.state_size}, "
            f"bidirectional={p.bidirectional}, projection_size={p.projection_size}")


def infer_type(p: RNNParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    count = len(ins) - p.use_sequence_length
    one = merge_types([*ins[:count], *outs])
    need_float_types([one])
    lengths = [ins[-1] or one] if p.use_sequence_length else []
    return [one] * count + lengths, [one] * len(outs)
