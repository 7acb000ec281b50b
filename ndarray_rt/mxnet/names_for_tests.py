"""`mxnet.test_utils`: this package's, and the modules that MXNet's `import *` brings along."""


from __future__ import annotations

import bz2
import errno
import gzip
import json
import logging
import numbers
import os
import platform
import struct
import sys
import time
import traceback
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from contextlib import contextmanager

import numpy as np
import numpy.random as rnd
import numpy.testing as npt

import ndarray_rt as mx

from .. import test_utils as _own
from ..context import Context, current_context
from ..nd import NDArray, array
from ..symbol import Symbol

__all__ = [
    "Context", "NDArray", "OrderedDict", "Symbol", "array", "bz2", "contextmanager",
    "current_context", "errno", "gzip", "json", "logging", "mx", "np", "npt", "numbers", "os",
    "platform", "rnd", "struct", "sys", "time", "traceback", "zipfile"]
__all__ += _own.__all__


def use_np(func: object) -> Callable[..., object]:
    """Has tests of `np` defined; they raise MXNetError when they run."""
    def refuse(*args: object, **kwargs: object) -> object:
        raise mx.MXNetError("MXNet's modules np and npx are not here; docs/porting.md says what is "
                            "and what to do")
    return refuse


def __getattr__(name: str) -> object:
    return getattr(_own, name)
