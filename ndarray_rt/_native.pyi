"""The compiled module. Its functions and types are those of include/ndrt.h."""

from typing import Any

ffi: Any
lib: Any
