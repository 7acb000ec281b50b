"""Context: where an array lives. Only CPUs exist here; a GPU is refused when it is used."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any

from .errors import MXNetError, ParameterError, TypeMismatch, shown
from .public import shows

__all__ = ["Context", "cpu", "cpu_pinned", "current_context", "gpu", "gpu_memory_info",
           "num_gpus"]
__dir__ = shows(globals())

_DEVICES = {"cpu": 1, "gpu": 2, "cpu_pinned": 3, "cpu_shared": 5}
_NAMES = {number: name for name, number in _DEVICES.items()}
_current = threading.local()


class _HasDefault(type):
    """Gives Context the class attribute `default_ctx` that MXNet's has: this thread's default."""

    @property
    def default_ctx(cls) -> Context:
        return current_context()

    @default_ctx.setter
    def default_ctx(cls, ctx: Context) -> None:
        if not isinstance(ctx, Context):
            raise TypeMismatch(f"default_ctx got {shown(ctx)}, expected a Context")
        set_current(ctx)


class Context(metaclass=_HasDefault):
    """A device by type and number, usable in a `with` as the default for new arrays.

    All CPU contexts share one memory; their numbers are kept, as scripts compare them.
    """

    __slots__ = ("device_id", "device_type")

    devstr2type = _DEVICES
    devtype2str = _NAMES

    def __init__(self, device_type: Any, device_id: int = 0) -> None:
        if isinstance(device_type, Context):
            device_type, device_id = device_type.device_type, device_type.device_id
        elif isinstance(device_type, int):
            device_type = _NAMES.get(device_type, device_type)
        if not isinstance(device_type, str) or device_type not in _DEVICES:
            raise ParameterError(f"Context: device_type got {shown(device_type)}, expected one "
                                 f"of: {', '.join(_DEVICES)}")
        try:
            number = int(device_id)
        except (TypeError, ValueError, OverflowError):
            raise ParameterError(f"Context: device_id got {shown(device_id)}, "
                                 "expected an int") from None
        self.device_type: str = device_type
        self.device_id = number

    @property
    def device_typeid(self) -> int:
        """MXNet's number of the device type."""
        return _DEVICES[self.device_type]

    def check(self) -> Context:
        """This context when arrays can live there; MXNetError for a GPU."""
        if self.device_type == "gpu":
            raise MXNetError(f"{self} was asked for, but ndarray_rt computes on CPUs only: "
                             "use mx.cpu()")
        return self

    def empty_cache(self) -> None:
        """Gives cached memory back to the system."""
        from .storage.handle import trim
        trim()

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, Context) and self.device_type == other.device_type
                and self.device_id == other.device_id)

    def __hash__(self) -> int:
        return hash((self.device_type, self.device_id))

    def __repr__(self) -> str:
        return f"{self.device_type}({self.device_id})"

    def __enter__(self) -> Context:
        # kept by thread: several of them may be inside of one Context, cpu(0) for one, at a time
        vars(_current).setdefault("outer", []).append(getattr(_current, "value", None))
        _current.value = self
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        _current.value = _current.outer.pop()

    def __reduce__(self) -> Any:
        return Context, (self.device_type, self.device_id)


_CPU0 = Context("cpu", 0)


def cpu(device_id: int = 0) -> Context:
    """The CPU."""
    return _CPU0 if device_id == 0 else Context("cpu", device_id)


def cpu_pinned(device_id: int = 0) -> Context:
    """The CPU; pinned memory is ordinary memory here."""
    return Context("cpu_pinned", device_id)


def gpu(device_id: int = 0) -> Context:
    """Names a GPU, so that scripts can ask; using it raises MXNetError."""
    return Context("gpu", device_id)


def num_gpus() -> int:
    """0: there is none."""
    return 0


def gpu_memory_info(device_id: int = 0) -> tuple[int, int]:
    """Free and total bytes of a GPU: raises MXNetError, as there is none."""
    raise MXNetError(f"gpu_memory_info: there is no {gpu(device_id)}, ndarray_rt computes on CPUs "
                     "only")


def current_context() -> Context:
    """The context of the innermost `with`, or cpu(0)."""
    return getattr(_current, "value", None) or _CPU0


def set_current(ctx: Context | None) -> None:
    """Makes a context the current one of this thread; None: cpu(0) again."""
    _current.value = ctx
