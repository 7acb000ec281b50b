"""The graph of a symbol on 8-bit numbers whose weights are computed from the float32 ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ...dtypes import FLOAT32, DType
from ...errors import ParameterError, TypeMismatch, message
from ...passes.fuse_layers import SCORES, WEIGHTED, fuse_layers
from ...passes.fuse_ranges import fuse_ranges
from ...passes.quantize import Wanted, calibrate, quantize
from ...passes.quantize_rules import RULES
from ...passes.rewrite import make
from ...symbol.compose import input_names
from ...symbol.infer import infer_graph_types
from ...symbol.node import Entry, Node, topological
from .collectors import Logger
from .names import refuse_unknown
from .options import Options, Table, as_numbers, found_ranges, make_collector

WEIGHT = "_quantize_weight"
# what only loses by 8-bit numbers
COMPUTED_OF_FLOATS = (SCORES, WEIGHTED)
# of the variables that stand for a parameter in a quantized graph
ENDS = ("_quantize", "_quantize_min", "_quantize_max")


class Quantizer:
    """A graph on floats, what collects its ranges, and that graph on 8-bit numbers.

    `floats` is what is to run while `collector` is called with each input and output. `parameters`
    are the variables that are quantized once for each change of them, `types` the dtypes of all
    variables. ParameterError where one of these has a name that a quantized parameter would have,
    NameMismatch for an excluded name that no node has, TypeMismatch for a node to be quantized
    whose data are not float32.
    """

    def __init__(self, heads: Sequence[Entry], parameters: Collection[str],
                 types: Mapping[str, DType], options: Options, logger: Logger = None) -> None:
        self._options = options
        self._logger = logger
        self._sources = {f"{name}{end}": (name, i) for name in parameters
                         for i, end in enumerate(ENDS)}
        names = {node.name for node in topological(heads) if node.is_variable}
        taken = sorted(names.intersection(self._sources))
        if taken:
            raise ParameterError(f"calibrate: the name of the argument {taken[0]!r} is needed for "
                                 f"the 8-bit numbers of {self._sources[taken[0]][0]!r}")
        self.floats = fuse_ranges(fuse_layers(heads, True)) if options.fused else list(heads)
        refuse_unknown([*heads, *self.floats], options.excluded_names,
                       "calibrate: excluded_sym_names")
        self._made = quantize(self.floats, Wanted(
            options.dtype, options.mode, options.excluded_names,
            (*options.excluded_ops, *COMPUTED_OF_FLOATS),
            frozenset(parameters), options.by_rows))
        _need_floats(self.floats, self._made.nodes, types)
        self.collector = make_collector(options.calib_mode, options.dtype, self._made.calibrated,
                                        logger)

    def collect_with(self, other: Quantizer) -> None:
        """One collector for both: names that both graphs have are the same outputs."""
        wanted = {*self._made.calibrated, *(other.collector.include_layer or ())}
        self.collector = other.collector
        self.collector.include_layer = wanted

    @property
    def nodes(self) -> list[str]:
        """Names of the nodes that are on 8-bit numbers."""
        return self._made.nodes

    def ranges(self) -> dict[str, tuple[float, float]]:
        """What the collector saw, by names of outputs. Once: histograms are taken away."""
        return as_numbers(found_ranges(self._options.calib_mode, self._options.dtype,
                                       self.collector, self._logger))

    def heads(self, ranges: Table) -> list[Entry]:
        """The graph on 8-bit numbers, of the same variables."""
        made = calibrate(self._made.heads, as_numbers(ranges))
        if self._options.fused:
            made = fuse_ranges(fuse_layers(made, True))
        return _with_weights(made, self._sources)


def _need_floats(heads: Sequence[Entry], nodes: Collection[str], types: Mapping[str, DType],
                 ) -> None:
    """TypeMismatch for one of these nodes whose data are not float32."""
    found = infer_graph_types(heads, types)
    for node in topological(heads):
        if node.name not in nodes or node.op is None or node.params is None:
            continue
        stay = RULES[node.op.name].floats(node.params)
        for i, (name, entry) in enumerate(zip(input_names(node.op, node.params), node.inputs,
                                              strict=True)):
            if i not in stay and found[entry] != FLOAT32:
                raise TypeMismatch(message(
                    *node.params.told(node.op.name, node.name), what=name,
                    got=f"dtype {found[entry]}", expected="float32: no other is quantized"))


def _with_weights(heads: Sequence[Entry], sources: Mapping[str, tuple[str, int]]) -> list[Entry]:
    """The graph with variables for quantized parameters computed from these parameters."""
    order = topological(heads)
    variables = {node.name: node for node in order if node.is_variable}
    weights: dict[str, Node] = {}
    now: dict[Node, Node] = {}

    def entry_of(entry: Entry) -> Entry:
        node = entry.node
        if not node.is_variable or node.name not in sources:
            return Entry(now[node], entry.index)
        name, output = sources[node.name]
        if name not in weights:
            source = variables.get(name) or variables.setdefault(name, Node(None, name))
            weights[name] = make(WEIGHT, {}, [Entry(source, 0)], f"{name}_quantize")
        return Entry(weights[name], output)

    for node in order:
        now[node] = node if node.is_variable else node.over([entry_of(e) for e in node.inputs])
    return [entry_of(head) for head in heads]
