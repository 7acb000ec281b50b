"""Measuring layouts and kernels, and the table of what was measured."""
