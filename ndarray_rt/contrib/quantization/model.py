"""Models of a symbol and its parameters, quantized."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...context import Context, cpu
from ...errors import ParameterError, TypeMismatch, shown
from ...executor.calibration.collectors import Logger
from ...executor.calibration.options import (
    check_kind,
    check_names,
    found_ranges,
    is_calibrated,
    make_collector,
    unknown_mode,
)
from ...executor.checks import check_names as check_input_names
from ...io import DataIter
from ...module import Module
from ...nd import NDArray
from ...passes.quantize import NEED_RANGES
from ...symbol.symbol import Symbol
from .collectors import _collect_layer_statistics
from .inputs import described
from .symbols import (
    _calibrate_quantized_sym,
    _quantize_params,
    _quantize_symbol,
    check_known,
    check_params,
    check_shapes,
    check_symbol,
)

Params = dict[str, NDArray]
CPU = cpu()
FUSED = "MKLDNN_QUANTIZE"


def check_context(ctx: Any) -> None:
    """ParameterError for anything but one context."""
    if not isinstance(ctx, Context):
        raise ParameterError(f"currently only supports single ctx, while received {ctx}")


def check_examples(num_calib_examples: int | None) -> None:
    """ParameterError for a number of samples that says nothing, TypeMismatch for what is none."""
    if num_calib_examples is None:
        return
    if isinstance(num_calib_examples, bool) or not isinstance(num_calib_examples,
                                                              (int, np.integer)):
        raise TypeMismatch(f"num_calib_examples got {shown(num_calib_examples)}, expected an int "
                           "of at least 1, or None for all")
    if num_calib_examples < 1:
        raise ParameterError(f"num_calib_examples got {num_calib_examples}, expected at least 1, "
                             "or None for all")


def quantize_model(sym: Symbol, arg_params: Params, aux_params: Params,
                   data_names: Sequence[str] = ("data",),
                   label_names: Sequence[str] | None = ("softmax_label",), ctx: Any = CPU,
                   excluded_sym_names: list[str] | None = None,
                   excluded_op_names: list[str] | None = None, calib_mode: str | None = "entropy",
                   calib_data: DataIter | None = None, num_calib_examples: int | None = None,
                   quantized_dtype: str = "int8", quantize_mode: str = "smart",
                   quantize_granularity: str = "tensor-wise", logger: Logger = None,
                   ) -> tuple[Symbol, Params, Params]:
    """A model on 8-bit numbers: (symbol, parameters, auxiliary states).

    Parameters
    ----------
    sym, arg_params, aux_params : the model on float32.
    data_names, label_names : inputs, for the Module that runs on `calib_data`.
    ctx : where that is.
    excluded_sym_names, excluded_op_names : nodes and operators that stay on floats.
    calib_mode : "none": ranges of outputs are looked for whenever the model runs; "naive": they are
        those seen on `calib_data`; "entropy": those of the least loss of entropy there.
    calib_data : a DataIter, for "naive" and "entropy".
    num_calib_examples : how many samples of it are taken; None: all.
    quantized_dtype : "int8", "uint8", or "auto": uint8 where calibration saw nothing below 0.
    quantize_mode : "full": all operators that can be; "smart": layers, and what lies between them.
        Without calibration batch normalization stays on floats, as its operator needs a range.
    quantize_granularity : "tensor-wise", or "channel-wise": a range for each row of the weights of
        fused dense layers.
    logger : gets what is done.

    Raises ParameterError for arguments that can not be meant, NameMismatch for a parameter that is
    not given, ShapeError for data that does not go with the parameters. Source: MXNet's
    contrib.quantization.quantize_model.
    """
    excluded_sym_names = check_names(excluded_sym_names, "excluded_sym_names", "symbols")
    excluded_op_names = check_names(excluded_op_names, "excluded_op_names", "operators")
    check_kind(quantized_dtype, quantize_granularity)
    check_examples(num_calib_examples)
    check_symbol(sym)
    data_names = check_input_names("data_names", data_names)
    label_names = None if label_names is None else check_input_names("label_names", label_names)
    check_params(sym, {*data_names, *(label_names or ())}, arg_params, aux_params)
    calibrated = is_calibrated(calib_mode)
    if not calibrated:
        excluded_op_names = [*excluded_op_names, *NEED_RANGES]
    if logger:
        logger.info("Quantizing symbol")
    qsym, calib_layer = _quantize_symbol(
        sym, ctx, excluded_sym_names, excluded_op_names, list(arg_params), quantized_dtype,
        quantize_mode, quantize_granularity, logger)
    th_dict: dict[str, tuple[Any, Any]] = {}
    if calibrated:
        check_context(ctx)
        if calib_data is None:
            raise ParameterError(f"calib_data must be provided when calib_mode={calib_mode}")
        if not isinstance(calib_data, DataIter):
            raise ParameterError("calib_data must be of DataIter type when calib_mode="
                                 f"{calib_mode}, while received type {type(calib_data)}")
        if calib_mode not in ("naive", "entropy"):
            raise unknown_mode(calib_mode, "`none`, `naive`, or `entropy`")
        descs = described("provide_data of calib_data", calib_data.provide_data)
        if calib_data.provide_label:
            descs += described("provide_label of calib_data", calib_data.provide_label)
        check_known(sym, arg_params, {"data_names": data_names, "label_names": label_names or ()})
        check_shapes(sym, descs, {**arg_params, **aux_params})
        mod = Module(symbol=sym, data_names=data_names, label_names=label_names, context=ctx)
        # labels that nobody reads are of no use here
        labels = [desc for desc in descs if desc.name in mod.label_names
                  and desc.name in sym.list_arguments()]
        mod.bind(for_training=False, data_shapes=calib_data.provide_data,
                 label_shapes=labels or None)
        # data may be among them, as in MXNet
        mod.set_params(arg_params, aux_params, allow_extra=True)
        collector = make_collector(calib_mode, quantized_dtype, calib_layer, logger)
        examples = _collect_layer_statistics(mod, calib_data, collector, num_calib_examples, logger)
        if logger:
            what = "outputs" if calib_mode == "entropy" else "output min/max values"
            logger.info(f"Collected layer {what} from FP32 model using {examples} examples")
        th_dict = found_ranges(calib_mode, quantized_dtype, collector, logger)
        qsym = _calibrate_quantized_sym(qsym, th_dict)
    if logger:
        logger.info("Quantizing parameters")
    return qsym, _quantize_params(qsym, arg_params, th_dict), aux_params


def quantize_model_mkldnn(sym: Symbol, arg_params: Params, aux_params: Params,
                          data_names: Sequence[str] = ("data",),
                          label_names: Sequence[str] | None = ("softmax_label",), ctx: Any = CPU,
                          excluded_sym_names: list[str] | None = None,
                          excluded_op_names: list[str] | None = None,
                          calib_mode: str | None = "entropy", calib_data: DataIter | None = None,
                          num_calib_examples: int | None = None, quantized_dtype: str = "int8",
                          quantize_mode: str = "smart",
                          quantize_granularity: str = "tensor-wise", logger: Logger = None,
                          ) -> tuple[Symbol, Params, Params]:
    """`quantize_model` of a graph whose layers are fused with what follows them.

    Results are better and smaller: weights have a scale for each filter, and no int32 sums lie
    between layers where calibration found ranges. `excluded_op_names` are "_sg_mkldnn_conv" and
    "_sg_mkldnn_fully_connected" for fused layers; nodes inside of them exclude them by their names.

    Source: MXNet's contrib.quantization.quantize_model_mkldnn.
    """
    check_context(ctx)
    check_symbol(sym)
    qsym, qargs, aux = quantize_model(
        sym.get_backend_symbol(FUSED), arg_params, aux_params, data_names, label_names, ctx,
        excluded_sym_names, excluded_op_names, calib_mode, calib_data, num_calib_examples,
        quantized_dtype, quantize_mode, quantize_granularity, logger)
    return qsym.get_backend_symbol(FUSED), qargs, aux


def quantize_graph(sym: Symbol, arg_params: Params, aux_params: Params, ctx: Any = CPU,
                   excluded_sym_names: list[str] | None = None,
                   excluded_op_names: list[str] | None = None, calib_mode: str | None = "entropy",
                   quantized_dtype: str = "int8", quantize_mode: str = "full",
                   quantize_granularity: str = "tensor-wise", LayerOutputCollector: Any = None,  # noqa: N803
                   logger: Logger = None) -> tuple[Symbol, Params, Params, Any]:
    """A model on 8-bit numbers without its ranges, and what collects these.

    The collector's `collect(name, array)` is to be the monitor of an executor of `sym` (with
    `monitor_all`) while it runs on data for calibration; `calib_graph` takes it then. Parameters
    are those of `quantize_model`; with `calib_mode` "customize" the collector is
    `LayerOutputCollector`, which is to have a dict `min_max_dict`.

    Source: MXNet's contrib.quantization.quantize_graph.
    """
    excluded_sym_names = check_names(excluded_sym_names, "excluded_sym_names", "symbols")
    check_context(ctx)
    check_kind(quantized_dtype, quantize_granularity)
    if logger:
        logger.info("Quantizing graph")
    qsym, calib_layer = _quantize_symbol(
        sym, ctx, excluded_sym_names, excluded_op_names, list(arg_params), quantized_dtype,
        quantize_mode, quantize_granularity, logger)
    collector = None
    if is_calibrated(calib_mode):
        if calib_mode in ("entropy", "naive"):
            collector = make_collector(calib_mode, quantized_dtype, calib_layer, logger)
            kind = "" if calib_mode == "entropy" else "minmax "
        elif calib_mode == "customize":
            if LayerOutputCollector is None:
                raise ParameterError("LayerOutputCollector must be provided when "
                                     "calib_mode=customize")
            collector, kind = LayerOutputCollector, "minmax "
        else:
            raise unknown_mode(calib_mode, "`none`, `naive`, `entropy` or `customize`")
        if logger:
            logger.info(f"Create a layer output {kind}collector for {calib_mode} calibration")
            logger.info("Collector created, please use set_monitor_callback to collect calibration "
                        "information.")
    if logger:
        logger.info("Quantizing parameters")
    return qsym, _quantize_params(qsym, arg_params, {}), aux_params, collector


def calib_graph(qsym: Symbol, arg_params: Params, aux_params: Params, collector: Any,
                calib_mode: str | None = "entropy", quantized_dtype: str = "int8",
                logger: Any = logging) -> tuple[Symbol, Params, Params]:
    """A quantized model with the ranges that a collector of `quantize_graph` saw.

    `arg_params` are those of the model on float32. Source: MXNet's
    contrib.quantization.calib_graph.
    """
    if not is_calibrated(calib_mode):
        raise ParameterError("please set calibration mode to naive or entropy.")
    if calib_mode not in ("entropy", "naive", "customize"):
        raise unknown_mode(calib_mode, "`none`, `naive`, `entropy` or `customize`")
    th_dict = found_ranges(calib_mode, quantized_dtype, collector, logger)
    qsym = _calibrate_quantized_sym(qsym, th_dict)
    if logger:
        logger.info("Quantizing parameters")
    return qsym, _quantize_params(qsym, arg_params, th_dict), aux_params
