"""BaseRNNCell: builds the graph of one step, or of many; RNNParams: the variables of cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import nd, sym
from ..errors import NameMismatch
from ..nd import NDArray
from ..symbol.symbol import Symbol
from .errors import CellError
from .sequences import format_sequence

Arrays = dict[str, NDArray]


class RNNParams:
    """Variables by name, made when they are first asked for: cells that have it share them.

    All names begin with `prefix`.
    """

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._params: dict[str, Symbol] = {}

    def get(self, name: str, **kwargs: Any) -> Symbol:
        """The variable called prefix + name; `kwargs` go to `sym.Variable` where it is new."""
        name = self._prefix + name
        if name not in self._params:
            self._params[name] = sym.Variable(name, **kwargs)
        return self._params[name]


class BaseRNNCell:
    """The base of cells: `output, states = cell(inputs, states)` builds the graph of one step.

    Parameters
    ----------
    prefix : str
        Before the names of nodes, and of variables where `params` is None.
    params : RNNParams
        Variables of another cell, to be shared.
    """

    # what the parts of the weights are called, in order
    _gate_names: Sequence[str] = ()
    _num_hidden: int
    _cells: Sequence[BaseRNNCell] = ()

    def __init__(self, prefix: str = "", params: RNNParams | None = None) -> None:
        self._own_params = params is None
        self._prefix = prefix
        self._params = RNNParams(prefix) if params is None else params
        self._modified = False
        self.reset()

    def reset(self) -> None:
        """Names and counts begin anew, as for another graph; those of cells in this one too."""
        self._init_counter = -1
        self._counter = -1
        for cell in self._cells:
            cell.reset()

    def _next_name(self) -> str:
        """What the names of the nodes of the next step begin with."""
        self._counter += 1
        return f"{self._prefix}t{self._counter}_"

    def __call__(self, inputs: Any, states: Any) -> Any:
        """(output, states) of one step; inputs are (batch_size, ...), states a list."""
        raise NotImplementedError(f"{type(self).__name__} can not be stepped")

    @property
    def params(self) -> RNNParams:
        """The variables of this cell."""
        self._own_params = False
        return self._params

    @property
    def state_info(self) -> list[Any]:
        """Shape and layout of each state; 0 is the batch size."""
        raise NotImplementedError(f"{type(self).__name__} has no state_info")

    @property
    def state_shape(self) -> list[Any]:
        """The shape of each state."""
        return [info["shape"] for info in self.state_info]

    def _check_not_modified(self) -> None:
        if self._modified:
            raise CellError("After applying modifier cells (e.g. DropoutCell) the base cell cannot "
                            "be called directly. Call the modifier cell instead.")

    def begin_state(self, func: Callable[..., Any] = sym.zeros, **kwargs: Any) -> list[Any]:
        """The states before the first step, each made by `func(name=, shape=, **kwargs)`.

        `func` is `sym.zeros`, `sym.uniform`, or `sym.Variable` for states that are inputs.
        CellError for a cell that a modifier cell has taken.
        """
        self._check_not_modified()
        states = []
        for info in self.state_info:
            self._init_counter += 1
            states.append(func(name=f"{self._prefix}begin_state_{self._init_counter}",
                               **{**kwargs, **(info or {})}))
        return states

    def unpack_weights(self, args: Arrays) -> Arrays:
        """A copy of `args` with an array for each gate, instead of one for all gates.

        NameMismatch where an array of this cell is missing.
        """
        args = args.copy()
        n = self._num_hidden if self._gate_names else 0
        for group in ("i2h", "h2h") if self._gate_names else ():
            for kind in ("weight", "bias"):
                packed = taken(args, f"{self._prefix}{group}_{kind}")
                for i, gate in enumerate(self._gate_names):
                    args[f"{self._prefix}{group}{gate}_{kind}"] = packed[i * n:(i + 1) * n].copy()
        return args

    def pack_weights(self, args: Arrays) -> Arrays:
        """A copy of `args` with one array for all gates: what `unpack_weights` does, undone."""
        args = args.copy()
        for group in ("i2h", "h2h") if self._gate_names else ():
            for kind in ("weight", "bias"):
                args[f"{self._prefix}{group}_{kind}"] = nd.concatenate([
                    taken(args, f"{self._prefix}{group}{gate}_{kind}")
                    for gate in self._gate_names])
        return args

    def unroll(self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC",
               merge_outputs: bool | None = None) -> tuple[Any, Any]:
        """The graph of `length` steps: (outputs, states behind the last step).

        Parameters
        ----------
        length : int
            Number of steps.
        inputs : Symbol or list of them
            One with the axes of `layout`, or one of shape (batch_size, ...) for each step.
        begin_state : list
            The states before the first step; None: zeros.
        layout : str
            'NTC' or 'TNC': order of the axes of batch, time and features.
        merge_outputs : bool
            True: outputs are one symbol with the axes of `layout`; False: a list of steps; None:
            what is faster.
        """
        self.reset()
        steps, _ = format_sequence(length, inputs, layout, False)
        states = self.begin_state() if begin_state is None else begin_state
        outputs = []
        for step in steps:
            output, states = self(step, states)
            outputs.append(output)
        return format_sequence(length, outputs, layout, merge_outputs)[0], states

    def _get_activation(self, inputs: Any, activation: Any, **kwargs: Any) -> Any:
        """An activation by its name, or by the function that builds it."""
        if isinstance(activation, str):
            return sym.Activation(inputs, act_type=activation, **kwargs)
        return activation(inputs, **kwargs)


def taken(args: Arrays, name: str) -> NDArray:
    """The array of that name, which leaves the dict. NameMismatch where it is not there."""
    if name not in args:
        raise NameMismatch(f"weights: there is no array {name!r}")
    return args.pop(name)


def gate_parts(cell: BaseRNNCell, total: Any, name: str, axis: int | None) -> list[Any]:
    """The part of each gate of what all of them add up to, along an axis or the second one."""
    along: dict[str, Any] = {} if axis is None else {"axis": axis}
    return list(sym.SliceChannel(total, num_outputs=len(cell._gate_names), name=name, **along))
