"""Reading arguments: what is wrong with one is told in one line, as all errors are."""

from __future__ import annotations

import argparse
from math import isfinite
from typing import NoReturn

from ..errors import ParameterError


class Parser(argparse.ArgumentParser):
    """Raises ParameterError for arguments that are wrong, and tells no usage with it."""

    def error(self, message: str) -> NoReturn:
        raise ParameterError(f"{message} ({self.prog} --help tells what there is)")


def positive(text: str) -> int:
    """A whole number from 1 up."""
    return _whole(text, 1)


def from_zero(text: str) -> int:
    """A whole number from 0 up."""
    return _whole(text, 0)


def _whole(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise _refused(text, f"a whole number from {least} up")
    return number


def finite(text: str) -> float:
    """A number that is neither infinite nor nan."""
    number = _float(text)
    if not isfinite(number):
        raise _refused(text, "a finite number")
    return number


def tolerance(text: str) -> float:
    """A finite number from 0 up."""
    number = _float(text)
    if not isfinite(number) or number < 0:
        raise _refused(text, "a finite number from 0 up")
    return number


def numbers(text: str) -> tuple[float, ...]:
    """Finite numbers with commas between."""
    found = tuple(map(_float, text.split(",")))
    if not all(map(isfinite, found)):
        raise _refused(text, "finite numbers with commas between")
    return found


def divisors(text: str) -> tuple[float, ...]:
    """Finite numbers above 0 with commas between."""
    found = tuple(map(_float, text.split(",")))
    if not all(isfinite(number) and number > 0 for number in found):
        raise _refused(text, "finite numbers above 0 with commas between")
    return found


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _refused(text: str, expected: str) -> argparse.ArgumentTypeError:
    return argparse.ArgumentTypeError(f"got {text!r}, expected {expected}")
