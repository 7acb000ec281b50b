"""The registry: what an operator declares, and finding it by name. Runs nothing.

An operator of this package is loaded with its module when it is first asked for; an index says
which module that is.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from ..dtypes import DType
from ..errors import NameMismatch, did_you_mean
from .numbers import ALL_NUMBERS, Domain
from .params import Params

if TYPE_CHECKING:
    from .._array.layout import AnyArray
    from .._array.ndarray import NDArray
    from .._array.output import NumpyOutput, Output
    from .context import OpContext
    from .elementwise import Elementwise
    from .epilogue import AffineFold, Epilogue
    from .layout_cost import LayoutCost

# A shape as far as it is known: None, or a tuple in which -1 is an unknown dimension.
Shape = tuple[int, ...]
Shapes = Sequence[Shape | None]
Types = Sequence[DType | None]

Names = tuple[str, ...] | Callable[[Any], tuple[str, ...]]
# (params, inputs and aux, outputs) -> (inputs and aux, outputs), each at least as known as before
InferShape = Callable[[Any, list[Shape | None], list[Shape | None]],
                      tuple[list[Shape | None], list[Shape | None]]]
InferType = Callable[[Any, list[DType | None], list[DType | None]],
                     tuple[list[DType | None], list[DType | None]]]
FCompute = Callable[["OpContext", Any, "list[AnyArray]", "list[NumpyOutput]"], None]
FComputeEx = Callable[["OpContext", Any, "list[NDArray]", "list[Output]"], None]
Refuses = Callable[[Any, "list[NDArray]"], str | None]


class GradNode(Protocol):
    """What a gradient function may ask of the node it differentiates."""

    @property
    def params(self) -> Any: ...
    @property
    def inputs(self) -> Sequence[Any]: ...  # entries: inputs, then aux states
    @property
    def outputs(self) -> Sequence[Any]: ...  # entries


class Emit(Protocol):
    """Makes gradient nodes: for a graph, or run at once."""

    def __call__(self, op: str, params: Params | Mapping[str, object] | None,
                 *inputs: Any) -> list[Any]:
        """The output entries of a new node `op` with these input entries."""
        ...

    def zeros_like(self, entry: Any) -> Any:
        """An entry of zeros shaped as `entry`."""
        ...


# (emit, node, gradients of the outputs or None) -> a gradient or None for each input and aux state
Gradient = Callable[[Emit, GradNode, Sequence[Any]], Sequence[Any]]


# (params, shapes of the inputs, shapes of the outputs) -> multiplications and additions
Flops = Callable[[Any, Sequence[Shape], Sequence[Shape]], int]


@dataclass(frozen=True, eq=False)
class OpDef:
    """All that is known of an operator.

    `inputs`, `aux` and `outputs` are names, or functions of the parameters. Aux states stand
    behind the inputs wherever inputs are listed. `mutates` are the positions of inputs or aux
    states that a call writes to. `inplace` maps an output to the input whose memory it may take.
    `ignores` are positions whose values are not read, only their shapes. `numbers` are parameters
    that a recorded call reads whenever it runs: kernels are given them as they are, in this order
    where they come from the context's ParameterBlock. What the gradient reads does not depend on
    them, nor do shapes and dtypes; `domain` says with which numbers one recording is done again.
    `by_name` are inputs that MXNet's operator has not: functions have a parameter in their place,
    where an array counts as such an input.

    The last fields are facts that passes, plans, tuning and reports ask for. `elementwise` is what
    it computes of each element, `one_value(params)` the number that all of its elements are.
    `identity`: at inference its first output is its first input, where both have one shape and
    dtype; as a function, of the parameters and the rank. `reshapes`: its output has the elements
    and the dtype of its first input in row-major order. `permutes(params, rank)`: its output is its
    input with the axes in this order. `flattens(params)`: it reads all axes of its first input but
    axis 0 as one. `per_sample`: each sample of its first
    output, along axis 0, is made of the same samples of the inputs, but for weights; as a function,
    of the parameters and the output's rank. `joins_axis(params)`: its output is its inputs one
    behind the other along this axis. `epilogue` and `folds_affine(params, rank of the result)` say
    what a layer can do besides. `layout_cost(params, shapes of data and output)`: it computes in
    the layouts that the plan chooses for it, at this cost. `flops` counts; of a backward operator
    it is the layer's, and its inputs are the gradient of the output, data and weight. `pure`: what
    it does follows from parameters, shapes and dtypes, it is no code of users. `is_prologue`: it is
    small work on parameters, made by a pass, whose result is worth keeping. `names_data`: a monitor
    is told of its only input as data, as MXNet does, not as input0. `sums_gradient`: of a backward
    operator, its gradient is right for all of its outputs together only.
    """

    name: str
    params: type[Params]
    inputs: Names
    infer_shape: InferShape
    infer_type: InferType
    compute: FCompute
    doc: str = ""
    outputs: Names = ("output",)
    aux: Names = ()
    visible_outputs: int | Callable[[Any], int] | None = None
    compute_ex: FComputeEx | None = None
    refuses: Refuses | None = None
    gradient: Gradient | None = None
    no_gradient: str = ""  # why there is none, where there is none
    inplace: Mapping[int, int] | Callable[[Any], Mapping[int, int]] = field(default_factory=dict)
    mutates: tuple[int, ...] | Callable[[Any], tuple[int, ...]] = ()
    ignores: tuple[int, ...] | Callable[[Any], tuple[int, ...]] = ()
    numbers: tuple[str, ...] = ()
    domain: Domain = ALL_NUMBERS
    num_args: str | None = None  # the parameter that counts the inputs, such as "num_args"
    by_name: tuple[str, ...] = ()
    takes_any: bool = False  # inputs are given by position, however many the parameters ask for
    aliases: tuple[str, ...] = ()
    is_random: bool | Callable[[Any], bool] = False
    is_loss: bool = False  # its gradient does not depend on the output's gradient
    is_backward: bool = False  # made by gradients only, hidden from nd and sym
    is_fused: bool = False  # made by passes only, hidden from nd and sym
    elementwise: Elementwise | Callable[[Any], Elementwise | None] | None = None
    one_value: Callable[[Any], float | None] | None = None
    identity: bool | Callable[[Any, int], bool] = False
    reshapes: bool = False
    permutes: Callable[[Any, int], tuple[int, ...]] | None = None
    flattens: Callable[[Any], bool] | None = None
    per_sample: bool | Callable[[Any, int], bool] = False
    joins_axis: Callable[[Any], int] | None = None
    epilogue: Epilogue | None = None
    folds_affine: Callable[[Any, int], AffineFold | None] | None = None
    flops: Flops | None = None
    layout_cost: Callable[[Any, Shape, Shape], LayoutCost] | None = None
    pure: bool = True
    is_prologue: bool = False
    names_data: bool = False
    sums_gradient: bool = False

    @property
    def is_public(self) -> bool:
        """Users can call it."""
        return not (self.is_backward or self.is_fused)

    def input_names(self, params: Params) -> tuple[str, ...]:
        """Names of the inputs, without aux states."""
        return self.inputs(params) if callable(self.inputs) else self.inputs

    def aux_names(self, params: Params) -> tuple[str, ...]:
        """Names of the auxiliary states."""
        return self.aux(params) if callable(self.aux) else self.aux

    def num_inputs(self, params: Params) -> int:
        """How many inputs and aux states there are; where they are counted, no name is made."""
        if self.num_args is not None:
            return int(getattr(params, self.num_args))
        return len(self.input_names(params)) + len(self.aux_names(params))

    def output_names(self, params: Params) -> tuple[str, ...]:
        """Names of all outputs, hidden ones too."""
        return self.outputs(params) if callable(self.outputs) else self.outputs

    def num_visible(self, params: Params) -> int:
        """How many of the outputs a user sees."""
        if self.visible_outputs is None:
            return len(self.output_names(params))
        if callable(self.visible_outputs):
            return self.visible_outputs(params)
        return self.visible_outputs

    def inplace_pairs(self, params: Params) -> Mapping[int, int]:
        """Output -> the input whose memory it may take."""
        return self.inplace(params) if callable(self.inplace) else self.inplace

    def mutated(self, params: Params) -> tuple[int, ...]:
        """Positions of inputs or aux states that a call writes to."""
        return self.mutates(params) if callable(self.mutates) else self.mutates

    def ignored(self, params: Params) -> tuple[int, ...]:
        """Positions of inputs of which only the shapes are read."""
        return self.ignores(params) if callable(self.ignores) else self.ignores

    @property
    def is_update(self) -> bool:
        """It is a step of an optimizer, of one weight."""
        return bool(self.numbers) and not callable(self.inputs) and self.inputs[:1] == ("weight",)

    def numbers_of(self, params: Params) -> list[float]:
        """What a ParameterBlock holds for a call with these parameters."""
        return [getattr(params, name) for name in self.numbers]

    def fixed_of(self, params: Params) -> dict[str, Any]:
        """The other parameters: a recorded call serves calls with the same of these."""
        return {name: value for name, value in params.by_name().items() if name not in self.numbers}

    def draws(self, params: Params) -> bool:
        """With these parameters two calls may give different results."""
        return self.is_random(params) if callable(self.is_random) else self.is_random

    def elementwise_of(self, params: Params) -> Elementwise | None:
        """What a call computes of each element; None where that is not known or something else."""
        return self.elementwise(params) if callable(self.elementwise) else self.elementwise

    def is_identity(self, params: Params, rank: int) -> bool:
        """At inference the first output is the first input, if that has the same shape and dtype.
        """
        if self.reshapes:
            return True
        return self.identity(params, rank) if callable(self.identity) else self.identity

    def is_per_sample(self, params: Params, rank: int) -> bool:
        """Samples of the first output, which has this rank, are made of the same of the inputs."""
        return self.per_sample(params, rank) if callable(self.per_sample) else self.per_sample

    def __repr__(self) -> str:
        return f"OpDef({self.name})"


class Registry:
    """Operators by name and alias.

    Any thread may ask for any operator at any time. One that is still to be loaded is given out
    when the whole module has been imported, not as soon as it is registered.
    """

    def __init__(self) -> None:
        self._ops: dict[str, OpDef] = {}
        self._places: dict[str, str] = {}  # names that are not in _ops yet -> module
        self._hidden: frozenset[str] = frozenset()
        # of names in _places: what their module, as far as it was imported, has registered
        self._begun: dict[str, tuple[OpDef, ModuleType]] = {}
        self._when_gone: list[Callable[[str], None]] = []

    def load_later(self, places: Mapping[str, str], hidden: str = "") -> None:
        """Leaves operators to modules that are imported when one of their names is asked for.

        `places` maps a module to the names that it registers; `hidden` are those that are not
        public. Names are separated by blanks.
        """
        for module, names in places.items():
            self._places.update(dict.fromkeys(names.split(), module))
        self._hidden |= frozenset(hidden.split())

    def register(self, op: OpDef) -> OpDef:
        """Adds an operator under its name and aliases; a name taken already is refused."""
        names = (op.name, *op.aliases)
        for name in names:
            if self._is_taken_later(name) or name in self._ops:
                raise NameMismatch(f"operator {name!r} is registered already")
        for name in names:
            place = self._places.get(name)
            if place is None:
                self._ops[name] = op
            else:
                self._begun[name] = op, sys.modules[place]
        return op

    def _is_taken_later(self, name: str) -> bool:
        """Only the module that the index names may register `name`, and that once."""
        place = self._places.get(name)
        if place is None:
            return False
        # a module whose import failed is imported anew, as another object
        module = sys.modules.get(place)
        return module is None or (name in self._begun and self._begun[name][1] is module)

    def _load(self, name: str) -> OpDef | None:
        """The operator of a name that no finished module has registered, if the index has it."""
        place = self._places.get(name)
        if place is not None:
            importlib.import_module(place)  # waits while another thread imports it
            begun = self._begun.get(name)
            if begun is not None:
                # in this order: other threads find the name in one place or the other
                self._ops[name] = begun[0]
                self._places.pop(name, None)
                self._begun.pop(name, None)
        return self._ops.get(name)

    def unregister(self, name: str) -> None:
        """Takes an operator with all its aliases away; NameMismatch when there is none."""
        op = self.find(name)
        for key in (op.name, *op.aliases):
            self.find(key)
            del self._ops[key]
            for tell in self._when_gone:
                tell(key)

    def when_gone(self, tell: Callable[[str], None]) -> None:
        """Calls `tell` with each name that is taken away from now on."""
        self._when_gone.append(tell)

    def find(self, name: str) -> OpDef:
        """The operator of a name or alias; NameMismatch when there is none."""
        found = self._ops.get(name)
        if found is None:
            found = self._load(name)
        if found is None:
            hint = did_you_mean(name, self.names()) if isinstance(name, str) else ""
            raise NameMismatch(f"operator {name!r} is not registered{hint}")
        return found

    def __contains__(self, name: str) -> bool:
        return name in self._places or name in self._ops

    def names(self) -> Iterable[str]:
        """All names and aliases."""
        return sorted({*self._places, *self._ops})

    def is_public(self, name: str) -> bool:
        """Users can call the operator of this name, which is registered; loads nothing."""
        op = self._ops.get(name)
        return name not in self._hidden if op is None else op.is_public

    def ops(self) -> list[OpDef]:
        """Each operator once, by name; loads them all."""
        return [op for name in self.names() if (op := self.find(name)).name == name]


def keep_registered(namespace: dict[str, Any], needs: Mapping[str, str]) -> None:
    """Takes those functions out of a namespace whose operator is not registered."""
    for name, op in needs.items():
        if op not in REGISTRY:
            namespace.pop(name, None)


REGISTRY = Registry()
register = REGISTRY.register
unregister = REGISTRY.unregister
find = REGISTRY.find
