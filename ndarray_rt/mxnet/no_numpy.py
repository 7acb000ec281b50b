"""`mxnet.numpy` and `mxnet.numpy_extension`, which programs import and may not use: there are none.

Whatever is asked of it raises one sentence that says where to read on.
"""

from __future__ import annotations

from ..errors import SEE_PORTING


def __getattr__(name: str) -> object:
    more = "" if name.startswith("__") else (
        f": MXNet's modules np and npx are not here; {SEE_PORTING}")
    raise AttributeError(f"module 'mxnet.numpy' has no attribute {name!r}{more}", name=name)
