"""`import mxnet` in a process that has this folder on its path: see ndarray_rt.mxnet."""

import sys

import ndarray_rt.mxnet
from ndarray_rt.mxnet import numpy_names

numpy_names.restore()  # as in the program that started this process

sys.modules[__name__] = ndarray_rt.mxnet
