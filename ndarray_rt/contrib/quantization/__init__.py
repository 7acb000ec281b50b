"""`contrib.quantization`: models on 8-bit numbers. Source: MXNet's `mx.contrib.quantization`.

`quantize_model` and `quantize_model_mkldnn` quantize a symbol and its parameters, `quantize_net_v2`
a block of gluon, `quantize_with_report` tells what each layer loses and may keep some on floats.
`quantize_dynamic` needs no data: dense layers round what they read when it comes.
`quantize_graph` and `calib_graph` do it in two steps, for programs that run the data for
calibration themselves.
"""

from ...executor.calibration.collectors import (
    _LayerHistogramCollector as _LayerHistogramCollector,
)
from ...executor.calibration.collectors import (
    _LayerOutputMinMaxCollector as _LayerOutputMinMaxCollector,
)
from ...executor.calibration.collectors import (
    combine_histogram,
)
from ...executor.calibration.thresholds import (
    _get_optimal_threshold as _get_optimal_threshold,
)
from ...executor.calibration.thresholds import (
    _get_optimal_thresholds as _get_optimal_thresholds,
)
from ...executor.calibration.thresholds import (
    _smooth_distribution as _smooth_distribution,
)
from ...public import shows
from .collectors import (
    _collect_layer_statistics as _collect_layer_statistics,
)
from .dynamic import quantize_dynamic
from .model import calib_graph, quantize_graph, quantize_model, quantize_model_mkldnn
from .net import quantize_net, quantize_net_v2
from .report import LayerLoss, QuantizationReport, quantize_with_report
from .symbols import (
    _calibrate_quantized_sym as _calibrate_quantized_sym,
)
from .symbols import (
    _quantize_params as _quantize_params,
)
from .symbols import (
    _quantize_symbol as _quantize_symbol,
)

__all__ = ["LayerLoss", "QuantizationReport", "calib_graph", "combine_histogram",
           "quantize_dynamic", "quantize_graph", "quantize_model", "quantize_model_mkldnn",
           "quantize_net", "quantize_net_v2", "quantize_with_report"]
__dir__ = shows(globals())
