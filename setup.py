"""The compiled part of the build; everything else stands in pyproject.toml."""

from setuptools import setup

setup(
    cffi_modules=["native/build_ffi.py:ffi"],
    # The extension uses the limited API only: one wheel serves every later Python.
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
