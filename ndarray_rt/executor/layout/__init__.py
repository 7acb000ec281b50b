"""Chooses layouts and kernels for the nodes of a graph."""
