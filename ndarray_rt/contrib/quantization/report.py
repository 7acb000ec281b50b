"""What a model loses on 8-bit numbers, layer by layer, and which layers are to stay on floats."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import inf, log10
from typing import Any, NamedTuple

import numpy as np

from ...context import cpu
from ...errors import NameMismatch, ParameterError, TypeMismatch, did_you_mean, shown
from ...executor.calibration.names import refuse_unknown
from ...executor.calibration.options import (
    Table,
    check_kind,
    found_ranges,
    make_collector,
    unknown_mode,
)
from ...executor.checks import check_float, check_names
from ...nd import NDArray, array
from ...passes.quantize import Quantized, Wanted, quantize
from ...symbol.node import Node, topological
from ...symbol.subgraph import SubgraphParams
from ...symbol.symbol import Symbol
from .model import FUSED, Params
from .symbols import (
    _calibrate_quantized_sym,
    _quantize_params,
    check_params,
    check_symbol,
)

Array = np.ndarray[Any, np.dtype[Any]]
_SUMS = ("Convolution", "FullyConnected", "RNN", "dot", "batch_dot")


class LayerLoss(NamedTuple):
    """A layer, and what the model's outputs lose where it alone is on 8-bit numbers: the root mean
    square of their difference, by theirs."""

    name: str
    operator: str
    loss: float

    @property
    def decibels(self) -> float:
        """The ratio of signal to noise."""
        return decibels(self.loss)


class QuantizationReport(NamedTuple):
    """What `quantize_with_report` found. `loss` is that of the quantized model, `layers` are those
    that can be quantized, the one that loses most first, `excluded` those that stay on floats for
    the loss, `nbytes` and `quantized_nbytes` what the parameters take before and after, `samples`
    how many samples decided."""

    loss: float
    layers: list[LayerLoss]
    excluded: list[str]
    nbytes: int
    quantized_nbytes: int
    samples: int

    @property
    def decibels(self) -> float:
        """The outputs' ratio of signal to noise."""
        return decibels(self.loss)

    def __str__(self) -> str:
        lines = [f"outputs: {self.decibels:.1f} dB, loss {self.loss:.3g} (rms of the difference by "
                 f"rms), {self.samples} samples",
                 f"parameters: {self.quantized_nbytes:,} bytes, {self.nbytes:,} on floats"]
        if self.layers:
            width = max(len(layer.name) for layer in self.layers)
            lines.append("layers, each alone on 8-bit numbers:")
            lines += [f"  {layer.name:<{width}}  {layer.decibels:6.1f} dB"
                      + ("  on floats" if layer.name in self.excluded else "")
                      for layer in self.layers]
        return "\n".join(lines)


def decibels(loss: float) -> float:
    """The ratio of signal to noise of a loss."""
    return inf if loss == 0 else -20 * log10(loss)


def quantize_with_report(sym: Symbol, arg_params: Params, aux_params: Params,
                         data: Mapping[str, Any], *, max_loss: float | None = None,
                         calib_mode: str = "naive", quantized_dtype: str = "auto",
                         quantize_granularity: str = "channel-wise",
                         excluded_sym_names: Collection[str] | None = None, batch_size: int = 16,
                         fused: bool = True,
                         ) -> tuple[Symbol, Params, Params, QuantizationReport]:
    """A model on 8-bit numbers, and what it loses: (symbol, parameters, states, report).

    Parameters
    ----------
    sym, arg_params, aux_params : the model on float32.
    data : samples by name of the input, NumPy arrays or NDArrays, as many for each. They decide
        about ranges, and the model's outputs for them about losses.
    max_loss : layers stay on floats, those that lose most first, until the outputs lose no more:
        root mean square of the difference by that of the outputs on float32. None: all that can be
        is quantized.
    calib_mode : "naive" or "entropy", as in `quantize_model`, and so are `quantized_dtype`,
        `quantize_granularity` and `excluded_sym_names`.
    batch_size : how many samples run at once.
    fused : as `quantize_model_mkldnn`, else as `quantize_model`.

    The model runs once on the samples for each layer, and once again for each that stays on floats
    by `max_loss`. Raises ParameterError for arguments that can not be meant, NameMismatch for a
    parameter that is not given and for a name that no node or input has, ShapeError for data that
    do not go with the parameters.
    """
    check_symbol(sym)
    excluded = check_names("excluded_sym_names", excluded_sym_names or ())
    refuse_unknown(sym.entries, excluded, "excluded_sym_names")
    check_kind(quantized_dtype, quantize_granularity)
    if calib_mode not in ("naive", "entropy"):
        raise unknown_mode(calib_mode, "`naive` or `entropy`")
    if max_loss is not None and not check_float("max_loss", max_loss) >= 0:
        raise ParameterError(f"max_loss got {max_loss}, expected a number from 0 up")
    _Samples.check(sym, data)
    check_params(sym, data, arg_params, aux_params)
    given = _Samples(data, batch_size)
    work = _Work(sym, (arg_params, aux_params), given, excluded, fused,
                 (calib_mode, quantized_dtype, quantize_granularity))
    return work.result(max_loss)


def _layer(node: Node) -> LayerLoss | None:
    """A layer that sums products, also where it is fused with what follows it."""
    inner = [node]
    if isinstance(node.params, SubgraphParams):
        inner = [each for graph in node.params.graphs for each in graph.order]
    return next((LayerLoss(each.name, each.op.name, 0.0) for each in inner
                 if each.op is not None and each.op.name in _SUMS), None)


class _Samples:
    """Samples by name, in batches."""

    def __init__(self, data: Mapping[str, Any], batch_size: int) -> None:
        if isinstance(batch_size, bool) or not isinstance(batch_size, (int, np.integer)):
            raise TypeMismatch(f"batch_size got {shown(batch_size)}, expected an int")
        if batch_size < 1:
            raise ParameterError(f"batch_size got {batch_size}, expected at least 1")
        self.arrays = {name: _plain(x) for name, x in data.items()}
        counts = {x.shape[0] if x.ndim else 0 for x in self.arrays.values()}
        if len(counts) != 1 or 0 in counts:
            told = ", ".join(f"{name} of shape {x.shape}" for name, x in self.arrays.items())
            raise ParameterError(f"data got {told or 'nothing'}, expected as many samples for each "
                                 "input, at least 1")
        self.count = counts.pop()
        self._size = batch_size

    @staticmethod
    def check(sym: Symbol, data: Mapping[str, Any]) -> None:
        """NameMismatch for samples of what is no input, TypeMismatch for what are no samples."""
        if not isinstance(data, Mapping):
            raise TypeMismatch(f"data is {shown(data)}, expected a dict of samples by input")
        names = sym.list_arguments()
        for name in data:
            if name not in names:
                raise NameMismatch(f"data has {name!r}, which is no argument of the symbol"
                                   f"{did_you_mean(name, names)}")

    def batches(self) -> Iterator[dict[str, Array]]:
        for start in range(0, self.count, self._size):
            yield {name: x[start:start + self._size] for name, x in self.arrays.items()}


def _plain(x: Any) -> Array:
    """An array, floats as float32, which the model takes."""
    made: Array = x.asnumpy() if isinstance(x, NDArray) else np.asarray(x)
    return made.astype(np.float32) if made.dtype.kind == "f" else made


class _Work:
    """Quantizes one model with one layer or another on floats, with ranges found once."""

    def __init__(self, sym: Symbol, params: tuple[Params, Params], samples: _Samples,
                 excluded: Sequence[str], fused: bool, how: tuple[str, str, str]) -> None:
        self._fused = fused
        self._floats = sym.get_backend_symbol(FUSED) if fused else sym
        self._args, self._aux = params
        self._samples = samples
        self._excluded = list(excluded)
        self._mode, self._dtype, self._granularity = how
        made = self._graph(())
        nodes = {node.name: node for node in topological(self._floats.entries)}
        if not made.nodes:
            raise ParameterError("sym has no layer that can be quantized"
                                 + (f" beside the excluded ones: {', '.join(excluded)}"
                                    if excluded else ""))
        self._nodes = made.nodes
        # by names of the user's own: fused layers have others
        self._layers = [found for name in made.nodes if (found := _layer(nodes[name])) is not None]
        self._fused_names = {found.name: name for name in made.nodes
                             if (found := _layer(nodes[name])) is not None}
        # a layer alone reads outputs that no layer but it wants the ranges of
        wanted = set(made.calibrated)
        for layer in self._layers:
            wanted.update(self._graph(self._others(layer.name)).calibrated)
        self._ranges, self._expected = self._calibrated(sorted(wanted))

    def result(self, max_loss: float | None) -> tuple[Symbol, Params, Params, QuantizationReport]:
        layers = [layer._replace(loss=self._loss([*self._others(layer.name)]))
                  for layer in self._layers]
        layers.sort(key=lambda layer: (-layer.loss, layer.name))
        kept: list[str] = []
        made, params = self._made(kept)
        loss = self._loss_of(made, params)
        if max_loss is not None and loss > max_loss:
            kept = [layer.name for layer in layers[:self._least(layers, max_loss)]]
            while True:
                made, params = self._made(kept)
                loss = self._loss_of(made, params)
                if loss <= max_loss or len(kept) == len(layers):
                    break
                kept.append(layers[len(kept)].name)
        used = {*made.list_arguments(), *made.list_auxiliary_states()}
        return made, params, self._aux, QuantizationReport(
            loss, layers, kept, _bytes(self._args, self._aux),
            _bytes({name: x for name, x in params.items() if name in used}, self._aux),
            self._samples.count)

    @staticmethod
    def _least(layers: Sequence[LayerLoss], most: float) -> int:
        """How many of them must stay on floats at least, if the others' noise adds up."""
        total, count = sum(layer.loss**2 for layer in layers), 1
        while count < len(layers) and (
                total - sum(layer.loss**2 for layer in layers[:count]) > most**2):
            count += 1
        return count

    def _others(self, name: str) -> Iterator[str]:
        own = self._fused_names[name]
        return (other for other in self._nodes if other != own)

    def _graph(self, floats: Iterable[str]) -> Quantized:
        """The graph with these nodes on floats, without ranges."""
        return quantize(self._floats.entries, Wanted(
            self._dtype, "smart", frozenset((*self._excluded, *floats)), frozenset(),
            frozenset(self._args), self._granularity == "channel-wise"))

    def _made(self, floats: Sequence[str]) -> tuple[Symbol, Params]:
        """The model with these nodes on floats, and its parameters."""
        qsym = _calibrate_quantized_sym(Symbol(self._graph(floats).heads), self._ranges)
        params = _quantize_params(qsym, self._args, self._ranges)
        return (qsym.get_backend_symbol(FUSED) if self._fused else qsym), params

    def _loss(self, floats: Sequence[str]) -> float:
        return self._loss_of(*self._made(floats))

    def _loss_of(self, made: Symbol, params: Params) -> float:
        got = self._run(made, params)
        noise = sum(float(np.square(a - b).sum()) for a, b in zip(got, self._expected, strict=True))
        signal = sum(float(np.square(b).sum()) for b in self._expected)
        return (noise / signal)**0.5 if signal else (inf if noise else 0.0)

    def _calibrated(self, names: list[str]) -> tuple[Table, list[Array]]:
        """Ranges of outputs, and what the model on floats gives."""
        collector = make_collector(self._mode, self._dtype, names, None)
        expected = self._run(self._floats, self._args, collector.collect)
        return found_ranges(self._mode, self._dtype, collector, None), expected

    def _run(self, symbol: Symbol, params: Params, watch: Any = None) -> list[Array]:
        """The outputs for all samples as float64."""
        made: list[list[Array]] = []
        executor = None
        for batch in self._samples.batches():
            shapes = {name: x.shape for name, x in batch.items()}
            if executor is None or any(executor.arg_dict[name].shape != shape
                                       for name, shape in shapes.items()):
                types = {name: x.dtype for name, x in batch.items()}
                types |= {name: x.dtype for name, x in params.items()}
                # a parameter's own shape may follow from nothing else
                known = {name: params[name].shape for name in symbol.list_arguments()
                         if name in params}
                executor = symbol.simple_bind(cpu(), grad_req="null", type_dict=types,
                                              **{**known, **shapes})
                executor.copy_params_from(params, self._aux, allow_extra_params=True)
                if watch is not None:
                    executor.set_monitor_callback(watch, monitor_all=True)
            outputs = executor.forward(is_train=False, **{
                name: array(x, dtype=x.dtype) for name, x in batch.items()})
            made.append([out.asnumpy().astype(np.float64) for out in outputs])
        return [np.concatenate(parts) for parts in zip(*made, strict=True)]


def _bytes(*params: Params) -> int:
    return sum(x.nbytes for given in params for x in given.values())
