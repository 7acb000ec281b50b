"""Operators of linear algebra on the last two axes of arrays."""

from . import determinant, diagonal, factor, gemm, syrk, triangle, triangular

__all__ = ["determinant", "diagonal", "factor", "gemm", "syrk", "triangle", "triangular"]
