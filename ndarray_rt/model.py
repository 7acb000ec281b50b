"""Checkpoints: a graph and its parameters in two files; FeedForward. Source: `mx.model`."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from . import nd
from .context import cpu
from .errors import ParameterError
from .nd import NDArray
from .public import loads, shows
from .symbol.functions import load as load_symbol
from .symbol.symbol import Symbol

if TYPE_CHECKING:
    from .feed_forward import FeedForward

__all__ = ["BatchEndParam", "FeedForward", "load_checkpoint", "load_params", "save_checkpoint"]
__dir__ = shows(globals())
__getattr__ = loads(globals(), {"FeedForward": "feed_forward:FeedForward"})

Params = dict[str, NDArray]


class BatchEndParam(NamedTuple):
    """What callbacks of batches get."""

    epoch: int
    nbatch: int
    eval_metric: Any
    locals: Any


def params_to_save(arg_params: Mapping[str, NDArray],
                   aux_params: Mapping[str, NDArray]) -> Params:
    """Both under the names that they have in files: 'arg:...' and 'aux:...'."""
    return {**{f"arg:{name}": value.as_in_context(cpu()) for name, value in arg_params.items()},
            **{f"aux:{name}": value.as_in_context(cpu()) for name, value in aux_params.items()}}


def params_from_file(fname: str) -> tuple[Params, Params]:
    """(arg_params, aux_params) of a file. Raises ParameterError for a name of neither kind."""
    found = nd.load(fname)
    if not found:
        logging.warning("Params file '%s' is empty", fname)
        return {}, {}
    if not isinstance(found, dict):
        raise ParameterError(f"params file {fname!r}: the arrays have no names, expected 'arg:...' "
                             "and 'aux:...'")
    sorted_out: dict[str, Params] = {"arg": {}, "aux": {}}
    for key, value in found.items():
        kind, colon, name = key.partition(":")
        if not colon or kind not in sorted_out:
            raise ParameterError(f"params file {fname!r}: Invalid param file: name {key!r}, "
                                 "expected 'arg:...' or 'aux:...'")
        sorted_out[kind][name] = value
    return sorted_out["arg"], sorted_out["aux"]


def save_checkpoint(prefix: str, epoch: int, symbol: Symbol | None,
                    arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray],
                    remove_amp_cast: bool = True) -> None:
    """Writes prefix-symbol.json (where there is a symbol) and prefix-<epoch, 4 digits>.params."""
    if symbol is not None:
        symbol.save(f"{prefix}-symbol.json", remove_amp_cast=remove_amp_cast)
    fname = f"{prefix}-{epoch:04d}.params"
    nd.save(fname, params_to_save(arg_params, aux_params))
    logging.info('Saved checkpoint to "%s"', fname)


def load_params(prefix: str, epoch: int) -> tuple[Params, Params]:
    """(arg_params, aux_params) of prefix-<epoch, 4 digits>.params."""
    return params_from_file(f"{prefix}-{epoch:04d}.params")


def load_checkpoint(prefix: str, epoch: int) -> tuple[Symbol, Params, Params]:
    """(symbol, arg_params, aux_params) of what `save_checkpoint` wrote, here or in MXNet."""
    symbol = load_symbol(f"{prefix}-symbol.json")
    return symbol, *load_params(prefix, epoch)
