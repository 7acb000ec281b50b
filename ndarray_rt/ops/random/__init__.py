"""Operators that draw random numbers, and densities of their distributions."""

from . import by_array, by_number, multinomial, pdf, randint, shuffle, zipfian

__all__ = ["by_array", "by_number", "multinomial", "pdf", "randint", "shuffle", "zipfian"]
