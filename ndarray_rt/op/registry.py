"""The registry: what an operator declares, and finding it by name. Runs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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


@dataclass(frozen=True, eq=False)
class OpDef:
    """All that is known of an operator.

    `inputs`, `aux` and `outputs` are names, or functions of the parameters. Aux states stand
    behind the inputs wherever inputs are listed. `mutates` are the positions of inputs or aux
    states that a call writes to. `inplace` maps an output to the input whose memory it may take;
    `identity` are those of them whose contents are then already right. `ignores` are positions
    whose values are not read, only their shapes. `numbers` are parameters that a recorded call
    reads whenever it runs: kernels are given them as they are, in this order where they come from
    the context's ParameterBlock. What the gradient reads does not depend on them, nor do shapes and
    dtypes; `domain` says with which numbers one recording is done again. `by_name` are inputs that
    MXNet's operator has not: functions have a parameter in their place, where an array counts as
    such an input.
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
    identity: frozenset[int] = frozenset()
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

    def __repr__(self) -> str:
        return f"OpDef({self.name})"


class Registry:
    """Operators by name and alias, and the open table of facts that passes keep on operators."""

    def __init__(self) -> None:
        self._ops: dict[str, OpDef] = {}
        self._attrs: dict[tuple[str, str], Any] = {}
        self._when_gone: list[Callable[[str], None]] = []

    def register(self, op: OpDef) -> OpDef:
        """Adds an operator under its name and aliases; a name taken already is refused."""
        for name in (op.name, *op.aliases):
            if name in self._ops:
                raise NameMismatch(f"operator {name!r} is registered already")
        for name in (op.name, *op.aliases):
            self._ops[name] = op
        return op

    def unregister(self, name: str) -> None:
        """Takes an operator with all its aliases away; NameMismatch when there is none."""
        op = self.find(name)
        for key in (op.name, *op.aliases):
            del self._ops[key]
            for tell in self._when_gone:
                tell(key)
        self._attrs = {key: value for key, value in self._attrs.items() if key[0] != op.name}

    def when_gone(self, tell: Callable[[str], None]) -> None:
        """Calls `tell` with each name that is taken away from now on."""
        self._when_gone.append(tell)

    def find(self, name: str) -> OpDef:
        """The operator of a name or alias; NameMismatch when there is none."""
        found = self._ops.get(name)
        if found is None:
            hint = did_you_mean(name, self._ops) if isinstance(name, str) else ""
            raise NameMismatch(f"operator {name!r} is not registered{hint}")
        return found

    def __contains__(self, name: str) -> bool:
        return name in self._ops

    def names(self) -> Iterable[str]:
        """All names and aliases."""
        return sorted(self._ops)

    def ops(self) -> list[OpDef]:
        """Each operator once, by name."""
        return [self._ops[name] for name in sorted(self._ops) if self._ops[name].name == name]

    def set_attr(self, op: str, key: str, value: Any) -> None:
        """Notes a fact that only one pass needs."""
        self._attrs[self.find(op).name, key] = value

    def get_attr(self, op: str, key: str, default: Any = None) -> Any:
        return self._attrs.get((self.find(op).name, key), default)


def keep_registered(namespace: dict[str, Any], needs: Mapping[str, str]) -> None:
    """Takes those functions out of a namespace whose operator is not registered."""
    for name, op in needs.items():
        if op not in REGISTRY:
            namespace.pop(name, None)


REGISTRY = Registry()
register = REGISTRY.register
unregister = REGISTRY.unregister
find = REGISTRY.find
