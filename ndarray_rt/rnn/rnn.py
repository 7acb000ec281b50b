"""Checkpoints of networks with cells, whose weights are unpacked in files. Source: `mx.rnn`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from .. import sym
from ..model import load_checkpoint, save_checkpoint
from ..nd import NDArray
from ..public import shows
from ..symbol.symbol import Symbol
from .base_cell import Arrays, BaseRNNCell

__all__ = ["do_rnn_checkpoint", "load_rnn_checkpoint", "rnn_unroll", "save_rnn_checkpoint"]
__dir__ = shows(globals())


def rnn_unroll(cell: BaseRNNCell, length: int, inputs: Any = None, begin_state: Any = None,
               input_prefix: str = "", layout: str = "NTC") -> tuple[Any, Any]:
    """`cell.unroll` under its older name; without inputs they are variables.

    These are called input_prefix + 't0_data' and so on. Warns that it is deprecated.
    """
    warnings.warn("rnn_unroll is deprecated. Please call cell.unroll directly.", stacklevel=2)
    if inputs is None:
        inputs = [sym.Variable(f"{input_prefix}t{i}_data") for i in range(length)]
    return cell.unroll(length=length, inputs=inputs, begin_state=begin_state, layout=layout)


def _listed(cells: Any) -> list[BaseRNNCell]:
    return [cells] if isinstance(cells, BaseRNNCell) else list(cells)


def save_rnn_checkpoint(cells: Any, prefix: str, epoch: int, symbol: Symbol | None,
                        arg_params: Mapping[str, NDArray],
                        aux_params: Mapping[str, NDArray]) -> None:
    """`model.save_checkpoint` with the weights of these cells (one or a list) unpacked."""
    args = dict(arg_params)
    for cell in _listed(cells):
        args = cell.unpack_weights(args)
    save_checkpoint(prefix, epoch, symbol, args, aux_params)


def load_rnn_checkpoint(cells: Any, prefix: str, epoch: int) -> tuple[Symbol, Arrays, Arrays]:
    """(symbol, arg_params, aux_params) that `save_rnn_checkpoint` wrote, the weights packed."""
    symbol, args, aux = load_checkpoint(prefix, epoch)
    for cell in _listed(cells):
        args = cell.pack_weights(args)
    return symbol, args, aux


def do_rnn_checkpoint(cells: Any, prefix: str, period: int = 1) -> Callable[..., None]:
    """A callback for the end of epochs: `save_rnn_checkpoint` after each `period` of them."""
    period = int(max(1, period))

    def save(iter_no: int, sym: Any = None, arg: Any = None, aux: Any = None) -> None:
        if (iter_no + 1) % period == 0:
            save_rnn_checkpoint(cells, prefix, iter_no + 1, sym, arg, aux)

    return save
