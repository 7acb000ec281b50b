"""Floor 3, the framework of operators: parameters, registry, inference, dispatch.

Holds no operator. The names listed here are public: what is needed to write and register an
operator outside of this package. docs/own_operators.md shows how.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._array.layout import (
    get_data,
    get_data_if,
    get_data_reorder,
    get_weights,
    need_float32,
    pack_weights,
)
from ..cpu_level import Level
from ..errors import ShapeError, TypeMismatch, Unsupported
from ..native import lib
from ..public import loads, shows
from ..storage.primitive import Arg, Direction, Kind, make_primitive
from .infer import merge, merge_all, merge_types, normalize_axis, same_shape, same_type
from .params import (
    NoParams,
    Params,
    axes,
    boolean,
    choice,
    dtype,
    how_many,
    integer,
    number,
    optional_boolean,
    optional_choice,
    optional_dtype,
    optional_integer,
    optional_number,
    params_class,
    shape,
    text,
)
from .registry import OpDef, find, register, unregister

if TYPE_CHECKING:
    from .elementwise import Elementwise, X, Y
    from .epilogue import AffineFold, Epilogue
    from .select import Implementation, Selection

_LATER = {
    **dict.fromkeys(("Elementwise", "X", "Y"), "elementwise"),
    **dict.fromkeys(("AffineFold", "Epilogue"), "epilogue"),
    **dict.fromkeys(("Implementation", "Selection"), "select"),
}
__getattr__ = loads(globals(), {name: f"{place}:{name}" for name, place in _LATER.items()})
__all__ = [
    "AffineFold", "Arg", "Direction", "Elementwise", "Epilogue", "Implementation", "Kind", "Level",
    "NoParams", "OpDef", "Params", "Selection", "ShapeError", "TypeMismatch", "Unsupported", "X",
    "Y", "axes", "boolean", "choice", "dtype", "find", "get_data", "get_data_if",
    "get_data_reorder", "get_weights", "how_many", "integer", "lib", "make_primitive", "merge",
    "merge_all", "merge_types", "need_float32", "normalize_axis", "number", "optional_boolean",
    "optional_choice", "optional_dtype", "optional_integer", "optional_number", "pack_weights",
    "params_class", "register", "same_shape", "same_type", "shape", "text", "unregister",
]
__dir__ = shows(globals())
