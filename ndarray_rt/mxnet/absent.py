"""Parts of MXNet that programs import though they do without them: importable, and not there.

Whatever is asked of one raises one sentence that says where to read on.
"""

from __future__ import annotations

from types import ModuleType

from ..errors import SEE_PORTING


class _Absent(ModuleType):
    """A module `name` of which MXNet's part is absent; `said` tells so."""

    def __init__(self, name: str, said: str) -> None:
        super().__init__(name)
        self._said = said

    def __getattr__(self, name: str) -> object:
        more = "" if name.startswith("__") else f": {self._said}; {SEE_PORTING}"
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}{more}", name=name)


numpy = _Absent("mxnet.numpy", "MXNet's modules np and npx are not here")
