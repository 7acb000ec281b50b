"""Numbers on the command line."""

from __future__ import annotations

from argparse import ArgumentTypeError


def positive(text: str) -> int:
    """A whole number from 1 up."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise ArgumentTypeError(f"{text!r} is no whole number from 1 up")
    return number
