"""What type checkers and editors read of functions that are made at run time: `.pyi` files only.

Written by `make docs` from the registry. Nothing here is ever imported when a program runs.
"""
