"""Typed operator parameters: declared once, parsed from Python values and from MXNet's strings.

Holds no operator. The fields of a parameter class come from the helpers here:

    @params_class
    class PoolingParams(Params):
        kernel: tuple[int, ...] = shape((), doc="pooling window")
        pool_type: str = choice("max", "avg", default="max", doc="which reduction")
"""

from __future__ import annotations

import ast
import dataclasses
import math
import operator
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import MISSING, field
from typing import Any, ClassVar, TypeVar

import numpy as np

from ..dtypes import dtype_name, find_dtype
from ..errors import MissingPackage, ParameterError, did_you_mean, shown, where
from ..value_key import same_value, values_key
from .numbers import Tagged

P = TypeVar("P", bound="Params")

REQUIRED: Any = MISSING

# Bound on counts of inputs or outputs. Each of them gets a name before any array is seen, so that a
# wrong count could exhaust memory.
MAX_COUNT = 1 << 18

# longest text of a tuple: Python's parser takes some hundred times its size
LONGEST_LITERAL = 1 << 17

# the range of native integers
INT64 = 1 << 63

# types that may be meant as parameters; other values are inputs under a wrong name
PLAIN = (str, bool, int, float, tuple, type(None))

# Accepted on every operator and without effect: settings of GPU libraries, workspaces and automatic
# placement, or attributes of the symbol and not of the operator.
IGNORED = frozenset({"workspace", "cudnn_tune", "cudnn_off", "cudnn_algo_verbose",
                     "cudnn_algo_fwd", "cudnn_algo_bwd_data", "cudnn_algo_bwd_filter",
                     "cudnn_tensor_core", "cudnn_tensor_core_only", "cudnn_use_acc_stats"})


def _literal(value: object) -> object:
    """The Python value a string stands for; MXNet writes (2L, 2), [2,2], None, True, 1e-05."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    plain = _plain_literal(text)
    if plain is not None:
        return plain
    try:
        return ast.literal_eval(text.replace("L", "") if text[:1] in "([" else text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return value


def _plain_literal(text: str) -> int | tuple[int, ...] | None:
    """A non-negative int, or a tuple of them, parsed without Python's parser; the common case."""
    if text.isdecimal():
        return int(text) if _is_plain(text) else None
    if text[:1] != "(" or text[-1:] != ")":
        return None
    items = [item.strip() for item in text[1:-1].split(",")]
    if len(items) < 2:
        return None  # (2) is a number in parentheses
    if not items[-1]:
        items.pop()
    return tuple(map(int, items)) if all(map(_is_plain, items)) else None


def _is_plain(text: str) -> bool:
    # limited in length, as int() refuses thousands of digits
    return (text.isdecimal() and text.isascii() and len(text) < 20
            and (text == "0" or text[0] != "0"))


def parse_int(value: object) -> int:
    value = _literal(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str):
        raise ValueError
    found = operator.index(value)  # type: ignore[arg-type]
    if not -INT64 <= found < INT64:
        raise OverflowError
    return found


def parse_float(value: object) -> float:
    if isinstance(value, str):
        return float(value)
    if type(value) is Tagged:
        return value
    if isinstance(value, (bool, int, float, np.generic)):
        return float(value)
    if isinstance(value, np.ndarray) and value.size == 1:
        return float(value.reshape(())[()])
    raise ValueError


def parse_bool(value: object) -> bool:
    if isinstance(value, str):
        word = value.strip().lower()
        if word in ("true", "1"):
            return True
        if word in ("false", "0"):
            return False
        raise ValueError
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)) and int(value) in (0, 1):
        return bool(value)
    raise ValueError


def parse_shape(value: object) -> tuple[int, ...]:
    value = _literal(value)
    if isinstance(value, str) or value is None:
        raise ValueError
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return (parse_int(value),)
    return tuple(parse_int(item) for item in value)  # type: ignore[attr-defined]


def parse_axes(value: object) -> tuple[int, ...] | None:
    value = _literal(value)
    return None if value is None else parse_shape(value)


def parse_bounds(value: object) -> tuple[int | None, ...]:
    value = _literal(value)
    if isinstance(value, str) or value is None:
        raise ValueError
    items = value if isinstance(value, (tuple, list)) else (value,)
    return tuple(None if _literal(item) is None else parse_int(item) for item in items)


def _optional(parse: Callable[[object], Any]) -> Callable[[object], Any]:
    def parse_optional(value: object) -> Any:
        return None if _literal(value) is None else parse(value)
    return parse_optional


def _declare(default: Any, parse: Callable[[object], Any], wants: str, doc: str,
             check: Callable[[Any], bool] | None = None,
             ends: tuple[float, float] | None = None) -> Any:
    metadata = {"parse": parse, "wants": wants, "doc": doc, "check": check, "ends": ends}
    return field(metadata=metadata) if default is REQUIRED else field(default=default,
                                                                      metadata=metadata)


def integer(default: Any = REQUIRED, *, low: int | None = None, high: int | None = None,
            doc: str) -> Any:
    """An int within [low, high]."""
    wants = "an int"
    if low is not None:
        wants += f" of at least {low}"
    if high is not None:
        wants += f" and at most {high}" if low is not None else f" of at most {high}"
    return _declare(default, parse_int, wants, doc,
                    lambda v: (low is None or v >= low) and (high is None or v <= high))


def how_many(default: Any = REQUIRED, *, doc: str) -> Any:
    """A number of inputs or outputs: an int within [1, MAX_COUNT]."""
    return integer(default, low=1, high=MAX_COUNT, doc=doc)


def optional_integer(default: Any = None, *, doc: str) -> Any:
    """An int or None."""
    return _declare(default, _optional(parse_int), "an int or None", doc)


def number(default: Any = REQUIRED, *, low: float | None = None, high: float | None = None,
           finite: bool = False, doc: str) -> Any:
    """A float within [low, high]; NaN is refused where a bound or `finite` is given."""
    return _declare(default, parse_float, f"a float{_within(low, high)}", doc,
                    lambda v: _is_within(v, low, high, finite), _ends(low, high, finite))


def _is_within(value: float, low: float | None, high: float | None, finite: bool) -> bool:
    return ((low is None or value >= low) and (high is None or value <= high)
            and (not finite or math.isfinite(value)))


def _ends(low: float | None, high: float | None, finite: bool = False) -> tuple[float, float]:
    """The least and the greatest float of an interval."""
    most = sys.float_info.max if finite else math.inf
    return -most if low is None else low, most if high is None else high


def _within(low: float | None, high: float | None) -> str:
    if low is None and high is None:
        return ""
    return f" within [{'-inf' if low is None else low}, {'inf' if high is None else high}]"


def positive(default: Any = REQUIRED, *, doc: str) -> Any:
    """A finite float above 0."""
    return _declare(default, parse_float, "a finite float above 0", doc,
                    lambda v: v > 0 and math.isfinite(v), (math.ulp(0.0), sys.float_info.max))


def optional_number(default: Any = None, *, low: float | None = None, high: float | None = None,
                    finite: bool = False, doc: str) -> Any:
    """A float within [low, high], or None; NaN is refused where a bound or `finite` is given."""
    return _declare(default, _optional(parse_float), f"a float{_within(low, high)} or None", doc,
                    lambda v: v is None or _is_within(v, low, high, finite),
                    _ends(low, high, finite))


def _parse_range(value: object) -> tuple[float, float]:
    ends: Any = _literal(value)
    low, high = ends
    return parse_float(low), parse_float(high)


def optional_range(default: Any = None, *, doc: str) -> Any:
    """Two finite floats, or None."""
    return _declare(default, _optional(_parse_range), "two floats or None", doc,
                    lambda v: v is None or all(math.isfinite(end) for end in v))


def boolean(default: Any = REQUIRED, *, doc: str) -> Any:
    """True or False, also as 1, 0 or the words."""
    return _declare(default, parse_bool, "a bool", doc)


def optional_boolean(default: Any = None, *, doc: str) -> Any:
    """True, False or None."""
    return _declare(default, _optional(parse_bool), "a bool or None", doc)


def shape(default: Any = REQUIRED, *, low: int | None = None, doc: str) -> Any:
    """A tuple of ints, each at least `low`; one int counts as a tuple of one."""
    wants = "a tuple of ints" if low is None else f"a tuple of ints of at least {low}"
    return _declare(default, parse_shape, wants, doc,
                    None if low is None else lambda v: all(item >= low for item in v))


def parse_floats(value: object) -> tuple[float, ...]:
    value = _literal(value)
    if isinstance(value, (bool, int, float, np.generic)):
        return (parse_float(value),)
    if not isinstance(value, (tuple, list, np.ndarray)):
        raise ValueError
    return tuple(parse_float(item) for item in value)


def numbers(default: Any = REQUIRED, *, length: int | None = None, doc: str) -> Any:
    """A tuple of floats, of a length if one is given; one float counts as a tuple of one."""
    wants = "a tuple of floats" if length is None else f"a tuple of {length} floats"
    return _declare(default, parse_floats, wants, doc,
                    None if length is None else lambda v: len(v) == length)


def bounds(default: Any = REQUIRED, *, doc: str) -> Any:
    """A tuple of ints and Nones; one of them counts as a tuple of one."""
    return _declare(default, parse_bounds, "a tuple of ints or None", doc)


def axes(default: Any = None, *, doc: str) -> Any:
    """A tuple of axes, one axis, or None for all."""
    return _declare(default, parse_axes, "an int, a tuple of ints or None", doc)


def choice(*names: str, default: Any = REQUIRED, doc: str) -> Any:
    """One of some words."""
    def parse(value: object) -> str:
        if value not in names:
            raise ValueError
        return str(value)
    return _declare(default, parse, f"one of {', '.join(repr(n) for n in names)}", doc)


def optional_choice(*names: str, default: Any = None, doc: str) -> Any:
    """One of some words, or None."""
    def parse(value: object) -> str | None:
        if value is None or value == "None":
            return None
        if value not in names:
            raise ValueError
        return str(value)
    return _declare(default, parse, f"one of {', '.join(repr(n) for n in names)} or None", doc)


def dtype(default: Any = "float32", *, doc: str) -> Any:
    """A dtype by MXNet's name; kept as that name."""
    return _declare(default, lambda v: dtype_name(find_dtype(v)), "a dtype", doc)


def optional_dtype(default: Any = None, *, doc: str) -> Any:
    """A dtype by MXNet's name, or None; kept as that name."""
    return _declare(default, _optional(lambda v: dtype_name(find_dtype(v))), "a dtype or None", doc)


def text(default: Any = REQUIRED, *, doc: str) -> Any:
    """A string, taken as it is."""
    return _declare(default, str, "a string", doc)


@dataclasses.dataclass(init=False, repr=False, eq=False)
class Params:
    """Base of all parameter classes; immutable and hashable, so that it can be part of a key.

    Constructed from its fields by name. The methods are written here once, as compiling a
    dataclass's own for each of some 200 classes would slow down importing the package.
    """

    _known: ClassVar[Mapping[str, dataclasses.Field[Any]]] = {}
    _defaults: ClassVar[Mapping[str, Any]] = {}

    @property
    def layers(self) -> tuple[str, ...]:
        """Names of the nodes that an operator of such parameters was made of, for errors."""
        return ()

    def told(self, operator: str, node: str | None) -> tuple[str, str | None]:
        """What errors call an operator of such parameters and its node: users know the layers, not
        what they were fused to."""
        layers = self.layers
        return operator, f"{node} (layers {', '.join(layers)})" if layers and node else node

    def __init__(self, **values: Any) -> None:
        own, known = self.__dict__, self._known
        own.update(self._defaults)
        own.update(values)
        if own.keys() != known.keys():
            wrong = sorted(own.keys() ^ known.keys())
            raise TypeError(f"{type(self).__name__} got the values {', '.join(values)}: missing "
                            f"or unknown are {', '.join(wrong)}")

    @classmethod
    def parse(cls: type[P], attrs: Mapping[str, object], op: str, node: str | None = None) -> P:
        """The parameters that `attrs` (strings or Python values) specify.

        Raises ParameterError naming the operator, the node, the parameter, the value and what is
        allowed. Ignores names with double underscores and those in IGNORED. Operators without
        parameters ignore all names, with a warning.
        """
        known = cls._known
        values: dict[str, Any] = {}
        for name, value in attrs.items():
            spec = known.get(name)
            if spec is None:
                if name in IGNORED or (name.startswith("__") and name.endswith("__")):
                    continue
                if not known and isinstance(value, PLAIN):
                    # MXNet does not look at attributes of an operator without parameters
                    warnings.warn(f"{where(op, node)} takes no parameters: {name!r} is ignored",
                                  stacklevel=2)
                    continue
                allowed = ", ".join(known) or "none"
                raise ParameterError(f"{where(op, node)}: unknown parameter {name!r}; "
                                     f"it takes: {allowed}{did_you_mean(name, known)}")
            values[name] = cls._parse_one(spec, value, op, node)
        missing = [n for n, f in known.items() if n not in values and f.default is MISSING]
        if missing:
            raise ParameterError(f"{where(op, node)}: required parameter {missing[0]!r} is missing "
                                 f"({known[missing[0]].metadata['wants']}: "
                                 f"{known[missing[0]].metadata['doc']})")
        return cls(**values)

    @staticmethod
    def _parse_one(spec: dataclasses.Field[Any], value: object, op: str, node: str | None) -> Any:
        meta = spec.metadata
        try:
            parsed = meta["parse"](value)
            good = meta["check"] is None or meta["check"](parsed)
        except MissingPackage as error:
            raise MissingPackage(f"{where(op, node)}: parameter {spec.name!r}: {error}") from None
        except OverflowError:
            raise ParameterError(f"{where(op, node)}: parameter {spec.name!r} got {shown(value)} "
                                 f"that is out of range, expected {meta['wants']}") from None
        except (ValueError, TypeError, KeyError):
            good = False
        if not good:
            raise ParameterError(f"{where(op, node)}: parameter {spec.name!r} got {shown(value)}, "
                                 f"expected {meta['wants']}")
        return parsed

    def by_name(self) -> dict[str, Any]:
        """Every parameter by its name."""
        own = self.__dict__
        return {name: own[name] for name in self._known}

    def _key(self) -> tuple[Any, ...]:
        """What equality and hash compare: -0.0 differs from 0.0, and NaN equals itself."""
        own = self.__dict__
        return values_key([own[name] for name in self._known])

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self is other or self._key() == other._key()

    def __hash__(self) -> int:
        try:
            return self.__dict__["_hash"]  # type: ignore[no-any-return]
        except KeyError:
            value = self.__dict__["_hash"] = hash((type(self), *self._key()))
            return value

    def __getstate__(self) -> dict[str, Any]:
        """Without the hash, which differs between processes."""
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}

    def __repr__(self) -> str:
        values = (f"{name}={self.__dict__[name]!r}" for name in self._known)
        return f"{type(self).__qualname__}({', '.join(values)})"

    def __setattr__(self, name: str, value: object) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")

    def to_attrs(self) -> dict[str, str]:
        """Every parameter that differs from its default, as MXNet's string."""
        return {f.name: attr_text(getattr(self, f.name)) for f in self._known.values()
                if f.default is MISSING or not same_value(getattr(self, f.name), f.default)}


def params_class(cls: type[P]) -> type[P]:
    """Class decorator: the fields of a dataclass with the methods of Params."""
    if cls.__doc__ is None:
        # otherwise the dataclass generates a docstring from a signature, its slowest part
        cls.__doc__ = f"{cls.__name__}: parameters of an operator."
    made = dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
    made._known = {f.name: f for f in dataclasses.fields(made)}
    made._defaults = {f.name: f.default for f in made._known.values() if f.default is not MISSING}
    return made


def attr_text(value: object) -> str:
    """A parameter as the string MXNet writes; numpy scalars become plain numbers first."""
    if isinstance(value, (tuple, list)):
        items = [attr_text(item) for item in value]
        return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return dtype_name(np.dtype(value))
    return str(value)


@params_class
class NoParams(Params):
    """For operators without parameters."""
