"""Blocks of gluon, quantized."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ... import nd, sym
from ...context import Context
from ...errors import ParameterError, ShapeError, TypeMismatch, shown
from ...executor.calibration.collectors import Logger
from ...executor.calibration.options import check_names, is_calibrated
from ...gluon import HybridBlock, SymbolBlock
from ...io import DataBatch, DataDesc, DataIter
from ...module import Module
from ...passes.quantize import NEED_RANGES
from ...symbol.symbol import Symbol
from .collectors import _collect_layer_statistics
from .inputs import described, told
from .model import (
    CPU,
    FUSED,
    Params,
    calib_graph,
    check_context,
    check_examples,
    quantize_graph,
)
from .symbols import check_shapes

MANY_AXES = 5  # of an array that may have clips of videos, (samples, clips, channels, ...)


class _Samples(DataIter):
    """The first arrays of each batch of a DataIter or a DataLoader, under the names of a graph."""

    def __init__(self, batches: Iterable[Any], descs: Sequence[DataDesc]) -> None:
        super().__init__(descs[0].shape[0])
        self._batches = batches
        self._left: Iterator[Any] = iter(batches)
        self._shapes: list[tuple[int, ...]] = []
        self.provide_data = descs
        self.provide_label: list[DataDesc] = []

    def reset(self) -> None:
        self._left = iter(self._batches)

    def next(self) -> DataBatch:
        arrays = _arrays(next(self._left))[:len(self.provide_data)]
        if len(arrays[0].shape) == len(self.provide_data[0].shape) + 1:
            arrays[0] = arrays[0].reshape(_of_clips(arrays[0].shape))
        self._shapes = [x.shape for x in arrays]
        return DataBatch(arrays)

    def mismatch(self, error: ShapeError) -> ShapeError:
        """What to raise where the last batch does not go with what the network was traced for."""
        names = [desc.name for desc in self.provide_data]
        given = ", ".join(f"{name} {shape}"
                          for name, shape in zip(names, self._shapes, strict=False))
        return ShapeError(f"a batch of calib_data has {given}, but the network was traced for "
                          f"{told(self.provide_data)}: {error}")


def _of_clips(shape: Sequence[int]) -> tuple[int, ...]:
    """The shape of clips of videos, several a sample, as samples of their own."""
    return (shape[0] * shape[1], *shape[2:])


def _arrays(batch: Any) -> list[Any]:
    """The arrays of a batch of a DataIter, or of what a DataLoader gives."""
    if isinstance(batch, DataBatch):
        return list(batch.data)
    arrays = list(batch) if isinstance(batch, (list, tuple)) else [batch]
    for x in arrays:
        if not isinstance(x, nd.NDArray):
            raise TypeMismatch(f"a batch of calib_data has {shown(x)}, expected NDArrays: of a "
                               "DataIter or a gluon.data.DataLoader")
    return arrays


def _described(calib_data: Any) -> list[DataDesc]:
    """What a batch consists of, the label of a DataLoader's too."""
    if isinstance(calib_data, nd.NDArray):
        raise TypeMismatch("calib_data is an NDArray, expected a DataIter or a "
                           "gluon.data.DataLoader")
    if isinstance(calib_data, DataIter):
        return described("provide_data of calib_data", calib_data.provide_data)
    try:
        batches = iter(calib_data)
    except TypeError as error:
        raise TypeMismatch(f"calib_data is not a valid iterator. {error}") from None
    try:
        first = _arrays(next(batches))
    except StopIteration:
        raise ParameterError("calib_data has no batch, expected at least 1") from None
    return [DataDesc(f"data{i}", x.shape, x.dtype) for i, x in enumerate(first)]


def _traced_as_clips(network: HybridBlock, descs: Sequence[DataDesc], ctx: Context,
                     ) -> tuple[Symbol, list[DataDesc]]:
    """`traced`, also where the first array has clips of videos and the block takes one a sample."""
    try:
        return traced(network, descs, ctx)
    except ShapeError:
        if len(descs[0].shape) < MANY_AXES:
            raise
        first = DataDesc(descs[0].name, _of_clips(descs[0].shape), descs[0].dtype)
        try:
            return traced(network, [first, *descs[1:]], ctx)
        except ShapeError:
            pass
        raise


def traced(network: HybridBlock, descs: Sequence[DataDesc], ctx: Context,
            ) -> tuple[Symbol, list[DataDesc]]:
    """The graph of a block, and what its inputs are: as many of these as it takes.

    ShapeError or TypeMismatch where it takes none of them.
    """
    network.hybridize()
    data = [nd.zeros(desc.shape, ctx, dtype=desc.dtype) for desc in descs]
    failed: TypeError | None = None
    for count in range(len(data), 0, -1):
        try:
            network(*data[:count])
            break
        except (ShapeError, ParameterError) as error:
            # of parameters without a shape an error about shapes is the cause
            kind = ShapeError if isinstance(error, ShapeError) or isinstance(
                error.__cause__ or error.__context__, ShapeError) else ParameterError
            raise kind(f"network does not take {told(descs[:count])}: {error}") from error
        except TypeError as error:
            # what comes last may be labels
            failed = failed or error
    else:
        raise TypeMismatch(f"network does not take {told(descs)}: {failed}") from failed
    inputs, graph = network._get_graph(*data[:count])
    return graph, [DataDesc(x.name, desc.shape, desc.dtype, desc.layout)
                   for x, desc in zip(inputs, descs, strict=False)]


def quantize_net_v2(network: HybridBlock, quantized_dtype: str = "auto",
                    quantize_mode: str = "full", quantize_granularity: str = "tensor-wise",
                    exclude_layers: list[str] | None = None,
                    exclude_layers_match: list[str] | None = None,
                    exclude_operators: list[str] | None = None, calib_data: Any = None,
                    data_shapes: Sequence[Any] | None = None, calib_mode: str | None = "none",
                    num_calib_examples: int | None = None, ctx: Any = CPU,
                    LayerOutputCollector: Any = None,  # noqa: N803
                    logger: Logger = None) -> SymbolBlock:
    """A block on 8-bit numbers. `network` is hybridized, and keeps its parameters.

    Parameters
    ----------
    network : the block on float32, with initialized parameters.
    quantized_dtype, quantize_mode, quantize_granularity, num_calib_examples, ctx, logger : as of
        `quantize_model`.
    exclude_layers, exclude_operators : nodes and operators that stay on floats.
    exclude_layers_match : so do nodes with one of these in their names.
    calib_data : a DataIter or a gluon.data.DataLoader; labels behind the data are passed over.
        The first array has its first two axes joined if it has more than 4, as clips of videos
        have, and `network` takes it only so.
    data_shapes : DataDesc or (name, shape) of each input; needed without `calib_data`.
    calib_mode : "none", "naive", "entropy", or "customize": ranges that `LayerOutputCollector`
        collects, as of `quantize_graph`.

    Raises ParameterError for arguments that can not be meant, TypeMismatch for others than these.
    Source: MXNet's contrib.quantization.quantize_net_v2.
    """
    if not isinstance(network, HybridBlock):
        raise TypeMismatch(f"network is {shown(network)}, expected a HybridBlock")
    check_context(ctx)
    check_examples(num_calib_examples)
    calibrated = is_calibrated(calib_mode)
    if calibrated and calib_data is None:
        raise ParameterError(f"calib_data must be provided when calib_mode={calib_mode}")
    excluded = list(check_names(exclude_layers, "exclude_layers", "symbols"))
    operators = check_names(exclude_operators, "exclude_operators", "operators")
    matched = check_names(exclude_layers_match, "exclude_layers_match", "symbols")
    if logger:
        logger.info("Export HybridBlock")
    descs = None if calib_data is None else _described(calib_data)
    given = descs if data_shapes is None else described("data_shapes", data_shapes)
    if given is None:
        raise ParameterError("data_shapes required")
    graph, inputs = _traced_as_clips(network, given, ctx)
    excluded += [name for name in dict.fromkeys(node.name or "" for node in graph.get_internals())
                 if any(part in name for part in matched)]
    if logger:
        logger.info(f"These layers have been excluded {excluded}")
    if not calibrated:
        operators = [*operators, *NEED_RANGES]
    args, aux = values_of(network, graph)
    graph = graph.get_backend_symbol(FUSED)
    qsym, qargs, aux, collector = quantize_graph(
        graph, args, aux, ctx, excluded, operators, calib_mode, quantized_dtype, quantize_mode,
        quantize_granularity, LayerOutputCollector, logger)
    if calibrated:
        check_shapes(graph, inputs, {**args, **aux})
        module = Module(graph, [desc.name for desc in inputs], None, context=ctx)
        module.bind(for_training=False, data_shapes=inputs)
        module.set_params(args, aux)
        samples = _Samples(calib_data, inputs)
        try:
            examples = _collect_layer_statistics(module, samples, collector, num_calib_examples,
                                                 logger)
        except ShapeError as error:
            raise samples.mismatch(error) from error
        if logger:
            logger.info(f"Collected layer output values from FP32 model using {examples} examples")
        qsym, qargs, aux = calib_graph(qsym, args, aux, collector, calib_mode, quantized_dtype,
                                       logger)
    return as_block(qsym.get_backend_symbol(FUSED), inputs, {**qargs, **aux}, ctx)


def as_block(graph: Symbol, inputs: Sequence[DataDesc], values: Params, ctx: Context,
             ) -> SymbolBlock:
    """A quantized graph with its parameters and states as a block."""
    made = SymbolBlock(graph, [sym.var(desc.name) for desc in inputs])
    for name, param in made.collect_params().items():
        # no shape is inferred from the shapes of 8-bit data
        param.shape = values[name].shape
        param._load_init(values[name], ctx, cast_dtype=True, dtype_source="saved")
    return made


def values_of(network: HybridBlock, graph: Symbol) -> tuple[Params, Params]:
    """Parameters and auxiliary states of a graph, as arrays."""
    states = set(graph.list_auxiliary_states())
    args: Params = {}
    aux: Params = {}
    known = network.collect_params()
    for name in graph.list_inputs():
        if name in known:
            (aux if name in states else args)[name] = known[name]._reduce()
    return args, aux


def quantize_net(network: HybridBlock, quantized_dtype: str = "auto", quantize_mode: str = "full",
                 exclude_layers: list[str] | None = None,
                 exclude_layers_match: list[str] | None = None,
                 exclude_operators: list[str] | None = None, calib_data: Any = None,
                 data_shapes: Sequence[Any] | None = None, calib_mode: str | None = "none",
                 num_calib_examples: int | None = None, ctx: Any = CPU,
                 logger: Logger = None) -> SymbolBlock:
    """`quantize_net_v2` with `quantize_granularity="tensor-wise"`, which is to be used instead.

    Source: MXNet's contrib.quantization.quantize_net.
    """
    warnings.warn("WARNING: This will be deprecated after MXNet 2.0, please use quantize_net_v2.",
                  stacklevel=2)
    return quantize_net_v2(
        network, quantized_dtype, quantize_mode, "tensor-wise", exclude_layers,
        exclude_layers_match, exclude_operators, calib_data, data_shapes, calib_mode,
        num_calib_examples, ctx, None, logger)
