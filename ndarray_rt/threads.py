"""How many threads native code uses: the setting of the process."""

from __future__ import annotations

from .errors import ParameterError
from .native import call, lib


def get_num_threads() -> int:
    """Threads that an operator uses, small work excepted: that runs on one."""
    return int(lib.ndrt_threads_get())


def default_num_threads(root: str = "") -> int:
    """The number that holds when nobody says another one.

    The first of `OMP_NUM_THREADS`, if it is set. Else the cores that the CPU affinity of the
    calling thread leaves (two hardware threads of one core count once), but no more than the CPU
    quotas of its control group and of the groups around it pay for, rounded up. `root` stands
    before the names of the system's files under /proc and /sys.
    """
    return int(lib.ndrt_threads_default(root.encode()))


def set_num_threads(threads: int) -> int:
    """Sets the threads that an operator uses from now on, in all threads of the process.

    0 stands for the default: from OMP_NUM_THREADS, CPU affinity and the container's quota. Gives
    the number before. Each call of an operator uses that many, also when several Python threads
    call at once: with n of them, a count of about cores / n keeps the machine from being
    oversubscribed. Primitives and recorded runs belong to the count they were made for; another
    one makes new ones. Raises ParameterError for a number below 0, or above 256 and four times the
    machine's cores (1024 at most): OpenMP ends a process that the system grants no more threads.
    """
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 0:
        raise ParameterError(f"set_num_threads: got {threads!r}, expected an int of at least 0")
    before = get_num_threads()
    call(lib.ndrt_threads_set, min(threads, 1 << 30) or default_num_threads(),
         what=f"set_num_threads({threads})")
    return before
