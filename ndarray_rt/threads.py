"""How many threads native code uses: the setting of the process."""

from __future__ import annotations

from .errors import ParameterError
from .native import call, lib


def get_num_threads() -> int:
    """Threads that operators use."""
    return int(lib.ndrt_threads_get())


def set_num_threads(threads: int) -> int:
    """Sets the threads that operators use from now on; gives the number before.

    0 stands for the default: from OMP_NUM_THREADS, CPU affinity and the container's quota.
    """
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 0:
        raise ParameterError(f"set_num_threads: got {threads!r}, expected an int of at least 0")
    before = get_num_threads()
    call(lib.ndrt_threads_set, threads or int(lib.ndrt_threads_default()),
         what=f"using {threads} threads")
    return before
