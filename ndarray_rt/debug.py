"""Finding what goes wrong in a computation: the call that makes NaN or infinity.

    with mx.debug.find_nonfinite():
        loss.backward()
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .op.nonfinite import Finder, NonFinite, NonFiniteError
from .public import shows

__all__ = ["Finder", "NonFinite", "NonFiniteError", "find_nonfinite"]
__dir__ = shows(globals())


@contextmanager
def find_nonfinite(raises: bool = True, infinite: bool = True) -> Iterator[Finder]:
    """A `with` block in which each operator call of this thread is looked at.

    The first call that makes NaN or infinity out of finite inputs raises NonFiniteError with the
    operator, the node's name, the output and its first such element, and what the inputs were;
    it holds for imperative code, for autograd's backward, and for executors and CachedOps, which
    run node by node meanwhile. With `raises=False` the calls are listed in what `as` gives:
    `found`, and `first` of them. With `infinite=False` infinity is finite, too, and only NaN
    counts. Calls without array inputs, as nd.full, may make what they like.
    """
    finder = Finder(raises=raises, infinite=infinite)
    stop = finder.start()
    try:
        yield finder
    finally:
        stop()
