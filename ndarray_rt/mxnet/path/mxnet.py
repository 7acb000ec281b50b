"""`import mxnet` in a process that has this folder on its path: see ndarray_rt.mxnet."""

import sys

import ndarray_rt.mxnet

sys.modules[__name__] = ndarray_rt.mxnet
