"""ONNX models as a Symbol with its parameters, where they are one graph for all sizes."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._array.ndarray import NDArray
from ..context import cpu
from ..errors import InputMismatch, ModelFormatError, Unsupported
from ..symbol.compose import input_names
from ..symbol.node import Entry, Node, topological
from ..symbol.symbol import Symbol
from .graph import Array, ModelFile, ValueInfo
from .loaded import Loaded, is_same_graph
from .model import load
from .package import onnx_package
from .plan import HostStep, NodeCall, Plan, Segment
from .reading import read_model

# what free sizes are while the graph is made, which must be the same for each: of the first axis,
# and of others, of which the first pair that the model goes with is taken
_BATCHES = (2, 3)
_SIZES = ((64, 96), (224, 256), (16, 24), (2, 3))
# constants up to here are variables of their own at each place
_SMALL = 1 << 16


@dataclass
class Imported:
    """A graph, its parameters, and the model's inputs in order."""

    symbol: Symbol
    args: dict[str, NDArray]
    aux: dict[str, NDArray]
    inputs: list[ValueInfo]


def as_symbol(source: Any) -> Imported:
    """The symbol of a model: a path, bytes, or a ModelProto.

    Names of inputs stay. A tensor of rank 0 has the shape (1,). Raises what `load` raises, and
    Unsupported for a model that is not one graph: where parts depend on data or on sizes that are
    free, and with all nodes that NumPy computes, for which there is no operator.
    """
    load(source)  # all that is wrong with it is told here
    file = read_model(source)
    loaded = Loaded(file, cpu(), 1 << 33)
    loaded.modes = []  # no input is taken for a constant
    loaded.computes_before = False
    segments = [_only_segment(file, plan) for plan in _plans(loaded)]
    symbol = segments[0].executor.symbol
    if not is_same_graph(symbol, segments[1].executor.symbol):
        raise _not_one(file, "its graph is another one for other sizes of its inputs")
    _need_operators(file, symbol)
    executor = segments[0].executor
    symbol, params = _with_own_variables(
        file, symbol, {**executor.arg_dict, **executor.aux_dict})
    states = symbol.list_auxiliary_states()
    return Imported(symbol, {name: x for name, x in params.items() if name not in states},
                    {name: params[name] for name in states}, file.inputs)


def _plans(loaded: Loaded) -> list[Plan]:
    """A plan for each of two choices of free sizes."""
    failed: InputMismatch | ModelFormatError | None = None
    for sizes in _SIZES:
        try:
            return [_planned(loaded, *both) for both in zip(_BATCHES, sizes, strict=True)]
        except (InputMismatch, ModelFormatError) as error:
            failed = failed or error
    assert failed is not None
    # whoever imports a model gives no inputs
    raise ModelFormatError(failed.reason, failed.file, failed.place) from failed


def _planned(loaded: Loaded, batch: int, size: int) -> Plan:
    arrays = []
    for info in loaded.file.inputs:
        if info.kind != "tensor" or info.shape is None or info.dtype is None:
            raise _not_one(loaded.file, f"its input {info.name!r} is no tensor of a known rank")
        arrays.append(np.zeros([dim if isinstance(dim, int) else size if axis else batch
                                for axis, dim in enumerate(info.shape)], info.dtype))
    return loaded.plan(loaded.key(arrays), arrays)


def _only_segment(file: ModelFile, plan: Plan) -> Segment:
    if plan.fork is not None:
        raise _not_one(file, "parts of it depend on data")
    calls = [step.of or step.call for step in plan.steps if isinstance(step, HostStep)]
    if calls:
        raise _by_numpy(file, calls)
    if len(plan.steps) != 1 or not isinstance(plan.steps[0], Segment):
        raise _not_one(file, f"it is {len(plan.steps)} graphs, one after the other")
    segment = plan.steps[0]
    names = [name for name, _ in segment.outputs]
    for info, result in zip(file.outputs, plan.results, strict=True):
        if result not in names:
            raise _not_one(file, f"its output {info.name!r} is no result of an operator")
    if plan.results != names:
        raise _not_one(file, "its outputs are not all different")
    return segment


def _with_own_variables(file: ModelFile, symbol: Symbol, values: Mapping[str, NDArray],
                        ) -> tuple[Symbol, dict[str, NDArray]]:
    """The graph with a variable for each use of a small constant, and all their values.

    Plans share what is equal, a scale and a variance among it, which are parameters and states
    here. Variables have the names of initialisers of the same contents, in the file's order, else
    those of the inputs that they are.
    """
    names = _initialisers(file)
    free = {info.name for info in file.inputs}
    taken = {node.name for node in topological(symbol.entries) if node.op is not None} | free
    params: dict[str, NDArray] = {}
    made: dict[Node, Node] = {}
    shared: dict[str, Node] = {}

    def variable(constant: str, hint: str) -> Node:
        value = values[constant]
        if constant in shared:
            return shared[constant]
        found = names[_contents(value.asnumpy())]
        name = next((name for name in found if name not in taken), hint)
        while name in taken:
            name += "_"
        taken.add(name)
        params[name] = value.copy()
        node = Node(None, name)
        if value.asnumpy().nbytes > _SMALL:
            shared[constant] = node
        return node

    for node in topological(symbol.entries):
        if node.op is None:
            if node.name in free:
                made[node] = node
            continue
        assert node.params is not None
        called = [*input_names(node.op, node.params)]
        inputs = [Entry(made[e.node] if e.node in made else
                        variable(e.node.name, f"{node.name}_{called[i]}"), e.index)
                  for i, e in enumerate(node.inputs)]
        made[node] = Node(node.op, node.name, dict(node.attrs), node.params, inputs)
    return Symbol([Entry(made[e.node], e.index) for e in symbol.entries]), params


def _initialisers(file: ModelFile) -> defaultdict[Any, list[str]]:
    """Names of the file's constants by contents."""
    found: defaultdict[Any, list[str]] = defaultdict(list)
    for name, array in file.graph.constants.items():
        found[_contents(array)].append(name)
    return found


def _contents(array: Array) -> Any:
    data = np.ascontiguousarray(array)
    return array.shape or (1,), array.dtype.str, hashlib.sha256(data.tobytes()).digest()


def _need_operators(file: ModelFile, symbol: Symbol) -> None:
    """Unsupported with all nodes that NumPy functions compute."""
    calls = [getattr(node.params, "function", node.name) for node in topological(symbol.entries)
             if node.op is not None and node.op.name == "_numpy_function"]
    if calls:
        raise _by_numpy(file, calls)


def _by_numpy(file: ModelFile, calls: Sequence[Any]) -> Unsupported:
    found = [str(call.node if isinstance(call, NodeCall) else call) for call in calls]
    return _not_one(file, f"{len(found)} node(s) have no operator here and are computed by "
                          "NumPy:\n  " + "\n  ".join(found[:100]))


def _not_one(file: ModelFile, reason: str) -> Unsupported:
    return Unsupported(f"{file.file}: the model is no single graph of operators: {reason}; "
                       "onnx.load runs it")


# ---- under MXNet's names -----------------------------------------------------------------------


def import_model(model_file: Any) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """(symbol, arg_params, aux_params) of an ONNX model that is one graph of operators.

    Raises as `ndarray_rt.onnx.load`, and Unsupported with the reasons for other models.
    """
    made = as_symbol(model_file)
    return made.symbol, made.args, made.aux


def import_to_gluon(model_file: Any, ctx: Any = None) -> Any:
    """A SymbolBlock of an ONNX model, with its parameters on `ctx`. Raises as `import_model`."""
    from ..gluon import SymbolBlock
    from ..symbol.functions import var
    made = as_symbol(model_file)
    block = SymbolBlock(made.symbol, [var(info.name, dtype=info.dtype) for info in made.inputs])
    params = block.collect_params()
    for name, value in {**made.args, **made.aux}.items():
        params[name].shape = value.shape
        params[name].dtype = value.dtype
        params[name]._load_init(value, ctx or cpu())
    return block


def get_model_metadata(model_file: Any) -> dict[str, list[tuple[Any, ...]]]:
    """Inputs of an ONNX model (name, shape, ONNX's number of the dtype) and outputs (name, shape),
    as 'input_tensor_data' and 'output_tensor_data'. A size that is free is 0."""
    file = read_model(model_file)
    helper = onnx_package().helper

    def shape(info: ValueInfo) -> tuple[int, ...]:
        return tuple(dim if isinstance(dim, int) else 0 for dim in info.shape or ())
    return {"input_tensor_data": [
        (info.name, shape(info),
         0 if info.dtype is None else int(helper.np_dtype_to_tensor_dtype(info.dtype)))
        for info in file.inputs],
        "output_tensor_data": [(info.name, shape(info)) for info in file.outputs]}


__all__ = ["Imported", "as_symbol", "get_model_metadata", "import_model",
           "import_to_gluon"]
