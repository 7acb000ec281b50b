"""Operators that draw random numbers, and densities of their distributions."""
