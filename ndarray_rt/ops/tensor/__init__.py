"""Operators on tensors in general."""
