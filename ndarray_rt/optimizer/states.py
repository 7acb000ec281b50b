"""States of optimizers as bytes: ours without pickle, and those that MXNet pickled.

The form of ours: the line `FIRST_LINE`, the length of the text (8 bytes, little endian), the text,
then arrays as `nd.save` writes them. The text is JSON of nested values, each of one of the forms

    {"none": 0} {"bool": true} {"int": 1} {"float": "0x1p-1"} {"str": "a"}
    {"list": [...]} {"tuple": [...]} {"dict": [[key, value], ...]}
    {"array": 3} {"numpy": 4}            # the place among the arrays; numpy: made a NumPy array
    {"optimizer": [name, [[attribute, value], ...]]}, {"scheduler": ...} alike
"""

from __future__ import annotations

import io
import json
import pickle
import pickletools
from collections import OrderedDict
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, FunctionType, NoneType
from typing import Any, ClassVar

import numpy as np

from .. import lr_scheduler
from ..errors import MissingPackage, ModelFormatError, NdrtError, TypeMismatch
from ..io import params_file
from ..lr_scheduler import LRScheduler
from ..nd import NDArray, array
from ..symbol.json_text import decode_json, parse_json
from .base import Optimizer

FIRST_LINE = b"ndarray_rt states 1\n"
# deeper than anything that states are made of; a file that is deeper is damaged or hostile
MAX_DEPTH = 32
# an opcode of a pickle makes an object of so many bytes: so many opcodes and one more for as many
MOST_OPCODES, COST = 1 << 18, 128


# ---- writing ------------------------------------------------------------------------------------


def dump_states(value: Any) -> bytes:
    """The bytes of nested containers, numbers, texts, arrays, optimizers and schedules.

    Raises TypeMismatch for anything else, naming where it is.
    """
    arrays: list[NDArray] = []
    text = json.dumps(_described(value, arrays, "states"), separators=(",", ":")).encode()
    return b"".join([FIRST_LINE, len(text).to_bytes(8, "little"), text,
                     params_file.save_tobuffer(arrays)])


def _described(value: Any, arrays: list[NDArray], place: str) -> dict[str, Any]:
    if place.count("[") + place.count(".") > MAX_DEPTH:
        raise TypeMismatch(f"{place[:200]}: nested deeper than {MAX_DEPTH}")
    if value is None:
        return {"none": 0}
    if isinstance(value, (bool, np.bool_)):
        return {"bool": bool(value)}
    if isinstance(value, (int, np.integer)):
        return {"int": int(value)}
    if isinstance(value, (float, np.floating)):
        return {"float": float(value).hex()}
    if isinstance(value, str):
        return {"str": value}
    if isinstance(value, NDArray):
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if isinstance(value, np.ndarray):
        arrays.append(array(value, dtype=value.dtype))
        return {"numpy": len(arrays) - 1}
    if isinstance(value, (list, tuple)):
        return {"list" if isinstance(value, list) else "tuple": [
            _described(one, arrays, f"{place}[{i}]") for i, one in enumerate(value)]}
    if isinstance(value, dict):
        return {"dict": [[_described(key, arrays, place), _described(one, arrays,
                                                                     f"{place}[{key!r}]")]
                         for key, one in value.items()]}
    if isinstance(value, Optimizer):
        return {"optimizer": _of_object(_registered_name(value, place), value.__getstate__(),
                                        arrays, place)}
    if isinstance(value, LRScheduler):
        return {"scheduler": _of_object(_scheduler_name(type(value)), vars(value), arrays, place)}
    raise TypeMismatch(f"{place} is a {type(value).__name__}, expected numbers, texts, arrays, "
                       "lists, tuples, dicts, a registered optimizer or a schedule")


def _of_object(name: str, attributes: dict[str, Any], arrays: list[NDArray],
               place: str) -> list[Any]:
    return [name, [[key, _described(value, arrays, f"{place}.{key}")]
                   for key, value in attributes.items()]]


def _registered_name(value: Optimizer, place: str) -> str:
    name = type(value).__name__.lower()
    if Optimizer.opt_registry.get(name) is not type(value):
        raise TypeMismatch(f"{place}: {type(value).__name__} is no registered optimizer: register "
                           "it with mx.optimizer.register")
    return name


def _scheduler_name(kind: type[LRScheduler]) -> str:
    own = kind.__module__ == lr_scheduler.__name__
    return kind.__name__ if own else f"{kind.__module__}.{kind.__qualname__}"


# ---- reading ------------------------------------------------------------------------------------


def load_states(data: bytes) -> Any:
    """What `dump_states` wrote, or what MXNet pickled. Raises ModelFormatError for anything else.
    """
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeMismatch(f"states: got a {type(data).__name__}, expected bytes")
    data = bytes(data)
    if not data.startswith(FIRST_LINE):
        return load_pickled(data)
    start = len(FIRST_LINE) + 8
    length = int.from_bytes(data[len(FIRST_LINE):start], "little")
    if len(data) < start + length:
        raise ModelFormatError(f"states: the data end too early: {start + length} bytes expected, "
                             f"{len(data)} are there")
    described = parse_json(decode_json(data[start:start + length], "states"), "states")
    arrays = params_file.load_frombuffer(data[start + length:])
    if not isinstance(arrays, list):
        raise ModelFormatError("states: the arrays have names, expected a list of arrays")
    return _Reader(arrays).value(described, 0)


class _Reader:
    def __init__(self, arrays: list[NDArray]) -> None:
        self.arrays = arrays

    def value(self, described: Any, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise ModelFormatError(f"states: nested deeper than {MAX_DEPTH}")
        if not isinstance(described, dict) or len(described) != 1:
            raise ModelFormatError(f"states: {str(described)[:100]} describes no value")
        (form, content), = described.items()
        read = _FORMS.get(form)
        if read is None:
            raise ModelFormatError(f"states: {form!r} is no form of a value, expected one of "
                                 f"{', '.join(_FORMS)}")
        try:
            return read(self, content, depth + 1)
        except (TypeError, ValueError, IndexError, KeyError) as error:
            if isinstance(error, NdrtError):
                raise
            raise ModelFormatError(f"states: {form} {str(content)[:100]} is damaged: {error}"
                                 ) from None

    def items(self, content: Any, depth: int) -> list[Any]:
        return [self.value(one, depth) for one in _need(content, list)]

    def pairs(self, content: Any, depth: int) -> dict[Any, Any]:
        return {self.value(key, depth): self.value(one, depth) for key, one in _need(content, list)}

    def place(self, content: Any) -> NDArray:
        if not 0 <= _need(content, int) < len(self.arrays):
            raise ModelFormatError(f"states: array {content} of {len(self.arrays)}")
        found: NDArray = self.arrays[content]
        return found

    def attributes(self, content: Any, depth: int) -> dict[str, Any]:
        return {_need(key, str): self.value(one, depth) for key, one in _need(content, list)}

    def optimizer(self, content: Any, depth: int) -> Optimizer:
        name, attributes = content
        kind = Optimizer.opt_registry.get(_need(name, str))
        if kind is None:
            raise ModelFormatError(f"states: {name!r} is no registered optimizer")
        return _made(kind, self.attributes(attributes, depth))

    def scheduler(self, content: Any, depth: int) -> LRScheduler:
        name, attributes = content
        made: LRScheduler = object.__new__(_find_scheduler(_need(name, str)))
        vars(made).update(self.attributes(attributes, depth))
        return made


def _need(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise ModelFormatError(f"states: {str(value)[:100]} is a {type(value).__name__}, expected "
                             f"{kind.__name__}")
    return value


_FORMS: dict[str, Callable[[_Reader, Any, int], Any]] = {
    "none": lambda reader, content, depth: None,
    "bool": lambda reader, content, depth: bool(content),
    "int": lambda reader, content, depth: _need(content, int),
    "float": lambda reader, content, depth: float.fromhex(content),
    "str": lambda reader, content, depth: _need(content, str),
    "list": lambda reader, content, depth: reader.items(content, depth),
    "tuple": lambda reader, content, depth: tuple(reader.items(content, depth)),
    "dict": lambda reader, content, depth: reader.pairs(content, depth),
    "array": lambda reader, content, depth: reader.place(content),
    "numpy": lambda reader, content, depth: reader.place(content).asnumpy(),
    "optimizer": lambda reader, content, depth: reader.optimizer(content, depth),
    "scheduler": lambda reader, content, depth: reader.scheduler(content, depth),
}


def _made(kind: type[Optimizer], attributes: dict[str, Any]) -> Optimizer:
    """An optimizer with these attributes; what they lack has its default."""
    made = kind()
    made.__setstate__(attributes)
    return made


def _find_scheduler(name: str) -> type[LRScheduler]:
    """One of ours, or a loaded class of the user's, by name."""
    kinds: list[type[LRScheduler]] = [LRScheduler]
    for kind in kinds:
        if _scheduler_name(kind) == name and kind is not LRScheduler:
            return kind
        kinds.extend(kind.__subclasses__())
    raise ModelFormatError(f"states: {name!r} is no learning rate schedule that is loaded here")


# ---- what MXNet pickled -------------------------------------------------------------------------


class StandIn:
    """What stands for an object while it is unpickled, and keeps its state."""

    def __init__(self, handle: Any = None) -> None:
        # what classes that wrap a handle are made with
        self.state: Any = {"handle": handle}

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def made(self, settled: Callable[[Any], Any]) -> Any:
        """The object; `settled` gives values without what stands for others."""
        raise NotImplementedError


class _PickledArray(StandIn):
    def made(self, settled: Callable[[Any], Any]) -> Any:
        return _array_of(self.state["handle"])


class _PickledOptimizer(StandIn):
    kind: type[Optimizer]

    def made(self, settled: Callable[[Any], Any]) -> Any:
        return _made(self.kind, settled(self.state))


# modules in which MXNet kept them over the years
_ARRAY_MODULES = ("mxnet.ndarray", "mxnet.ndarray.ndarray")
_OPTIMIZER_MODULES = ("mxnet.optimizer", "mxnet.optimizer.optimizer", "mxnet.optimizer.contrib")
def _bytearray(value: Any = b"", encoding: str = "latin1") -> bytearray:
    """A bytearray of bytes or text: a number of zeros could be any."""
    if isinstance(value, str):
        value = _encode(value, encoding)
    if not isinstance(value, (bytes, bytearray, list)):
        raise ModelFormatError(f"states: a bytearray is made of {type(value).__name__}, expected "
                               "bytes")
    return bytearray(value)


class _NumpyArray:
    """Names numpy.ndarray, and makes none: its shape could be any."""


def _reconstruct(kind: Any, shape: Any, code: Any) -> Any:
    """An empty array, as NumPy's pickles begin with; its state says the rest."""
    if kind is not _NumpyArray or shape != (0,):
        raise ModelFormatError("states: an array does not begin as NumPy pickles it")
    return _multiarray()._reconstruct(np.ndarray, (0,), b"b")


def _multiarray() -> Any:
    core = getattr(np, "_core", None) or np.core  # NumPy 1 has no _core
    return core.multiarray


_NUMPY = {("numpy", "ndarray"), ("numpy", "dtype"), ("numpy.core.multiarray", "_reconstruct"),
          ("numpy.core.multiarray", "scalar"), ("numpy._core.multiarray", "_reconstruct"),
          ("numpy._core.multiarray", "scalar")}


def _encode(text: str, encoding: str = "latin1") -> bytes:
    """What Python 2's bytes became in a pickle of protocol 2."""
    return text.encode(encoding if encoding in ("latin1", "latin-1", "ascii") else "latin1")


def _check_keys(keys: Iterable[Any]) -> None:
    """ModelFormatError for keys that no state has: the hash of a tuple of tuples may take for ever
    where they share what they hold."""
    for key in keys:
        if not isinstance(key, (str, bytes, int, float, NoneType)) and not (
                isinstance(key, tuple) and all(isinstance(part, (str, int)) for part in key)):
            raise ModelFormatError(f"states: a key is a {type(key).__name__}, expected a text or a "
                                   "number")


def _set(values: Iterable[Any] = ()) -> set[Any]:
    found = list(values)
    _check_keys(found)
    return set(found)


def _frozenset(values: Iterable[Any] = ()) -> frozenset[Any]:
    return frozenset(_set(values))


def _ordered_dict(pairs: Iterable[Any] = ()) -> OrderedDict[Any, Any]:
    found = [(key, value) for key, value in pairs]
    _check_keys(key for key, _ in found)
    return OrderedDict(found)


_PLAIN: dict[tuple[str, str], Any] = {
    ("builtins", "bytearray"): _bytearray,
    ("builtins", "set"): _set,
    ("builtins", "frozenset"): _frozenset,
    ("builtins", "complex"): complex,
    ("__builtin__", "bytearray"): _bytearray,
    ("collections", "OrderedDict"): _ordered_dict,
}


# typeshed takes it for the one in C
_InPython: Any = pickle._Unpickler


class Unpickler(_InPython):  # type: ignore[misc]
    """Finds arrays, plain containers, registered optimizers and schedules; nothing else.

    In Python: the one in C reads other opcodes than stand there where frames overlap.
    """

    dispatch: ClassVar[dict[int, Callable[[Any], None]]] = {**_InPython.dispatch}

    def _set_item(self) -> None:
        _check_keys(self.stack[-2:-1])
        _InPython.load_setitem(self)

    def _set_items(self) -> None:
        _check_keys(self.stack[::2])
        _InPython.load_setitems(self)

    def _dict(self) -> None:
        _check_keys(self.stack[::2])
        _InPython.load_dict(self)

    def _add_items(self) -> None:
        _check_keys(self.stack)
        _InPython.load_additems(self)

    def _make_frozenset(self) -> None:
        _check_keys(self.stack)
        _InPython.load_frozenset(self)

    def _build(self) -> None:
        made = self.stack[-2]
        if isinstance(made, (type, FunctionType, BuiltinFunctionType)):
            raise ModelFormatError(f"states: the pickle changes {made.__name__}")
        _InPython.load_build(self)

    dispatch[pickle.SETITEM[0]] = _set_item
    dispatch[pickle.SETITEMS[0]] = _set_items
    dispatch[pickle.DICT[0]] = _dict
    dispatch[pickle.ADDITEMS[0]] = _add_items
    dispatch[pickle.FROZENSET[0]] = _make_frozenset
    dispatch[pickle.BUILD[0]] = _build

    def find_class(self, module: str, name: str) -> Any:
        if module in _ARRAY_MODULES and name == "NDArray":
            return _PickledArray
        if module in _OPTIMIZER_MODULES and name.lower() in Optimizer.opt_registry:
            kind = Optimizer.opt_registry[name.lower()]
            return type(kind.__name__, (_PickledOptimizer,), {"kind": kind})
        if module == "mxnet.lr_scheduler" and name in lr_scheduler.__all__:
            return getattr(lr_scheduler, name)
        if (module, name) in _PLAIN:
            return _PLAIN[module, name]
        if (module, name) in _NUMPY:
            return self._numpy(module, name)
        if (module, name) == ("_codecs", "encode"):
            return _encode
        raise ModelFormatError(f"states: the pickle asks for {module}.{name}, which is none of "
                             "arrays, plain containers, registered optimizers and schedules")

    @staticmethod
    def _numpy(module: str, name: str) -> Any:
        if name == "dtype":
            return np.dtype
        if name == "ndarray":
            return _NumpyArray
        return _reconstruct if name == "_reconstruct" else getattr(_multiarray(), name)


def load_pickled(data: bytes, unpickler: type[Unpickler] = Unpickler) -> Any:
    """What MXNet pickled: states, or (states, optimizer), or what a subclass of Unpickler knows.

    Only arrays, plain containers, registered optimizers and schedules are made, and what that
    class adds, whatever the bytes ask for. Raises ModelFormatError for anything else.
    """
    try:
        _look_through(data)
        # what objects are made of can be anything too
        return _settled(unpickler(io.BytesIO(data), encoding="latin1").load(), 0, {})
    except (MissingPackage, ModelFormatError):
        raise
    except Exception as error:
        raise ModelFormatError("states: these bytes are neither of this package nor a pickle of "
                               f"MXNet's: {error!r}") from None


def _look_through(data: bytes) -> None:
    """ModelFormatError where a pickle would take much more memory than it has bytes: an opcode of
    a few of them makes an object, or room for as many as it likes."""
    most = len(data) // COST + MOST_OPCODES
    for count, (opcode, value, _) in enumerate(pickletools.genops(data)):
        if count > most:
            raise ModelFormatError(f"states: {len(data)} bytes have more than {most} opcodes")
        if "PUT" in opcode.name and isinstance(value, int) and value > most:
            raise ModelFormatError(f"states: opcode {count} is {opcode.name} {value}, more than "
                                   f"{most}")


def _settled(value: Any, depth: int, known: dict[int, Any]) -> Any:
    """With real arrays and optimizers in the place of what stood for them. `known` has what became
    of values by their ids: one that is there many times is looked at once."""
    if depth > MAX_DEPTH:
        raise ModelFormatError(f"states: nested deeper than {MAX_DEPTH}")
    if not isinstance(value, (StandIn, dict, list, tuple)):
        return value
    if id(value) in known:
        return known[id(value)]
    made: Any
    if isinstance(value, StandIn):
        made = value.made(lambda one: _settled(one, depth + 1, known))
    elif isinstance(value, dict):
        made = type(value)((key, _settled(one, depth + 1, known)) for key, one in value.items())
    else:
        made = type(value)(_settled(one, depth + 1, known) for one in value)
    known[id(value)] = made
    return made


def _array_of(handle: Any) -> NDArray | None:
    if handle is None:
        return None
    if not isinstance(handle, (bytes, bytearray)):
        raise ModelFormatError(f"states: an array is a {type(handle).__name__}, expected bytes")
    return params_file.load_one(bytes(handle))
