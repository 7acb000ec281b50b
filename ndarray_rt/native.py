"""The only door to the native layer: loads oneDNN and the extension, makes statuses exceptions.

Importing this module raises `NativeImportError`, with one sentence on what to do, when anything on
the way is missing or does not fit. Nothing else in the package touches `ffi` and `lib` unloaded.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from . import config
from .errors import NativeError, NdrtError, OutOfBounds, OutOfMemory, ParameterError, Unsupported

WHEEL = "onednn-cpu-gomp"
LIBRARY = "libdnnl.so.3"
NEEDED = (3, 2)


class NativeImportError(ImportError):
    """The native layer can not be loaded; the text says which part and what to do about it."""


def _recorded_files() -> Iterator[str]:
    """Files of the library's name in the wheel's record of installed files, on `sys.path`.

    `importlib.metadata` would find the same, but importing it takes a fifth of the time of
    importing NumPy.
    """
    prefix = f"{WHEEL.replace('-', '_')}-"
    for folder in sys.path:
        try:
            records = [os.path.join(folder, name, "RECORD") for name in os.listdir(folder or ".")
                       if name.startswith(prefix) and name.endswith(".dist-info")]
        except OSError:
            continue  # no folder
        for record in records:
            try:
                with open(record, encoding="utf-8") as lines:
                    # path,hash,size; a path with a comma in it has quotes
                    files = [line.rsplit(",", 2)[0].strip('"') for line in lines]
            except OSError:
                continue
            yield from (os.path.join(folder, file) for file in files
                        if os.path.basename(file) == LIBRARY)


def _chosen_library() -> str:
    """The oneDNN file to load: the one named by the switch, else the one of the installed wheel."""
    named = config.NDRT_ONEDNN_LIBRARY
    if named:
        if not os.path.isfile(named):
            raise NativeImportError(f"NDRT_ONEDNN_LIBRARY={named}: there is no such file")
        return os.path.realpath(named)
    for path in _recorded_files():
        if os.path.isfile(path):
            return os.path.realpath(path)
    raise NativeImportError(
        f"oneDNN was not found: install the package {WHEEL} (pip --target leaves its library out), "
        f"or let NDRT_ONEDNN_LIBRARY name a {LIBRARY}"
    )


def _load_library(path: str) -> None:
    """Maps oneDNN, so that the extension finds it by its SONAME wherever it is installed."""
    try:
        # Without RTLD_GLOBAL: its symbols are for the extension only.
        library = ctypes.CDLL(path)
    except OSError as error:
        if "libgomp" in str(error):
            raise NativeImportError(
                "libgomp.so.1 was not found: install the system's OpenMP runtime "
                "(the package is called libgomp1 or libgomp)"
            ) from error
        raise NativeImportError(f"oneDNN could not be loaded from {path}: {error}") from error
    if not hasattr(library, "dnnl_version"):
        raise NativeImportError(f"{path} is no oneDNN library")


def _load_extension() -> tuple[Any, Any]:
    try:
        from ndarray_rt import _native
    except ImportError as error:
        if "_native" in str(error) and "lib" not in str(error):
            raise NativeImportError(
                f"the extension ndarray_rt._native is not built in {os.path.dirname(__file__)}: "
                "run `pip install -e .` in this source tree, or, if the package is installed "
                "elsewhere, start Python in another folder"
            ) from error
        raise NativeImportError(f"the extension could not be loaded: {error}") from error
    return _native.ffi, _native.lib


def _check_mapped(chosen: str) -> None:
    """Is the oneDNN that answers the one that was chosen, and is it new enough?"""
    version = ffi.new("int[3]")
    lib.ndrt_engine_version(version)
    found = ".".join(str(part) for part in version)
    mapped = text(lib.ndrt_engine_library())
    if mapped and os.path.realpath(mapped) != chosen:
        raise NativeImportError(
            f"another oneDNN {found} was already loaded from {mapped} and answers instead of "
            f"{chosen}: import ndarray_rt first, or set NDRT_ONEDNN_LIBRARY={mapped}"
        )
    if version[0] != NEEDED[0] or version[1] < NEEDED[1]:
        raise NativeImportError(
            f"oneDNN {found} in {mapped} does not fit: "
            f"{NEEDED[0]}.{NEEDED[1]} or a later {NEEDED[0]}.x is needed"
        )


def _choose_cpu() -> None:
    """oneDNN takes a limit of its instruction sets only before anything else is asked of it."""
    if lib.ndrt_cpu_choose(config.NDRT_CPU.encode(errors="replace")):
        named = f"NDRT_CPU={config.NDRT_CPU}: " if config.NDRT_CPU else ""
        raise NativeImportError(named + text(lib.ndrt_last_error()))


def extension_file() -> str:
    """The path of the extension module."""
    return str(sys.modules[f"{__package__}._native"].__file__)


def text(pointer: Any) -> str:
    """A C string as Python text; NULL as the empty one."""
    return ffi.string(pointer).decode("utf-8", "replace") if pointer else ""


def call(fn: Callable[..., int], *args: Any, what: str) -> None:
    """Calls a native function that returns a status; a failure is raised as its exception.

    `what` says in the caller's words what was being done: the text is "what: native text".
    """
    check(fn(*args), what)


def check(status: int, what: str) -> None:
    """Raises the exception of a native status, if it is a failure."""
    if status:
        said = text(lib.ndrt_last_error())
        # what is wrong with a user's array is told in the user's words
        raise EXCEPTIONS.get(status, NativeError)(
            said if status in (lib.NDRT_RANGE, lib.NDRT_VALUE) else f"{what}: {said}")


def make(fn: Callable[..., int], *args: Any, out: str, free: Callable[[Any], None], what: str,
         nbytes: int = 0) -> Any:
    """What a native function makes through its last argument, of type `out`, with an owner.

    It has that owner, or is freed, whatever exception comes in between.
    """
    made = ffi.new(out)
    owned: list[Any] = []
    try:
        check(fn(*args, made), what)
        # an interrupt is served when `extend` is done, and the owner is in the list by then
        owned.extend(map(ffi.gc, (made[0],), (free,), (nbytes,)))
        return owned[0]
    except BaseException:
        if not owned and made[0]:
            free(made[0])
        raise


def own(pointer: Any, free: Callable[[Any], None], nbytes: int = 0) -> Any:
    """`pointer` with an owner: `free` is called once, when Python drops the result."""
    return ffi.gc(pointer, free, nbytes)


def with_gil(name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    """A native function that works on Python objects: called with the GIL held.

    Its types are ctypes' own; exceptions that it sets are raised.
    """
    address = int(ffi.cast("intptr_t", ffi.addressof(lib, name)))
    return ctypes.PYFUNCTYPE(result, *arguments)(address)


def kernel_name(number: int) -> str:
    """What a native kernel is called beside oneDNN's implementations."""
    return _KERNEL_NAMES.get(number, f"ndrt:{number}")


_path = _chosen_library()
_load_library(_path)
ffi, lib = _load_extension()
_check_mapped(_path)
_choose_cpu()

_KERNEL_NAMES: dict[int, str] = {
    number: "ndrt:" + name.removeprefix("NDRT_KERNEL_").lower()
    for number, name in ffi.typeof("ndrt_kernel_id").elements.items()}

EXCEPTIONS: dict[int, type[NdrtError]] = {
    lib.NDRT_INVALID: ParameterError,
    lib.NDRT_UNSUPPORTED: Unsupported,
    lib.NDRT_NOMEM: OutOfMemory,
    lib.NDRT_INTERNAL: NativeError,
    lib.NDRT_RANGE: OutOfBounds,
    lib.NDRT_VALUE: ParameterError,
}

call(lib.ndrt_engine_init, what="starting oneDNN")
if config.NDRT_NUM_THREADS:
    call(lib.ndrt_threads_set, config.NDRT_NUM_THREADS, what="NDRT_NUM_THREADS")
lib.ndrt_flush_subnormals_set(int(config.NDRT_FLUSH_SUBNORMALS))
lib.ndrt_crowd_set(lib.NDRT_CROWD_LOOK if config.NDRT_YIELD_CORES else lib.NDRT_CROWD_NEVER, 0)
if config.default("NDRT_POOL_MIB") != config.NDRT_POOL_MIB:
    # not the default itself: a build for finding errors has a smaller one of its own
    lib.ndrt_memory_cache_limit(config.NDRT_POOL_MIB << 20)
