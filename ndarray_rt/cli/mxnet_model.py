"""MXNet's models: a symbol and its parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..context import cpu
from ..errors import MXNetError, NameMismatch, ParameterError, ShapeError
from ..executor.executor import Executor
from ..model import params_from_file
from ..nd import NDArray
from ..nd import array as to_array
from ..symbol.functions import load as load_symbol
from ..symbol.node import topological
from .model_file import MXNET, Array, Facts, Model, Slot, Values

# sizes of pictures that networks are made for, the most common first
_SIZES = (224, 299, 112, 32, 28, 64, 96, 128, 256, 300, 416, 512)


class MXNetModel(Model):
    """A symbol and its parameters, bound anew for each combination of shapes."""

    kind = MXNET

    def __init__(self, symbol_file: str, params_file: str, precision: str | None = None) -> None:
        self.files = symbol_file, params_file
        self._precision = precision
        self.symbol = load_symbol(symbol_file)
        self._args, self._aux = params_from_file(params_file)
        names = self.symbol.list_arguments()
        if len(set(names)) != len(names):
            twice = next(name for name, count in Counter(names).items() if count > 1)
            raise NameMismatch(f"{symbol_file!r}: two variables have the name {twice!r}")
        missing = [name for name in self.symbol.list_auxiliary_states() if name not in self._aux]
        if missing:
            raise NameMismatch(f"{params_file!r} has no {missing[0]!r}, which {symbol_file!r} "
                               "needs")
        self._free = [name for name in names if name not in self._args]
        # the loss of a network for training; its shape follows from the others
        self._names = [n for n in self._free if not n.endswith("label")] or self._free
        self._bound: tuple[Any, Executor] | None = None

    @property
    def inputs(self) -> list[Slot]:
        attributes = self.symbol.attr_dict()
        types = dict(zip(self.symbol.list_arguments(), self._types(0), strict=False))
        return [Slot(name, _shape_attribute(attributes.get(name, {}).get("__shape__")),
                     types.get(name)) for name in self._names]

    def _types(self, which: int) -> list[np.dtype[Any] | None]:
        """Dtypes of the arguments (0) or outputs (1), as far as they follow from the parameters."""
        known = {name: value.dtype for name, value in self._args.items()
                 if name in self.symbol.list_arguments()}
        try:
            found = self.symbol.infer_type_partial(**known)[which]
        except MXNetError:
            return []
        return [None if dtype is None else np.dtype(dtype) for dtype in found or []]

    @property
    def outputs(self) -> list[Slot]:
        names = self.symbol.list_outputs()
        if self._bound is not None:
            return [Slot(name, x.shape, np.dtype(x.dtype))
                    for name, x in zip(names, self._bound[1].outputs, strict=True)]
        types = self._types(1) or [None] * len(names)
        return [Slot(name, None, dtype) for name, dtype in zip(names, types, strict=True)]

    def known_shape(self, slot: Slot) -> tuple[int, ...] | None:
        if slot.shape is not None or len(self._names) != 1:
            return None
        for shape in self._candidates(slot.name):
            if self._fits({slot.name: shape}):
                return shape
        return None

    def _candidates(self, name: str) -> Iterator[tuple[int, ...]]:
        """Shapes of an input that go with the weight of who reads it."""
        for node in topological(self.symbol.entries):
            if node.op is None or not any(e.node.name == name for e in node.inputs[:1]):
                continue
            weight = next((self._args[e.node.name].shape for e in node.inputs[1:]
                           if e.node.name in self._args), ())
            if node.op.name == "Convolution" and len(weight) == 4:
                yield from ((1, weight[1] * int(getattr(node.params, "num_group", 1)), size, size)
                            for size in _SIZES)
            elif node.op.name == "FullyConnected" and len(weight) == 2:
                yield (1, weight[1])
        # behind what changes no shape, such as a normalisation of pictures
        yield from ((1, channels, size, size) for channels in (3, 1) for size in _SIZES)

    def _fits(self, shapes: dict[str, tuple[int, ...]]) -> bool:
        try:
            self._shapes(shapes)
        except MXNetError:
            return False
        return True

    def _shapes(self, given: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
        """Shapes of all arguments; MXNetError where the parameters' are others."""
        for name, dims in given.items():
            if 0 in dims:
                raise ShapeError(f"input {name!r} has shape {dims}: in a symbol a size of 0 is "
                                 "one that is not known, expected at least 1")
        names = self.symbol.list_arguments()
        known = {**{name: self._args[name].shape for name in names if name in self._args}, **given}
        found, _, states = self.symbol.infer_shape_partial(**known)
        if found is None or any(not shape or 0 in shape for shape in found):
            raise ParameterError(f"shapes do not follow from {given}: give --shape for more of: "
                                 f"{', '.join(self._free)}")
        for name, shape in zip(self.symbol.list_auxiliary_states(), states or [], strict=True):
            if self._aux[name].shape != shape:
                raise ParameterError(f"{name!r} has shape {self._aux[name].shape}, expected "
                                     f"{shape}")
        return {name: shape for name, shape in zip(names, found, strict=True) if shape is not None}

    def run(self, values: Values) -> list[Array]:
        executor = self._executor(values)
        outputs = executor.forward(is_train=False, **{name: to_array(value, dtype=value.dtype)
                                                      for name, value in values.items()})
        return [x.asnumpy() for x in outputs]

    def _executor(self, values: Values) -> Executor:
        key = tuple((name, values[name].shape, values[name].dtype.str) for name in sorted(values))
        if self._bound is None or self._bound[0] != key:
            self._bound = key, self._bind(values)
        return self._bound[1]

    def _bind(self, values: Values) -> Executor:
        for name in values:
            if name not in self._free:
                raise NameMismatch(f"there is no input {name!r}; there are: "
                                   f"{', '.join(self._names)}")
        for name in self._names:
            if name not in values:
                raise NameMismatch(f"input {name!r} is missing; there are: "
                                   f"{', '.join(self._names)}")
        shapes = self._shapes({name: value.shape for name, value in values.items()})
        args: dict[str, NDArray] = {}
        for name, shape in shapes.items():
            if name in values:
                args[name] = to_array(values[name], dtype=values[name].dtype)
            elif name in self._args:
                args[name] = self._args[name]
            else:
                args[name] = to_array(np.zeros(shape, np.float32))
        made: Executor = self.symbol.bind(cpu(), args, grad_req="null", aux_states=self._aux,
                                          precision=self._precision)
        return made

    def again(self) -> MXNetModel:
        symbol_file, params_file = self.files
        return MXNetModel(symbol_file, params_file, self._precision)

    def tune(self, values: Values) -> list[Any]:
        self.run(values)
        return [self._executor(values).tune()]

    def explain(self, values: Values) -> list[Any]:
        self.run(values)
        return [self._executor(values).explain()]

    def facts(self) -> Facts:
        found = Facts()
        for node in topological(self.symbol.entries):
            if node.op is not None:
                found.operators[node.op.name] += 1
        used = {*self.symbol.list_arguments(), *self.symbol.list_auxiliary_states()}
        for name, value in {**self._args, **self._aux}.items():
            if name in used:
                found.arrays += 1
                found.parameters += value.size
                found.nbytes += value.nbytes
        return found


def _shape_attribute(text: str | None) -> tuple[int | None, ...] | None:
    """A variable's own shape, where it says one."""
    if text is None:
        return None
    from ..symbol.infer import shape_attribute
    dims = shape_attribute("an input", text)
    return None if dims is None else tuple(None if dim < 0 else dim for dim in dims)
