"""The exceptions of the runtime and the form of their texts. What is checked stands elsewhere.

Each class is both ours and a builtin, so that either can be caught.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .public import shows

__all__ = ["CustomError", "InputMismatch", "MXNetError", "MissingPackage", "ModelFormatError",
           "NameMismatch", "NativeError", "NdrtError", "NoShape", "OutOfBounds", "OutOfMemory",
           "ParameterError", "ShapeError", "TypeMismatch", "Unsupported"]
__dir__ = shows(globals())


class MXNetError(RuntimeError):
    """The base of all: what scripts written for MXNet catch."""

    def __str__(self) -> str:
        # KeyError shows its message in quotes; all of ours show it as it is.
        return str(self.args[0]) if len(self.args) == 1 else super().__str__()


class NdrtError(MXNetError):
    """Any error that this package raises on purpose."""


class ShapeError(NdrtError, ValueError):
    """Shapes that do not go together: a caller's mistake."""


class OutOfBounds(ShapeError, IndexError):
    """A coordinate that names no element."""


class TypeMismatch(NdrtError, TypeError):
    """Dtypes, or kinds of objects, that do not go together: a caller's mistake."""


class NoShape(ShapeError, TypeMismatch):
    """What is no shape at all, such as an array or a text."""


class MissingPackage(NdrtError, ImportError):
    """A package that is not installed: not of the core, but what was asked for needs it."""

    @classmethod
    def of(cls, what: str, package: str, extra: str) -> MissingPackage:
        """The error for `what`, which needs a package that the extra of this one installs."""
        return cls(f"{what} needs the package {package}: pip install 'ndarray_rt[{extra}]'")


class ParameterError(NdrtError, ValueError):
    """A parameter that is unknown, missing, unreadable or out of its range."""


class ModelFormatError(ParameterError):
    """A file of arrays, of a graph or of a model that is damaged, not what it should be, or asks
    for what is not here.

    `file` is its name (or what stands for one), `place` where in it, `reason` what is wrong.
    """

    def __init__(self, reason: str, file: str = "", place: str = "") -> None:
        # names out of a file may be of any length
        reason = shortened(reason)
        super().__init__(": ".join(part for part in (file, place, reason) if part))
        self.file = file
        self.place = place
        self.reason = reason


class InputMismatch(ShapeError):
    """Inputs that a model can not run on: by their shapes, or by what they hold.

    `reason` is what does not fit, `place` the node, `file` the model's name; `inputs` has the
    shapes that were given, as text by name.
    """

    def __init__(self, reason: str, file: str = "", place: str = "",
                 inputs: Mapping[str, str] | None = None) -> None:
        reason = shortened(reason)
        text = ": ".join(part for part in (file, place, reason) if part)
        if inputs:
            given = ", ".join(f"{name} {shape}" for name, shape in inputs.items())
            text += shortened(f"; given: {given}")
        super().__init__(text)
        self.reason = reason
        self.file = file
        self.place = place
        self.inputs = dict(inputs or {})


class NameMismatch(NdrtError, KeyError):
    """A name that is not there, or there twice: of an argument, an operator, a layer."""


class Unsupported(NdrtError, NotImplementedError):
    """Correct, but oneDNN has no implementation; ends in a fallback whose reason is counted."""


class NativeError(NdrtError):
    """The native layer failed in a way that no caller can bring about: our bug."""


class CustomError(NdrtError):
    """What the code of a user's operator raised, which is its `__cause__`.

    `of` makes it one of the cause's builtin class too, where the two go together.
    """

    @classmethod
    def of(cls, text: str, cause: Exception) -> CustomError:
        """The error with this text, which is of the cause's builtin class too."""
        kind = next(c for c in type(cause).__mro__ if c.__module__ == "builtins")
        if issubclass(cls, kind) or kind is StopIteration:  # which no generator lets through
            return cls(text)
        try:
            both: CustomError = type(cls.__name__, (cls, kind), {})(text)
        except TypeError:  # a class that takes other arguments
            return cls(text)
        return both


class OutOfMemory(NdrtError, MemoryError):
    """No memory; every array still holds its old or its new value."""


def message(
    operator: str,
    node: str | None = None,
    *,
    what: str,
    got: object = None,
    expected: object = None,
    because: str | None = None,
) -> str:
    """The text of an error, in the order in which a reader asks.

    >>> message("Convolution", "conv1", what="weight", got="shape (64, 4, 7, 7)",
    ...         expected="(64, 3, 7, 7)", because="data (1, 3, 224, 224), num_group=1")
    'Convolution "conv1": weight has shape (64, 4, 7, 7), expected (64, 3, 7, 7) from data (1, 3, \
224, 224), num_group=1'
    """
    text = f"{where(operator, node)}: {what}"
    if got is not None:
        text += f" has {got}"
    if expected is not None:
        text += f", expected {expected}"
    if because is not None:
        text += f" from {because}"
    return text


def shortened(text: str, most: int = 1000) -> str:
    """A text, without its middle where it is long.

    >>> shortened("ab" * 20, 10)
    'ababa ... babab'
    """
    half = most // 2
    return text if len(text) <= most else f"{text[:half]} ... {text[-half:]}"


def shown(value: object) -> str:
    """A value that was refused, as it stands in an error's text: short, whatever it is.

    >>> shown("same"), shown(range(3)), shown([0] * 1000)
    ("'same'", 'range(0, 3)', 'list of length 1000')
    """
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape:
        return f"{type(value).__name__} of shape {shape}"
    try:
        text = repr(value)
    except Exception:  # an int of too many digits, or whatever an object's own code raises
        return f"<{type(value).__name__}>"
    if len(text) <= 200:
        return text
    length = f" of length {len(value)}" if isinstance(value, (str, list, tuple, dict)) else ""
    return f"{type(value).__name__}{length}"


# ends a text about a part of MXNet that is not here
SEE_PORTING = "docs/porting.md says what is here and what to do instead"


def no_storage(stype: object, function: str = "") -> ParameterError:
    """What to raise for a storage type of sparse arrays."""
    return ParameterError(f"{function and f'{function}: '}storage type {shown(stype)} does not "
                          f"exist here, only 'default'; {SEE_PORTING}")


def not_picklable(what: str, instead: str) -> Callable[[Any, Any], Any]:
    """A class's `__reduce_ex__` that refuses pickle and copy, and says what to do `instead`."""
    def reduce(self: Any, protocol: Any) -> Any:
        raise TypeMismatch(f"{what} belongs to its process and can be neither pickled nor copied: "
                           f"{instead}")
    return reduce


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of an error's text about an unknown name: those of `known` that are like it.

    >>> did_you_mean("convolutoin", ["Convolution", "Concat", "relu"]), did_you_mean("x", ["relu"])
    ("; did you mean 'Convolution'?", '')
    """
    from difflib import get_close_matches  # needed by those who err only
    plain: dict[str, str] = {}
    for each in known:
        plain.setdefault(each.lower(), each)
    found = get_close_matches(name.lower()[:100], plain, n=3, cutoff=0.7)
    return f"; did you mean {' or '.join(repr(plain[each]) for each in found)}?" if found else ""


def name_call(error: NdrtError, operator: str, node: str | None = None) -> None:
    """Puts operator and node before the text of an error that does not begin with the operator.

    >>> error = ShapeError("index 4 is out of bounds")
    >>> name_call(error, "take", "words"), str(error)
    (None, 'take "words": index 4 is out of bounds')
    """
    text = str(error)
    named = text.startswith((f"{operator}:", f'{operator} "')) or f"operator {operator}" in text
    if not named:
        error.args = (f"{where(operator, node)}: {text}",)


def where(operator: str, node: str | None = None) -> str:
    """The beginning of an error's text: the operator, and its node where it has a name."""
    return f'{operator} "{node}"' if node else operator
