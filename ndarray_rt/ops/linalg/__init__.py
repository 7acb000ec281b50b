"""Operators of linear algebra on the last two axes of arrays."""
