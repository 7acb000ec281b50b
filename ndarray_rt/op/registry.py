"""The registry: what an operator declares, and finding it by name. Runs nothing.

An operator of this package is imported on first use; an index maps its names to its module.
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
from ..fork import importing
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
    """What a gradient function may read of the node that it differentiates."""

    @property
    def params(self) -> Any: ...
    @property
    def inputs(self) -> Sequence[Any]: ...  # entries: inputs, then aux states
    @property
    def outputs(self) -> Sequence[Any]: ...  # entries


class Emit(Protocol):
    """Creates the nodes of a gradient, in a graph or by running them at once."""

    def __call__(self, op: str, params: Params | Mapping[str, object] | None,
                 *inputs: Any) -> list[Any]:
        """The output entries of a new node of operator `op` with these inputs."""
        ...

    def zeros_like(self, entry: Any) -> Any:
        """An entry of zeros with the shape of `entry`."""
        ...


# (emit, node, gradients of the outputs or None) -> a gradient or None for each input and aux state
Gradient = Callable[[Emit, GradNode, Sequence[Any]], Sequence[Any]]


# (params, shapes of the inputs, shapes of the outputs) -> multiplications and additions
Flops = Callable[[Any, Sequence[Shape], Sequence[Shape]], int]


@dataclass(frozen=True, eq=False)
class OpDef:
    """Everything that is declared about an operator.

    `inputs`, `aux` and `outputs` are names, or functions of the parameters. Wherever inputs are
    listed, aux states come after them. `mutates` are the positions of inputs or aux states that a
    call writes to. `inplace` maps an output to the input whose memory it may use. `ignores` are
    positions of which only the shapes are read. `numbers` are parameters that kernels read at each
    replay of a recorded call, in this order, from the context's ParameterBlock; neither gradients,
    shapes nor dtypes depend on them, and `domain` are the values that one recording serves.
    `by_name` are inputs that MXNet's operator does not have: functions accept an array for the
    parameter of the same name.

    The other fields are facts for passes, plans, tuning and reports:

    `elementwise`: the function that it computes of each element.
    `one_value(params)`: the number that all elements of the output equal.
    `identity`: at inference its first output equals its first input if both have one shape and
    dtype; may be a function of parameters and rank.
    `reshapes`: its output has the elements and dtype of its first input, in row-major order.
    `permutes(params, rank)`: its output is its input with the axes in this order.
    `flattens(params)`: it reads all axes of its first input except axis 0 as one.
    `per_sample`: each sample of the first output, along axis 0, depends on the same samples of the
    inputs only, weights apart; may be a function of parameters and the output's rank.
    `joins_axis(params)`: its output is the concatenation of its inputs along this axis.
    `epilogue`: the post-ops that it can compute; `folds_affine(params, rank of the result)`: how a
    factor and shift after it are folded into its weight.
    `layout_cost(params, shapes of data and output)`: it computes in the layout that the plan
    chooses, at this cost.
    `flops`: multiplications and additions; a backward operator has those of the layer, and gets the
    shapes of the output's gradient, data and weight.
    `pure`: its results depend on parameters, shapes and inputs only; it runs no code of users.
    `is_prologue`: a pass has made it for small work on parameters whose result is worth keeping.
    `names_data`: monitors call its only input data, as MXNet does, instead of input0.
    `sums_gradient`: the gradient of this backward operator is right for all outputs together only.
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
    no_gradient: str = ""  # why it has no gradient
    inplace: Mapping[int, int] | Callable[[Any], Mapping[int, int]] = field(default_factory=dict)
    mutates: tuple[int, ...] | Callable[[Any], tuple[int, ...]] = ()
    ignores: tuple[int, ...] | Callable[[Any], tuple[int, ...]] = ()
    numbers: tuple[str, ...] = ()
    domain: Domain = ALL_NUMBERS
    num_args: str | None = None  # the parameter that is the number of inputs, such as "num_args"
    by_name: tuple[str, ...] = ()
    takes_any: bool = False  # inputs are given by position, however many the parameters ask for
    aliases: tuple[str, ...] = ()
    is_random: bool | Callable[[Any], bool] = False
    is_loss: bool = False  # its gradient does not depend on the output's gradient
    is_backward: bool = False  # used by gradients only, hidden from nd and sym
    is_fused: bool = False  # used by passes only, hidden from nd and sym
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
        """The number of inputs and aux states; makes no names if a parameter counts them."""
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
        """Output -> the input whose memory it may use."""
        return self.inplace(params) if callable(self.inplace) else self.inplace

    def mutated(self, params: Params) -> tuple[int, ...]:
        """Positions of inputs or aux states that a call writes to."""
        return self.mutates(params) if callable(self.mutates) else self.mutates

    def ignored(self, params: Params) -> tuple[int, ...]:
        """Positions of inputs of which only the shapes are read."""
        return self.ignores(params) if callable(self.ignores) else self.ignores

    @property
    def is_update(self) -> bool:
        """It is the step of an optimizer for one weight."""
        return bool(self.numbers) and not callable(self.inputs) and self.inputs[:1] == ("weight",)

    def numbers_of(self, params: Params) -> list[float]:
        """The values in a ParameterBlock for a call with these parameters."""
        return [getattr(params, name) for name in self.numbers]

    def fixed_of(self, params: Params) -> dict[str, Any]:
        """The other parameters: one recorded call serves all calls with equal ones."""
        return {name: value for name, value in params.by_name().items() if name not in self.numbers}

    def draws(self, params: Params) -> bool:
        """Two calls with these parameters may give different results."""
        return self.is_random(params) if callable(self.is_random) else self.is_random

    def elementwise_of(self, params: Params) -> Elementwise | None:
        """The function of each element that a call computes; None if it is not known or not one."""
        return self.elementwise(params) if callable(self.elementwise) else self.elementwise

    def is_identity(self, params: Params, rank: int) -> bool:
        """At inference the first output equals the first input of the same shape and dtype."""
        if self.reshapes:
            return True
        return self.identity(params, rank) if callable(self.identity) else self.identity

    def is_per_sample(self, params: Params, rank: int) -> bool:
        """Samples of the first output, of this rank, depend on the same samples of the inputs."""
        return self.per_sample(params, rank) if callable(self.per_sample) else self.per_sample

    def __repr__(self) -> str:
        return f"OpDef({self.name})"


class Registry:
    """Operators by name and alias.

    Thread-safe. An operator that is not loaded yet becomes visible when its whole module has been
    imported, not as soon as it is registered.
    """

    def __init__(self) -> None:
        self._ops: dict[str, OpDef] = {}
        self._places: dict[str, str] = {}  # names not yet in _ops -> their module
        self._hidden: frozenset[str] = frozenset()
        # names in _places that a module under import has registered so far
        self._begun: dict[str, tuple[OpDef, ModuleType]] = {}
        self._when_gone: list[Callable[[str], None]] = []

    def load_later(self, places: Mapping[str, str], hidden: str = "") -> None:
        """Declares operators whose modules are imported on first use of one of their names.

        `places` maps a module to the names that it registers, `hidden` are those that are not
        public. Names are separated by blanks.
        """
        for module, names in places.items():
            self._places.update(dict.fromkeys(names.split(), module))
        self._hidden |= frozenset(hidden.split())

    def register(self, op: OpDef) -> OpDef:
        """Adds an operator under its name and aliases; NameMismatch if one is taken."""
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
        """`name` belongs to another module of the index, or is registered already."""
        place = self._places.get(name)
        if place is None:
            return False
        # after a failed import the module is imported again, as another object
        module = sys.modules.get(place)
        return module is None or (name in self._begun and self._begun[name][1] is module)

    def _load(self, name: str) -> OpDef | None:
        """Imports the module that the index has for a name; the operator, or None."""
        place = self._places.get(name)
        if place is not None:
            with importing():
                importlib.import_module(place)  # blocks while another thread imports it
            begun = self._begun.get(name)
            if begun is not None:
                # in this order, so that other threads find the name in one place or the other
                self._ops[name] = begun[0]
                self._places.pop(name, None)
                self._begun.pop(name, None)
        return self._ops.get(name)

    def unregister(self, name: str) -> None:
        """Removes an operator with all its aliases; NameMismatch if there is none."""
        op = self.find(name)
        for key in (op.name, *op.aliases):
            self.find(key)
            del self._ops[key]
            for tell in self._when_gone:
                tell(key)

    def when_gone(self, tell: Callable[[str], None]) -> None:
        """Calls `tell` with each name that is removed from now on."""
        self._when_gone.append(tell)

    def find(self, name: str) -> OpDef:
        """The operator of a name or alias; NameMismatch if there is none."""
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
        """Users can call the registered operator of this name; loads nothing."""
        op = self._ops.get(name)
        return name not in self._hidden if op is None else op.is_public

    def ops(self) -> list[OpDef]:
        """Each operator once, sorted by name; loads them all."""
        return [op for name in self.names() if (op := self.find(name)).name == name]


def keep_registered(namespace: dict[str, Any], needs: Mapping[str, str]) -> None:
    """Removes from a namespace the functions whose operator is not registered."""
    for name, op in needs.items():
        if op not in REGISTRY:
            namespace.pop(name, None)


REGISTRY = Registry()
register = REGISTRY.register
unregister = REGISTRY.unregister
find = REGISTRY.find
