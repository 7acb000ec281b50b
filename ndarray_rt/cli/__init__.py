"""The command line: `ndarray-rt` and `python -m ndarray_rt`; one file for each command."""
