"""Functions that make calls of native kernels, a module for each folder of `native/kernels`."""
