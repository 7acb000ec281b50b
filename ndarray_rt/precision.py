"""How exactly graphs are computed: the user's choice. Computes nothing."""

from __future__ import annotations

from enum import Enum

from . import config
from .cpu_level import Level
from .errors import ParameterError, shown


class Precision(Enum):
    """What the layers of a graph for inference are computed in, by its name in NDRT_PRECISION.

    STRICT: float32, sums as written. FLOAT32: also what has float32's error. MEDIUM: numbers are
    stored as float32, products are those of bfloat16, where the CPU has instructions for them.
    BFLOAT16: layers and what follows them store and read bfloat16 (passes/lower_precision.py).
    """

    STRICT = "strict"
    FLOAT32 = "float32"
    MEDIUM = "medium"
    BFLOAT16 = "bfloat16"

    @property
    def has_low_products(self) -> bool:
        """Products of float32 numbers may be rounded to bfloat16 before they are summed up."""
        return self is Precision.MEDIUM and has_low_products()


def has_low_products() -> bool:
    """The CPU multiplies bfloat16."""
    return Level.AVX512_BF16.is_here


def find_precision(given: object, what: str) -> Precision:
    """The precision of a name; of None what NDRT_PRECISION says. "auto" is bfloat16 where the CPU
    multiplies that, else float32.

    Raises ParameterError, which begins with `what`, for another name.
    """
    if isinstance(given, Precision):
        return given
    name = config.NDRT_PRECISION if given is None else given
    if not isinstance(name, str):
        raise ParameterError(f"{what}: precision got {shown(given)}, expected one of "
                             f"{', '.join(config.PRECISIONS)}")
    try:
        name = config.parse_precision(name)
    except ValueError as error:
        raise ParameterError(f"{what}: precision got {name!r}: {error}") from None
    if name == "auto":
        return Precision.BFLOAT16 if has_low_products() else Precision.FLOAT32
    return Precision(name)
