"""Model: an ONNX model that can be called."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array.ndarray import NDArray
from ..collector import resting_collector
from ..context import Context, cpu
from ..errors import (
    InputMismatch,
    NameMismatch,
    ParameterError,
    ShapeError,
    TypeMismatch,
    not_picklable,
    shown,
)
from ..fork import renew_in_child
from ..precision import Precision, find_precision
from .graph import Array, ModelFile, ValueInfo
from .loaded import Loaded, with_inputs
from .opsets import check_supported
from .plan import Plan
from .reading import read_model
from .scales import check_scales
from .values import MAX_BYTES

if TYPE_CHECKING:
    from ..executor.calibration.collectors import Logger
    from ..executor.explain import Explanation
    from ..executor.tuning.search import Tuned

# for so many sets of inputs with values of their own plans are kept
_MOST_TAKING = 4


def load(source: str | os.PathLike[str] | bytes | Any, *, ctx: Context | None = None,
         max_bytes: int | None = None, precision: str | Precision | None = None) -> Model:
    """The model in an ONNX file, in bytes, or in an `onnx.ModelProto`.

    `max_bytes` is how large a tensor may be that the file only describes (ConstantOfShape, Expand,
    Tile and the like), by default half of the free memory. `precision` is what layers
    compute in, by default what NDRT_PRECISION says (docs/precision.md). Raises MissingPackage where
    the package onnx is needed and not installed: for numbers of 8 bits and fewer that NumPy has
    not, operator sets newer than those known here, and operators that are functions. Raises
    ModelFormatError for what is no model or a wrong one, Unsupported with a list of all nodes that
    can not run, TypeMismatch for another kind of source.
    """
    if max_bytes is None:
        max_bytes = _free_bytes() // 2
    elif isinstance(max_bytes, bool) or not isinstance(max_bytes, int) or max_bytes < 0:
        raise ParameterError(f"onnx.load: max_bytes got {shown(max_bytes)}, expected an int of at "
                             "least 0")
    with resting_collector():
        file = read_model(source)
        check_supported(file)
        check_scales(file)
        return Model(Loaded(file, (ctx or cpu()).check(), max_bytes,
                            precision=find_precision(precision, "onnx.load")))


def _free_bytes() -> int:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return 1 << 33


class Model:
    """An ONNX model: `model(x)`, `model(name=x)` or `model({"name": x})`.

    Made by `load`. For each combination of shapes of the inputs it makes a plan, when they first
    come; the plans share weights and memory. One call runs at a time; for several at once take a
    `clone` for each thread.
    """

    __reduce_ex__ = not_picklable("a Model", "load it in each process")

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._names = [info.name for info in loaded.file.inputs]
        self._lock = threading.RLock()
        self._last: Plan | None = None
        # of inputs with values of their own, those that were given -> a model that takes them
        self._taking: OrderedDict[frozenset[str], Model] = OrderedDict()
        renew_in_child(self)

    def _renew_locks(self) -> None:
        """In a forked child."""
        self._lock = threading.RLock()

    @property
    def inputs(self) -> list[ValueInfo]:
        """Name, dtype and shape of each input; of a dimension an int, a name, or None."""
        return list(self._loaded.file.inputs)

    @property
    def overridable(self) -> list[ValueInfo]:
        """Inputs that a call may leave out, by name only: the file has values for them."""
        return list(self._loaded.file.overridable)

    @property
    def outputs(self) -> list[ValueInfo]:
        """Name, dtype and shape of each output, as the file tells them."""
        return list(self._loaded.file.outputs)

    @property
    def precision(self) -> Precision:
        """What its layers compute in."""
        return self._loaded.precision

    @property
    def metadata(self) -> dict[str, Any]:
        """What the file says of itself: producer_name, version and others."""
        return dict(self._loaded.file.metadata)

    def __call__(self, *args: Any, **kwargs: Any) -> list[Array]:
        """The outputs as NumPy arrays, for inputs in order, by name, or in a dict.

        NumPy arrays, NDArrays, or what NumPy makes arrays of; dtypes must be those of `inputs`.
        Lists and numbers of Python become arrays of these where no number is cut off by it.
        Raises NameMismatch for an input that is missing or unknown, TypeMismatch and ShapeError for
        what does not fit; InputMismatch, a ShapeError, where that shows inside of the model: it
        names the node and the shapes that were given. ModelFormatError for what no input can mend.
        """
        if len(args) == 1 and isinstance(args[0], Mapping):
            kwargs = {**args[0], **kwargs}
            args = ()
        if args:
            if len(args) > len(self._names):
                raise NameMismatch(f"takes {len(self._names)} input(s) "
                                   f"({', '.join(self._names)}), got {len(args)}")
            kwargs = {**dict(zip(self._names, args, strict=False)), **kwargs}
        return self.run(kwargs)

    def run(self, given: Mapping[str, Any]) -> list[Array]:
        """`__call__` with a dict."""
        also = self._loaded.file.overridable and frozenset(given).intersection(
            info.name for info in self._loaded.file.overridable)
        if also:
            with self._lock:
                model = self._taking_too(also)
                made = model.run(given)
                self._last = model._last
                return made
        arrays = [self._input(info, given) for info in self._loaded.file.inputs]
        if len(given) != len(arrays):
            unknown = [name for name in given if name not in self._names]
            raise NameMismatch(f"there is no input {unknown[0]!r}; there are: "
                               f"{', '.join(self._names)}")
        with self._lock:
            try:
                return self._run(arrays)
            except InputMismatch as error:
                raise InputMismatch(
                    error.reason, self._loaded.file.file, error.place,
                    {name: _given_text(value) for name, value in
                     zip(self._names, arrays, strict=True)}) from error.__cause__

    def _run(self, arrays: list[Any]) -> list[Array]:
        plan = self._plan(arrays)
        table = dict(zip(self._names, arrays, strict=True))
        for name, value in zip(self._names, arrays, strict=True):
            if value.__class__ is tuple:
                table.update({f"{name}:{i}": item for i, item in enumerate(value)})
        token = MAX_BYTES.set(self._loaded.max_bytes)
        try:
            return plan.run(table)
        finally:
            MAX_BYTES.reset(token)

    def _taking_too(self, names: frozenset[str]) -> Model:
        """A model on the same weights that takes these too."""
        model = self._taking.get(names)
        if model is None:
            old = self._loaded
            model = self._taking[names] = Model(
                Loaded(with_inputs(old.file, names), old.ctx, old.max_bytes, old))
        self._taking.move_to_end(names)
        while len(self._taking) > _MOST_TAKING:
            self._taking.popitem(last=False)
        return model

    def _plan(self, arrays: list[Any]) -> Plan:
        key = self._loaded.key(arrays)
        self._last = plan = self._loaded.plans.get(key) or self._loaded.plan(key, arrays)
        return plan

    def _input(self, info: ValueInfo, given: Mapping[str, Any]) -> Any:
        if info.name not in given:
            raise NameMismatch(f"input {info.name!r} is missing; there are: "
                               f"{', '.join(self._names)}")
        value = given[info.name]
        if isinstance(value, NDArray):
            value = value.asnumpy()
        if info.kind != "tensor":
            return _input_of(info, value)
        made = value if value.__class__ is np.ndarray else np.asarray(value)
        if info.dtype is not None and made.dtype != info.dtype:
            if made.dtype.kind in "US" and info.dtype == object:
                made = made.astype(object)
            elif isinstance(value, (list, tuple, int, float)) and _holds(info.dtype, made):
                made = made.astype(info.dtype)
            else:
                raise TypeMismatch(f"input {info.name!r} has dtype {made.dtype}, expected "
                                   f"{info.dtype}")
        if info.shape is not None and (len(info.shape) != made.ndim or any(
                isinstance(dim, int) and dim != size
                for dim, size in zip(info.shape, made.shape, strict=True))):
            raise ShapeError(f"input {info.name!r} has shape {made.shape}, expected "
                             f"{shape_text(info.shape)}")
        return made

    # ---- numbers of 8 bits ---------------------------------------------------------------------

    def calibrate(self, batches: Iterable[Any] | None, *, calib_mode: str = "naive",
                  quantized_dtype: str = "auto", quantize_mode: str = "smart",
                  excluded_sym_names: list[str] | None = None,
                  excluded_op_names: list[str] | None = None,
                  quantize_granularity: str = "channel-wise", fused: bool = True,
                  logger: Logger = None) -> None:
        """Runs the model on batches, records ranges, and computes with 8-bit numbers from then on.

        `batches`: an iterable of what the model is called with: an array, a list of arrays in
        order, a dict. They may have several shapes: plans for all of them get ranges of one name
        together, and plans for shapes that come later get the same ones. None with
        `calib_mode="dynamic"`: dense layers round their data when they come. The other parameters
        are those of `Executor.calibrate`; names are those of the graphs that `explain` shows. If it
        raises, the model computes with floats. ParameterError for options that can not be meant,
        no batch, values that are not finite, and a model without graphs; TypeMismatch for what are
        no batches; what a call of the model raises.
        """
        from ..executor.calibration.options import Options
        from .calibrate import calibrate
        options = Options.checked(calib_mode, quantized_dtype, quantize_mode, excluded_sym_names,
                                  excluded_op_names, quantize_granularity, fused)
        with self._lock:
            calibrate(self, batches, options, logger)

    def _forget_plans(self) -> None:
        """The next calls plan anew, on floats."""
        self._loaded.on_bound = self._last = None
        self._loaded.forget_plans()
        self._taking.clear()

    # ---- looking inside ------------------------------------------------------------------------

    def tune(self, *args: Any, **kwargs: Any) -> list[Tuned]:
        """Runs with these inputs (else as last called) and chooses layouts and kernels by measuring
        them: one finding for each graph. Raises ParameterError when it was never called."""
        with self._lock:
            return [segment.executor.tune() for segment in self._used(args, kwargs).segments()]

    def explain(self, *args: Any, **kwargs: Any) -> list[Explanation]:
        """What each step of each graph does, with measured times: for these inputs, else those of
        the last call. Raises ParameterError when it was never called."""
        with self._lock:
            return [segment.executor.explain() for segment in self._used(args, kwargs).segments()]

    def _used(self, args: Any, kwargs: Any) -> Plan:
        if args or kwargs:
            self(*args, **kwargs)
        if self._last is None:
            raise ParameterError("the model was not called yet: give inputs, of which it learns "
                                 "the shapes")
        return self._last

    def clone(self) -> Model:
        """A model with the same weights and plans of its own, for another thread."""
        old = self._loaded
        with self._lock:
            return Model(Loaded(old.file, old.ctx, old.max_bytes, old))

    def __repr__(self) -> str:
        def text(infos: list[ValueInfo]) -> str:
            return ", ".join(f"{v.name} {v.dtype or v.kind} {shape_text(v.shape)}" for v in infos)
        return f"<Model of {self._loaded.file.file}: {text(self.inputs)} -> {text(self.outputs)}>"


def _holds(dtype: np.dtype[Any], made: Array) -> bool:
    """A dtype has numbers like those of a list, which NumPy gives one of its own."""
    if made.size == 0:
        return made.dtype == np.float64
    if dtype.kind == "f":
        return made.dtype.kind in "iuf"
    if dtype.kind not in "iu" or made.dtype.kind not in "iu":
        return False
    info = np.iinfo(dtype)
    return bool(info.min <= int(made.min()) and int(made.max()) <= info.max)


def _input_of(info: ValueInfo, value: Any) -> Any:
    """A sequence as a tuple of arrays; an optional value, which may be None."""
    if value is None and info.kind == "optional":
        return None
    if isinstance(value, (list, tuple)) and info.kind in ("sequence", "optional"):
        return tuple(np.asarray(item) for item in value)
    if info.kind == "optional":
        return np.asarray(value)
    raise TypeMismatch(f"input {info.name!r} is a {info.kind}, got a {type(value).__name__}")


def _given_text(value: Any) -> str:
    """The shape of an input, or of each item of a sequence."""
    if isinstance(value, tuple):
        return f"[{', '.join(str(item.shape) for item in value)}]"
    return "None" if value is None else str(value.shape)


def shape_text(shape: tuple[int | str | None, ...] | None) -> str:
    """A shape as users read it: (batch, 3, ?)."""
    if shape is None:
        return "of any rank"
    inside = ", ".join("?" if dim is None else str(dim) for dim in shape)
    return f"({inside}{',' if len(shape) == 1 else ''})"


__all__ = ["Model", "ModelFile", "load"]
